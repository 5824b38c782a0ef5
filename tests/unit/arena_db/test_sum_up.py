"""Sums are exact at every moment, even if a save leaves them for later: for each reader, after each end."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config

from arena_db import checking, migrate, resumming
from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine, open_raw, writing
from arena_db.errors import DamagedError
from arena_db.records import PlannedMatch
from arena_db.store import Store
from arena_db.sums import FIRST_PAIR, FIRST_SHARE, SUMS
from stores import (
    Cup,
    add_cup,
    bot,
    digest,
    entrants,
    locked,
    new_tournament,
    pool,
    rows,
    tamper,
)

if TYPE_CHECKING:
    from pathlib import Path

    from arena_db.backend.places import Place
    from arena_db.records import MatchRecord
    from arena_db.sums import EncounterSums

NUM = 48
KILLED = """
import os, sys
from arena_db import resumming
from arena_db.store import Store
from sqlalchemy import Connection
path, left = sys.argv[1], int(sys.argv[2])
resumming.BATCH = 10
store = Store.open(path, fast=True)
work = Connection.exec_driver_sql
def counted(self, statement, *arguments, **options):
    global left
    left -= statement.startswith(("INSERT", "UPDATE"))
    if left < 0:
        os.kill(os.getpid(), 9)
    return work(self, statement, *arguments, **options)
Connection.exec_driver_sql = counted
store.sums.sum_up()
os._exit(0)
"""


def records(cup: Cup, seed: int = 1) -> list[MatchRecord]:
    """Return matches of a whole plan in a random order, of few openings and few courses of play."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    found = [
        cup.match(
            planned.number,
            outcome=rng.choice(("first", "second", "draw")),
            actions=(opening, opening, 3, rng.randrange(2)),
            match_hash=digest(f"{opening} {rng.randrange(3)}"),
            rated=rng.random() < 0.9,
            num_opening=2,
        )
        for planned in cup.plan
        for opening in (rng.randrange(4),)
    ]
    rng.shuffle(found)
    return found


def sums(place: str | Place) -> list[list[tuple[object, ...]]]:
    """Return all sums as a user reads them who may not write."""
    with Store.open(place, read_only=True) as store:
        return sums_in(store)


def sums_in(store: Store) -> list[list[tuple[object, ...]]]:
    kept: list[list[EncounterSums]] = [store.sums.of_pools()]
    kept += [store.sums.of_tournament(record.id) for record in store.tournaments.newest()]
    return [sorted(map(tuple, some)) for some in kept]


class _TakenBack(Exception):  # noqa: N818 - not an error
    """Ends a transaction that is to be rolled back."""


def from_scratch(place: str | Place) -> list[list[tuple[object, ...]]]:
    """Return the sums as they are when all are computed from scratch; nothing is stored."""
    found: list[list[tuple[object, ...]]] = []
    with Store.open(place, fast=True) as store, suppress(_TakenBack), store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - to take it back
        checking.repair(connection)
        assert resumming.first_unsummed(connection) == 1 + resumming.last_match(connection)
        store._access._asking.moment = connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
        found += sums_in(store)
        raise _TakenBack
    return found


def mark(place: str | Place) -> int:
    ((found,),) = rows(place, "SELECT next_match FROM summing")
    return found


def test_readers_add_what_the_sums_lack(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumming, "BATCH", 11)
    one, two = add_cup(store, num=NUM), add_cup(store, "b", "c", "d", num=NUM)
    other = add_cup(store, "a", "b", num=NUM, pool=pool("blitz"))
    batches = [records(cup)[start : start + 6] for start in range(0, NUM, 6) for cup in (one, two, other)]
    for place, batch in enumerate(batches):
        store.matches.save(batch)
        if place in {5, 6, 17}:
            store.sums.sum_up()
        if place % 3 == 0:
            assert sums(store.place) == from_scratch(store.place)
    assert mark(store.place) == 1 + 18 * 6
    assert store.integrity.check() == []
    named = {(kept.game, kept.pool) for kept in store.sums.of_pools(pool="blitz")}
    assert named == {("connect-four", "blitz")}
    assert store.sums.of_pools("gomoku") == store.sums.of_tournament(99) == []
    before = sums(store.place)
    store.sums.sum_up()
    assert mark(store.place) == 1 + len(batches) * 6
    assert sums(store.place) == before
    assert store.integrity.check() == []


