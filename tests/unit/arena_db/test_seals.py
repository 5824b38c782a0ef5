"""Seals follow the plan as it grows, and are never renewed over damage."""

from __future__ import annotations

import json
import struct
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from arena_db import seals
from arena_db.errors import DamagedError, RefusedError
from arena_db.models import analyses, remarks
from arena_db.records import NewBatch, OpenPlan
from arena_db.store import Store
from stores import add_cup, entrants, new_tournament, plan, rows, tamper

if TYPE_CHECKING:
    from collections.abc import Callable


def test_seals_are_what_they_are_said_to_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published rule, implemented once more: stores of later versions have to follow it."""
    monkeypatch.setattr(seals, "LINK", 5)
    cup = add_cup(store)
    expected: dict[tuple[str, int], bytes] = {}
    before = b""
    for link in (cup.plan[:5], cup.plan[5:10], cup.plan[10:]):
        for match in link:
            place = (match.number, match.encounter, match.match_no, match.first, match.second)
            before += struct.pack("<qqqqqI", *place, 2) + bytes(match.opening)
        before = expected["plan", link[-1].number] = sha256(before).digest()
    row = json.dumps([[1, 1, 12, 0, 0, ""]]).encode()
    expected["batches", 1] = sha256(sha256(row).digest()).digest()
    found = stored_seals(store)
    assert {key: found[key] for key in expected} == expected
    assert found.keys() - expected.keys() == {("fields", 0), ("entrants", 0), ("changes", 0)}


def test_batches_are_chained_as_it_is_said(store: Store) -> None:
    """The published rule again: each seal of a batch includes the one before it."""
    record = store.tournaments.add(new_tournament(), entrants("a", "b", "c"), OpenPlan())
    matches, before = plan(3, 9), b""
    expected: dict[int, bytes] = {}
    for number, (start, stop) in enumerate(((0, 4), (4, 6), (6, 9)), 1):
        batch = NewBatch(matches=matches[start:stop], num_total=9, is_last=stop == 9, basis_match=start)
        store.plans.add_batch(record.id, batch)
        row = json.dumps([[number, start + 1, stop, start, 0, ""]]).encode()
        before = expected[number] = sha256(before + sha256(row).digest()).digest()
    found = stored_seals(store)
    assert {number: kept for (part, number), kept in found.items() if part == "batches"} == expected


def stored_seals(store: Store) -> dict[tuple[str, int], bytes]:
    found = rows(store.place, "SELECT part, number, content_hash FROM seals")
    return {(part, number): content_hash for part, number, content_hash in found}


def test_a_plan_that_grows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "LINK", 5)
    record = store.tournaments.add(new_tournament(), entrants("a", "b", "c"), OpenPlan())
    assert store.integrity.check() == []
    matches = plan(3, 36)
    for start, stop in ((0, 12), (12, 18), (18, 36)):
        batch = NewBatch(matches=matches[start:stop], num_total=36, is_last=stop == 36, basis_match=start)
        store.plans.add_batch(record.id, batch)
        assert store.integrity.check() == []
    tamper(store.place, "UPDATE planned SET opening = x'0303' WHERE number = 14")
    assert store.integrity.check() == ["matches 13 to 17 of rr-1 are not planned as they were stored"]
    tamper(store.place, "UPDATE batches SET basis_match = 11 WHERE number = 2")
    assert "batch 2 of the plan of rr-1 is not as it was stored" in store.integrity.check()


def test_a_run_looks_at_what_it_will_play(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "LINK", 4)
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in range(1, 6)])
    tamper(store.place, "UPDATE planned SET opening = x'0303' WHERE number = 3")
    store.integrity.check_run(cup.record.id)
    assert store.integrity.check() == ["matches 1 to 4 of rr-1 are not planned as they were stored"]
    tamper(store.place, "UPDATE planned SET opening = x'0303' WHERE number = 5")
    with pytest.raises(
        DamagedError, match="matches 5 to 8 of rr-1 are not planned as they were stored; nothing"
    ):
        store.integrity.check_run(cup.record.id)


def test_damage_is_not_sealed_over(store: Store) -> None:
    cup = add_cup(store)
    tamper(store.place, "UPDATE tournaments SET site = 'elsewhere'")
    for change in (
        lambda: store.plans.extend(cup.record.id, [], "rounds = 3"),
        lambda: store.plans.reopen(cup.record.id, None, "rounds = 3"),
        lambda: store.plans.close(cup.record.id, "a is stronger"),
    ):
        with pytest.raises(DamagedError, match="tournament rr-1 is not as it was stored"):
            change()
    with pytest.raises(RefusedError, match="no tournament with id 9"):
        store.plans.close(9)


def test_no_change_of_a_league_seals_damage_over(store: Store, new_place: Callable[..., str]) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2)])
    copied = new_place(copy_of=store)
    with Store.open(copied) as copy:
        copy.matches.save([cup.match(3)])
    store.changes.void([1], reason="it was helped", who="anna@lab")
    tamper(store.place, "UPDATE changes SET reason = 'it was not'")
    wrong = r"what was decided about tournament rr-1 is not as it was stored; `arena db check` shows more"
    with pytest.raises(DamagedError, match=wrong):
        store.changes.unvoid([1], reason="it was not", who="ben@lab")
    with pytest.raises(DamagedError, match=wrong):
        store.changes.leave(1, 0, reason="", who="ben@lab")
    with pytest.raises(DamagedError, match=wrong):
        store.transfers.merge(copied)
    assert [match.void_reason != "" for match in store.matches.of_tournament(1)] == [True, False]
    tamper(store.place, "UPDATE changes SET reason = 'it was helped'")
    tamper(store.place, "UPDATE entrants SET label = 'x' WHERE seat = 1")
    with pytest.raises(DamagedError, match="the bots of tournament rr-1 are not as they were entered"):
        store.changes.leave(1, 0, reason="", who="ben@lab")


def test_a_match_of_the_plan_that_nobody_planned(store: Store) -> None:
    add_cup(store)
    row = "SELECT tournament_id, 13, 7, 0, first_seat, second_seat, opening, state, attempt"
    tamper(
        store.place,
        f"INSERT INTO planned {row} FROM planned WHERE number = 1",
        "UPDATE tournaments SET num_planned = 13",
    )
    assert "match 13 of the plan of rr-1 has no seal" in store.integrity.check()


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("remarks", "the remarks of match #1 are not as they were stored"),
        ("analyses", "an analysis of match #1 is not as it was stored"),
    ],
)
def test_rows_of_older_versions_carry_weaker_hashes(store: Store, table: str, text: str) -> None:
    """A store of an earlier version has remarks hashed without their match, and grades without a hash."""
    from arena_db.judgements import JudgedMatch, JudgedPly
    from arena_db.records import Remark
    from arena_db.remark_codec import pack_remarks

    cup = add_cup(store)
    said = pack_remarks([None, None, Remark(depth=4), None])
    store.matches.save([cup.match(1, remarks=said), cup.match(2)])
    plies = (JudgedPly(value=0.5, loss=0.0, best=(3,)),) * 4
    store.analyses.add(JudgedMatch(match=1, name="solver", plies=plies, made_at=2.0))
    with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as an older version
        connection.execute(update(remarks).values(content_hash=sha256(said).digest()))
        content = connection.execute(select(analyses.c.content)).scalar_one()
        connection.execute(update(analyses).values(content=content[:-32]))
    assert store.integrity.check() == []
    assert store.analyses.of([1])[1][0].plies == plies
    (content,) = rows(store.place, f"SELECT content FROM {table}")[0]  # noqa: S608 - no input
    tamper(store.place, f"UPDATE {table} SET content = x'00{content[1:].hex()}'")  # noqa: S608 - no input
    assert any(text in fault or "cannot be read" in fault for fault in store.integrity.check())
