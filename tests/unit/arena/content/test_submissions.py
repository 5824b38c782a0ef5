"""Submissions to Kaggle as content: the same files are one competitor, however they are packed.

Archives of submissions: what is unpacked is what was packed; hostile ones leave nothing behind.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from arena.content import submissions
from arena.content.store import content_folder, prune
from arena.content.submissions import archive_kind, unpack
from arena.entrants import Competitor, resolve
from arena.errors import OptionError, PluginError, StoreError
from kaggle_zoo import HELPER, HOSTILE, PLAIN, ZOO, Submission, write_submission

FILES = {"main.py": "from helper import first\nagent = first", "helper.py": HELPER, "data/book": b"\0book"}


def one(path: Path | str, more: str = "", *, keep: bool = True) -> Competitor:
    return resolve([f"kaggle:file={path}{more}"], margin_ms=0, keep=keep)[0]


def agents_files(bot: Competitor) -> dict[str, bytes]:
    folder = Path(bot.place, "agent")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_folder_and_archives_are_one_competitor(tmp_path: Path) -> None:
    paths = [
        write_submission(Submission(FILES, packed), tmp_path, f"team-{number}")
        for number, packed in enumerate(("folder", ".tar.gz", ".tgz", ".tar", ".zip"))
    ]
    bots = [one(path) for path in paths]
    assert len({bot.record.identity for bot in bots}) == 1
    assert agents_files(bots[0]) == {
        path: content.encode() if isinstance(content, str) else content for path, content in FILES.items()
    }
    assert [bot.label for bot in bots] == [f"kaggle:file={path.name}" for path in paths]
    assert one(paths[1], keep=False).record.identity == bots[0].record.identity
    (paths[0] / "data" / "book").write_bytes(b"\0another")
    assert one(paths[0]).record.identity != bots[0].record.identity


def test_a_file_is_the_main_py_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PLAIN)
    alone = one(tmp_path / "agent.py")
    packed = one(write_submission(Submission({"main.py": PLAIN}, ".zip"), tmp_path))
    assert alone.record.identity == packed.record.identity
    assert alone.options_at("/bot") == {"file": "/bot/agent/main.py"}
    assert alone.label == "kaggle:file=agent.py"


def test_litter_is_no_part_of_it(tmp_path: Path) -> None:
    """Archives from a Mac, and folders that were run, contain files that the author did not write."""
    litter = {
        "__pycache__/helper.cpython-311.pyc": b"x",
        "__MACOSX/._main.py": b"x",
        "._main.py": b"x",
        ".DS_Store": b"x",
    }
    clean = one(write_submission(Submission(FILES), tmp_path, "clean"))
    messy = one(write_submission(Submission({**FILES, **litter}, ".zip"), tmp_path, "messy"))
    assert clean.record.identity == messy.record.identity


def test_a_folder_without_a_slash_and_one_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_submission(Submission(FILES), tmp_path, "team7")
    monkeypatch.chdir(tmp_path)
    bots = [one(text) for text in ("team7", "team7/", "./team7", f"{tmp_path}/team7")]
    assert len({(bot.record.identity, bot.label, bot.spec) for bot in bots}) == 1
    assert bots[0].spec == f"kaggle:file={tmp_path}/team7"


def test_with_a_folder_of_its_own_the_agent_is_a_file_of_it(tmp_path: Path) -> None:
    folder = write_submission(Submission(FILES), tmp_path)
    bot = resolve([f"kaggle:folder={folder},file=main.py"], margin_ms=0)[0]
    assert bot.options_at("/bot") == {"file": "/bot/folder/main.py"}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"team/main.py": PLAIN, "team/helper.py": ""}, "it is in team; pack what is in that folder"),
        (
            {"agent.py": PLAIN, "helper.py": ""},
            "its modules are agent.py, helper.py; call",
        ),
        ({"README": "x"}, "it has no module at all"),
    ],
)
@pytest.mark.parametrize("packed", ["folder", ".tar.gz", ".zip"])
def test_no_main_py(packed: str, files: dict[str, str], words: str, tmp_path: Path) -> None:
    path = write_submission(Submission(files, packed), tmp_path)
    with pytest.raises(PluginError, match=re.escape(f"{path.name} has no main.py at its top: {words}")):
        one(path)


def test_what_is_not_there(tmp_path: Path) -> None:
    for text in (f"{tmp_path}/nothing", "nothing.tar.gz", '""', "x" * 3000, "a\0b"):
        with pytest.raises(OptionError, match=r"there is no file .*; write kaggle:file=AGENT\.py, a"):
            one(text)


@pytest.mark.parametrize("kind", ["path out of the folder", "symbolic link", "bomb", "no main.py"])
def test_nothing_is_left_of_a_refused_archive(kind: str, tmp_path: Path) -> None:
    write, words = HOSTILE[kind]
    with pytest.raises(PluginError, match=re.escape(words)):
        one(write(tmp_path))
    assert list(content_folder().rglob("*")) == []
    assert not list(tmp_path.rglob("outside.py"))


def test_nothing_of_the_work_is_left_behind(tmp_path: Path) -> None:
    bot = one(write_submission(ZOO["data at Kaggle's path"], tmp_path))
    names = {path.name for path in content_folder().iterdir()}
    assert names == {bot.content, f"{bot.content}.json", "entered"}
    assert prune(unused_s=0.0).num_contents == 1


def test_no_room_to_unpack(tmp_path: Path, home: Path) -> None:
    path = write_submission(Submission(FILES, ".zip"), tmp_path)
    home.mkdir()
    (home / "content").write_text("in the way")
    with pytest.raises(StoreError, match="the folder that bots start from; free some space"):
        one(path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def found_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("packed", [".tar", ".tar.gz", ".tgz", ".zip"])
def test_what_was_packed_comes_out(packed: str, tmp_path: Path, target: Path) -> None:
    submission = ZOO["data at Kaggle's path"]._replace(packed=packed)
    unpack(write_submission(submission, tmp_path), target)
    expected = {
        path: content if isinstance(content, bytes) else content.encode()
        for path, content in submission.files.items()
    }
    assert found_in(target) == expected


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_write_nothing(kind: str, tmp_path: Path, target: Path) -> None:
    write, words = HOSTILE[kind]
    path = write(tmp_path)
    if kind == "no main.py":
        return
    began = time.process_time()
    with pytest.raises(PluginError) as caught:
        unpack(path, target)
    assert words in str(caught.value)
    assert path.name in str(caught.value)
    assert list(target.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == sorted({path, target, *tmp_path.glob("hostile*")})
    assert time.process_time() - began < 3


def test_programs_stay_programs(tmp_path: Path, target: Path) -> None:
    """A folder keeps the modes of its files as well, which are part of the hash."""
    (tmp_path / "engine").write_bytes(b"x")
    (tmp_path / "engine").chmod(0o755)
    (tmp_path / "data").write_bytes(b"x")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "engine", "engine")
        tar.add(tmp_path / "data", "data")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.write(tmp_path / "engine", "engine")
        zipped.write(tmp_path / "data", "data")
    for name in ("a.tar", "a.zip"):
        folder = target / name
        folder.mkdir()
        unpack(tmp_path / name, folder)
        modes = {path.name: bool(path.stat().st_mode & stat.S_IXUSR) for path in folder.iterdir()}
        assert modes == {"engine": True, "data": False}


def test_an_archive_is_known_by_its_content(tmp_path: Path) -> None:
    for packed, kind in ((".tar", "tar"), (".tar.gz", "gzip"), (".zip", "zip")):
        path = write_submission(ZOO["folder with a helper"]._replace(packed=packed), tmp_path)
        assert archive_kind(path.rename(tmp_path / f"agent{kind}.py")) == kind
    (tmp_path / "agent.py").write_text(PLAIN)
    assert archive_kind(tmp_path / "agent.py") == ""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PluginError, match=r"pipe cannot be read \(it is a pipe, not a regular file\)"):
        archive_kind(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["empty.zip", "empty.tar"])
def test_an_empty_archive_has_nothing(name: str, tmp_path: Path, target: Path) -> None:
    if name.endswith("zip"):
        zipfile.ZipFile(tmp_path / name, "w").close()
    else:
        tarfile.open(tmp_path / name, "w").close()
    unpack(tmp_path / name, target)
    assert list(target.iterdir()) == []


def test_a_damaged_header_in_the_middle_is_noticed(tmp_path: Path, target: Path) -> None:
    """The standard library would end there without an error."""
    path = write_submission(ZOO["folder with a helper"]._replace(packed=".tar"), tmp_path)
    data = bytearray(path.read_bytes())
    data[data.index(b"./helper.py") + 150] ^= 1
    path.write_bytes(data)
    with pytest.raises(PluginError, match="a header is damaged"):
        unpack(path, target)


def test_files_with_holes_are_refused(tmp_path: Path, target: Path) -> None:
    member = tarfile.TarInfo("holes")
    member.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.realsize": "999999999999",
    }
    member.size = 512
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(member, io.BytesIO(b"1\n0\n1\n".ljust(512, b"\0")))
    with pytest.raises(PluginError, match="is a sparse file"):
        unpack(tmp_path / "a.tar", target)


def test_many_bytes_after_the_end_are_refused(tmp_path: Path, target: Path) -> None:
    path = write_submission(ZOO["folder with a helper"]._replace(packed=".tar"), tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(100 << 10))
    unpack(path, target)
    path.write_bytes(whole + bytes(2 << 20))
    with pytest.raises(PluginError, match="something follows"):
        unpack(path, target)


def test_a_large_file_is_read_in_pieces(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes do not count as those of a header, and the limit for all files applies to it."""
    content = os.urandom(400_005)
    (tmp_path / "data").write_bytes(content)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name in ("one", "two"):
            tar.add(tmp_path / "data", name)
    unpack(tmp_path / "a.tar.gz", target)
    assert found_in(target) == {"one": content, "two": content}
    monkeypatch.setattr(submissions, "BOUNDS", submissions.BOUNDS._replace(max_files=1))
    with pytest.raises(PluginError, match="more than 1 files"):
        unpack(tmp_path / "a.tar.gz", target)
