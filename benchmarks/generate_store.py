"""Fills a store with plausible matches through its one door, and measures what reading them costs."""

from __future__ import annotations

import argparse
import json
import time
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arena_db.records import BotRecord, Entrant, MatchFilter, MatchRecord, NewTournament, PlannedMatch
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from arena_db.records import TournamentRecord

COLUMNS, ROWS = 7, 6
CELLS = COLUMNS * ROWS
SHORTEST = 2 * 4 - 1
NUM_OPENING = 4
DRAWS = 0.1
FAULTS = 0.002
ELO_STEP = 60.0
FIRST_MOVE_ELO = 35.0
START = 1_750_000_000.0


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
    """Return an outcome per planned match, drawn by Elo difference and the advantage of the first move."""
    gaps = np.array([ELO_STEP * (match.second - match.first) + FIRST_MOVE_ELO for match in plan])
    wins = (1 - DRAWS) / (1 + 10 ** (-gaps / 400))
    draws = rng.random(len(plan))
    return np.select([draws < wins, draws < wins + DRAWS], ["first", "draw"], "second").tolist()


def draw_actions(num: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return `[num, 42]` columns: each row fills a board, no column more than six times."""
    board = np.repeat(np.arange(COLUMNS, dtype=np.int8), ROWS)
    return rng.permuted(np.tile(board, (num, 1)), axis=1)


def make_records(
    tournament: int, plan: Sequence[PlannedMatch], bots: Sequence[Entrant], rng: np.random.Generator
) -> list[MatchRecord]:
    """Return a record per planned match."""
    actions = draw_actions(len(plan), rng).tolist()
    lengths = rng.integers(SHORTEST, CELLS + 1, len(plan)).tolist()
    times = rng.integers(0, 200, (len(plan), CELLS)).tolist()
    faults = (rng.random(len(plan)) < FAULTS).tolist()
    records: list[MatchRecord] = []
    for index, (match, outcome) in enumerate(zip(plan, draw_results(plan, rng), strict=True)):
        num = CELLS if outcome == "draw" else lengths[index]
        played = tuple(actions[index][:num])
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
                started_at=START + match.number,
                duration_ms=sum(times[index][:num]),
                tier="T2",
                fault='{"elapsed_ms": 5101, "limit_ms": 5000}' if is_fault else "",
                versions='{"arena": "0.1.0"}',
            )
        )
    return records


def add_tournament(store: Store, bots: Sequence[Entrant]) -> TournamentRecord:
    """Add the tournament, as yet without a plan."""
    new = NewTournament(
        name="",
        type="round-robin",
        game="connect-four",
        num_actions=COLUMNS,
        pool="5/move hosted",
        seed=1,
        config="",
        event="benchmark",
        site="",
    )
    return store.add_tournament(new, bots, [])


def fill(store: Store, num_bots: int, num_matches: int, batch: int, seed: int) -> dict[str, float]:
    """Fill a store; return the seconds of wall and processor time that the store itself took."""
    rng = np.random.default_rng(seed)
    bots = make_bots(num_bots)
    tournament = add_tournament(store, bots)
    plan = list(make_plan(num_bots, num_matches, rng))
    plan_s, plan_cpu_s = timed(lambda: store.extend_plan(tournament.id, plan, ""))
    wall = cpu = 0.0
    for start in range(0, num_matches, batch):
        records = make_records(tournament.id, plan[start : start + batch], bots, rng)
        took = timed(lambda records=records: store.save(records))
        wall, cpu = wall + took[0], cpu + took[1]
    store.set_state(tournament.id, "finished")
    return {"plan_s": plan_s, "plan_cpu_s": plan_cpu_s, "save_s": wall, "save_cpu_s": cpu}


def measure(path: Path, num_matches: int) -> dict[str, float]:
    """Return the best of several times in ms of what people wait for."""
    best: dict[str, float] = {}

    def note(name: str, work: Callable[[], object]) -> None:
        best[name] = round(1000 * min(timed(work)[0] for _ in range(5)), 2)

    note("open_ms", lambda: Store.open(path, read_only=True).close())
    with Store.open(path, read_only=True) as store:
        note("tallies_ms", lambda: store.tallies(MatchFilter()))
        note("tallies_of_bot_ms", lambda: store.tallies(MatchFilter(bot="bot-03")))
        note("tallies_since_ms", lambda: store.tallies(MatchFilter(since=START + 0.99 * num_matches)))
        note("first_page_ms", lambda: store.matches(MatchFilter()))
        note("deep_page_ms", lambda: store.matches(MatchFilter(), before=num_matches // 10))
        note("page_of_bot_ms", lambda: store.matches(MatchFilter(bot="bot-03")))
        note(
            "deep_page_of_bot_ms", lambda: store.matches(MatchFilter(bot="bot-03"), before=num_matches // 10)
        )
        note("page_of_two_ms", lambda: store.matches(MatchFilter(bot="bot-03", vs="bot-04")))
        note("page_of_faults_ms", lambda: store.matches(MatchFilter(termination="time_move")))
        note("page_of_none_ms", lambda: store.matches(MatchFilter(outcome="void", rated_only=False)))
        note("page_until_ms", lambda: store.matches(MatchFilter(until=START + 0.01 * num_matches)))
        note("data_version_ms", store.data_version)
    return best


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of wall and of processor time that some work took."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=1_000_000)
    parser.add_argument("--bots", type=int, default=20)
    parser.add_argument("--batch", type=int, default=10_000, help="matches of one transaction")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--db", type=Path, required=True, help="file that does not exist yet")
    parser.add_argument("--check", action="store_true", help="check the store afterwards, too")
    arguments = parser.parse_args()
    if arguments.db.exists():
        parser.error(f"{arguments.db} exists; give the store a new file")
    with Store.open(arguments.db) as store:
        took = fill(store, arguments.bots, arguments.matches, arguments.batch, arguments.seed)
        if arguments.check:
            took["check_s"], _ = timed(lambda: print(store.check()))
    report = {name: round(value, 3) for name, value in took.items()}
    report |= {
        "matches": arguments.matches,
        "matches_per_s": round(arguments.matches / took["save_s"]),
        "matches_per_cpu_s": round(arguments.matches / took["save_cpu_s"]),
        "bytes_per_match": round(arguments.db.stat().st_size / arguments.matches),
    }
    print(json.dumps(report | measure(arguments.db, arguments.matches)))


if __name__ == "__main__":
    main()
