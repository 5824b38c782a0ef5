"""Compares worker machines with local play: throughput, delays, joins, commands, and a scheduler's memory.

Machines are workers on loopback. It prints one JSON line per row. Compare only figures of the same row,
because they depend on the other load of the computer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from loopback_machines import DEADLINE_S, Cluster, Delay, await_true, cluster, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena_db.records import StoredMatch

_MIB: Final = 1 << 20
_ENDS: Final = {0, 3}
"""Exit statuses of a run: all was played, or it was stopped before."""


class Work(NamedTuple):
    """Matches whose throughput is compared."""

    bots: tuple[str, str]
    """Their specs, with a place for the number of playouts."""
    options: tuple[str, ...]
    """Further arguments of `arena match`, without limits and rounds."""
    playouts: tuple[int, int]
    """Two numbers of playouts with which the duration of a match is measured."""
    ms: float
    """The wanted duration of a match, in milliseconds."""
    matches: int
    least: float
    """Lower bound of the rate on machines, as a share of the local one."""

    def words(self, playouts: int) -> tuple[str, ...]:
        """Return the arguments of `arena match`, without the number of rounds."""
        bots = (bot.format(playouts) for bot in self.bots)
        return (*bots, *self.options, "--nodes", str(playouts))


LIGHT: Final = ("--isolation", "none")
QUICK: Final = ("mcts:playouts={}", "random")
HOSTED: Final = ("mcts:playouts={}", "mcts:playouts={},c=1.1")
WORKS: Final = {
    "one_ms": Work(QUICK, ("--game", "tic-tac-toe", *LIGHT), (200, 3200), 1.0, 40_000, 0.8),
    "six_ms": Work(QUICK, ("--game", "connect-four", *LIGHT), (2000, 6000), 6.0, 20_000, 0.93),
    "hosted": Work(HOSTED, (), (10_000, 30_000), 300.0, 500, 0.93),
}
"""The matches that are compared. `playouts_of` finds the playouts with which they last as long as wanted,
because computers differ and bots become faster."""
DELAYS: Final = {25: 0.95, 100: 0.9}
"""Lower bounds of the rate, as a share of that without a delay, by the delay each way in milliseconds."""
TALKER: Final = """
from arena_plugins import PlayResult, hookimpl


class Bot:
    def play(self, state, limit):
        if not state.history[1:]:
            print("x" * 250_000)
        return PlayResult(state.legal_actions[0])


