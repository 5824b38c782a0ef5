"""The sums stored in a store equal those of its matches, read one by one."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.rating.fit import fit, head_to_head
from arena.rating.sums import ClusterSums
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard, standings
from arena.results.sides import GamePool
from arena.results.stored_sums import encounters_of, lightened
from arena_db.match_keeping import StoredMatches
from arena_db.records import MatchFilter, PlannedMatch
from arena_db.store import Store
from stores import Cup, add_cup, bot, digest, entrants, new_tournament, pool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.rating.sums import Encounters, FloatArray
    from arena_db.records import MatchRecord

GAME, POOL = "connect-four", "5/move hosted"
ONE_BY_ONE = MatchFilter(since=0.0)
"""A filter that no stored sum can answer, so every match is read."""
NAMES = "abcd"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db", fast=True) as found:
        yield found


def random_cup(store: Store, rng: np.random.Generator, num: int, pool_name: str = POOL) -> Cup:
    """Store a tournament of random seats and a random plan, in which not all sides swap."""
    labels = [f"{name}/{seat}" for seat, name in enumerate(rng.choice(list(NAMES), 3))]
    seats = entrants(*labels)
    plan: list[PlannedMatch] = []
    openings = int(rng.choice([1, 4, 60]))
    for index in range(num):
        encounter, match_no = index % 3, index // 3
        both = [(0, 1), (2, 1), (0, 2)][encounter]
        turned = match_no % 2 == 1 if rng.random() < 0.9 else rng.random() < 0.5
        opening = match_no // 2 if rng.random() < 0.95 else int(rng.integers(60))
        plan.append(
            PlannedMatch(
                number=index + 1,
                encounter=encounter,
                match_no=match_no,
                first=both[turned],
                second=both[not turned],
                opening=(opening % openings // 7 % 7, opening % openings % 7),
            )
        )
    new = new_tournament(pool=pool(pool_name))
    return Cup(store.tournaments.add(new, seats, plan), seats, plan)


def play(store: Store, cup: Cup, rng: np.random.Generator) -> None:
    """Save most matches in a random order and random batches; some are first void, some are not rated."""
    num_courses = int(rng.choice([1, 2, 40]))
    summed = float(rng.choice([0, 0.1, 0.5]))
    ready: list[MatchRecord] = []
    for place in rng.permutation(len(cup.plan)).tolist():
        planned = cup.plan[int(place)]
        number, attempt = planned.number, 0
        if rng.random() < 0.1:
            continue
        if rng.random() < 0.1:
            ready.append(cup.void(number))
            attempt = 1
        course = int(rng.integers(num_courses))
        decides = 3 * course + planned.first + 5 * planned.opening[1]
        ready.append(
            cup.match(
                number,
                attempt=attempt,
                outcome=("first", "second", "draw")[decides % 3],
                rated=bool(rng.random() < 0.95),
                actions=(*planned.opening, 3, course % 7),
                match_hash=digest(f"{planned.opening} {course}"),
            )
        )
    while ready:
        size = int(rng.integers(1, 30))
        store.matches.save(ready[:size])
        # Saving again counts nothing twice.
        store.matches.save(ready[: size // 2])
        # The part left for readers to add may be empty, some matches, or all of them.
        if rng.random() < summed:
            store.sums.sum_up()
        ready = ready[size:]


def numbers(sums: ClusterSums | tuple[ClusterSums, ...] | FloatArray) -> FloatArray:
    """Return sums of any kind as one array."""
    if isinstance(sums, ClusterSums):
        return np.array(sums.columns)
    return np.array([part.columns for part in sums]) if isinstance(sums, tuple) else sums


def same(kept: Encounters, counted: Encounters) -> None:
    """Assert that all sums of two fields are equal."""
    for name in (field.name for field in fields(kept)):
        one, other = numbers(getattr(kept, name)), numbers(getattr(counted, name))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=name)


def both_ways(store: Store) -> tuple[RatedMatches, RatedMatches]:
    """Return the sums of all pools, as stored and as computed from the matches."""
    kept, counted = RatedMatches(MatchFilter()), RatedMatches(ONE_BY_ONE)
    kept.update(store)
    counted.update(store)
    return kept, counted


@pytest.mark.parametrize("seed", range(12))
def test_kept_sums_are_those_of_the_matches(store: Store, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pools = [POOL, POOL, "1/move hosted"][: int(rng.integers(1, 4))]
    cups = [random_cup(store, rng, int(rng.choice([6, 90, 240])), name) for name in pools]
    for cup in cups:
        play(store, cup, rng)
    identities = [bot(name).identity for name in rng.permutation(list(NAMES))]
    index = {identity: place for place, identity in enumerate(identities)}
    own = {
        name: {
            (cup.record.id, entrant.seat): index[entrant.bot.identity]
            for cup in cups
            if cup.record.pool.name == name
            for entrant in cup.entrants
        }
        for name in pools
    }
    kept, counted = both_ways(store)
    for name, seats in own.items():
        fields_of = [book.of_pool(GAME, name, index, seats) for book in (kept, counted)]
        same(*fields_of)
        ratings = [fit(field, len(NAMES)) for field in fields_of]
        for what in ("elo", "error"):
            one, other = (np.nan_to_num(getattr(each, what), posinf=0) for each in ratings)
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)
    for cup in cups:
        books = [RatedMatches(MatchFilter(tournament=cup.record.name, since=since)) for since in (None, 0.0)]
        for book in books:
            book.update(store)
        places = {seat: 2 - seat for seat in range(3)}
        fields_of = [book.of_tournament(cup.record.id, places) for book in books]
        same(*fields_of)
        one, other = (head_to_head(field) for field in fields_of)
        assert [gap.elo for gap in one] == pytest.approx([gap.elo for gap in other], abs=1e-6)
    assert store.integrity.check() == []
    store.integrity.repair()
    again = both_ways(store)[0]
    for name, seats in own.items():
        same(again.of_pool(GAME, name, index, seats), kept.of_pool(GAME, name, index, seats))
    assert store.integrity.check() == []


def test_some_of_these_stores_have_what_is_rare(store: Store) -> None:
    """Otherwise the comparison above would compare nothing."""
    seen: list[FloatArray] = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cup = random_cup(store, rng, 240)
        play(store, cup, rng)
        book = RatedMatches(MatchFilter(tournament=cup.record.name))
        book.update(store)
        found = book.of_tournament(cup.record.id, {0: 0, 1: 1, 2: 2})
        seen.append(np.array([found.replays, found.replays - found.alike, found.singles.sum(axis=(1, 2))]))
        seen.append(np.array([sums.num for sums in (found.collapsed, *found.collapsed_singles)]))
        assert found.num_pairs.sum() > 0
    assert all(np.concatenate(seen[start::2], axis=1).max(axis=1).min() > 0 for start in (0, 1))


def test_a_table_reads_no_match(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in range(1, 9)])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a match was read")

    monkeypatch.setattr(StoredMatches, "played", refuse)
    assert sum(row.games for table in standings(store, cup.record) for row in table.rows) == 16
    for where in (MatchFilter(), MatchFilter(game=GAME), MatchFilter(game=GAME, pool=POOL)):
        book = RatedMatches(where)
        book.update(store)
        board = Leaderboard(store.sums.pool_counts(where), store.names.bots(), GamePool(GAME, POOL), book)
        assert sum(row.pairs for table in board.tables() for row in table.rows) == 6


@pytest.mark.parametrize(
    "where",
    [
        MatchFilter(bot="a"),
        MatchFilter(tournament="rr-*"),
        MatchFilter(game="connect-????"),
        MatchFilter(pool="5*"),
        MatchFilter(plies=((">", 3),)),
        MatchFilter(tournament="rr-1", pool=POOL),
    ],
)
def test_other_conditions_read_matches(store: Store, where: MatchFilter) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in range(1, 9)])
    book = RatedMatches(where)
    book.update(store)
    found = book.of_pool(GAME, POOL, {}, {(1, seat): seat for seat in range(3)})
    assert found.num_matches.sum() == (5 if where.bot else 8)


def test_the_same_tournament_twice_counts_once(store: Store) -> None:
    for _ in range(2):
        cup = add_cup(store, "a", "b", num=40)
        store.matches.save(
            [
                cup.match(number, outcome=("first", "draw")[number % 3 == 0], match_hash=digest(str(number)))
                for number in range(1, 41)
            ]
        )
    kept, counted = both_ways(store)
    index = {bot(name).identity: place for place, name in enumerate("ab")}
    seats = {(tournament, seat): seat for tournament in (1, 2) for seat in (0, 1)}
    for book in (kept, counted):
        found = book.of_pool(GAME, POOL, index, seats)
        assert (found.num_matches, found.num_different) == (80, 40)
    same(kept.of_pool(GAME, POOL, index, seats), counted.of_pool(GAME, POOL, index, seats))


def test_matches_of_an_event_count_for_less(store: Store) -> None:
    """Sums are linear in matches if each tournament has openings of its own."""
    rng = np.random.default_rng(5)
    cups = [add_cup(store, name=f"cup-{number}", num=24) for number in range(2)]
    for number, cup in enumerate(cups):
        records = [
            replace(cup.match(match.number), match_hash=digest(f"{number} {match.number}"))
            for match in cup.plan
            if rng.random() < 0.9
        ]
        store.matches.save(records)
    book = RatedMatches(MatchFilter())
    book.update(store)
    index = {bot(name).identity: seat for seat, name in enumerate("abc")}
    seats = {seat: seat for seat in range(3)}
    whole = book.of_pool(GAME, POOL, index, {})
    parts = [book.of_tournament(cup.record.id, seats) for cup in cups]
    same(lightened(whole, parts[0], 1.0), whole)
    half = lightened(whole, parts[0], 0.5)
    # The openings of both are the same, so only counts of matches add up.
    for name in ("results", "ptnml", "num_different"):
        both = [numbers(getattr(part, name)) for part in parts]
        np.testing.assert_allclose(numbers(getattr(half, name)), both[0] / 2 + both[1], err_msg=name)
    for name in ("num_openings", "openings", "collapsed", "replays", "alike", "singles", "collapsed_singles"):
        expected = numbers(getattr(whole, name)) - numbers(getattr(parts[0], name)) / 2
        np.testing.assert_allclose(numbers(getattr(half, name)), expected, err_msg=name)
    # Two bots that met in only one tournament are part of the sums of all.
    only = encounters_of(
        [each for each in store.sums.of_tournament(1) if (each.low, each.high) == (0, 1)], {**seats}
    )
    alone = lightened(whole, only, 0.5)
    changed = (alone.results != whole.results).any(axis=(1, 2))
    assert changed.tolist() == [
        pair == (0, 1) for pair in zip(whole.low.tolist(), whole.high.tolist(), strict=True)
    ]
