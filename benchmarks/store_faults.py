"""Makes disks fail and holds locks while a store is written, and counts losses; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from simulated.disks import failing_calls, interrupted_calls, small_files
from simulated.failing import KINDS
from simulated.locks import locked_for, log_with_readers, many_writers

if TYPE_CHECKING:
    from collections.abc import Callable

READ_SAVES = 10
"""Saves per trial while other processes read."""


def main() -> None:
    """Run all trials, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300, help="trials of each way in which a disk fails")
    parser.add_argument("--step", type=int, default=1, help="step from one failing operation to the next")
    parser.add_argument("--writes", type=int, default=2500, help="matches that each of four writers saves")
    parser.add_argument("--lock-s", type=float, default=60, help="seconds of the long lock")
    parser.add_argument("only", nargs="*", help="names of rows")
    arguments = parser.parse_args()
    numbers = range(1, arguments.trials * arguments.step + 1, arguments.step)
    num_saves = READ_SAVES * arguments.trials // 3
    rows: dict[str, Callable[[Path], object]] = {
        kind: lambda folder, kind=kind: failing_calls(folder, kind, numbers) for kind in KINDS
    }
    rows |= {
        "efbig": lambda folder: small_files(folder, numbers),
        "eintr": lambda folder: interrupted_calls(folder, arguments.trials),
        "locked_1_s": lambda folder: locked_for(folder / "a.db", 1, busy_ms=30_000, num_saves=10),
        "locked_long": lambda folder: locked_for(
            folder / "a.db", arguments.lock_s, busy_ms=30_000, num_saves=20
        ),
        "locked_for_ever": lambda folder: locked_for(folder / "a.db", None, busy_ms=100, num_saves=10),
        "four_writers": lambda folder: many_writers(folder / "a.db", arguments.writes),
        "no_reader": lambda folder: log_with_readers(folder / "a.db", num_saves, 0),
        "three_viewers": lambda folder: log_with_readers(folder / "a.db", num_saves, 3),
        "two_counters": lambda folder: log_with_readers(folder / "a.db", num_saves, 2, "counter"),
        "stuck_reader": lambda folder: log_with_readers(folder / "a.db", num_saves, 1, "stuck"),
    }
    began, figures = time.monotonic(), dict[str, object]()
    for name in arguments.only or rows:
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = rows[name](Path(folder))
    print(json.dumps({**figures, "wall_s": round(time.monotonic() - began, 1)}))


if __name__ == "__main__":
    main()
