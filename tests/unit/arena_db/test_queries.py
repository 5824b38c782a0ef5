"""Pages and tallies say the same as a plain loop over all matches."""

from __future__ import annotations

import json
import operator
from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from arena_db import queries
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter, OpeningFilter, PoolCounts, PoolTally
from arena_db.wild import is_like
from stores import START, Cup, add_cup, digest, pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord, StoredMatch, TournamentRecord
    from arena_db.store import Store

FILTERS: list[dict[str, Any]] = [
    {},
    {"rated_only": False},
    {"game": "gomoku"},
    {"tournament": "cup"},
    {"tournament": "nobody's"},
    {"pool": "1/move hosted"},
    {"game": "connect-four", "pool": "1/move hosted"},
    {"bot": "a"},
    {"bot": "a:playouts=100"},
    {"bot": "label"},
    {"bot": "nobody"},
    {"vs": "b"},
    {"bot": "a", "vs": "b"},
    {"bot": "b", "vs": "a", "rated_only": False},
    {"bot": "a", "vs": "a"},
    {"bot": "b", "vs": "label"},
    {"bot": "a", "tournament": "cup", "outcome": "draw"},
    {"termination": "time_move"},
    {"termination": "aborted", "rated_only": False},
    {"termination": "aborted"},
    {"outcome": "void", "rated_only": False},
    {"outcome": "second"},
    {"min_tier": "T1"},
    {"min_tier": "T3", "bot": "a"},
    {"machine": "pc1"},
    {"machine": "pc*", "rated_only": False},
    {"machine": 'a"b', "bot": "a"},
    {"machine": "p?2", "bot": "a", "vs": "b"},
    {"machine": "cpu"},
    {"since": START + 10},
    {"until": START + 10},
    {"bot": "*"},
    {"bot": "?:play*", "vs": "la*"},
    {"bot": "[a]*"},
    {"bot": "x*"},
    {"vs": "?", "tournament": "c?p"},
    {"game": "*o*", "pool": "*hosted"},
    {"termination": "time*", "rated_only": False},
    {"termination": "r*"},
    {"termination": "*", "outcome": "first"},
    {"plies": (("<", 4),)},
    {"plies": (("=", 4),), "bot": "a"},
    {"plies": ((">=", 1), ("<=", 4), (">", 3)), "tournament": "*"},
    {"limit": "1/move"},
    {"limit": "5/move", "bot": "a"},
    {"limit": "5"},
    {"tier": "T1"},
    {"tier": "T2", "vs": "b"},
    {"durations": ((">", 70_012),)},
    {"durations": ((">=", 1000), ("<", 70_012)), "bot": "a"},
    {"openings": (OpeningFilter("connect-four", 7, (3, 2)),)},
    {"openings": (OpeningFilter("connect-four", 7, (3,)),)},
    {"openings": (OpeningFilter("connect-four", 7, (3,), is_beginning=True),)},
    {"openings": (OpeningFilter("connect-four", 7, ()),), "rated_only": False},
    {"openings": (OpeningFilter("connect-four", 7, (3, 2)), OpeningFilter("gomoku", 225, (2, 3)))},
    {"openings": (OpeningFilter("gomoku", 225, (), is_beginning=True),)},
    {"is_graded": True},
    {"is_graded": False},
    {"judge": "solver"},
    {"judge": "m*"},
    {"mistakes": ((">", 0),)},
    {"mistakes": (("=", 0),), "is_graded": True},
    {"mistakes": ((">=", 1), ("<", 3)), "judge": "solver"},
    {"mistakes": (("<", 9),), "is_graded": False},
    {"since": START + 4, "until": START + 12, "bot": "c", "rated_only": False},
]


SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


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
    records = [_any_match(cup, number, rng) for cup in cups for number in range(1, 31)]
    rng.shuffle(records)
    store.save(records)
    for match in store.matches(MatchFilter(rated_only=False), limit=100):
        for judge in rng.choice([(), (), ("solver",), ("mcts",), ("mcts", "solver")]):
            plies = tuple(
                JudgedPly(value=0.0, loss=rng.choice([None, 0.0, 0.0, 0.5, 2.0])) for _ in match.actions
            )
            store.add_analysis(JudgedMatch(match=match.id, name=judge, plies=plies, made_at=START))
    return {cup.record.id: cup.record for cup in cups}


def _any_match(cup: Cup, number: int, rng: Random) -> MatchRecord:
    if rng.random() < 0.1:
        return cup.void(number)
    name = rng.choice(["", "pc1", "pc2", 'a"b'])
    return cup.match(
        number,
        outcome=rng.choice(["first", "second", "draw"]),
        termination=rng.choice(["rules", "rules", "time_move"]),
        rated=rng.random() < 0.8,
        tier=rng.choice(["T0", "T1", "T2", "T3"]),
        match_hash=digest(str(rng.randrange(4))),
        started_at=START + rng.randrange(20),
        duration_ms=rng.choice([5, 1000, 70_012, 70_013]),
        actions=rng.choice([(3, 2, 3, 4), (2, 3, 0, 1)]),
        num_opening=rng.choice([0, 1, 2]),
        versions=json.dumps({"arena": "0.1.0"} | ({"machine": _MACHINE | {"name": name}} if name else {})),
    )


_MACHINE = {"id": "0" * 32, "name": "", "cpu": "pc1"}


def fits(match: StoredMatch, where: MatchFilter, pool: str, grades: Sequence[JudgedMatch]) -> bool:
    """Decide in plain words whether a match is one that a filter is about."""
    given = match.actions[: match.num_opening]
    begins = [
        opening.game == match.game
        and (given[: len(opening.actions)] if opening.is_beginning else given) == opening.actions
        for opening in where.openings
    ]
    judged = [
        where.judge is None or is_like(grade.name, where.judge)
        for grade in grades
        if all(SIGNS[sign](_mistakes(match, grade), number) for sign, number in where.mistakes)
    ]
    wants_judge = where.judge is not None or bool(where.mistakes) or where.is_graded
    names = [
        {match.first_label} | _NAMES[match.first],
        {match.second_label} | _NAMES[match.second],
    ]
    seated = [name for name in (where.bot, where.vs) if name is not None]
    players = any(
        all(any(is_like(own, name) for own in side) for name, side in zip(seated, sides, strict=False))
        for sides in (names, names[::-1])
    )
    named = (
        (where.machine, json.loads(match.versions).get("machine", {"name": ""})["name"]),
        (where.game, match.game),
        (where.tournament, match.tournament_name),
        (where.pool, pool),
        (where.termination, match.termination),
    )
    return players and all(
        (
            all(wanted is None or is_like(text, wanted) for wanted, text in named),
            all(SIGNS[sign](len(match.actions), number) for sign, number in where.plies),
            where.outcome in (None, match.outcome),
            where.since is None or match.started_at >= where.since,
            where.until is None or match.started_at < where.until,
            where.min_tier is None or match.tier >= where.min_tier,
            where.tier in (None, match.tier),
            where.limit is None or pool in {f"{where.limit} hosted", f"{where.limit} in-process"},
            all(SIGNS[sign](match.duration_ms, number) for sign, number in where.durations),
            any(begins) or not where.openings,
            any(judged) or not wants_judge,
            where.is_graded in (None, bool(grades)),
            match.rated or not where.rated_only,
        )
    )


def _mistakes(match: StoredMatch, grade: JudgedMatch) -> int:
    return sum(ply.loss is not None and ply.loss > 0 for ply in grade.plies[match.num_opening :])


_NAMES = {digest(f"{name}:playouts=100"): {name, f"{name}:playouts=100"} for name in "abcd"}


def select(store: Store, where: MatchFilter, records: dict[int, TournamentRecord]) -> list[StoredMatch]:
    """Give the matches of a filter, newest first, by a plain loop."""
    every = [match for record in records.values() for match in store.tournament_matches(record.id)]
    grades = store.analyses([match.id for match in every])
    chosen = [
        match
        for match in every
        if fits(match, where, records[match.tournament].pool.name, grades.get(match.id, ()))
    ]
    return sorted(chosen, key=lambda match: -match.id)


