"""Measures CPU, memory and latency of the dashboard in real terminals over busy stores; prints JSON."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from simulated.season import add_tournament, make_bots, make_plan
from terminal_screen import DEADLINE_S, SETTLED_S, Screen, memory_with_all

from arena.executor.streaming import PERIOD_S
from arena.live.events import Finished, Move, RunState, Started, kind_of, pack
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from arena_db.store import Store
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena.live.events import Payload
    from arena_plugins import State

NUM_BOTS = 6


class Play:
    """A simulated coordinator whose bots move at random, on a number of boards and at a given rate."""

    def __init__(self, db: Path, boards: int, *, with_clocks: bool = True) -> None:
        self.store = Store.open(db)
        self._rng = np.random.default_rng(1)
        self._game = load_game("connect-four")
        self._tournament = add_tournament(self.store, make_bots(NUM_BOTS)).id
        self.store.plans.extend(self._tournament, list(make_plan(NUM_BOTS, 5000, self._rng)), "")
        self.store.claim(self._tournament, current_owner())
        self._clock = (60_000, 60_000) if with_clocks else None
        self._next = 0
        self._states: dict[int, State] = {}
        state = RunState(state="running", planned=5000, done=0, name="season", workers=boards)
        self.store.events.append([self._event(state, None, 0), *(self._begin() for _ in range(boards))])

    def move(self, number: int | None = None) -> list[LiveEvent]:
        """Make the next move of a match, by default of the one that has waited longest."""
        number = next(iter(self._states)) if number is None else number
        state = self._states.pop(number)
        action = int(self._rng.choice(state.legal_actions))
        state = state.child(action)
        ply = len(state.history)
        move = Move(action=action, elapsed_ms=400, clock_ms=self._clock, value=0.1)
        events = [self._event(move, number, ply)]
        if state.is_terminal:
            over = Finished(outcome="draw", termination="rules", plies=ply)
            return [*events, self._event(over, number, ply), self._begin()]
        self._states[number] = state
        return events

    @contextmanager
    def going_on(self, moves_per_s: float) -> Generator[None]:
        """Play during a `with` block; `moves_per_s` is the rate of all boards together."""
        ended = threading.Event()

        def play() -> None:
            due = 0.0
            while not ended.wait(PERIOD_S):
                due += moves_per_s * PERIOD_S
                events = [event for _ in range(int(due)) for event in self.move()]
                due -= int(due)
                if events:
                    self.store.events.append(events)

        thread = threading.Thread(target=play)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _begin(self) -> LiveEvent:
        self._next += 1
        self._states[self._next] = self._game.initial_state()
        names = (f"bot-{self._next % NUM_BOTS:02d}", f"bot-{(self._next + 1) % NUM_BOTS:02d}")
        return self._event(Started(bots=names, game="connect-four", clock_ms=self._clock), self._next, 0)

    def _event(self, body: Payload, number: int | None, ply: int) -> LiveEvent:
        return LiveEvent(
            tournament=self._tournament,
            number=number,
            ply=ply,
            kind=kind_of(body),
            payload=pack(body),
            t=time.time(),
        )


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds of each measurement of CPU time")
    parser.add_argument("--moves", type=int, default=60, help="number of moves whose latency is measured")
    parser.add_argument(
        "--duel", type=int, default=200_000, help="maximum number of matches of a duel of so many seconds"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of such duels")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "benchmark": "dashboard",
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "wall_10x2_80x24": wall(folder / "10.db", 10, 2, (80, 24), chosen.seconds),
            "wall_24x10_120x40": wall(folder / "24.db", 24, 10, (120, 40), chosen.seconds),
            "commit_to_paint_ms": commit_to_paint(folder / "one.db", chosen.moves),
            "click_to_coin_ms": click_to_coin(folder / "play.db"),
            "match_rate_with_3_viewers": match_rate(folder, chosen.duel, chosen.seconds / 2, chosen.rounds),
        }
    print(json.dumps(figures))


def wall(db: Path, boards: int, moves: float, size: tuple[int, int], seconds: float) -> dict[str, float]:
    """Measure a wall of boards, each with `moves` moves per second: percent of a core, and memory."""
    play = Play(db, boards)
    with play.store, play.going_on(boards * moves):
        screen = Screen(db, size)
        screen.wait_for(b"LIVE")
        time.sleep(3)
        share = screen.share(seconds)
        memory = screen.memory_mb()
        every = memory_with_all(screen)
        screen.close()
    return {"percent": share, "memory_mb": memory, "memory_all_screens_mb": every}


def commit_to_paint(db: Path, num_moves: int) -> dict[str, float]:
    """Measure the latency of a move from its commit to the screen, on an otherwise idle board."""
    play = Play(db, 1, with_clocks=False)
    with play.store:
        screen = Screen(db, (80, 24))
        screen.wait_for(b"LIVE")
        screen.rested_after(time.monotonic() + 3)
        took: list[float] = []
        rng = np.random.default_rng(2)
        for _ in range(num_moves):
            time.sleep(0.3 + 0.2 * rng.random())
            play.store.events.append(play.move())
            committed = time.monotonic()
            drawn = screen.drawn_after(committed)
            if drawn is not None:
                took.append(1000 * (drawn - committed))
        screen.close()
    return _quantiles(took)


def click_to_coin(db: Path) -> dict[str, float]:
    """Measure the time from a person's click until that move and the answer of `random` are drawn."""
    screen = Screen(db, (80, 24), "play", "random", "--game", "gomoku", "--first", "--isolation", "none")
    screen.wait_for(b"your move")
    took: list[float] = []
    # Every other row and column, so that no player gets five in a row; no move is on a stone of `random`.
    for row in range(0, 15, 2):
        for column in range(0, 15, 2):
            screen.rested_after(time.monotonic())
            found = screen.click(6 + 2 * column, 5 + row, b"your move")
            took += [] if found is None else [found]
    screen.close()
    # The coordinator, a process of its own, is still running.
    log = db.with_name(f"{db.name}-wal")
    _wait_until(lambda: not log.exists(), "the coordinator of the play did not end")
    return _quantiles(took)


