"""Remarks of bots and grades of judges are stored with the matches."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_db import remark_codec
from arena_db.errors import DamagedError, LockedError, RefusedError
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter, Remark
from arena_db.remark_codec import pack_remarks, unpack_remarks
from arena_db.store import Store
from stores import add_cup, locked, tamper

if TYPE_CHECKING:
    from pathlib import Path

    from stores import Cup

SAID = (
    None,
    Remark(
        policy=((0, 0.25), (3, 0.75)), visits=((0, 10), (3, 30)), pv=(3, 2), nodes=40, depth=2, text="ha\n"
    ),
    Remark(nodes=0),
)
WHOLE = st.integers(0, 1 << 62)
REMARKS = st.builds(
    Remark,
    policy=st.none()
    | st.lists(st.tuples(WHOLE, st.integers(0, 99_999).map(lambda n: n / 100_000))).map(tuple),
    visits=st.none() | st.lists(st.tuples(WHOLE, WHOLE)).map(tuple),
    pv=st.none() | st.lists(WHOLE).map(tuple),
    nodes=st.none() | WHOLE,
    depth=st.none() | WHOLE,
    text=st.none() | st.text(min_size=1),
)


@pytest.fixture
def cup(store: Store) -> Cup:
    """Return a stored tournament of 12 planned matches."""
    return add_cup(store)


def said_in(cup: Cup, number: int) -> bytes:
    """Return remarks for the first actions of a match."""
    return pack_remarks([*SAID, *[None] * (len(cup.match(number).actions) - len(SAID))])


@given(st.lists(st.none() | REMARKS.filter(lambda remark: remark != Remark())))
def test_what_is_packed_comes_back(said: list[Remark | None]) -> None:
    assert unpack_remarks(pack_remarks(said)) == (tuple(said) if any(said) else ())


def test_nothing_said_is_nothing_stored(store: Store, cup: Cup) -> None:
    assert pack_remarks([None, None]) == pack_remarks([Remark()]) == b""
    store.matches.save([cup.match(1)])
    assert store.matches.remarks([1]) == {}


def test_remarks_are_stored_with_their_match(store: Store, cup: Cup) -> None:
    packed = said_in(cup, 2)
    assert store.matches.save([cup.match(1), replace(cup.match(2), remarks=packed)]) == 2
    assert store.matches.save([replace(cup.match(2), remarks=said_in(cup, 1))]) == 0
    found = store.matches.remarks([1, 2, 3])
    assert list(found) == [2]
    assert found[2][: len(SAID)] == SAID
    assert len(found[2]) == len(cup.match(2).actions)
    assert store.matches.newest(MatchFilter())[0].remarks == b"", "a list of matches reads none"
    assert store.integrity.check() == []


def test_each_attempt_has_its_own(store: Store, cup: Cup) -> None:
    store.matches.save([replace(cup.void(3), remarks=pack_remarks([Remark(nodes=1)]))])
    again = replace(cup.match(3), attempt=1, remarks=pack_remarks([Remark(nodes=2)]))
    store.matches.save([again])
    assert store.matches.remarks([1, 2]) == {1: (Remark(nodes=1),), 2: (Remark(nodes=2),)}


@pytest.mark.sqlite("results wait beside a locked file")
def test_remarks_wait_beside_a_locked_store(store: Store, cup: Cup) -> None:
    record = replace(cup.match(1), remarks=said_in(cup, 1))
    with locked(store.place), Store.open(store.place, busy_ms=20) as waiting:
        assert waiting.matches.save([record]) == 0
        with pytest.raises(LockedError):
            waiting.analyses.add(JudgedMatch(match=1, name="solver", plies=(), made_at=0.0))
    store.matches.save([])
    assert store.matches.remarks([1])[1][: len(SAID)] == SAID


@pytest.mark.sqlite("results wait beside a locked file")
def test_a_file_that_waits_may_be_of_a_version_without_remarks(store: Store, cup: Cup, path: Path) -> None:
    with locked(path):
        with Store.open(path, busy_ms=20) as waiting:
            waiting.matches.save([cup.match(1)])
        (file,) = path.with_name(path.name + "-spool").iterdir()
        fields = json.loads(file.read_text())
        del fields["remarks"]
        file.write_text(json.dumps(fields) + "\n")
    store.matches.save([])
    assert store.matches.remarks([1]) == {}
    assert len(store.matches.newest(MatchFilter())) == 1


@pytest.mark.parametrize(
    "packed",
    [
        b"noise",
        zlib.compress(b"[1"),
        zlib.compress(b"[1]"),
        zlib.compress(b"5"),
        zlib.compress(b'[{"p":[[1]]}]'),
        zlib.compress(b"[" * 10_000),
        zlib.compress(b"[null]")[:-3],
    ],
)
def test_remarks_that_cannot_be_read(packed: bytes) -> None:
    with pytest.raises(RefusedError, match="cannot be read"):
        unpack_remarks(packed)


def test_a_small_file_may_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remark_codec, "_MOST", 1000)
    with pytest.raises(RefusedError, match="more than 1000 bytes"):
        unpack_remarks(zlib.compress(b" " * 1001))


def test_damage_is_found(store: Store, cup: Cup) -> None:
    store.matches.save([replace(cup.match(number), remarks=said_in(cup, number)) for number in (1, 2)])
    tamper(store.place, "UPDATE remarks SET content = x'00' WHERE number = 2")
    tamper(store.place, "UPDATE remarks SET attempt = 7 WHERE number = 1")
    assert sorted(store.integrity.check()) == [
        "remarks of match 1 of tournament 1 belong to no stored match",
        "the remarks of match #2 are not as they were stored",
    ]
    with pytest.raises(DamagedError, match="match #2"):
        store.matches.remarks([2])


def judged(num: int, value: float | None = 1.0) -> tuple[JudgedPly, ...]:
    return tuple(JudgedPly(value=value, loss=None if ply else 2.0, best=(3, ply)) for ply in range(num))


def test_analyses_are_kept_by_judge(store: Store, cup: Cup) -> None:
    store.matches.save([cup.match(1), cup.match(2)])
    num = len(cup.match(1).actions)
    first = JudgedMatch(match=1, name="solver", plies=judged(num), made_at=5.0)
    other = JudgedMatch(match=1, name="minimax:depth=5", plies=judged(num, None), made_at=6.0)
    store.analyses.add(replace(first, plies=judged(num, 0.0)))
    store.analyses.add(first)
    store.analyses.add(other)
    assert store.analyses.of([1, 2]) == {1: (other, first)}
    assert store.analyses.of([2, 1], name="solver") == {1: (first,)}
    assert store.integrity.check() == []


def test_analyses_that_fit_no_match_are_refused(store: Store, cup: Cup) -> None:
    store.matches.save([cup.match(1)])
    with pytest.raises(RefusedError, match="no match #9"):
        store.analyses.add(JudgedMatch(match=9, name="solver", plies=(), made_at=0.0))
    with pytest.raises(RefusedError, match="but 1 are judged"):
        store.analyses.add(JudgedMatch(match=1, name="solver", plies=judged(1), made_at=0.0))
    plies = judged(len(cup.match(1).actions))
    with pytest.raises(RefusedError):
        store.analyses.add(JudgedMatch(match=1, name="x" * 300, plies=plies, made_at=0.0))
    assert store.analyses.of([1]) == {}


@pytest.mark.parametrize("content", [b"noise", zlib.compress(b"[[1]]"), zlib.compress(b'[[1,"x",[]]]')])
def test_a_damaged_analysis_is_found(store: Store, cup: Cup, content: bytes) -> None:
    store.matches.save([cup.match(1)])
    plies = judged(len(cup.match(1).actions))
    store.analyses.add(JudgedMatch(match=1, name="solver", plies=plies, made_at=0.0))
    tamper(store.place, f"UPDATE analyses SET content = x'{content.hex()}'")  # noqa: S608 # bytes of this test
    with pytest.raises(DamagedError, match="an analysis of match #1 cannot be read"):
        store.analyses.of([1])
    assert [fault.partition(":")[0] for fault in store.integrity.check()] == [
        "an analysis of match #1 cannot be read"
    ]
