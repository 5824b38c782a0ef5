"""The check finds and reports every contradiction in a store."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from arena_db.errors import AlteredError, DamagedError
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.models import REVISION
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, blank_table, break_index, tamper

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = pytest.mark.sqlite("a server refuses it, or cannot be damaged so")

QUICK = [
    pytest.param(["PRAGMA application_id=0x1234"], "application id is 0x1234", marks=FILE),
    (["UPDATE alembic_version SET version_num = 'x'"], f"revision x, not {REVISION}"),
    (["UPDATE tournaments SET num_planned = 99"], "12 planned matches, not 99"),
    (["UPDATE tournaments SET num_done = 5"], "counts 5 planned matches as done, marks 3 and stores 3"),
    (["UPDATE planned SET state = 'planned'"], "marks 0"),
    (["DELETE FROM matches WHERE id = 1"], "counts 3 planned matches as done, marks 3 and stores 2"),
    (
        ["UPDATE tournaments SET state = 'finished'"],
        "tournament rr-1 is finished, with 9 matches to be played",
    ),
    pytest.param(
        ["UPDATE matches SET outcome = 'lost' WHERE id = 1"],
        "SQLite finds: CHECK constraint failed",
        marks=FILE,
    ),
]
EVENT = "INSERT INTO live_events VALUES ({}, 1, {}, {}, 0, 'info', '{}', {})"
WHOLE = [
    (["UPDATE entrants SET seat = 5 WHERE seat = 2"], "rr-1 has 3 entrants, the last of them in seat 5"),
    (["UPDATE planned SET number = 20 WHERE number = 12"], "12 planned matches, the last of them number 20"),
    (
        ["UPDATE planned SET first_seat = 2 WHERE number = 10"],
        "encounter 0 of tournament rr-1 is planned for",
    ),
    (
        ["UPDATE planned SET second_seat = 2 WHERE number = 10"],
        "encounter 0 of tournament rr-1 is planned for",
    ),
    (["UPDATE planned SET match_no = 9 WHERE number = 10"], "encounter 0 of tournament rr-1 has a gap"),
    (
        ["UPDATE planned SET attempt = 3 WHERE number = 5"],
        "after 0 void attempts, and marked as planned after 3",
    ),
    (
        ["UPDATE planned SET attempt = 0 WHERE number = 4"],
        "after 1 void attempts, and marked as planned after 0",
    ),
    (
        [
            "UPDATE planned SET state = 'planned' WHERE number = 1",
            "UPDATE planned SET state = 'done' WHERE number = 5",
        ],
        "match 1 of tournament rr-1 is done",
    ),
    (["UPDATE matches SET id = -3 WHERE id = 4"], "match #-3 has an id below 1"),
    (["DELETE FROM leases"], "tournament rr-1 has no lease"),
    (["UPDATE leases SET uuid = 'x', expires_at = 9e12"], "the lease of tournament rr-1 does not end for"),
    (["UPDATE leases SET expires_at = 5"], "has an end, and nobody holds it"),
    (["INSERT INTO commands VALUES (1, 1, 'stop', '', 1, NULL, NULL, 'no')"], "command 1 has an answer"),
    ([EVENT.format(1, "NULL", 0, "{", 1)], "event 1 has a payload"),
    ([EVENT.format(1, "NULL", 2, "", 1)], "event 1 has an attempt without a match"),
    ([EVENT.format(1, 1, 0, "", -1)], "event 1 has an attempt without a match, or a negative time"),
    ([EVENT.format(7, 1, 0, "", 1)], "event 7 has a number that is not assigned yet"),
    (
        ["INSERT INTO seals SELECT tournament_id, 'all', 0, content_hash FROM seals WHERE part = 'fields'"],
        "a seal of an unknown part, all",
    ),
    (["DELETE FROM seals WHERE part = 'fields'"], "tournament rr-1 is not as it was stored"),
    (["UPDATE matches SET reason = 'another' WHERE id = 2"], "match #2 is not as it was stored"),
    (["UPDATE matches SET limits = 'kernel' WHERE id = 2"], "match #2 is not as it was stored"),
    (["UPDATE matches SET idle_cpu_second_ms = 0 WHERE id = 2"], "match #2 is not as it was stored"),
    (["UPDATE matches SET limits = NULL WHERE id = 3"], "match #3 is not as it was stored"),
    (["UPDATE matches SET idle_cpu_first_ms = 0.5 WHERE id = 3"], "match #3 is not as it was stored"),
    (["UPDATE matches SET runtime_second = NULL WHERE id = 3"], "match #3 is not as it was stored"),
    (
        ["UPDATE matches SET runtime_first = runtime_second, runtime_second = NULL WHERE id = 3"],
        "match #3 is not as it was stored",
    ),
    (["UPDATE matches SET actions = x'03020301' WHERE id = 2"], "match #2 is not as it was stored"),
    (["UPDATE matches SET claims = times WHERE id = 2"], "match #2 is not as it was stored"),
    (["UPDATE matches SET first_bot = second_bot WHERE id = 3"], "match #3 is not as it was stored"),
    (["UPDATE tallies SET num_matches = 9"], "kept, but not counted"),
    (["DELETE FROM tallies"], "counted, but not kept"),
    pytest.param(["DELETE FROM bots WHERE id = 1"], "refers to a missing row of bots", marks=FILE),
    pytest.param(["DELETE FROM versions"], "refers to a missing row of versions", marks=FILE),
    (["UPDATE matches SET first_seat = 2 WHERE id = 1"], "match #1 is of other bots than planned"),
    (["UPDATE matches SET second_bot = 3 WHERE id = 1"], "match #1 is of other bots than planned"),
    (["UPDATE planned SET second_seat = 2 WHERE number = 1"], "match #1 is of other bots than planned"),
    (
        ["UPDATE encounters SET second_wins = 7 WHERE tournament_id = 0 AND low = 1 AND high = 2"],
        "a:playouts=100 and b:playouts=100 in pool connect-four, 5/move hosted are not",
    ),
    (
        ["DELETE FROM encounters WHERE tournament_id = 1 AND low = 0 AND high = 1"],
        "the kept sums of a and b in tournament rr-1 are not those of their matches",
    ),
    (["UPDATE clusters SET first_most = 5"], "the clusters of"),
    (["DELETE FROM clusters WHERE encounter_id = 1"], "the clusters of"),
    (["UPDATE matches SET num_plies = 3 WHERE id = 2"], "match #2 has a wrong stored number of plies"),
    (["UPDATE matches SET opening_hash = 3 WHERE id = 2"], "match #2 has a wrong stored number of plies"),
    (["UPDATE summing SET next_match = 3"], "the kept sums of a and c in tournament rr-1 are not those"),
    (["UPDATE summing SET next_match = 9"], "the mark of the kept sums is 9, and the last match is #4"),
    (["DELETE FROM summing"], "the mark of the kept sums is None"),
    (["UPDATE pools SET move_ms = 6000"], "the pool 5/move hosted of connect-four has the limit of 6/move"),
    (["UPDATE pools SET game = 'gomoku'"], "tournament rr-1 is in a pool of another game"),
]


SETTING: dict[str, object] = {
    "idle_cpu_first_ms": 0.4,
    "limits": "polled",
    "runtime_second": "python 3.11.2",
}


class NewPlace(Protocol):
    """Creates an empty store, or a copy of one, in a file or on a server; returns its place."""

    def __call__(self, copy_of: Store | None = None) -> str: ...


@pytest.fixture(scope="module")
def sound(module_place: str) -> Iterator[Store]:
    """Yield a sound store with matches, which no test changes."""
    with Store.open(module_place, fast=True, busy_ms=5000) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1), cup.match(2), cup.match(3, **SETTING), cup.void(4)])
        assert store.integrity.check() == store.integrity.check(quick=True) == []
        store.sums.sum_up()
        assert store.integrity.check() == store.integrity.check(quick=True) == []
        if isinstance(store.place, Path):
            # After a checkpoint the file contains everything, so it can be copied.
            tamper(store.place, "PRAGMA wal_checkpoint(TRUNCATE)")
        yield store


@pytest.fixture
def filled(sound: Store, new_place: NewPlace) -> Iterator[Store]:
    """Yield a copy of the sound store: filling a new one would cost more than all checks of a test."""
    if isinstance(sound.place, Path):
        # A backup would differ from the original store.
        place = new_place()
        shutil.copy(sound.place, place)
    else:
        place = new_place(copy_of=sound)
    with Store.open(place, fast=True, busy_ms=5000) as store:
        yield store


@pytest.mark.parametrize(("statements", "text"), QUICK)
def test_faults_that_a_quick_check_finds(filled: Store, statements: list[str], text: str) -> None:
    tamper(filled.place, *statements)
    faults = filled.integrity.check()
    assert any(text in fault for fault in faults), faults
    assert filled.integrity.check(quick=True)


@pytest.mark.parametrize(("statements", "text"), WHOLE)
def test_faults(filled: Store, statements: list[str], text: str) -> None:
    tamper(filled.place, *statements)
    faults = filled.integrity.check()
    assert any(text in fault for fault in faults), faults
    assert filled.integrity.check(quick=True) == []


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entrants WHERE seat = 0",
        "ALTER TABLE versions RENAME TO gone",
        "UPDATE matches SET times = x'09' WHERE id = 2",
        "UPDATE matches SET claims = x'09' WHERE id = 2",
        pytest.param("UPDATE tournaments SET event = CAST(x'ff' AS TEXT)", marks=FILE),
        pytest.param("UPDATE matches SET reason = CAST(x'ff' AS TEXT)", marks=FILE),
    ],
)
def test_a_reader_of_a_damaged_row(filled: Store, statement: str) -> None:
    tamper(filled.place, statement)
    with Store.open(filled.place, read_only=True) as store:
        with pytest.raises(DamagedError, match="`arena db check`"):
            read_all(store)
        assert store.integrity.check() != []


def read_all(store: Store) -> None:
    store.sums.tallies(MatchFilter())
    store.tournaments.newest()
    store.matches.newest(MatchFilter())


@FILE
def test_a_schema_that_is_no_text(filled: Store) -> None:
    tamper(
        filled.place,
        "PRAGMA writable_schema=1",
        "UPDATE sqlite_master SET sql = CAST(x'435245ff' AS TEXT) WHERE name = 'remarks'",
    )
    for read_only in (True, False):
        with pytest.raises((DamagedError, AlteredError)):
            Store.open(filled.place, read_only=read_only)


def test_a_match_that_billions_are_missing_before(filled: Store) -> None:
    """Readers step from match to match, and not from number to number."""
    tamper(
        filled.place,
        "UPDATE summing SET next_match = 1",
        "UPDATE matches SET id = 1152921504606846976 WHERE id = 3",
    )
    with Store.open(filled.place, read_only=True) as store:
        assert sum(sum(each.sums[:6]) for each in store.sums.of_tournament(1)) > 0
        assert store.integrity.check() != []


@FILE
def test_rules_of_tables_hold_for_readers_too(filled: Store) -> None:
    tamper(filled.place, "UPDATE matches SET outcome = 'lost', attempt = -1 WHERE id < 3")
    with Store.open(filled.place, read_only=True) as reader:
        faults = reader.integrity.check()
    assert "2 rows of matches break the rule ck_matches_outcome_known" in faults
    assert "2 rows of matches break the rule ck_matches_attempt_least" in faults
    assert not any("seed" in fault for fault in faults)


@pytest.mark.sqlite("pages of a file")
def test_a_broken_index(filled: Store) -> None:
    filled.close()
    break_index(filled.path)
    with Store.open(filled.place, read_only=True) as damaged:
        assert any("SQLite finds" in fault for fault in damaged.integrity.check())


@pytest.mark.sqlite("pages of a file")
def test_lost_grades_are_not_repaired_away(filled: Store) -> None:
    match = filled.matches.find(1)
    assert match is not None
    plies = tuple(JudgedPly(value=0.5, loss=0.0, best=(3,)) for _ in match.actions)
    filled.analyses.add(JudgedMatch(match=1, name="solver", plies=plies, made_at=1.0))
    filled.close()
    blank_table(filled.path, "analyses")
    with Store.open(filled.place) as opened:
        assert any("sqlite_autoindex_analyses_1" in fault for fault in opened.integrity.check())
        for _ in range(2):
            with pytest.raises(
                DamagedError, match=r"1 rows of analyses are lost, .* `arena db restore BACKUP`"
            ):
                opened.integrity.repair()
            assert any("sqlite_autoindex_analyses_1" in fault for fault in opened.integrity.check()), (
                "nothing was changed"
            )


@pytest.mark.sqlite("pages of a file")
@pytest.mark.parametrize("table", ["tallies", "encounters", "clusters"])
def test_lost_sums_are_computed_again(filled: Store, table: str) -> None:
    filled.close()
    blank_table(filled.path, table)
    with Store.open(filled.place) as opened:
        assert opened.integrity.check() != []
        opened.integrity.repair()
        assert opened.integrity.check() == []


def test_a_long_list_is_cut(store: Store) -> None:
    cup = add_cup(store, num=60)
    store.matches.save([cup.match(number, match_hash=f"{number:064x}") for number in range(1, 61)])
    tamper(store.place, "UPDATE tallies SET num_matches = 0", "UPDATE matches SET fault = 'x'")
    faults = store.integrity.check()
    assert len([fault for fault in faults if "as it was stored" in fault]) == 20
    assert faults.count("more of the same kind") == 1


@pytest.mark.parametrize("is_on", [True, False])
def test_a_check_leaves_the_collection_of_garbage_as_it_was(store: Store, *, is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    try:
        assert store.integrity.check() == []
        assert gc.isenabled() == is_on
    finally:
        gc.enable()