@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""
SLOW: Final = """
import time
from arena_plugins import PlayResult, hookimpl


class Bot:
    def play(self, state, limit):
        time.sleep(0.03)
        return PlayResult(state.legal_actions[0])


@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""


def rate_of(store: Path) -> float:
    """Return matches per second of play, from the first start to the last end."""
    matches = stored(store)
    ends = max(match.started_at + match.duration_ms / 1000 for match in matches)
    return len(matches) / (ends - matches[0].started_at)


def play(own: Cluster, name: str, words: Sequence[str], matches: int, where: Sequence[str]) -> Path:
    """Play a match to its end; return its store."""
    store = own.folder / f"{name}.db"
    rounds = ("--rounds", str(matches // 2), "--srand", "7", "--quiet", "--force-concurrency")
    own.wait_for("match", *words, *rounds, *where, "--db", str(store))
    return store


def playouts_of(own: Cluster, kind: str, share: float) -> int:
    """Return the playouts with which a match lasts as long as wanted, interpolated between two points."""
    work = WORKS[kind]
    few, many = (
        _duration_of(own, f"{kind}-{playouts}", work.words(playouts), max(4, int(share * 12_000 / work.ms)))
        for playouts in work.playouts
    )
    low, high = work.playouts
    return max(low, round(low + (work.ms - few) * (high - low) / (many - few)))


def _duration_of(own: Cluster, name: str, words: Sequence[str], most: int) -> float:
    """Return the median time from one start of a match to the next in one worker, in milliseconds."""
    store = play(own, name, words, min(most, 400) // 2 * 2, ("--concurrency", "1"))
    starts = sorted(match.started_at for match in stored(store))
    # Measured over pairs of matches, because a bot that moves first may have more moves.
    return 500 * statistics.median(after - before for before, after in zip(starts, starts[2:], strict=False))


def turns(share: float, repeats: int) -> dict[str, Any]:
    """Compare the rate of `--cluster local:2` with that of two local workers, in turns."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        own = Cluster(Path(folder))
        for kind, work in WORKS.items():
            num = max(4, int(work.matches * share) // 2 * 2)
            playouts = playouts_of(own, kind, share)
            words = work.words(playouts)
            rates: defaultdict[str, list[float]] = defaultdict(list)
            for number in range(repeats):
                for name, where in (("local", ("--concurrency", "2")), ("cluster", ("--cluster", "local:2"))):
                    rates[name].append(rate_of(play(own, f"{kind}-{name}-{number}", words, num, where)))
            # Compared turn by turn, because the computer may become a quarter slower or faster meanwhile.
            shares = [remote / local for local, remote in zip(rates["local"], rates["cluster"], strict=True)]
            figures[kind] = {
                "matches": num,
                "playouts": playouts,
                "ms": round(2000 / statistics.median(rates["local"]), 2),
                "share": round(statistics.median(shares), 3),
                "least": work.least,
            }
            print(json.dumps({kind: figures[kind]}), file=sys.stderr, flush=True)
    return figures


def delays(share: float) -> dict[str, Any]:
    """Compare the rates of two machines with and without a network delay."""
    work = WORKS["hosted"]
    num = max(4, int(work.matches * share) // 2 * 2)
    with tempfile.TemporaryDirectory() as folder:
        words = work.words(playouts_of(Cluster(Path(folder)), "hosted", share))
    rates: dict[int, float] = {}
    for delay_ms in (0, *DELAYS):
        with cluster() as own:
            proxy = Delay(int(own.address.rpartition(":")[2]), delay_ms)
            for name in ("pc1", "pc2"):
                own.start_worker(name, f"tls://127.0.0.1:{proxy.port}")
            rates[delay_ms] = rate_of(play(own, "delayed", words, num, own.dask))
    return {str(ms): {"share": round(rates[ms] / rates[0], 3), "least": DELAYS[ms]} for ms in DELAYS}


def slow_bots(folder: Path) -> tuple[str, ...]:
    """Return two bots that sleep, so that a machine with few cores can imitate several."""
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text(SLOW)
    return tuple(f"python:file={folder / f'{name}.py'},name={name}" for name in ("one", "two"))


def joins() -> dict[str, Any]:
    """Join four machines to a run, and let three leave; measure how soon they work and how long they idle."""
    with cluster() as own:
        store = own.folder / "joins.db"
        words = (
            *slow_bots(own.folder),
            "--game",
            "tic-tac-toe",
            "--rounds",
            "200",
            "--nodes",
            "10",
            "--quiet",
        )
        run = own.start("match", *words, *own.dask, "--db", str(store))
        machines = {"pc1": own.start_worker("pc1")}
        await_true(lambda: stored(store), "no match is stored")
        for name in ("pc2", "pc3", "pc4"):
            machines[name] = own.start_worker(name)
            time.sleep(2)
        await_true(lambda: len(_by_machine(store)) == len(machines), "a machine plays nothing")
        time.sleep(5)
        for name in ("pc2", "pc3", "pc4"):
            os.killpg(machines[name].pid, signal.SIGKILL if name == "pc4" else signal.SIGTERM)
            time.sleep(2)
        failed = run.wait(DEADLINE_S) != 0
        matches = stored(store)
        spans = _by_machine(store)
        idle = max(gap for each in spans.values() for gap in _gaps(each))
        return {
            "matches": len(matches),
            "missing": 400 - len({match.number for match in matches}),
            "voids": sum(match.outcome == "void" for match in matches),
            "failed": int(failed),
            "longest_idle_s": round(idle, 2),
        }


def _by_machine(store: Path) -> dict[str, list[StoredMatch]]:
    found: defaultdict[str, list[StoredMatch]] = defaultdict(list)
    for match in stored(store):
        found[json.loads(match.versions)["machine"]["id"]].append(match)
    return found


def _gaps(matches: Sequence[StoredMatch]) -> list[float]:
    """Return the seconds between the end of each match of a slot and the start of its next one."""
    ends = [match.started_at + match.duration_ms / 1000 for match in matches]
    return [after.started_at - end for end, after in zip(ends, matches[1:], strict=False)] or [0.0]


def orders(repeats: int) -> dict[str, Any]:
    """Pause, resume, stop and abort runs on two machines; measure when play and when the run end."""
    figures = {
        "orders": 4 * repeats,
        "missing": 0,
        "failed": 0,
        "latest_begin_s": 0.0,
        "longest_abort_s": 0.0,
    }
    with cluster() as own:
        for name in ("pc1", "pc2"):
            own.start_worker(name)
        for number in range(repeats):
            _order(own, own.folder / f"orders-{number}.db", 3 * (number % 5), figures)
    return figures


def _order(own: Cluster, store: Path, first: int, figures: dict[str, Any]) -> None:
    """Play 200 matches through a pause, a stop and an abort; the pause comes after the match `first`."""
    place = ("--db", str(store))
    resume = ("resume", "--keys", "lab.key", "--quiet", *place)
    words = (*slow_bots(own.folder), "--game", "tic-tac-toe", "--rounds", "100", "--nodes", "10", "--quiet")
    run = own.start("match", *words, *own.dask, *place)
    _await_more(store, first)
    own.wait_for("pause", *place)
    paused_at = time.time()
    time.sleep(2.5)
    # A match may begin as soon as the order is given, and the command ends some time later.
    resumed_at = time.time()
    own.wait_for("resume", *place)
    _await_more(store, len(stored(store)))
    own.wait_for("stop", *place)
    stopped_at = time.time()
    figures["failed"] += run.wait(DEADLINE_S) not in _ENDS
    late = [
        match.started_at - at
        for match in stored(store)
        for at, until in ((paused_at, resumed_at), (stopped_at, stopped_at + 60))
        if at < match.started_at < until
    ]
    figures["latest_begin_s"] = round(max([figures["latest_begin_s"], *late]), 2)
    run = own.start(*resume)
    _await_more(store, len(stored(store)))
    aborted_at = time.monotonic()
    own.wait_for("stop", "--now", *place)
    figures["failed"] += run.wait(DEADLINE_S) not in _ENDS
    figures["longest_abort_s"] = round(max(figures["longest_abort_s"], time.monotonic() - aborted_at), 2)
    own.wait_for(*resume)
    figures["missing"] += 200 - len({match.number for match in stored(store)})


def _await_more(store: Path, num: int) -> None:
    await_true(lambda: len(stored(store)) > num, "the run does not go on")


def growth(matches: int) -> dict[str, Any]:
    """Send results with half a megabyte of logs each through a scheduler, and measure its memory."""
    with cluster() as own:
        for name in ("one", "two"):
            (own.folder / f"{name}.py").write_text(TALKER)
        bots = tuple(f"python:file={own.folder / f'{name}.py'},name={name}" for name in ("one", "two"))
        own.start_worker("pc1")
        scheduler = own.scheduler_pid
        words = (*bots, "--game", "tic-tac-toe", "--nodes", "10", "--openings", "none", "--bot-output", "all")
        before = play(own, "warm", words, 20, own.dask) and _memory(scheduler)
        play(own, "grown", words, matches, own.dask)
        kept = sum(path.stat().st_size for path in (own.folder / "lab" / "logs").rglob("*.log"))
        return {
            "matches": matches,
            "kept_mb": round(kept / _MIB),
            "grown_mb": round(_memory(scheduler) - before),
        }


def _memory(pid: int) -> float:
    """Return the largest resident memory of a process and its children so far, in MiB."""
    total = 0.0
    for each in (pid, *_children(pid)):
        lines = Path(f"/proc/{each}/status").read_text("ascii").splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return total


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]


def main() -> None:
    """Measure the rows that are asked for; fail if a figure misses its bound."""
    rows: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
        "turns": lambda given: turns(given.share, given.repeats),
        "delays": lambda given: delays(given.share),
        "joins": lambda _: joins(),
        "orders": lambda given: orders(given.orders),
        "growth": lambda given: growth(given.batches),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[*rows, []], help="all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the full number of matches")
    parser.add_argument("--repeats", type=int, default=3, help="turns of local play and worker machines")
    parser.add_argument(
        "--orders", type=int, default=20, help="runs that are paused, continued, stopped, aborted"
    )
    parser.add_argument("--batches", type=int, default=2000, help="results with half a megabyte of logs")
    given = parser.parse_args()
    is_wrong = False
    for name in given.rows or rows:
        figures = rows[name](given)
        print(json.dumps({name: figures}), flush=True)
        is_wrong |= misses(figures)
    sys.exit(is_wrong)


BOUNDS: Final = {
    "missing": 0,
    "voids": 0,
    "failed": 0,
    "longest_idle_s": 3.0,
    "latest_begin_s": 1.0,
    "longest_abort_s": 6.0,
    "grown_mb": 100.0,
}
"""Upper bounds of the figures."""


def misses(figures: dict[str, Any]) -> bool:
    """Return whether a figure misses its bound."""
    parts: list[dict[str, Any]] = [each for each in figures.values() if isinstance(each, dict)]
    if any(map(misses, parts)):
        return True
    return figures.get("share", 1.0) < figures.get("least", 0.0) or any(
        figures.get(name, bound) > bound for name, bound in BOUNDS.items()
    )


if __name__ == "__main__":
    main()
