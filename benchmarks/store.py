"""Fills a store with a season of matches through its public interface, and times the usual reads."""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from simulated.season import START, add_tournament, make_bots, make_plan, make_records

from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard, pools
from arena.results.sides import GamePool
from arena_db.owner import current_owner
from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena_db.records import Entrant, MatchRecord, PlannedMatch

GROUP = 50
"""Matches of one group commit."""
SUM_EVERY = 20 * GROUP
"""Matches that are summed up together, about a second of a fast run."""


def main() -> None:
    """Measure everything and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=1_000_000, help="matches of the store that is read")
    parser.add_argument("--bots", type=int, default=20)
    parser.add_argument("--batch", type=int, default=10_000, help="matches of one transaction in bulk")
    parser.add_argument("--groups", type=int, default=400, help=f"commits of {GROUP} matches, each synced")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--db", type=Path, help="keep the store in this new file")
    parser.add_argument("--check", action="store_true", help="also check the store afterwards")
    arguments = parser.parse_args()
    if arguments.db is not None and arguments.db.exists():
        parser.error(f"{arguments.db} exists; give the store a new file")
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.db or Path(folder, "arena.db")
        report = _grouped(Path(folder, "groups.db"), arguments.groups, arguments.seed)
        report |= _fenced(Path(folder, "fenced.db"), arguments.groups, arguments.seed)
        report |= _bulk(path, arguments.bots, arguments.matches, arguments.batch, arguments.seed)
        report |= _read(path, arguments.matches)
        if arguments.check:
            with Store.open(path, read_only=True) as store:
                report["check_s"], report["check_cpu_s"] = timed(
                    lambda: report.update(faults=len(store.integrity.check()))
                )
    print(json.dumps({name: round(value, 3) for name, value in report.items()}))


def _grouped(path: Path, num: int, seed: int) -> dict[str, float]:
    """Save as a run does: each group is on disk before the next one."""
    with Store.open(path) as store:
        season = Season(store, 20, num * GROUP, seed)
        wall, cpu, sums = season.save(GROUP, sum_every=SUM_EVERY)
    return {
        "grouped_per_wall_s": num * GROUP / wall,
        "grouped_per_cpu_s": num * GROUP / cpu,
        "grouped_with_sums_per_cpu_s": num * GROUP / (cpu + sums),
    }


def _fenced(path: Path, num: int, seed: int) -> dict[str, float]:
    """Save alternately with and without the fence, which keeps a run from writing after a take-over.

    Both kinds of saves go to one tournament of one store, so that nothing else differs.
    """
    took: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    with Store.open(path) as store:
        season = Season(store, 20, num * GROUP, seed)
        run = store.claim(season.id, current_owner())
        if run is None:
            raise RuntimeError("somebody else has claimed the new tournament")
        for group, records in enumerate(season.records(GROUP)):
            # The order changes from round to round, so that a slower second save affects both kinds.
            is_fenced = group % 4 in {0, 3}
            door = run if is_fenced else store
            took[is_fenced].append(timed(lambda door=door, records=records: door.matches.save(records)))
    wall, cpu = ({fenced: np.median(times, axis=0)[i] for fenced, times in took.items()} for i in (0, 1))
    return {
        "fence_of_save_wall": float(wall[True] / wall[False] - 1),
        "fence_of_save_cpu": float(cpu[True] / cpu[False] - 1),
    }


def _bulk(path: Path, num_bots: int, num: int, batch: int, seed: int) -> dict[str, float]:
    """Save many matches at once."""
    with Store.open(path) as store:
        season = Season(store, num_bots, num, seed)
        wall, cpu, sums = season.save(batch, sum_every=batch)
        store.tournaments.set_state(1, "finished")
    return {
        "matches": num,
        "plan_s": season.plan_s,
        "save_s": wall,
        "save_cpu_s": cpu,
        "bulk_per_cpu_s": num / cpu,
        "bulk_with_sums_per_cpu_s": num / (cpu + sums),
        "bytes_per_match": path.stat().st_size / num,
    }


class Season:
    """A planned tournament in a store."""

    def __init__(self, store: Store, num_bots: int, num_matches: int, seed: int) -> None:
        """Store the plan."""
        self._store = store
        self._rng = np.random.default_rng(seed)
        self._bots: list[Entrant] = make_bots(num_bots)
        self.id = add_tournament(store, self._bots).id
        self._plan: list[PlannedMatch] = list(make_plan(num_bots, num_matches, self._rng))
        self.plan_s, _ = timed(lambda: store.plans.extend(self.id, self._plan, ""))

    def save(self, batch: int, *, sum_every: int) -> tuple[float, float, float]:
        """Save all matches, and sum them up between two saves as a run does.

        Returns:
            Seconds of elapsed time and of CPU time of the saves, and seconds of CPU time of summing up.
        """
        wall = cpu = sums = 0.0
        num = 0
        for records in self.records(batch):
            took = timed(lambda records=records: self._store.matches.save(records))
            wall, cpu = wall + took[0], cpu + took[1]
            num += batch
            if num % sum_every == 0:
                sums += timed(self._store.sums.sum_up)[1]
        return wall, cpu, sums

    def records(self, batch: int) -> Iterator[list[MatchRecord]]:
        """Yield all matches, `batch` at a time, while the garbage collector is off."""
        for start in range(0, len(self._plan), batch):
            records = make_records(self.id, self._plan[start : start + batch], self._bots, self._rng)
            # Otherwise the collector traverses the plan again and again, which is no cost of the store.
            gc.collect()
            gc.freeze()
            yield records
            gc.unfreeze()


def _read(path: Path, num_matches: int) -> dict[str, float]:
    """Return the milliseconds of CPU time of the reads that users wait for, the best of several."""
    best: dict[str, float] = {}

    def note(name: str, work: Callable[[], object]) -> None:
        best[name] = 1000 * min(timed(work)[1] for _ in range(9))

    deep = num_matches // 10
    note("open_ms", lambda: Store.open(path, read_only=True).close())
    with Store.open(path, read_only=True) as store:
        note("leaderboard_ms", lambda: store.sums.tallies(MatchFilter()))
        note("leaderboard_rated_ms", lambda: _rate(store))
        note("leaderboard_of_bot_ms", lambda: store.sums.tallies(MatchFilter(bot="bot-03")))
        note(
            "leaderboard_since_ms", lambda: store.sums.tallies(MatchFilter(since=START + 0.99 * num_matches))
        )
        note("page_ms", lambda: store.matches.newest(MatchFilter()))
        note("deep_page_ms", lambda: store.matches.newest(MatchFilter(), before=deep))
        note("page_of_bot_ms", lambda: store.matches.newest(MatchFilter(bot="bot-03")))
        note("deep_page_of_bot_ms", lambda: store.matches.newest(MatchFilter(bot="bot-03"), before=deep))
        note("page_of_two_ms", lambda: store.matches.newest(MatchFilter(bot="bot-03", vs="bot-04")))
        note("page_of_tournament_ms", lambda: store.matches.newest(MatchFilter(tournament="round-robin-1")))
        note("page_of_faults_ms", lambda: store.matches.newest(MatchFilter(termination="time_move")))
        note("page_of_none_ms", lambda: store.matches.newest(MatchFilter(outcome="void", rated_only=False)))
        note("page_until_ms", lambda: store.matches.newest(MatchFilter(until=START + 0.01 * num_matches)))
        note("data_version_ms", store.data_version)
    return best


def _rate(store: Store) -> None:
    """Rate all bots, as `arena leaderboard` does."""
    counts = store.sums.pool_counts(MatchFilter())
    ((game, pool, _),) = pools(counts.tallies)
    book = RatedMatches(MatchFilter(game=game, pool=pool))
    book.update(store)
    Leaderboard(counts, store.names.bots(), GamePool(game, pool), book, store.names.labels()).tables()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the elapsed and the CPU seconds of some work."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
