"""Matches in files are read as before, and brought back unchanged."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config

from arena.results.condition import read_condition
from arena.results.leaderboards import rate
from arena_db import migrate
from arena_db.backend.choice import backend_of
from arena_db.backend.places import find_place
from arena_db.backend.settings import StoreSettings
from arena_db.cold import parquet
from arena_db.errors import DamagedError, OlderError, RefusedError, UnsupportedError
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.owner import current_owner
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_db.sums import SUMS
from cold_cups import ALL, KINDS, WHO, cup_of, rows, seen, tables
from stores import add_cup, plan, pool, tamper

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.sqlite("the store is a file that others merge or open")
@pytest.mark.parametrize("kind", KINDS)
def test_cold_is_as_warm(store: Store, path: Path, kind: str) -> None:
    cup = cup_of(store, kind)
    other = add_cup(store, "a", "b")
    store.matches.save([other.match(1), other.match(2)])
    store.sums.sum_up()
    before, table, kept = seen(store, cup), tables(store, cup), rows(store)
    found = store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
    assert found is not None
    assert found.num_matches == len(before["matches"])
    assert seen(store, cup) == before
    assert tables(store, cup) == table
    assert store.integrity.check() == []
    # Lists over all tournaments contain only matches in tables, and their count is that of the list.
    assert [match.tournament for match in store.matches.newest(ALL)] == [other.record.id] * 2
    assert store.matches.count(ALL) == 2
    with Store.open(path, read_only=True) as viewer, viewer.at_one_moment():
        assert seen(viewer, cup) == before
    assert store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO) is None
    assert store.cold.thaw(cup.record.id, who=WHO) is not None
    assert store.cold.thaw(cup.record.id, who=WHO) is None
    assert rows(store) == kept
    assert (seen(store, cup), tables(store, cup), store.integrity.check()) == (before, table, [])


def test_tables_that_are_read_match_by_match_include_cold_matches(
    store: Store, place: str, tmp_path: Path
) -> None:
    first = cup_of(store, "round-robin")
    other = add_cup(store, "a", "d", "b", pool=pool("1/move hosted"))
    store.matches.save([other.match(number) for number in range(1, 9)])
    last = cup_of(store, "match")
    conditions = ("pool:all", "game:connect-*", "bot:a", "tournament:*")

    def told() -> list[object]:
        boards = [
            rate(store, read_condition(text), refit="bot" in text, num_samples=5) for text in conditions
        ]
        wheres = (MatchFilter(), MatchFilter(bot="c"), MatchFilter(pool="5*"), MatchFilter(tournament="rr-*"))
        return [
            *boards,
            *(store.matches.played(where, after=after) for where in wheres for after in (0, 3, 12)),
        ]

    before = told()
    late = MatchFilter(since=0.0)
    num = len(store.matches.played(late))
    for cup in (first, last):
        store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    assert told() == before
    # The kept counts cannot answer this filter, so counts and matches exclude those in files.
    assert len(store.matches.played(late)) == sum(each.num_matches for each in store.sums.tallies(late)) < num
    # Only files with new counted matches are loaded.
    newest = max(match.id for match in store.matches.played(MatchFilter()))
    shutil.rmtree(tmp_path / "cold")
    with Store.open(place, read_only=True) as viewer:
        assert viewer.matches.played(MatchFilter(bot="d"))
        assert viewer.matches.played(MatchFilter(), after=newest) == []
        with pytest.raises(DamagedError):
            viewer.matches.played(MatchFilter(), after=newest - 1)


def test_a_store_on_a_server(url: str, tmp_path: Path) -> None:
    with Store.open(url, fast=True) as store:
        cup = cup_of(store, "round-robin")
        before, table = seen(store, cup), tables(store, cup)
        assert store.cold.freeze(cup.record.id, tmp_path, who=WHO) is not None
        assert (seen(store, cup), tables(store, cup), store.integrity.check()) == (before, table, [])
        with Store.open(url, read_only=True) as viewer:
            assert seen(viewer, cup) == before
        assert store.cold.thaw(cup.record.id, who=WHO) is not None
        assert (seen(store, cup), store.integrity.check()) == (before, [])


def test_a_store_on_a_server_is_upgraded(url: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()))
    with Store.open(url, fast=True) as store:
        cup = cup_of(store, "swiss")
        before = tables(store, cup)
        settings = StoreSettings(place=find_place(url))
        with closing(backend_of(settings)) as made, made.writing(settings, alone=True) as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "0015")
    with pytest.raises(OlderError):
        Store.open(url, read_only=True)
    with Store.open(url, fast=True) as store:
        assert (tables(store, cup), store.integrity.check()) == (before, [])


def test_what_needs_stored_matches_names_the_way_back(store: Store, tmp_path: Path) -> None:
    cup = cup_of(store, "round-robin")
    number = cup.record.id
    (first, *_) = store.matches.of_tournament(number)
    store.cold.freeze(number, tmp_path / "cold", who=WHO)
    plies = (JudgedPly(),) * 4
    refused: tuple[Callable[[], object], ...] = (
        lambda: store.changes.void([first.id], reason="r", who=WHO),
        lambda: store.analyses.add(JudgedMatch(match=first.id, name="n", plies=plies, made_at=1.0)),
        lambda: store.claim(number, current_owner()),
        lambda: store.plans.reopen(number, None, ""),
        lambda: store.plans.extend(number, plan(3, 1, 8), ""),
        lambda: store.changes.leave(number, 0, reason="", who=WHO),
        lambda: store.changes.disqualify(number, 0, reason="r", who=WHO),
        lambda: store.transfers.remove(number, tmp_path / "out.db", who=WHO),
        lambda: store.matches.save([cup.match(1)]),
        lambda: store.cold.require_warm(number),
    )
    for each in refused:
        with pytest.raises(RefusedError, match=f"arena unarchive {cup.record.name}"):
            each()
    assert store.integrity.check() == []


def test_ids_of_cold_matches_are_not_given_again(store: Store, tmp_path: Path) -> None:
    other, cup = add_cup(store, "a", "b"), cup_of(store, "round-robin")
    last = store.matches.last_id(cup.record.id)
    store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    store.matches.save([other.match(1), other.match(2)])
    assert [match.id for match in store.matches.newest(ALL)] == [last + 2, last + 1]
    store.sums.sum_up()
    assert store.integrity.check() == []
    assert store.cold.thaw(cup.record.id, who=WHO) is not None
    assert store.integrity.check() == []


@pytest.mark.sqlite("rows of the file are edited")
def test_sums_of_a_pool_with_cold_matches(store: Store, path: Path) -> None:
    cup, other = cup_of(store, "round-robin"), add_cup(store, "a", "b")
    store.matches.save([other.match(n, outcome=("first", "draw", "second")[n % 3]) for n in range(1, 7)])
    store.sums.sum_up()
    store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
    whole = store.sums.of_pools()
    number = store.matches.find_attempt(other.record.id, 3)
    assert number is not None
    store.changes.void([number.id], reason="r", who=WHO)
    assert store.sums.of_pools() != whole
    assert store.integrity.check() == []
    store.changes.unvoid([number.id], reason="r", who=WHO)
    assert (store.sums.of_pools(), store.integrity.check()) == (whole, [])
    store.integrity.repair()
    assert (store.sums.of_pools(), store.integrity.check()) == (whole, [])
    wrong = f"UPDATE encounters SET {SUMS[0]} = {SUMS[0]} + 1 WHERE tournament_id = 0"  # noqa: S608 - a column
    tamper(store.place, wrong)
    assert any("kept sums" in fault for fault in store.integrity.check())
    store.integrity.repair()
    assert (store.sums.of_pools(), store.integrity.check()) == (whole, [])


@pytest.mark.sqlite("the store is a file that others merge or open")
def test_merging_stores_with_cold_tournaments(store: Store, path: Path) -> None:
    cup = cup_of(store, "round-robin")
    before = seen(store, cup)["list"]
    with Store.open(path.with_name("copy.db")) as copy:
        copy.transfers.merge(path)
        # Cold in the source: the new store gets the matches from the files.
        store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
        with Store.open(path.with_name("second.db")) as second:
            second.transfers.merge(path)
            assert [match.match_hash for match in second.matches.newest(ALL)] == [
                each.match_hash for each in before
            ]
            assert second.integrity.check() == []
        # Cold in the target: the same matches change nothing, and different ones are refused.
        store.transfers.merge(copy.place)
        (changed, *_) = copy.matches.of_tournament(1)
        copy.changes.void([changed.id], reason="r", who=WHO)
        with pytest.raises(RefusedError, match=f"arena unarchive {cup.record.name}"):
            store.transfers.merge(copy.place)
        assert store.integrity.check() == []


def test_cold_matches_are_merged_after_those_of_many_tournaments(store: Store, tmp_path: Path) -> None:
    # Of a statement that was executed five times, a server keeps the plan, which is that of the stored table.
    for _ in range(7):
        other = add_cup(store, "a", "b")
        store.matches.save([other.match(1)])
    cup = cup_of(store, "round-robin")
    before = [match.match_hash for match in store.matches.of_tournament(cup.record.id)]
    store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    with Store.open(tmp_path / "copy.db") as copy:
        merged = copy.transfers.merge(store.place)
        assert [each.num_matches for each in merged] == [1] * 7 + [len(before)]
        assert copy.integrity.check() == []


def test_only_ended_tournaments(store: Store, tmp_path: Path) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    store.sums.sum_up()
    with pytest.raises(RefusedError, match=f"arena resume {cup.record.name}"):
        store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    ended = add_cup(store, num=2)
    store.matches.save([ended.match(1), ended.match(2)])
    store.tournaments.set_state(ended.record.id, "finished")
    with pytest.raises(RefusedError, match="sums do not hold"):
        store.cold.freeze(ended.record.id, tmp_path / "cold", who=WHO)
    assert not (tmp_path / "cold").exists()


def test_a_folder_of_other_content_is_not_used_again(store: Store, tmp_path: Path) -> None:
    cup = cup_of(store, "round-robin", 4)
    folders = [store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)]
    store.cold.thaw(cup.record.id, who=WHO)
    folders.append(store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO))
    store.cold.thaw(cup.record.id, who=WHO)
    plies = (JudgedPly(value=0.5, loss=0.5, best=(1,)),) * 4
    store.analyses.add(JudgedMatch(match=1, name="another", plies=plies, made_at=3.0))
    folders.append(store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO))
    first, again, changed = (found.folder.name for found in folders if found is not None)
    assert (again, changed) == (first, f"{first}-2")
    assert [each.name for each in store.analyses.of([1])[1]] == ["another"]
    assert store.integrity.check() == []


def test_pyarrow_is_named_where_it_is_missing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = cup_of(store, "round-robin", 4)

    def missing(_: str) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr(parquet, "find_spec", missing)
        with pytest.raises(UnsupportedError, match=r"bot-arena\[export\]"):
            store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    monkeypatch.setattr(parquet, "find_spec", missing)
    assert len(store.sums.tallies(MatchFilter(tournament=cup.record.name))) > 0
    with pytest.raises(UnsupportedError, match=r"bot-arena\[export\]"):
        store.matches.find_attempt(cup.record.id, 1)
