"""Random trees of hostile shapes: removal never raises, leaves nothing, and touches nothing else."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from arena.removal import remove


class Node(NamedTuple):
    """An entry of a folder."""

    kind: str
    mode: int
    below: dict[bytes, Node]
    """Its entries, if it is a folder."""


def is_name(name: bytes) -> bool:
    return not {0, ord("/")} & set(name) and name not in {b".", b".."}


NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"twin", b"...", b"-rf", b"*", b"0123456789abcdef", b"n" * 255]),
    st.binary(min_size=1, max_size=20).filter(is_name),
)
MODES = st.sampled_from([0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o700, 0o777, 0o1777, 0o2755])
KINDS = st.sampled_from(["file", "fifo", "outward", "inner", "dangling", "hard"])


def leaf(kind: str, mode: int) -> Node:
    return Node(kind, mode, {})


def folder_of(mode: int, below: dict[bytes, Node]) -> Node:
    return Node("folder", mode, below)


def folders_of(things: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.builds(folder_of, MODES, st.dictionaries(NAMES, things, max_size=5))


TREES = folders_of(st.recursive(st.builds(leaf, KINDS, MODES), folders_of, max_leaves=15))


def make(node: Node, name: bytes, parent: int, outside: Path) -> None:
    kind, mode, below = node
    if kind == "folder":
        os.mkdir(name, dir_fd=parent)
        folder = os.open(name, os.O_RDONLY, dir_fd=parent)
        for child, what in below.items():
            make(what, child, folder, outside)
        os.fchmod(folder, mode)
        os.close(folder)
    elif kind == "file":
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode, dir_fd=parent))
    elif kind == "fifo":
        os.mkfifo(name, mode, dir_fd=parent)
    elif kind == "hard":
        os.link(outside / "inner" / "file", name, dst_dir_fd=parent)
    else:
        target = {"outward": outside, "inner": outside / "inner", "dangling": "nowhere"}
        os.symlink(target[kind], name, dir_fd=parent)


def snapshot(folder: Path) -> dict[str, object]:
    """Return kinds, modes and contents of all entries of a folder, without the numbers of links."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IFMT(path.lstat().st_mode),
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in (folder, *folder.rglob("*"))
    }


@settings(derandomize=True, max_examples=60, deadline=None)
@given(TREES)
def test_a_tree_goes_and_nothing_else_does(tree: Node) -> None:
    with tempfile.TemporaryDirectory() as base:
        outside, top = Path(base, "outside"), Path(base, "top")
        (outside / "inner").mkdir(parents=True)
        (outside / "inner" / "file").write_text("stays")
        (outside / "inner").chmod(0o500)
        outside.chmod(0o750)
        # A neighbouring folder with the same names, so that a removal in the wrong folder would be noticed.
        neighbour = Path(base, "neighbour")
        for name in ("a", "b", "twin"):
            (neighbour / name).mkdir(parents=True)
            (neighbour / name / "a").touch()
        parent = os.open(base, os.O_RDONLY)
        make(tree, b"top", parent, outside)
        os.close(parent)
        before = snapshot(outside), snapshot(neighbour)

        remove(top, seconds=600)

        assert not os.path.lexists(top)
        assert (snapshot(outside), snapshot(neighbour)) == before
        assert sorted(os.listdir(base)) == ["neighbour", "outside"]  # noqa: PTH208 - names
        (outside / "inner").chmod(0o700)
