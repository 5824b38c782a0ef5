"""The full trials of stores on a PostgreSQL server with many processes; prints one JSON line.

Each part fails, with a non-zero exit status, if a match or an event is missing, doubled or out of order.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import server_trials
from postgres_servers import Databases, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coordinators", type=int, default=10)
    parser.add_argument("--matches", type=int, default=2000, help="matches of each coordinator")
    parser.add_argument("--followers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds during which events are written")
    parser.add_argument("--kills", type=int, default=2, help="times the server is killed meanwhile")
    parser.add_argument(
        "--stops", type=int, default=50, help="processes that run a tournament and are stopped and replaced"
    )
    parser.add_argument(
        "--rows", type=int, default=10_000, help="matches of one save, by COPY and row by row"
    )
    parser.add_argument("--moved", type=int, default=2000, help="matches of each of three events")
    args = parser.parse_args()
    server = PostgresServer(durable=True)
    databases = Databases(server.url("postgres"))
    figures: dict[str, object] = {}

    def on_new(part: str, work: Callable[[str], object]) -> None:
        name, start = databases.make(), time.perf_counter()
        figures[part] = work(databases.url(name))
        figures[f"{part}_s"] = round(time.perf_counter() - start, 1)
        databases.drop(name)
        print(part, figures[part], file=sys.stderr, flush=True)

    try:
        on_new("copy_ratio", lambda url: round(server_trials.compare_copy(url, args.rows), 2))
        on_new(
            "hold_s", lambda url: round(server_trials.hold_events(url, args.coordinators, args.matches), 1)
        )
        with tempfile.TemporaryDirectory() as folder:
            on_new("moved", lambda url: server_trials.move_there_and_back(url, Path(folder), args.moved))
        on_new("taken_over", lambda url: _stop_all(url, args.stops))
        name = databases.make()
        databases.close()
        told = server_trials.follow_events(server, server.url(name), args.followers, args.seconds, args.kills)
        figures |= told._asdict()
    finally:
        server.close()
    print(json.dumps(figures))


def _stop_all(url: str, num: int) -> int:
    for index in range(num):
        server_trials.take_over(url, index, 100)
    return num


if __name__ == "__main__":
    main()
