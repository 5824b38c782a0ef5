"""Counts of matches by pool equal those of a plain loop over the matches of random stores."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from arena_db.filters import needs_matches
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_db.wild import is_wild
from plain_queries import FILTERS, any_match, fits
from stores import add_cup, pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena_db.records import StoredMatch
    from stores import Cup

ANSWERED = [each for each in FILTERS if each.keys().isdisjoint({"is_graded", "judge", "mistakes"})]
"""Filters without grades, because no match here has any."""
KEPT = (MatchFilter(), MatchFilter(rated_only=False))


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_random_stores_are_those_of_their_matches(
    store: Store, place: str, new_place: Callable[[], str], tmp_path: Path, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - play, no secrets
    cups = [_random_cup(store, rng, number) for number in range(4)]
    for cup in cups:
        _judge(store, cup, rng)
    ended = cups[0].record.id
    store.tournaments.set_state(ended, "finished")
    for _ in range(2):
        is_cold = bool(store.cold.tournaments())
        every = [
            (record, match)
            for record in store.tournaments.newest()
            for match in store.matches.of_tournament(record.id)
            if not match.void_reason
        ]
        for where in (*KEPT, *(MatchFilter(**changes) for changes in ANSWERED[seed::4])):
            # Lists of several tournaments contain no cold matches, but their kept counts remain.
            is_one = where.tournament is not None and not is_wild(where.tournament)
            is_listed = is_one or not is_cold or not needs_matches(where)
            expected = [
                match
                for record, match in every
                if (is_listed or record.id != ended) and fits(match, where, record.pool.name, ())
            ]
            assert _summed(store, where) == _added(store, expected), (where, is_cold)
        assert store.cold.freeze(ended, tmp_path / "cold", who="u@h") is not None or store.cold.thaw(
            ended, who="u@h"
        )
    kept = {where: _summed(store, where) for where in KEPT}
    with Store.open(new_place(), fast=True) as other:
        add_cup(other, "z", "a", game="gomoku", num_actions=225, name="earlier")
        other.transfers.merge(place)
        for where, (tallies, seats) in kept.items():
            assert _summed(other, where)[0] == tallies
            assert sorted(_summed(other, where)[1].values()) == sorted(seats.values())
        assert other.integrity.check() == []


def _random_cup(store: Store, rng: Random, number: int) -> Cup:
    """Store a tournament of some bots, of which one may have two seats, and play most of it."""
    game, num_actions = rng.choice([("connect-four", 7), ("connect-four", 7), ("gomoku", 225)])
    names = [rng.choice(["a", "b", "b/label", "c", "d"]) for _ in range(rng.choice([2, 3, 4]))]
    labelled = [
        f"{name.partition('/')[0]}/{name.partition('/')[2] or name}{seat}" for seat, name in enumerate(names)
    ]
    cup = add_cup(
        store,
        *labelled,
        name=f"cup{number or ''}",
        num=30,
        game=game,
        num_actions=num_actions,
        pool=pool(rng.choice(["1/move hosted", "1/move in-process", "5/move hosted"])),
    )
    records = [any_match(cup, match, rng) for match in range(1, 31) if number == 0 or rng.random() < 0.9]
    # In the first tournament every match gets a result.
    records += [cup.match(each.number, attempt=1) for each in records if number == 0 and not each.is_final]
    rng.shuffle(records)
    store.matches.save(records[:10])
    store.sums.sum_up()
    store.matches.save(records[10:])
    return cup


def _judge(store: Store, cup: Cup, rng: Random) -> None:
    """Declare some matches void, let some of them count again, and disqualify or withdraw a bot."""
    ids = [match.id for match in store.matches.of_tournament(cup.record.id) if match.outcome != "void"]
    void = rng.sample(ids, 5)
    store.changes.void(void, reason="r", who="u@h")
    seat = rng.randrange(len(cup.entrants))
    if rng.random() < 0.5:
        store.changes.disqualify(cup.record.id, seat, reason="r", who="u@h")
    else:
        store.changes.leave(cup.record.id, seat, reason="r", who="u@h")
    store.changes.unvoid(void[:2], reason="r", who="u@h")
    if rng.random() < 0.5:
        store.changes.archive(cup.record.id, who="u@h")


def _summed(store: Store, where: MatchFilter) -> tuple[Any, dict[Any, str]]:
    """Return the counts of the pools in a fixed order, and the identity of each seat."""
    found = store.sums.pool_counts(where)
    seats = {(*pool, *seat): bot for pool, seated in found.seats.items() for seat, bot in seated.items()}
    assert all(found.seats.values())
    return sorted(tuple(tally) for tally in found.tallies), seats


def _added(store: Store, matches: list[StoredMatch]) -> tuple[Any, dict[Any, str]]:
    """Return the same by a plain loop."""
    pools = {record.id: record.pool for record in store.tournaments.newest()}
    sums: Counter[tuple[str, ...]] = Counter()
    seats: dict[Any, str] = {}
    for match in matches:
        if match.first != match.second:
            pool = match.game, pools[match.tournament].name
            sums[*pool, match.first, match.second, match.outcome, match.termination] += 1
            seats[*pool, match.tournament, match.first_seat] = match.first
            seats[*pool, match.tournament, match.second_seat] = match.second
    return sorted((*key, num) for key, num in sums.items()), seats