@pytest.mark.parametrize("walks", [64, 1])
def test_pages_and_tallies(store: Store, monkeypatch: pytest.MonkeyPatch, walks: int) -> None:
    monkeypatch.setattr(queries, "_MOST_WALKS", walks)
    records = fill(store)
    for changes in FILTERS:
        where = MatchFilter(**changes)
        expected = select(store, where, records)
        assert store.matches(where, limit=1000) == expected, where
        pages: list[StoredMatch] = []
        while page := store.matches(where, before=pages[-1].id if pages else None, limit=7):
            pages += page
        assert pages == expected, where
        assert counts(store, where) == count(expected), where
        summed, by_hand = store.pool_counts(where), PoolCounts.of(store.tallies(where))
        assert sorted(summed.tallies) == sorted(by_hand.tallies), where
        assert summed.seats == by_hand.seats, where
    assert len(select(store, MatchFilter(**FILTERS[-1]), records)) > 1
    assert store.check() == []


def test_counts_add_up_over_the_tournaments_of_a_pool(store: Store) -> None:
    one = add_cup(store, "a", "b", "c", name="one")
    other = add_cup(store, "d", "b", "b/copy", "a", name="other")
    apart = add_cup(store, "a", "b", name="apart", pool=pool("1/move hosted"))
    add_cup(store, "c", "d", name="unplayed")
    store.save([cup.match(number) for cup in (one, other, apart) for number in range(1, 13)])
    found = store.pool_counts(MatchFilter())
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
    assert found.seats == PoolCounts.of(store.tallies(MatchFilter())).seats


def test_grades_of_matches_that_are_chosen_by_their_grades(store: Store) -> None:
    cup = add_cup(store)
    store.save([cup.match(number) for number in (1, 2, 3)])
    for match, judge, loss in ((1, "solver", 2.0), (2, "solver", 0.0), (2, "mcts", 2.0)):
        plies = (JudgedPly(value=0.0, loss=loss),) * 4
        store.add_analysis(JudgedMatch(match=match, name=judge, plies=plies, made_at=START))
    everybody = [bot.identity for bot in store.bots().values()]
    for where, wanted in (
        (MatchFilter(mistakes=((">", 0),)), {"mcts": 1, "solver": 2}),
        (MatchFilter(mistakes=((">", 0),), judge="solver"), {"solver": 1}),
        (MatchFilter(is_graded=False), {}),
    ):
        assert store.judges(where, everybody) == wanted


def counts(store: Store, where: MatchFilter) -> dict[tuple[Any, ...], int]:
    """Give the tallies of a store by what they count."""
    found = store.tallies(where)
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
    store.save(
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
    """Count the hundreds of steps of SQLite's machine that a page of ten takes."""
    num = 0

    def step() -> int:
        nonlocal num
        num += 1
        return 0

    def watch(connection: Connection) -> None:
        raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(step, 100)

    engine = store._engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — to look at its connections
    event.listen(engine, "begin", watch)
    store.matches(where, limit=10)
    event.remove(engine, "begin", watch)
    return num


def test_no_page_of_nothing(store: Store) -> None:
    assert store.matches(MatchFilter()) == []
    cup = add_cup(store)
    store.save([cup.match(1)])
    assert store.matches(MatchFilter(), limit=0) == []
    assert store.matches(MatchFilter(), before=1) == []


def test_a_stream_goes_on_while_matches_are_saved(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    cup = add_cup(store)
    store.save([cup.match(number) for number in (1, 2, 3)])
    stream = store.tournament_matches(cup.record.id)
    assert [next(stream).number, next(stream).number] == [1, 2]
    store.save([cup.match(5), replace(cup.void(4), attempt=1)])
    assert [match.number for match in stream] == [3, 4, 5]
