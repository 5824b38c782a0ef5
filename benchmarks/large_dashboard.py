"""Measures CPU, memory and response times of the dashboard on a very large store; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from simulated.season import add_tournament, make_bots, make_plan, make_records
from terminal_screen import DEADLINE_S, SETTLED_S, Screen, memory_with_all

from arena.results.history import rate_now
from arena_db.store import Store


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="seconds without input, over which CPU is measured"
    )
    parser.add_argument("--matches", type=int, default=200_000)
    parser.add_argument("--bots", type=int, default=40)
    parser.add_argument("--db", type=Path, help="such a store, created earlier with --keep")
    parser.add_argument("--keep", type=Path, help="where to create the store, for later use with --db")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        db = chosen.db or make_large(chosen.keep or Path(name, "large.db"), chosen.matches, chosen.bots)
        figures = {
            "benchmark": "large_dashboard",
            "matches": chosen.matches,
            "bots": chosen.bots,
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            **large_store(db, chosen.seconds),
            "search": searches(db, chosen.matches),
            "quit_s": quitting(db),
        }
    print(json.dumps(figures))


def make_large(db: Path, num_matches: int, num_bots: int) -> Path:
    """Create a store with many matches and twenty ratings over time, as a run would have recorded them."""
    rng = np.random.default_rng(1)
    with Store.open(db, fast=True) as store:
        plan, bots = list(make_plan(num_bots, num_matches, rng)), make_bots(num_bots)
        tournament = add_tournament(store, bots).id
        store.plans.extend(tournament, plan, "")
        step = max(1, num_matches // 20)
        for start in range(0, num_matches, step):
            store.matches.save(make_records(tournament, plan[start : start + step], bots, rng))
            store.sums.sum_up()
            point = rate_now(store, tournament, num_bots)
            if point is not None:
                store.ratings.add_point(tournament, point)
        store.tournaments.set_state(tournament, "finished")
    return db


def searches(db: Path, num_matches: int) -> dict[str, dict[str, float]]:
    """Filter the list; return milliseconds until the first matches are drawn, and until the search ends."""
    screen = Screen(db, (120, 40))
    screen.wait_for(b"ENDED")
    screen.rested_after(time.monotonic() + SETTLED_S)
    screen.press(b"3")
    screen.wait_for(str(num_matches).encode())
    found: dict[str, dict[str, float]] = {}
    for condition in ("ply<12 result:1/2", "bot:bot-01", "end:time_move", "date>=2020-01-01 ply>30"):
        screen.press(b"/")
        screen.rested_after(time.monotonic())
        screen.press(b"\x15" + condition.encode())
        screen.rested_after(time.monotonic())
        pressed = screen.press(b"\r")
        drawn = screen.drawn_after(pressed, DEADLINE_S) or pressed + DEADLINE_S
        rested = screen.rested_after(pressed + 0.02)
        found[condition] = {
            "drawn_ms": round(1000 * (drawn - pressed)),
            "searched_ms": round(1000 * (rested - pressed)),
        }
    screen.close()
    return found


def quitting(db: Path) -> dict[str, float]:
    """Quit the dashboard while it reads; return seconds until its process has ended."""
    states = {
        "tables": b"",
        "matches": b"3",
        "filter": b"3/bot:bot-0* duration>1ms ply>1\r",
        "sorted filter": b"3ss/bot:bot-0*\r",
        "bots": b"5",
        "tournaments": b"7",
        "export": b"8",
    }
    found: dict[str, float] = {}
    for state, keys in states.items():
        screen = Screen(db, (120, 40))
        screen.wait_for(b"Live]")
        for key in keys:
            # A key pressed before the screen appears would reach another screen.
            screen.rested_after(screen.press(bytes([key])) + 0.02)
        time.sleep(0.15)
        pressed = screen.press(b"q")
        screen.process.wait(DEADLINE_S)
        found[state] = round(time.monotonic() - pressed, 2)
        screen.close()
    return found


def key_to_paint(screen: Screen, num: int = 40) -> dict[str, float]:
    """Move through the list; return milliseconds from a key to its first paint, and the CPU that follows."""
    waits: list[float] = []
    cpu: list[float] = []
    for place in range(num):
        before = screen.cpu_s()
        pressed = screen.press((b"j", b"\x1b[6~", b"j", b"\x1b[5~")[place % 4])
        drawn = screen.drawn_after(pressed, DEADLINE_S) or pressed + DEADLINE_S
        screen.rested_after(pressed + 0.02)
        waits.append(1000 * (drawn - pressed))
        cpu.append(1000 * (screen.cpu_s() - before))
    return {
        "key_median_ms": round(statistics.median(waits)),
        "key_p95_ms": round(statistics.quantiles(waits, n=20)[-1]),
        "key_cpu_ms": round(statistics.mean(cpu)),
    }


def large_store(db: Path, seconds: float) -> dict[str, float]:
    """Open a store with many matches, go to the list, jump to its end, and measure while nothing happens."""
    screen = Screen(db, (80, 24))
    first_paint, first_paint_cpu = screen.wait_for(b"Live]") - screen.began, screen.cpu_s()
    first_data = screen.wait_for(b"ENDED") - screen.began
    screen.rested_after(time.monotonic() + 5)
    opened = screen.press(b"3")
    open_s = screen.rested_after(opened + 0.05) - opened
    jumps: list[float] = []
    for key in (b"G", b"g") * 5:
        pressed = screen.press(key)
        jumps.append(screen.rested_after(pressed + 0.02) - pressed)
    keys = key_to_paint(screen)
    idle = screen.share(seconds)
    memory = screen.memory_mb()
    every = memory_with_all(screen)
    screen.close()
    return {
        "first_paint_s": round(first_paint, 2),
        "first_paint_cpu_s": round(first_paint_cpu, 2),
        "first_data_s": round(first_data, 2),
        "open_matches_ms": round(1000 * open_s),
        "jump_ms": round(1000 * statistics.median(jumps)),
        **keys,
        "idle_percent": idle,
        "memory_mb": memory,
        "memory_all_screens_mb": every,
    }


if __name__ == "__main__":
    main()
