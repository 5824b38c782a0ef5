"""Leagues as a site shows them: real matches by the rules, evals, remarks and ratings over time."""

from __future__ import annotations

from itertools import combinations
from math import tanh
from typing import TYPE_CHECKING, NamedTuple

from arena.results.history import rate_now
from arena_db.records import Entrant, MatchRecord, NewTournament, PlannedMatch, Remark
from arena_db.remark_codec import pack_remarks
from game_samples import make, seeded
from stores import START, bot, digest, pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from arena_db.records import TournamentRecord
    from arena_db.store import Store
    from arena_plugins import Game

FAULTS = ("time_move", "crash", "illegal_move")
_TRIES = 12
"""Maximum number of matches drawn until one ends as required."""


class League(NamedTuple):
    """The parameters of a league, besides its bots."""

    rounds: int = 1
    """Pairs of matches of every two bots."""
    name: str = "league"
    """Name of the tournament."""
    game: str = "connect-four"
    """Spec of the game."""
    points: int = 8
    """Number of stored ratings over time."""
    start: float = START
    """When it began, UTC seconds."""
    limit: str = "5/move hosted"
    """Name of the pool."""
    reason: str = ""
    """Reason of a forfeit; a default sentence if empty."""


def add_league(store: Store, names: Sequence[str], league: League) -> TournamentRecord:
    """Store a round robin of pairs, the first bot the strongest; every 31st match is a forfeit.

    Args:
        store: destination.
        names: labels of the bots; their specs are made from them.
        league: its length, game and name.
    """
    rules = make(league.game)
    entrants = [
        Entrant(seat=seat, label=label, bot=bot(_name(seat), spec=_spec(seat)), limit="")
        for seat, label in enumerate(names)
    ]
    plan = _plan(rules, len(names), league.rounds)
    settings = NewTournament(
        name=league.name,
        type="round-robin",
        game=league.game,
        num_actions=rules.num_actions,
        pool=pool(league.limit),
        seed=1,
        config='type = "round-robin"\n',
        event="",
        site="",
    )
    record = store.tournaments.add(settings, entrants, plan)
    step = max(1, len(plan) // league.points)
    for begin in range(0, len(plan), step):
        part = plan[begin : begin + step]
        store.matches.save([_match(record, entrants, rules, planned, league) for planned in part])
        point = rate_now(store, record.id, len(names))
        if point is not None:
            store.ratings.add_point(record.id, point)
    return record


def _name(seat: int) -> str:
    return ("mcts", "minimax", "alphazero", "td-lambda")[seat % 4]


def _spec(seat: int) -> str:
    return f"{_name(seat)}:strength={seat}"


def _plan(rules: Game, num_bots: int, rounds: int) -> list[PlannedMatch]:
    found: list[PlannedMatch] = []
    for match_no in range(2 * rounds):
        rng = seeded(match_no // 2)
        opening = _walk(rules, rng, 2)
        for encounter, (one, other) in enumerate(combinations(range(num_bots), 2)):
            first, second = (one, other) if match_no % 2 == 0 else (other, one)
            found.append(
                PlannedMatch(
                    number=len(found) + 1,
                    encounter=encounter,
                    match_no=match_no,
                    first=first,
                    second=second,
                    opening=opening,
                )
            )
    return found


def _walk(rules: Game, rng: Random, most: int, start: Sequence[int] = ()) -> tuple[int, ...]:
    """Return a random line of play that follows a played line for up to `most` further actions."""
    state = rules.initial_state()
    line = list(start)
    for action in line:
        state = state.child(action)
    for _ in range(most):
        if state.is_terminal:
            break
        line.append(rng.choice(list(state.legal_actions)))
        state = state.child(line[-1])
    return tuple(line)


def _ending(rules: Game, line: Sequence[int]) -> str:
    state = rules.initial_state()
    for action in line:
        state = state.child(action)
    return {1.0: "first", 0.0: "draw", -1.0: "second"}[state.returns[0]]


def _said(
    rng: Random, line: tuple[int, ...], given: int, outcome: str
) -> tuple[tuple[float | None, ...], list[Remark | None]]:
    """Return the movers' claimed evaluations, which approach the outcome, and their other remarks."""
    sign = {"first": 1.0, "second": -1.0, "draw": 0.0}[outcome]
    values = tuple(
        None
        if ply < given
        else tanh((sign * (ply / len(line)) * 2 + rng.gauss(0, 0.35)) * (1 if ply % 2 == 0 else -1))
        for ply in range(len(line))
    )
    remarks = [
        None
        if ply < given
        else Remark(nodes=rng.randrange(10_000), depth=rng.randrange(3, 12), pv=line[ply:][:4])
        for ply in range(len(line))
    ]
    return values, remarks


def _match(
    record: TournamentRecord, entrants: Sequence[Entrant], rules: Game, planned: PlannedMatch, league: League
) -> MatchRecord:
    rng = seeded(1000 * record.id + planned.number)
    # The lower the seat, the stronger the bot.
    edge = 1 / (1 + 10 ** ((planned.first - planned.second) / 8))
    wanted = "first" if rng.random() < edge else "second"
    line: tuple[int, ...] = ()
    for _ in range(_TRIES):
        line = _walk(rules, rng, rules.max_length, planned.opening)
        if _ending(rules, line) == wanted:
            break
    outcome, termination, ending = _ending(rules, line), "rules", "X wins by four in a row"
    if planned.number % 31 == 0:
        # A bot forfeits in the middle of the match.
        line = line[: len(planned.opening) + 3]
        outcome, termination = ("first", "second")[len(line) % 2 == 0], FAULTS[planned.number // 31 % 3]
        ending = league.reason or "its bot gave no answer in time"
    given = len(planned.opening)
    values, remarks = _said(rng, line, given, outcome)
    times = tuple(0 if ply < given else rng.randrange(20, 4000) for ply in range(len(line)))
    return MatchRecord(
        tournament=record.id,
        number=planned.number,
        attempt=0,
        first=entrants[planned.first].bot.identity,
        second=entrants[planned.second].bot.identity,
        outcome=outcome,
        termination=termination,
        reason=ending,
        rated=True,
        is_final=True,
        actions=line,
        num_opening=given,
        times_ms=times,
        values=values,
        remarks=pack_remarks(remarks),
        match_hash=digest(f"{rules.name}{line}"),
        seed_first=2 * planned.number,
        seed_second=2 * planned.number + 1,
        started_at=league.start + 20.0 * planned.number,
        duration_ms=sum(times),
        tier="T2",
        fault="",
        versions='{"arena": "0.1.0"}',
    )