def test_pairs_are_two_matches_with_sides_swapped(store: Store) -> None:
    """The stored sums equal a count by hand, match by match of the plan."""
    seats = entrants("a", "b")
    # In the last pair the sides are not swapped.
    sides = [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1), (0, 1)]
    matches = [
        PlannedMatch(number=1 + no, encounter=0, match_no=no, first=first, second=second, opening=(3, 2))
        for no, (first, second) in enumerate(sides)
    ]
    record = store.tournaments.add(new_tournament(), seats, matches)
    cup = Cup(record, seats, matches)
    outcomes = ("first", "first", "draw", "second", "second", "first")
    store.matches.save([cup.match(no, outcome=outcome) for no, outcome in enumerate(outcomes, 1)])
    # Half points of a: 2 + 0, 1 + 2, and 0 and 2 as first player without a counterpart.
    points = {f"pairs_{half}": int(half in {2, 3}) for half in range(5)}
    single = {"single_first_losses": 1, "single_first_wins": 1}
    results = {"first_losses": 1, "first_draws": 1, "first_wins": 2, "second_losses": 1, "second_wins": 1}
    expected = {name: {**points, **single, **results}.get(name, 0) for name in SUMS[:FIRST_SHARE]}
    for _ in range(2):
        for (kept,) in (store.sums.of_tournament(record.id), _as_of_a(store)):
            assert dict(zip(SUMS[:FIRST_SHARE], kept.sums, strict=False)) == expected
        store.sums.sum_up()
    assert mark(store.place) == 1 + len(matches)


def _as_of_a(store: Store) -> list[EncounterSums]:
    found = store.sums.of_pools()
    assert [kept.low for kept in found] == [bot("a").identity]
    return found


def test_a_save_sums_nothing(store: Store) -> None:
    cup = add_cup(store, num=NUM)
    store.matches.save(records(cup))
    for table in ("encounters", "clusters", "strays"):
        assert rows(store.place, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - no input
    assert mark(store.place) == 1
    num = sum(sum(kept.sums[:FIRST_PAIR]) for kept in store.sums.of_tournament(1))
    assert num == sum(record.rated for record in records(cup))
    assert len(SUMS) == len(store.sums.of_tournament(1)[0].sums)


def test_one_batch_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumming, "BATCH", 7)
    store.matches.save(records(add_cup(store, num=NUM)))
    marks = [mark(store.place)]
    while marks[-1] <= NUM:
        store.sums.sum_up(batches=1)
        marks.append(mark(store.place))
        assert sums(store.place) == from_scratch(store.place)
    assert marks == [1, 8, 15, 22, 29, 36, 43, 49]


def test_a_store_that_saved_sums_up_as_it_closes(place: str) -> None:
    with Store.open(place, fast=True) as store:
        store.matches.save(records(add_cup(store, num=NUM)))
        with Store.open(place, fast=True) as other:
            other.tournaments.set_state(1, "stopped")
        assert mark(place) == 1, "another leaves it to who saved"
    assert mark(place) == 1 + NUM


@pytest.mark.parametrize("point", range(0, 28, 3))
def test_killed_as_it_sums_up(store: Store, place: str, point: int) -> None:
    one, two = add_cup(store, num=NUM), add_cup(store, "b", "c", "d", num=NUM)
    store.matches.save(records(one)[:15])
    store.sums.sum_up()
    store.matches.save(records(one)[15:] + records(two))
    right = from_scratch(store.place)
    killed = subprocess.run(  # noqa: S603 - Python
        [sys.executable, "-c", KILLED, place, str(point)], check=False, timeout=60
    )
    assert killed.returncode == -9
    assert sums(store.place) == right
    assert store.integrity.check() == []
    store.sums.sum_up()
    assert mark(store.place) == 1 + 2 * NUM
    assert sums(store.place) == right


def test_two_that_save_and_sum_up_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumming, "BATCH", 5)
    cups = [add_cup(store, "a", "b", "c", num=NUM) for _ in range(2)]

    def run(cup: Cup) -> None:
        with Store.open(store.place, fast=True) as own:
            found = records(cup)
            for start in range(0, NUM, 4):
                own.matches.save(found[start : start + 4])
                own.sums.sum_up(batches=1)

    threads = [Thread(target=run, args=(cup,)) for cup in cups]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counted = [sum(sum(kept.sums[:FIRST_PAIR]) for kept in store.sums.of_tournament(no)) for no in (1, 2)]
        both = sum(sum(kept.sums[:FIRST_PAIR]) for kept in store.sums.of_pools())
        assert both >= sum(counted), "read later"
    for thread in threads:
        thread.join()
    assert mark(store.place) == 1 + 2 * NUM
    assert sums(store.place) == from_scratch(store.place)
    assert store.integrity.check() == []


