"""Archives of submissions: what is unpacked is what was packed; hostile ones leave nothing behind."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import time
import zipfile
from typing import TYPE_CHECKING

import pytest

from arena.content import unpacking
from arena.content.unpacking import archive_kind, unpack
from arena.errors import PluginError
from kaggle_zoo import HOSTILE, PLAIN, ZOO, write_submission

if TYPE_CHECKING:
    from pathlib import Path


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
    """So does a folder, of which the mode of a file is part of what is hashed."""
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
    """The standard library ends there without a word."""
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
    """Its bytes are not counted as those of a header, and the bound of all files holds for it."""
    content = os.urandom(400_005)
    (tmp_path / "data").write_bytes(content)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name in ("one", "two"):
            tar.add(tmp_path / "data", name)
    unpack(tmp_path / "a.tar.gz", target)
    assert found_in(target) == {"one": content, "two": content}
    monkeypatch.setattr(unpacking, "BOUNDS", unpacking.BOUNDS._replace(max_files=1))
    with pytest.raises(PluginError, match="more than 1 files"):
        unpack(tmp_path / "a.tar.gz", target)