def _quantiles(took: list[float]) -> dict[str, float]:
    p50, p95 = np.quantile(took, [0.5, 0.95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1), "moves": len(took)}


def match_rate(folder: Path, num_matches: int, seconds: float, rounds: int) -> dict[str, float]:
    """Return matches per second of two fast bots in the arena's workers, alone and with three viewers."""
    rates: dict[int, list[float]] = {0: [], 3: []}
    for number in range(rounds):
        for viewers in (0, 3) if number % 2 else (3, 0):
            rates[viewers].append(
                _rate(folder / f"duel-{number}-{viewers}.db", num_matches, seconds, viewers)
            )
    alone, watched = (statistics.median(found) for found in rates.values())
    return {
        "alone_per_s": round(alone),
        "watched_per_s": round(watched),
        "percent": round(100 * watched / alone, 1),
    }


def _rate(db: Path, num_matches: int, seconds: float, viewers: int) -> float:
    words = [
        *("match", "random", "random", "--game", "tic-tac-toe", "--isolation", "none"),
        *("--rounds", str(num_matches // 2), "--concurrency", "1", "--db", str(db), "--score-interval", "0"),
    ]
    # Output goes to a file: reading the lines as they come would cost a third of the rate.
    told = db.with_suffix(".txt")
    with ExitStack() as stack:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "arena", *words],
            stdout=stack.enter_context(told.open("wb")),
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        stack.callback(process.wait, DEADLINE_S)
        stack.callback(process.terminate)
        _wait_until(lambda: _num_finished(told) > 0, "the duel did not begin")
        for screen in [Screen(db, (80, 24)) for _ in range(viewers)]:
            stack.callback(screen.close)
            screen.wait_for(b"LIVE")
        time.sleep(SETTLED_S)
        before, began = _num_finished(told), time.monotonic()
        time.sleep(seconds)
        after, ended = _num_finished(told), time.monotonic()
        if process.poll() is not None:
            raise SystemExit("the duel was over before it was watched; give more matches")
        return (after - before) / (ended - began)


def _num_finished(told: Path) -> int:
    return told.read_bytes().count(b"Finished game")


def _wait_until(holds: Callable[[], bool], trouble: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(trouble)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
