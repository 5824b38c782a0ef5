"""Collections, their copies, and the folders in which contents are kept."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.content import collect, manifest
from arena.content.collect import Collection
from arena.content.manifest import MTIME_S, hash_collection, hashing_once
from arena.content.store import (
    content_folder,
    find_content,
    hash_content,
    keep_content,
    prune,
    read_entered,
    state_of,
    write_entered,
)
from arena.errors import PluginError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = {"main.py": b"print(1)\n", "deep/er/data.bin": bytes(range(256)) * 9, "empty": b""}


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tree(folder: Path) -> Collection:
    collection = Collection("my-bot")
    collection.add_tree("", folder)
    return collection


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_content_is_a_read_only_copy(tmp_path: Path) -> None:
    source = write(tmp_path / "bot", FILES)
    (source / "main.py").chmod(0o700)
    content = keep_content(tree(source))
    folder = Path(content.folder)
    assert folder == content_folder() / content.hash
    assert read(folder) == FILES
    modes = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    assert modes == {
        "main.py": 0o555,
        "empty": 0o444,
        "deep": 0o555,
        "deep/er": 0o555,
        "deep/er/data.bin": 0o444,
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o555
    assert {path.stat().st_mtime for path in [folder, *folder.rglob("*")]} == {MTIME_S}
    assert content.hash == hash_content(tree(source)).hash == hash_collection(tree(folder)).tree_hash


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c/d", "c/e"]), st.binary(max_size=3), min_size=1), st.data()
)
@settings(
    derandomize=True,
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_change_of_a_source_is_another_content(
    tmp_path: Path, files: dict[str, bytes], data: st.DataObject
) -> None:
    source = write(Path(os.path.realpath(tmp_path / "bots")) / os.urandom(8).hex(), files)
    before = keep_content(tree(source)).hash
    path = source / data.draw(st.sampled_from(sorted(files)))
    change = data.draw(st.sampled_from(["byte", "name", "mode", "gone", "new"]))
    if change == "byte":
        path.write_bytes(path.read_bytes() + b"x")
    elif change == "name":
        path.rename(path.with_name("other"))
    elif change == "mode":
        path.chmod(0o755)
    elif change == "gone":
        path.unlink()
    else:
        path.with_name("new").touch()
    assert hash_content(tree(source)).hash != before != keep_content(tree(source)).hash
    assert read(content_folder() / before) == files


def test_the_same_content_is_kept_once(tmp_path: Path) -> None:
    one = keep_content(tree(write(tmp_path / "one", FILES)))
    inode = Path(one.folder, "main.py").stat().st_ino
    other = keep_content(tree(write(tmp_path / "other", FILES)))
    assert (other.folder, other.state) == (one.folder, one.state)
    assert Path(other.folder, "main.py").stat().st_ino == inode
    assert not list(content_folder().glob(".work-*"))


def test_what_tools_write_is_no_content(tmp_path: Path) -> None:
    names = (".git/HEAD", "__pycache__/main.pyc", "env/pyvenv.cfg", "env/lib/x.py")
    tools = dict.fromkeys(names, b"x")
    source = write(tmp_path / "bot", {**FILES, **tools, "main.pyc": b"x", "alone.pyc": b"y"})
    assert read(Path(keep_content(tree(source)).folder)) == {**FILES, "alone.pyc": b"y"}


def test_links_that_stay_inside_are_what_they_name(tmp_path: Path) -> None:
    source = write(tmp_path / "bot", FILES)
    (source / "link").symlink_to("main.py")
    (source / "folder").symlink_to(source / "deep")
    copied = read(Path(keep_content(tree(source)).folder))
    assert copied == {**FILES, "link": FILES["main.py"], "folder/er/data.bin": FILES["deep/er/data.bin"]}


@pytest.mark.parametrize("kind", ["link", "broken", "pipe", "loop", "unreadable", "not utf-8"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    source = write(tmp_path / "bot", FILES)
    write(tmp_path, {"secret": b"x"})
    message = {
        "link": f"my-bot: {source}/odd is a link that leads out of {source}, to {tmp_path}/secret",
        "broken": f"my-bot: {source}/none cannot be read .No such file or directory., so its identity",
        "pipe": f"my-bot: {source}/odd is neither a file nor a folder; leave it out",
        "loop": "my-bot has folders more than 32 deep, as odd/odd/odd",
        "unreadable": "my-bot: .* cannot be read .Not a directory., so its identity is unknown",
        "not utf-8": "the name .* is not UTF-8; rename the file",
    }[kind]
    if kind == "link":
        (source / "odd").symlink_to(tmp_path / "secret")
    elif kind == "broken":
        (source / "odd").symlink_to("none")
    elif kind == "pipe":
        os.mkfifo(source / "odd")
    elif kind == "loop":
        (source / "odd").symlink_to(".")
    elif kind == "not utf-8":
        Path(os.fsdecode(os.fsencode(source) + b"/\xff")).touch()
    else:
        source = source / "main.py"
    with pytest.raises(PluginError, match=message):
        keep_content(tree(source))
    assert not content_folder().exists()


def test_the_bounds_name_the_largest_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "bot", {**FILES, **{f"many/{i}/x": b"" for i in range(9)}})
    monkeypatch.setattr(collect, "MAX_FILES", 20)
    with pytest.raises(PluginError, match=r"my-bot has more than 20 files and folders, \d+ of them in many/"):
        tree(source)
    monkeypatch.setattr(collect, "MAX_FILES", 99)
    monkeypatch.setattr(collect, "MAX_BYTES", 2000)
    with pytest.raises(PluginError, match=r"GiB of it in deep/er; name a smaller folder"):
        tree(source)


def test_a_file_that_grows_while_it_is_read_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = tree(write(tmp_path / "bot", FILES))
    monkeypatch.setattr(manifest, "MAX_BYTES", 2000)
    with pytest.raises(PluginError, match="grew past"):
        hash_collection(collection)
    with pytest.raises(PluginError, match="grew past"):
        manifest.copy_collection(collection, tmp_path)


def test_a_source_that_became_something_else_is_refused(tmp_path: Path) -> None:
    collection = tree(write(tmp_path / "bot", FILES))
    (tmp_path / "bot" / "main.py").unlink()
    os.mkfifo(tmp_path / "bot" / "main.py")
    with pytest.raises(PluginError, match="no longer a regular file"):
        keep_content(collection)
    (tmp_path / "bot" / "main.py").unlink()
    (tmp_path / "bot" / "main.py").symlink_to("empty")
    with pytest.raises(PluginError, match="cannot be read"):
        keep_content(collection)


def test_the_hash_is_that_of_the_bytes_that_were_written(tmp_path: Path) -> None:
    """If a source changes between hashing and copying, the kept copy still matches its hash."""
    source = write(tmp_path / "bot", FILES)
    before = hash_content(tree(source)).hash

    def edit(collection: Collection) -> object:
        inventory = hash_collection(collection)
        (source / "main.py").write_bytes(b"edited")
        return inventory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena.content.store.hash_collection", edit)
        content = keep_content(tree(source))
    assert content.hash != before
    assert read(Path(content.folder))["main.py"] == b"edited"
    assert hash_collection(tree(Path(content.folder))).tree_hash == content.hash


def test_bots_that_are_entered_together_have_their_files_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "bot", FILES)
    opened: list[str] = []
    really = os.open

    def note(path: Path, flags: int, *more: int) -> int:
        opened.append(Path(path).name)
        return really(path, flags, *more)

    monkeypatch.setattr("arena.content.manifest.os.open", note)
    names = sorted(Path(file).name for file in FILES)
    with hashing_once():
        before = hash_collection(tree(source))
        assert hash_collection(tree(source)) == before
        assert sorted(opened) == names
    assert hash_collection(tree(source)) == before
    assert sorted(opened) == sorted(2 * names)


def test_a_file_that_is_edited_meanwhile_is_read_again(tmp_path: Path) -> None:
    """As large as before, and with the old modification time."""
    source = write(tmp_path / "bot", FILES)
    main = source / "main.py"
    with hashing_once():
        before = hash_collection(tree(source)).tree_hash
        found = main.stat()
        # The system notes the times of changes in steps of some milliseconds.
        time.sleep(0.05)
        main.write_bytes(b"PRINT(1)\n")
        os.utime(main, ns=(found.st_atime_ns, found.st_mtime_ns))
        edited = hash_collection(tree(source)).tree_hash
    assert edited == hash_collection(tree(source)).tree_hash != before


def test_a_file_that_no_longer_fits_is_refused_although_it_was_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = tree(write(tmp_path / "bot", FILES))
    with hashing_once():
        hash_collection(collection)
        monkeypatch.setattr(manifest, "MAX_BYTES", 9)
        with pytest.raises(PluginError, match="leave it out"):
            hash_collection(collection)


@pytest.mark.parametrize("change", ["byte", "mode", "new", "gone", "link"])
def test_a_kept_content_that_was_changed_is_replaced(tmp_path: Path, change: str) -> None:
    source = write(tmp_path / "bot", FILES)
    content = keep_content(tree(source))
    folder = Path(content.folder)
    folder.chmod(0o755)
    main = folder / "main.py"
    if change == "byte":
        main.chmod(0o644)
        main.write_bytes(b"PRINT(1)\n")
        main.chmod(0o444)
        os.utime(main, (MTIME_S, MTIME_S))
    elif change == "mode":
        main.chmod(0o555)
    elif change == "new":
        (folder / "numpy.py").touch()
    elif change == "gone":
        main.unlink()
    else:
        (folder / "numpy").symlink_to(tmp_path)
    assert state_of(content.folder) != content.state
    assert find_content(content.hash) is None
    again = keep_content(tree(source))
    assert again.hash == content.hash
    assert read(Path(again.folder)) == FILES
    assert not (folder / "numpy").exists()
    assert find_content(content.hash) == again


def test_a_moved_content_is_known_by_its_bytes(tmp_path: Path) -> None:
    content = keep_content(tree(write(tmp_path / "bot", FILES)))
    main = Path(content.folder, "main.py")
    main.parent.chmod(0o755)
    main.rename(tmp_path / "aside")
    write(main.parent, {"main.py": FILES["main.py"]})
    main.chmod(0o444)
    found = find_content(content.hash)
    assert found is not None
    assert found.state == state_of(content.folder) != content.state


def test_many_writers_of_one_content(tmp_path: Path) -> None:
    source = write(tmp_path / "bot", FILES)
    found: list[str] = []
    writers = [
        threading.Thread(target=lambda: found.append(keep_content(tree(source)).folder)) for _ in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert read(Path(found[0])) == FILES
    assert not list(content_folder().glob(".work-*"))


def test_a_home_that_cannot_be_written(tmp_path: Path, home: Path) -> None:
    home.write_text("a file")
    with pytest.raises(
        StoreError, match=r"cannot write .*content .*the folder that bots start from; free some space"
    ):
        keep_content(tree(write(tmp_path / "bot", FILES)))


def test_what_nobody_used_for_a_month_is_pruned(tmp_path: Path) -> None:
    old, needed, new = (
        keep_content(tree(write(tmp_path / name, {**FILES, name: b""}))) for name in ("old", "needed", "new")
    )
    write_entered("1" * 64, f'{{"content":"{old.hash}"}}'.encode())
    write_entered("2" * 64, f'{{"content":"{new.hash}"}}'.encode())
    write_entered("3" * 64, b"damaged")
    month = time.time() - 31 * 86_400
    for content in (old, needed):
        os.utime(content_folder() / f"{content.hash}.json", (month, month))
    stale = content_folder() / ".work-stale"
    (stale / "x").mkdir(parents=True)
    os.utime(stale, (month, month))
    being_written = content_folder() / ".work-fresh"
    being_written.mkdir()
    assert prune({needed.hash}) == (1, sum(map(len, FILES.values())))
    being_written.rmdir()
    assert find_content(old.hash) is None
    assert find_content(needed.hash) is not None
    assert find_content(new.hash) is not None
    assert (read_entered("1" * 64), read_entered("3" * 64)) == (None, None)
    assert read_entered("2" * 64) is not None
    assert {path.name.partition(".")[0] for path in content_folder().iterdir()} == {
        "entered",
        needed.hash,
        new.hash,
    }
    assert prune() == (0, 0)
