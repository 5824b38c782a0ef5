"""Measures the store beside the plain way: a row per move, and counting all matches for a leaderboard.

python benchmarks/store.py --db season.db
python benchmarks/plain_store.py --db season.db
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from simulated.season import make_bots, make_plan, make_records
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, event, func, insert, select
from store import Season, timed

from arena_db.models import matches
from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

    from arena_db.records import MatchRecord

BOTS = 20
metadata = MetaData()
games = Table(
    "games",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("first", String(64)),
    Column("second", String(64)),
    Column("outcome", String(8)),
)
moves = Table(
    "moves",
    metadata,
    Column("game", Integer, primary_key=True),
    Column("ply", Integer, primary_key=True),
    Column("action", Integer),
    Column("time_ms", Integer),
)


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds; the result is the median")
    parser.add_argument(
        "--matches", type=int, default=20_000, help="matches written in one transaction per round"
    )
    parser.add_argument("--db", type=Path, help="a full store, for the leaderboard")
    chosen = parser.parse_args()
    figures: dict[str, object] = {"benchmark": "plain_store", "rounds": chosen.rounds}
    turns = [write(chosen.matches, seed) for seed in range(chosen.rounds)]
    figures["written_per_cpu_s"] = summary(turns, ("store", "row_per_move"))
    if chosen.db is not None:
        with Store.open(chosen.db, read_only=True) as store:
            engine = create_engine(f"sqlite:///{chosen.db}")
            read(store, engine)  # load what the first call loads
            counts = [read(store, engine) for _ in range(chosen.rounds)]
            engine.dispose()
        figures["leaderboard_ms"] = summary(counts, ("scan", "store"))
    print(json.dumps(figures))


def summary(turns: list[tuple[float, float]], names: tuple[str, str]) -> dict[str, float]:
    """Return the medians by name, and the ratio of the first to the second."""
    found = dict(zip(names, map(statistics.median, zip(*turns, strict=True)), strict=True))
    found["ratio"] = statistics.median(first / second for first, second in turns)
    return {name: round(value, 3) for name, value in found.items()}


def write(num_matches: int, seed: int) -> tuple[float, float]:
    """Return matches per second of CPU: by the store, and with a row for each move."""
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(Path(folder, "arena.db")) as store:
            _, saved_s, summed_s = Season(store, BOTS, num_matches, seed).save(
                num_matches, sum_every=num_matches
            )
            ours_s = saved_s + summed_s
        rng = np.random.default_rng(seed)
        records = make_records(1, list(make_plan(BOTS, num_matches, rng)), make_bots(BOTS), rng)
        engine = plain_engine(Path(folder, "plain.db"))
        _, theirs_s = timed(partial(write_rows, engine, records))
        engine.dispose()
    return num_matches / ours_s, num_matches / theirs_s


def plain_engine(path: Path) -> Engine:
    """Create the tables, with the same journal mode and the same syncs as the store."""
    engine = create_engine(f"sqlite:///{path}")

    def settings(connection: DBAPIConnection, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    event.listen(engine, "connect", settings)
    metadata.create_all(engine)
    return engine


def write_rows(engine: Engine, records: list[MatchRecord]) -> None:
    """Write matches in one transaction, by lists of dicts."""
    with engine.begin() as connection:
        connection.execute(
            insert(games),
            [
                {
                    "id": record.number,
                    "first": record.first,
                    "second": record.second,
                    "outcome": record.outcome,
                }
                for record in records
            ],
        )
        connection.execute(
            insert(moves),
            [
                {"game": record.number, "ply": ply, "action": action, "time_ms": time_ms}
                for record in records
                for ply, (action, time_ms) in enumerate(zip(record.actions, record.times_ms, strict=True))
            ],
        )


def read(store: Store, engine: Engine) -> tuple[float, float]:
    """Return the milliseconds of CPU of a leaderboard's counts: by reading all matches; from the store."""
    pair = (matches.c.first_bot, matches.c.second_bot, matches.c.outcome)
    with engine.connect() as connection:
        _, scan_s = timed(lambda: connection.execute(select(*pair, func.count()).group_by(*pair)).all())
    _, ours_s = timed(lambda: store.sums.tallies(MatchFilter()))
    return 1000 * scan_s, 1000 * ours_s


if __name__ == "__main__":
    main()
