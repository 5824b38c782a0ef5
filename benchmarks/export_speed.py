"""Exports a season of random matches of Connect Four and measures the cost; prints one JSON line."""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from simulated.season import add_tournament, make_bots, make_plan, make_records

from arena.games.connect_four import ConnectFour
from arena.games.kernels.bulk import random_matches
from arena.games.symmetry import match_hash
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_db.records import Entrant, MatchRecord, PlannedMatch

NUM_BOTS = 20
BATCH = 10_000
OUTCOMES = {1: "first", -1: "second", 0: "draw"}
GAME = ConnectFour()
WAYS: dict[str, tuple[str, ...]] = {
    "parquet": ("--format", "parquet"),
    "npz": ("--format", "npz"),
    "npz_dedup": ("--format", "npz", "--split", "0.9", "--dedup", "--disjoint"),
}


def main() -> None:
    """Create the store if there is none, export it in each format, print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--db", type=Path, help="the store; created if it does not exist, otherwise used as it is"
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.db or Path(folder, "arena.db")
        if not path.exists():
            fill(path, arguments.matches, arguments.seed)
        report: dict[str, float] = {}
        for way in arguments.ways:
            report |= measured(path, Path(folder, way), way)
    print(json.dumps({name: round(value, 3) for name, value in report.items()}))


def fill(path: Path, num: int, seed: int) -> None:
    """Store random matches as a tournament that was played."""
    rng = np.random.default_rng(seed)
    bots = make_bots(NUM_BOTS)
    with Store.open(path, fast=True) as store:
        tournament = add_tournament(store, bots).id
        for start in range(0, num, BATCH):
            part = [
                replace(match, number=start + match.number, match_no=start + match.match_no, opening=())
                for match in make_plan(NUM_BOTS, min(BATCH, num - start), rng)
            ]
            store.plans.extend(tournament, part, "")
            store.matches.save(played(tournament, part, bots, rng))
            gc.collect()
        store.tournaments.set_state(tournament, "finished")


def played(
    tournament: int, plan: Sequence[PlannedMatch], bots: Sequence[Entrant], rng: np.random.Generator
) -> list[MatchRecord]:
    """Yield records of matches in which all legal actions are equally likely."""
    drawn = random_matches(GAME, len(plan), int(rng.integers(1 << 62)))
    records: list[MatchRecord] = []
    for index, record in enumerate(make_records(tournament, plan, bots, rng)):
        actions = tuple(drawn.actions[index, : int(drawn.lengths[index])].tolist())
        records.append(
            replace(
                record,
                actions=actions,
                num_opening=0,
                times_ms=(1,) * len(actions),
                values=(None,) * len(actions),
                outcome=OUTCOMES[int(drawn.outcomes[index])],
                termination="rules",
                fault="",
                match_hash=match_hash(GAME, actions),
            )
        )
    return records


def measured(db: Path, out: Path, way: str) -> dict[str, float]:
    """Run the command in a process of its own; return its CPU time and its peak memory."""
    command = [sys.executable, "-m", "arena", "export", str(out), "--db", str(db), "--quiet", *WAYS[way]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    manifest = json.loads((out / "manifest.json").read_bytes())
    parts = manifest["splits"].values()
    return {
        f"{way}_cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        # This is the maximum over all children so far: for exact figures run the formats one by one.
        f"{way}_rss_mb": after.ru_maxrss / 1024,
        f"{way}_positions": sum(part["num_positions"] for part in parts),
        f"{way}_rows": sum(part["num_rows"] for part in parts),
        f"{way}_bytes_per_row": sum(file["num_bytes"] for part in parts for file in part["files"])
        / max(1, sum(part["num_rows"] for part in parts)),
    }


if __name__ == "__main__":
    main()
