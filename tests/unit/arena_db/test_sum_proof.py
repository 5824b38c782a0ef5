"""The quick proof of kept sums accepts sound stores, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from arena_db import sum_faults, sum_proof
from arena_db.kept import clusters, encounters, strays
from arena_db.match_faults import MatchReading
from arena_db.models import tallies
from arena_db.store import Store
from arena_db.tallying import recount
from stores import add_cup, digest, editing, pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

OUTCOMES = ("first", "second", "draw", "first")


@pytest.fixture(scope="module")
def filled(module_place: str) -> str:
    """Return a store with pairs, lone matches, several courses of play of one opening, and a void match."""
    with Store.open(module_place, fast=True) as store:
        for name in ("5/move hosted", "5/move hosted", "blitz"):
            cup = add_cup(store, "a", "b", "c", num=30, pool=pool(name))
            store.matches.save(
                [cup.void(4), cup.match(5, rated=False)]
                + [
                    cup.match(number, outcome=OUTCOMES[number % 4], match_hash=digest(str(number % 5)))
                    for number in range(6, 26)
                    if number != 11
                ]
            )
        twins = add_cup(store, "a", "a/a_2", num=8, num_actions=300, game="gomoku")
        store.matches.save([twins.match(number, match_hash=digest(str(number))) for number in range(1, 8)])
        store.sums.sum_up()
        store.changes.void([8], reason="an engine helped", who="anna@lab")
    return module_place


@pytest.fixture
def connection(filled: str) -> Iterator[Connection]:
    """Yield a connection whose changes are rolled back."""
    with editing(filled) as made:
        yield made


def read(connection: Connection) -> MatchReading:
    """Return a reading of all matches."""
    reading = MatchReading()
    list(reading.find_faults(connection))
    return reading


def has_faults(connection: Connection) -> bool:
    """Return whether the slow comparison, which computes the sums again, finds faults."""
    return list(sum_faults.find_faults(connection, MatchReading())) != []


def edited(connection: Connection, statement: str) -> Iterator[None]:
    """Execute a statement, and undo it after the caller's loop body."""
    connection.exec_driver_sql("SAVEPOINT edit")
    assert connection.exec_driver_sql(statement).rowcount > 0
    yield
    connection.exec_driver_sql("ROLLBACK TO edit")