def test_a_lock_leaves_it_to_later(place: str) -> None:
    with Store.open(place, fast=True, busy_ms=50) as store:
        store.matches.save(records(add_cup(store, num=NUM)))
        right = sums(place)
        with locked(place):
            store.sums.sum_up()
            assert sums(place) == right
        assert mark(place) == 1
        store.sums.sum_up()
        assert mark(place) == 1 + NUM


def test_a_lost_mark_is_damage(store: Store) -> None:
    store.matches.save(records(add_cup(store, num=NUM)))
    right = sums(store.place)
    tamper(store.place, "DELETE FROM summing")
    with pytest.raises(DamagedError, match="`arena db repair` rebuilds"):
        store.sums.of_pools()
    store.integrity.repair()
    assert sums_in(store) == right


@pytest.mark.sqlite("revisions before 0015 exist only in files")
def test_an_older_version_counts_what_is_not_summed(store: Store, path: Path) -> None:
    found = [replace(record, rated=True) for record in records(add_cup(store, num=NUM))]
    store.matches.save(found[:-1])
    store.sums.sum_up()
    store.matches.save(found[-1:])
    right = sums(store.path)
    copy = path.with_name("older.db")
    store.backup(copy)
    _downgrade(copy)
    with closing(open_raw(FileSettings(place=copy))) as raw:
        # For revision 0006 this row means an unfinished upgrade, so it counts from there.
        assert raw.execute("SELECT next_match FROM summing").fetchall() == [(NUM,)]
    with Store.open(copy) as again:
        assert sums_in(again) == right
        assert again.integrity.check() == []
    _downgrade(copy)
    with closing(open_raw(FileSettings(place=copy))) as raw:
        assert raw.execute("SELECT next_match FROM summing").fetchall() == []
    shutil.move(copy, copy.with_name("moved.db"))
    assert sums_after_upgrade(copy.with_name("moved.db")) == right


def sums_after_upgrade(path: Path) -> list[list[tuple[object, ...]]]:
    with Store.open(path) as store:
        assert store.integrity.check() == []
        return sums_in(store)


def _downgrade(path: Path) -> None:
    settings = FileSettings(place=path)
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()))
    with writing(make_migration_engine(settings), settings) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0006")


def test_each_match_is_in_the_sums_at_once(store: Store) -> None:
    cup = add_cup(store, num=4)
    for number in range(1, 5):
        store.matches.save([cup.match(number)])
        assert sum(sum(kept.sums[:FIRST_PAIR]) for kept in store.sums.of_tournament(1)) == number
        if number % 2 == 0:
            store.sums.sum_up()


def test_a_repair_finds_nothing_wrong_where_all_matches_of_two_bots_are_void(store: Store) -> None:
    store.matches.save(records(add_cup(store, num=NUM)))
    store.sums.sum_up()
    store.changes.void(range(1, NUM + 1), reason="a power cut", who="me@here")
    assert store.integrity.check() == []
    told: list[str] = []
    store.integrity.repair(told.append)
    assert not [text for text in told if "wrong" in text]
    assert store.integrity.check() == []


def test_a_repair_does_not_call_sums_wrong_that_lag_behind_the_matches(store: Store) -> None:
    store.matches.save(records(add_cup(store, num=NUM)))
    told: list[str] = []
    store.integrity.repair(told.append)
    assert not [text for text in told if "sums" in text]
    assert store.integrity.check() == []


def test_a_repair_corrects_columns_too(store: Store) -> None:
    store.matches.save(records(add_cup(store, num=NUM)))
    right = sums(store.place)
    tamper(store.place, "UPDATE matches SET num_plies = 3, opening_hash = 5 WHERE id < 9")
    assert store.integrity.check() != []
    store.integrity.repair()
    assert store.integrity.check() == []
    assert sums(store.place) == right


def test_the_order_of_sums_does_not_follow_that_of_rows(store: Store, place: Place) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in range(1, 13)])
    store.sums.sum_up()
    before = store.sums.of_pools(), store.sums.of_tournament(cup.record.id)
    assert len(before[0]) == 3
    # A server moves a row that is changed behind all others, and a table that it knows to be small it reads
    # without an index.
    move = "UPDATE encounters SET low = low WHERE low = (SELECT min(low) FROM encounters)"
    tamper(place, move, "ANALYZE encounters")
    assert (store.sums.of_pools(), store.sums.of_tournament(cup.record.id)) == before
