"""A season of plausible matches of Connect Four, to fill a store."""

from __future__ import annotations

from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from arena_db.pools import PoolRecord
from arena_db.records import BotRecord, Entrant, MatchRecord, NewTournament, PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from arena_db.records import TournamentRecord
    from arena_db.store import Store

COLUMNS, ROWS = 7, 6
CELLS = COLUMNS * ROWS
SHORTEST = 2 * 4 - 1
NUM_OPENING = 4
DRAWS = 0.1
FAULTS = 0.002
ELO_STEP = 60.0
FIRST_MOVE_ELO = 35.0
START = 1_750_000_000.0
DAY_S = 86_400.0
"""Seconds between the starts of two tournaments, which begin one after another, as in any store."""
VERSIONS = (
    '{"arena": "0.1.0", "python": "3.11.7", "platform": "linux x86_64", "isolation": {"tier": "T2", '
    '"failed": [], "kernel": "Linux 6.18.44 x86_64", "landlock": 7, "uid_kept": true}}'
)


def make_bots(num: int) -> list[Entrant]:
    """Return entrants; the bot of seat k is `ELO_STEP` Elo below the one before it."""
    bots: list[Entrant] = []
    for seat in range(num):
        name = f"bot-{seat:02d}"
        record = BotRecord(
            identity=sha256(name.encode()).hexdigest(),
            name=name,
            spec=f"{name}:playouts={100 + seat}",
            distribution="bot-arena",
            version="0.1.0",
            files="{}",
        )
        bots.append(Entrant(seat=seat, label=name, bot=record, limit=""))
    return bots


def make_plan(num_bots: int, num_matches: int, rng: np.random.Generator) -> Iterator[PlannedMatch]:
    """Yield a round robin: pairs from one opening, interleaved over the encounters."""
    pairs = list(combinations(range(num_bots), 2))
    opening: tuple[int, ...] = ()
    for index in range(num_matches):
        match_no, encounter = divmod(index, len(pairs))
        if match_no % 2 == 0 and encounter == 0:
            opening = tuple(rng.integers(0, COLUMNS, NUM_OPENING).tolist())
        first, second = pairs[encounter] if match_no % 2 == 0 else pairs[encounter][::-1]
        yield PlannedMatch(
            number=index + 1,
            encounter=encounter,
            match_no=match_no,
            first=first,
            second=second,
            opening=opening,
        )


def draw_results(plan: Sequence[PlannedMatch], rng: np.random.Generator) -> list[str]:
    """Return an outcome per planned match, drawn from Elo difference and first-move advantage."""
    gaps = np.array([ELO_STEP * (match.second - match.first) + FIRST_MOVE_ELO for match in plan])
    wins = (1 - DRAWS) / (1 + 10 ** (-gaps / 400))
    draws = rng.random(len(plan))
    return np.select([draws < wins, draws < wins + DRAWS], ["first", "draw"], "second").tolist()


def draw_actions(num: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return `[num, 42]` columns: each row fills a board, no column more than six times."""
    board = np.repeat(np.arange(COLUMNS, dtype=np.int8), ROWS)
    return rng.permuted(np.tile(board, (num, 1)), axis=1)


def _without(actions: list[int], opening: Sequence[int]) -> list[int]:
    """Return the actions of a full board that remain after an opening."""
    left = list(actions)
    for action in opening:
        left.remove(action)
    return left


def make_records(
    tournament: int, plan: Sequence[PlannedMatch], bots: Sequence[Entrant], rng: np.random.Generator
) -> list[MatchRecord]:
    """Yield a record per planned match."""
    actions = draw_actions(len(plan), rng).tolist()
    lengths = rng.integers(SHORTEST, CELLS + 1, len(plan)).tolist()
    times = rng.integers(0, 200, (len(plan), CELLS)).tolist()
    faults = (rng.random(len(plan)) < FAULTS).tolist()
    records: list[MatchRecord] = []
    for index, (match, outcome) in enumerate(zip(plan, draw_results(plan, rng), strict=True)):
        num = CELLS if outcome == "draw" else lengths[index]
        played = (*match.opening, *_without(actions[index], match.opening))[:num]
        mirrored = tuple(COLUMNS - 1 - action for action in played)
        is_fault = faults[index] and outcome != "draw"
        records.append(
            MatchRecord(
                tournament=tournament,
                number=match.number,
                attempt=0,
                first=bots[match.first].bot.identity,
                second=bots[match.second].bot.identity,
                outcome=outcome,
                termination="time_move" if is_fault else "rules",
                reason=f"{bots[match.first].label} against {bots[match.second].label}: {outcome}",
                rated=True,
                is_final=True,
                actions=played,
                num_opening=NUM_OPENING,
                times_ms=tuple(times[index][:num]),
                values=(None,) * num,
                match_hash=sha256(b"connect-four" + bytes(min(played, mirrored))).hexdigest(),
                seed_first=2 * match.number,
                seed_second=2 * match.number + 1,
                started_at=START + tournament * DAY_S + match.number,
                duration_ms=sum(times[index][:num]),
                tier="T2",
                fault='{"elapsed_ms": 5101, "limit_ms": 5000}' if is_fault else "",
                versions=VERSIONS,
            )
        )
    return records


def add_tournament(store: Store, bots: Sequence[Entrant]) -> TournamentRecord:
    """Add the tournament, without a plan so far."""
    new = NewTournament(
        name="",
        type="round-robin",
        game="connect-four",
        num_actions=COLUMNS,
        pool=PoolRecord(mode="move", move_ms=5000),
        seed=1,
        config="",
        event="benchmark",
        site="",
    )
    return store.tournaments.add(new, bots, [])