def test_a_sound_store_is_proved(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (clusters, strays, encounters):
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar_one() > 3  # noqa: S608
    counted = {tuple(row) for row in connection.execute(recount([]))}
    reading = read(connection)
    assert reading.tallies() == counted == {tuple(row) for row in connection.execute(tallies.select())}
    monkeypatch.setattr(sum_faults, "count", None)
    assert list(sum_faults.find_faults(connection, reading)) == []


@pytest.mark.parametrize("table", [clusters, strays, encounters], ids=str)
def test_every_edit_of_what_is_kept(connection: Connection, table: Table) -> None:
    reading = read(connection)
    key = [column.name for column in table.primary_key]
    rows = connection.exec_driver_sql(f"SELECT {', '.join(key)} FROM {table.name}").all()  # noqa: S608
    assert reading.proves_sums(connection)
    for row in rows:
        here = " AND ".join(f"{name} = {value}" for name, value in zip(key, row, strict=True))
        names = [column.name for column in table.c]
        changes = [f"UPDATE {table.name} SET {name} = {name} + 1" for name in names]  # noqa: S608
        if table is not encounters:
            changes.append(f"DELETE FROM {table.name}")  # noqa: S608
        for change in changes:
            try:
                for _ in edited(connection, f"{change} WHERE {here}"):
                    assert not reading.proves_sums(connection), (change, here)
            except IntegrityError:
                # The edit makes the key equal to that of another row.
                connection.exec_driver_sql("ROLLBACK TO edit")
    assert reading.proves_sums(connection)


TRICKS = [
    "INSERT INTO strays SELECT opening_hash, encounter_id, 0, first_moves_hash, 1 FROM clusters LIMIT 1",
    "DELETE FROM strays",
    "DELETE FROM clusters",
    "UPDATE clusters SET pair_half_points = pair_half_points + 1, num_pairs = num_pairs - 1",
    "UPDATE encounters SET first_wins = first_wins + 1, first_losses = first_losses - 1 WHERE id = 1",
    "UPDATE matches SET match_hash = record_hash WHERE id = 7",
    "UPDATE matches SET match_hash = (SELECT match_hash FROM matches WHERE id = 9) WHERE id = 10",
    "UPDATE matches SET outcome = 'second' WHERE id = 7",
    "UPDATE matches SET opening_hash = opening_hash + 1 WHERE id = 7",
    "UPDATE matches SET num_plies = num_plies + 1 WHERE id = 7",
    "UPDATE matches SET rated = 0 WHERE id = 7",
    "UPDATE matches SET is_final = 0 WHERE id = 7",
    "DELETE FROM voids",
    "INSERT INTO voids SELECT 9, change_id, NULL FROM voids",
    "UPDATE planned SET encounter = 77 WHERE tournament_id = 1 AND number = 7",
    "DELETE FROM planned WHERE tournament_id = 1 AND number = 7",
    "UPDATE summing SET next_match = next_match - 1",
    "UPDATE summing SET next_match = next_match + 1",
    "DELETE FROM summing",
]


@pytest.mark.parametrize("statement", TRICKS)
def test_damage_of_matches_and_sums(connection: Connection, statement: str) -> None:
    for _ in edited(connection, statement):
        assert not read(connection).proves_sums(connection)
        assert has_faults(connection)
    assert read(connection).proves_sums(connection)


def test_too_many_lone_matches_are_left_to_the_slow_comparison(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sum_proof, "_MOST_PENDING", 2)
    reading = read(connection)
    assert not reading.proves_sums(connection)
    assert list(sum_faults.find_faults(connection, reading)) == []


def test_openings_that_are_forgotten_are_computed_again(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sum_proof, "_MOST_OPENINGS", 1)
    assert read(connection).proves_sums(connection)


def test_a_reading_that_was_cut_short_proves_nothing(connection: Connection) -> None:
    for _ in edited(connection, "UPDATE matches SET reason = 'another' WHERE id = 2"):
        reading = MatchReading()
        next(reading.find_faults(connection))
        assert reading.tallies() is None
        assert not reading.proves_sums(connection)


NONE = (0, 0, 0, 0, 0)
COUNTS: list[tuple[tuple[int, ...], tuple[int, ...], int, list[tuple[int, int, int]], bool]] = [
    ((1, 2, 7, 1, 1), NONE, 1, [], True),
    ((1, 2, 7, 1, 1), (1, 0, 7, 1, 1), 2, [], True),
    ((3, 2, 7, 1, 2), NONE, 2, [(0, 8, 2)], True),
    ((3, 2, 7, 2, 2), (2, 0, 7, 1, 1), 4, [(0, 8, 1), (1, 8, 1)], True),
    (NONE, NONE, 0, [], False),
    ((1, 2, 7, 1, 1), NONE, 2, [], False),
    ((2, 2, 7, 1, 1), NONE, 1, [], False),
    ((2, 2, 7, 2, 1), NONE, 1, [], False),
    ((1, 2, 7, 1, 1), (0, 0, 7, 0, 0), 1, [], False),
    ((1, 2, 7, 1, 1), (0, 1, 0, 0, 0), 1, [], False),
    ((1, 2, 7, 1, 1), NONE, 2, [(1, 8, 0)], False),
    ((2, 2, 7, 1, 1), NONE, 2, [(0, 7, 1)], False),
    ((1, 2, 7, 1, 1), NONE, 1, [(0, 7, 1)], False),
    ((2, 2, 7, 1, 2), NONE, 2, [(0, 8, 1)], False),
    ((1, 2, 7, 2, 2), NONE, 2, [(0, 8, -1)], False),
]


@pytest.mark.parametrize(("one", "other", "different", "courses", "follows"), COUNTS)
def test_counts_of_a_cluster_follow_from_its_courses(
    one: tuple[int, ...],
    other: tuple[int, ...],
    different: int,
    courses: list[tuple[int, int, int]],
    *,
    follows: bool,
) -> None:
    assert sum_proof.follows(one, other, different, courses) == follows


def serve(
    monkeypatch: pytest.MonkeyPatch, of_clusters: list[tuple[int, ...]], of_strays: list[tuple[int, ...]]
) -> None:
    """Make the proof read the given rows."""

    def rows(_: Connection, table: Table) -> Iterator[tuple[int, ...]]:
        return iter(of_strays if table is strays else of_clusters)

    monkeypatch.setattr(sum_proof, "_rows", rows)


TWO = (2, 2, 7, 1, 1)
ROWS: list[tuple[list[tuple[int, ...]], list[tuple[int, ...]], bool]] = [
    ([(5, 1, *TWO, *NONE, 2, 0, 0)], [(5, 1, 0, 8, 1)], True),
    # A course of play without a cluster, or of a later cluster.
    ([(5, 1, *TWO, *NONE, 2, 0, 0)], [(5, 1, 0, 8, 1), (5, 2, 0, 8, 1)], False),
    ([(5, 1, *TWO, *NONE, 2, 0, 0)], [(4, 1, 0, 8, 1), (5, 1, 0, 8, 1)], False),
    # The same counts, once with another course of play and once without.
    ([(5, 1, *TWO, *NONE, 2, 0, 0), (6, 1, *TWO, *NONE, 2, 0, 0)], [(5, 1, 0, 8, 1)], False),
    # A cluster twice, and moves of a side that was not played.
    ([(5, 1, 1, 0, 7, 1, 1, *NONE, 1, 0, 0)] * 2, [], False),
    (
        [
            (5, 1, 1, 0, 7, 1, 1, *NONE, 1, 0, 0),
            (6, 1, 1, 0, 7, 1, 1, 0, 0, 9, 0, 0, 1, 0, 0),
        ],
        [],
        False,
    ),
]


@pytest.mark.parametrize(("of_clusters", "of_strays", "follows"), ROWS)
def test_rows_that_only_a_damaged_table_has(
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    of_clusters: list[tuple[int, ...]],
    of_strays: list[tuple[int, ...]],
    *,
    follows: bool,
) -> None:
    serve(monkeypatch, of_clusters, of_strays)
    proof = sum_proof.SumProof(connection)
    assert proof.read_clusters(connection, {1: 1, 2: 1}, {}) == follows


def test_a_course_of_play_that_stands_twice(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, [], [(5, 1, 0, 8, 1)] * 2)
    proof = sum_proof.SumProof(connection)
    with pytest.raises(ValueError, match="8"):
        proof.read_clusters(connection, {1: 1}, {})
