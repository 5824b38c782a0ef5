"""A store on a network file system is refused before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_db.backend.sqlite import opening
from arena_db.backend.sqlite.opening import network_type
from arena_db.errors import UnsupportedError
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sqlite("where a file lies")


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that lists the mounted file systems; at first it contains only the root."""
    file = tmp_path / "mounts"
    file.write_text("/dev/sda / ext4 rw 0 0\n")
    monkeypatch.setattr(opening, "_MOUNTS", file)
    return file


def mount(mounts: Path, folder: Path, kind: str) -> None:
    point = str(folder).replace("\\", "\\134").replace(" ", "\\040")
    with mounts.open("a") as file:
        file.write(f"server:/export {point} {kind} rw,relatime 0 0\n")


def test_this_machine(tmp_path: Path) -> None:
    assert network_type(tmp_path / "arena.db") is None


def test_the_innermost_mount_counts(mounts: Path, tmp_path: Path) -> None:
    shared = tmp_path / "a b\\c"
    local = shared / "scratch"
    local.mkdir(parents=True)
    mount(mounts, shared, "nfs4")
    mount(mounts, local, "xfs")
    mount(mounts, tmp_path / "a", "cifs")
    assert network_type(shared / "arena.db") == "nfs4"
    assert network_type(local / "arena.db") is None
    mount(mounts, local, "fuse.sshfs")
    assert network_type(local / "arena.db") == "fuse.sshfs"
    (tmp_path / "link").symlink_to(shared)
    assert network_type(tmp_path / "link" / "arena.db") == "nfs4"


def test_nothing_is_known(mounts: Path, tmp_path: Path) -> None:
    mounts.write_text("")
    assert network_type(tmp_path) is None
    mounts.unlink()
    assert network_type(tmp_path) is None


def test_a_store_there_is_refused(store: Store, mounts: Path) -> None:
    add_cup(store)
    folder = store.path.parent
    mount(mounts, folder, "nfs")
    for open_it in (
        lambda: Store.open(store.place),
        lambda: Store.open(folder / "new.db"),
        lambda: Store.open(store.place, read_only=True),
    ):
        with pytest.raises(UnsupportedError, match=r"network file system \(nfs\).*ARENA_HOME"):
            open_it()
    assert not (folder / "new.db").exists()
    store.close()
    with Store.open(store.place, read_only=True) as copy:
        assert len(copy.tournaments.newest()) == 1, "nobody writes a store without a log"
