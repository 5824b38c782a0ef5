"""Transfers of contents to another machine: complete or not at all, and never sent twice."""

from __future__ import annotations

import hashlib
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.content import store
from arena.content.collect import Collection
from arena.content.store import Content, find_content, keep_content, make_room
from arena.errors import ArenaError, StoreError
from arena.executor.cluster import contents
from arena.executor.cluster.contents import INVENTORY, SpoiltError, fetch_content, read_piece
from arena.executor.cluster.pieces import PieceCache

if TYPE_CHECKING:
    from arena.content.manifest import Inventory

PIECE = 1000
SIZES = {"a/empty": 0, "b/two": 1700, "c": 600, "program": 4000}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "PIECE", PIECE)


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Content, dict[int, bytes]]:
    """Store a content on one machine and return its pieces; then switch to the home of another machine."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "one"))
    collection = Collection("a bot")
    collection.needs = {"numpy": "2.0"}
    for path, size in SIZES.items():
        file = tmp_path / "files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(hashlib.shake_256(path.encode()).digest(size))
        collection.files[path] = file
    (tmp_path / "files" / "program").chmod(0o755)
    content = keep_content(collection)
    num = -(-sum(SIZES.values()) // PIECE)
    pieces = {piece: read_piece(content.hash, piece) for piece in (INVENTORY, *range(num))}
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "two"))
    return content, pieces


def no_piece(piece: int) -> bytes:
    pytest.fail(f"piece {piece} was asked for")


def never() -> None:
    pytest.fail("nothing was spoilt")


def test_pieces_are_the_files_one_after_the_other(sent: tuple[Content, dict[int, bytes]]) -> None:
    _, pieces = sent
    whole = b"".join(hashlib.shake_256(path.encode()).digest(size) for path, size in SIZES.items())
    assert b"".join(pieces[number] for number in range(len(pieces) - 1)) == whole
    assert {len(data) for number, data in pieces.items() if 0 <= number < len(pieces) - 2} == {PIECE}


def test_a_content_arrives_as_it_was(sent: tuple[Content, dict[int, bytes]]) -> None:
    content, pieces = sent
    kept = fetch_content(content.hash, pieces.__getitem__, spoilt=never)
    assert kept.hash == content.hash
    assert kept.inventory == content.inventory
    assert kept.folder != content.folder
    assert os.access(f"{kept.folder}/program", os.X_OK)
    assert not os.access(f"{kept.folder}/c", os.X_OK)
    assert fetch_content(content.hash, no_piece, spoilt=never) == kept, "it is not asked for again"
    assert not list(store.content_folder().glob(".part-*"))


def test_a_transfer_goes_on_where_it_broke_off(sent: tuple[Content, dict[int, bytes]]) -> None:
    content, pieces = sent
    num = len(pieces) - 1
    for broken in range(num):
        asked: list[int] = []

        def ask(piece: int, asked: list[int] = asked, broken: int = broken) -> bytes:
            asked.append(piece)
            if piece == broken:
                raise ArenaError("the connection is gone")
            return pieces[piece]

        with pytest.raises(ArenaError, match="the connection is gone"):
            fetch_content(content.hash, ask, spoilt=never)
        assert asked == [INVENTORY, *({broken - 1, broken} - {-1})][: 2 + bool(broken)]
        assert find_content(content.hash) is None
    asked = []

    def ask_on(piece: int) -> bytes:
        asked.append(piece)
        return pieces[piece]

    assert fetch_content(content.hash, ask_on, spoilt=never).inventory == content.inventory
    assert asked == [INVENTORY, num - 1]


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def damaged(how: str, data: bytes) -> bytes:
    """Return a piece as damaged by a disk or a connection."""
    if how == "a flipped bit":
        return flipped(data)
    if how == "another name":
        return data.replace(b'"c"', b'"d"')
    return data[:-1] if how == "a byte less" else data + b"x"


@pytest.mark.parametrize(
    ("where", "how"),
    [
        (3, "a flipped bit"),
        (3, "a byte less"),
        (6, "a byte more"),
        (INVENTORY, "a flipped bit"),
        (INVENTORY, "another name"),
    ],
)
def test_what_was_damaged_is_asked_for_once_more_and_never_kept(
    sent: tuple[Content, dict[int, bytes]], where: int, how: str
) -> None:
    content, pieces = sent
    spoilt: list[str] = []

    def ask(piece: int) -> bytes:
        return damaged(how, pieces[piece]) if piece == where else pieces[piece]

    with pytest.raises(SpoiltError):
        fetch_content(content.hash, ask, spoilt=lambda: spoilt.append("x"))
    assert spoilt == ["x"]
    assert not [path for path in store.content_folder().iterdir() if path.is_dir()], "nothing is kept of it"

    def ask_again(piece: int) -> bytes:
        return pieces[piece] if len(spoilt) > 1 else ask(piece)

    assert fetch_content(content.hash, ask_again, spoilt=lambda: spoilt.append("x")).hash == content.hash


def odd_piece(inventory: Inventory, piece: int) -> bytes:
    """Return a piece of a content whose only file has an invalid path."""
    return (
        msgspec.json.encode(inventory) if piece == INVENTORY else hashlib.shake_256(b"c").digest(SIZES["c"])
    )


def test_no_file_is_written_outside(sent: tuple[Content, dict[int, bytes]], tmp_path: Path) -> None:
    content, _ = sent
    for path in ("../out", f"{tmp_path}/out", "a/../../out", ""):
        entry = msgspec.structs.replace(content.inventory.files[2], path=path)
        inventory = msgspec.structs.replace(content.inventory, files=(entry,))
        with pytest.raises(SpoiltError, match="the list of files"):
            fetch_content(inventory.tree_hash, partial(odd_piece, inventory), spoilt=lambda: None)
    assert not list(tmp_path.rglob("out"))


def test_a_content_beyond_the_quota_is_refused_in_words(sent: tuple[Content, dict[int, bytes]]) -> None:
    content, pieces = sent
    with pytest.raises(ArenaError, match="has 0 MiB, but this machine keeps 0 MiB"):
        fetch_content(content.hash, pieces.__getitem__, spoilt=never, quota=6299)
    assert fetch_content(content.hash, pieces.__getitem__, spoilt=never, quota=6300).hash == content.hash


def kept(tmp_path: Path, name: str, size: int, age_s: float) -> Content:
    file = tmp_path / name
    file.write_bytes(name.encode() * (size // len(name)))
    collection = Collection(name)
    collection.files["f"] = file
    content = keep_content(collection)
    at = time.time() - age_s
    os.utime(f"{content.folder}.json", (at, at))
    return content


def test_room_is_made_by_what_was_not_used_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    old, older, fresh = (
        kept(tmp_path, name, 1000, age_s) for name, age_s in (("ab", 80_000), ("cd", 90_000), ("ef", 0))
    )
    make_room(2000)
    assert [Path(each.folder).is_dir() for each in (older, old, fresh)] == [False, True, True]
    make_room(1000)
    assert [Path(each.folder).is_dir() for each in (old, fresh)] == [False, True]
    with pytest.raises(StoreError, match="are in use"):
        make_room(999)
    assert Path(fresh.folder).is_dir()


def test_a_hub_keeps_the_pieces_that_were_asked_for_last(tmp_path: Path) -> None:
    cache = PieceCache(tmp_path / "pieces", quota=30)
    one, two = "1" * 64, "2" * 64
    for content, piece in ((one, 0), (one, 1), (two, 0)):
        cache.write(content, piece, b"x" * 10)
    assert cache.read(one, 0) == b"x" * 10
    cache.write(two, 1, b"y" * 10)
    assert cache.read(one, 1) is None, "it was used longest ago"
    assert cache.read(one, 0) == b"x" * 10
    cache.write(two, 2, b"z" * 31)
    assert cache.read(two, 2) is None
    cache.forget(one)
    assert (cache.read(one, 0), cache.read(two, 1)) == (None, b"y" * 10)
    cache.write("../out", 0, b"x")
    assert cache.read("../out", 0) is None
    assert sum(path.stat().st_size for path in (tmp_path / "pieces").rglob("*") if path.is_file()) == 20
