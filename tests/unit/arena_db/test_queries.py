"""Pages and tallies equal the results of a plain loop over all matches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from arena_db import queries
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter, PoolCounts, PoolTally
from plain_queries import FILTERS, any_match, fits
from stores import START, add_cup, pool

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store


def fill(store: Store) -> dict[int, TournamentRecord]:
    """Store 3 tournaments with 30 matches of all kinds each, many of them repeats."""
    rng = Random(7)  # noqa: S311 — play, no secrets
    cups = [
        add_cup(store, "a", "b", "c", name="cup", num=30),
        add_cup(
            store, "a", "b/label", "d", num=30, game="gomoku", num_actions=225, pool=pool("1/move in-process")
        ),
        add_cup(store, "a", "a/a_2", type="match", num=30, pool=pool("1/move hosted")),
    ]
    records = [any_match(cup, number, rng) for cup in cups for number in range(1, 31)]
    rng.shuffle(records)
    store.matches.save(records)
    for match in store.matches.newest(MatchFilter(rated_only=False), limit=100):
        for judge in rng.choice([(), (), ("solver",), ("mcts",), ("mcts", "solver")]):
            plies = tuple(
                JudgedPly(value=0.0, loss=rng.choice([None, 0.0, 0.0, 0.5, 2.0])) for _ in match.actions
            )
            store.analyses.add(JudgedMatch(match=match.id, name=judge, plies=plies, made_at=START))
    return {cup.record.id: cup.record for cup in cups}


class EveryMatch:
    """All matches of a store, read once; queries are answered by a plain loop."""

    def __init__(self, store: Store, records: dict[int, TournamentRecord]) -> None:
        self._records = records
        self._every = [
            match for record in records.values() for match in store.matches.of_tournament(record.id)
        ]
        self._grades = store.analyses.of([match.id for match in self._every])

    def select(self, where: MatchFilter) -> list[StoredMatch]:
        """Return the matches of a filter, newest first."""
        chosen = [
            match
            for match in self._every
            if fits(match, where, self._records[match.tournament].pool.name, self._grades.get(match.id, ()))
        ]
        return sorted(chosen, key=lambda match: -match.id)


@pytest.mark.parametrize("walks", [64, 1])
def test_pages_and_tallies(store: Store, monkeypatch: pytest.MonkeyPatch, walks: int) -> None:
    monkeypatch.setattr(queries, "_MOST_WALKS", walks)
    every = EveryMatch(store, fill(store))
    for changes in FILTERS:
        where = MatchFilter(**changes)
        expected = every.select(where)
        assert store.matches.newest(where, limit=1000) == expected, where
        pages: list[StoredMatch] = []
        while page := store.matches.newest(where, before=pages[-1].id if pages else None, limit=15):
            pages += page
        assert pages == expected, where
        assert counts(store, where) == count(expected), where
        summed, by_hand = store.sums.pool_counts(where), PoolCounts.of(store.sums.tallies(where))
        assert sorted(summed.tallies) == sorted(by_hand.tallies), where
        assert summed.seats == by_hand.seats, where
    assert len(every.select(MatchFilter(**FILTERS[-1]))) > 1
    assert store.integrity.check() == []


def test_counts_add_up_over_the_tournaments_of_a_pool(store: Store) -> None:
    one = add_cup(store, "a", "b", "c", name="one")
    other = add_cup(store, "d", "b", "b/copy", "a", name="other")
    apart = add_cup(store, "a", "b", name="apart", pool=pool("1/move hosted"))
    add_cup(store, "c", "d", name="unplayed")
    store.matches.save([cup.match(number) for cup in (one, other, apart) for number in range(1, 13)])
    found = store.sums.pool_counts(MatchFilter())
    expected: Counter[tuple[str, str, str]] = Counter()
    for cup in (one, other, apart):
        for planned in cup.plan[:12]:
            first, second = (cup.entrants[seat].bot.identity for seat in (planned.first, planned.second))
            expected[cup.record.pool.name, first, second] += first != second
    assert sorted(found.tallies) == sorted(
        PoolTally(one.record.game, where, first, second, "first", "rules", num)
        for (where, first, second), num in expected.items()
        if num
    )
    assert found.seats == {
        (one.record.game, name): {
            (cup.record.id, seat): entrant.bot.identity
            for cup in cups
            for seat, entrant in enumerate(cup.entrants)
        }
        for name, cups in ((one.record.pool.name, (one, other)), ("1/move hosted", (apart,)))
    }
    assert found.seats == PoolCounts.of(store.sums.tallies(MatchFilter())).seats


def test_grades_of_matches_that_are_chosen_by_their_grades(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in (1, 2, 3)])
    for match, judge, loss in ((1, "solver", 2.0), (2, "solver", 0.0), (2, "mcts", 2.0)):
        plies = (JudgedPly(value=0.0, loss=loss),) * 4
        store.analyses.add(JudgedMatch(match=match, name=judge, plies=plies, made_at=START))
    everybody = [bot.identity for bot in store.names.bots().values()]
    for where, wanted in (
        (MatchFilter(mistakes=((">", 0),)), {"mcts": 1, "solver": 2}),
        (MatchFilter(mistakes=((">", 0),), judge="solver"), {"solver": 1}),
        (MatchFilter(is_graded=False), {}),
    ):
        assert store.plays.judges(where, everybody) == wanted


def counts(store: Store, where: MatchFilter) -> dict[tuple[Any, ...], int]:
    """Return the tallies of a store by what they count."""
    found = store.sums.tallies(where)
    keys = [
        (
            *(tally.tournament, tally.first, tally.second, tally.first_seat, tally.second_seat),
            *(tally.outcome, tally.termination, tally.rated),
        )
        for tally in found
    ]
    assert len(set(keys)) == len(keys)
    return {key: tally.num_matches for key, tally in zip(keys, found, strict=True)}


def count(matches: list[StoredMatch]) -> dict[tuple[Any, ...], int]:
    """Count matches by a plain loop."""
    return Counter(
        (
            *(match.tournament, match.first, match.second, match.first_seat, match.second_seat),
            *(match.outcome, match.termination, match.rated),
        )
        for match in matches
    )


@pytest.mark.sqlite("steps of its machine are counted")
def test_a_page_reads_no_more_than_it_needs(store: Store) -> None:
    cup = add_cup(store, num=3000)
    store.matches.save(
        [cup.match(number, termination="crash" if number == 1 else "rules") for number in range(1, 3001)]
    )
    pages = {
        "newest": MatchFilter(),
        "of one bot": MatchFilter(bot="a"),
        "of a tournament": MatchFilter(tournament="rr-1"),
        "one at the bottom": MatchFilter(termination="crash"),
        "none": MatchFilter(outcome="void", rated_only=False),
    }
    steps = {name: _num_steps(store, where) for name, where in pages.items()}
    everything = _num_steps(store, MatchFilter(min_tier="T4"))
    assert all(num < everything / 4 for num in steps.values()), (steps, everything)


def _num_steps(store: Store, where: MatchFilter) -> int:
    """Return the steps of SQLite's virtual machine for a page of ten matches, in hundreds."""
    num = 0

    def step() -> int:
        nonlocal num
        num += 1
        return 0

    def watch(connection: Connection) -> None:
        raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(step, 100)

    engine = store._access.engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — to look at its connections
    event.listen(engine, "begin", watch)
    store.matches.newest(where, limit=10)
    event.remove(engine, "begin", watch)
    return num


def test_no_page_of_nothing(store: Store) -> None:
    assert store.matches.newest(MatchFilter()) == []
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    assert store.matches.newest(MatchFilter(), limit=0) == []
    assert store.matches.newest(MatchFilter(), before=1) == []


def test_a_stream_goes_on_while_matches_are_saved(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in (1, 2, 3)])
    stream = store.matches.of_tournament(cup.record.id)
    assert [next(stream).number, next(stream).number] == [1, 2]
    store.matches.save([cup.match(5), replace(cup.void(4), attempt=1)])
    assert [match.number for match in stream] == [3, 4, 5]
