"""Trials of worker machines under `kill -9` and partitions.

Each machine is a network namespace of an ordinary user. Every run must end with the results of an undisturbed
run: each match once, none void, nothing left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from namespaces import DEADLINE_S, SCHEDULER, Lab, listeners, wait_for

from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter
from arena_db.store import Store
from postgres_servers import Databases, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

_INSIDE = "ARENA_TRIALS_INSIDE"
_GONE_S = 5.0
"""Seconds within which everything that a killed process started must have ended."""
_OPTIONS = ("--game", "tic-tac-toe", "--srand", "7", "--nodes", "100")
_TRAINING = (
    *("net=1x8", "lanes=32", "moves=6", "simulations=16", "small=8", "batch=64", "steps=12", "test_every=0"),
    *("processes=8", "--game", "tic-tac-toe", "--seed", "3", "--quiet"),
)
_VICTIMS = ("slot", "supervisor", "scheduler", "coordinator")
FAILURES = ("wrong_results", "voids", "orphans", "wrong_exits", "open_ports")
"""The figures that must be 0."""

Row = tuple[int, str, tuple[int, ...], int, int, str]


def main() -> None:
    """Run the trials, print their figures as one line of JSON, and fail if one that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=50, help="kills of each kind: slot, supervisor, scheduler, coordinator"
    )
    parser.add_argument("--trainings", type=int, default=8, help="trainings during which a process is killed")
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument(
        "--cut-s", type=float, default=5.0, help="seconds of a partition; every other is 18 times as long"
    )
    parser.add_argument("--rounds", type=int, default=100, help="rounds of the tournament, two matches each")
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="play in databases of a server of its own")
    arguments = parser.parse_args()
    if not os.environ.get(_INSIDE):
        sys.exit(_inside(is_on_server=arguments.postgres))
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        trials = Trials(lab, arguments.rounds, arguments.isolation, random.Random(arguments.seed))  # noqa: S311
        if arguments.postgres:
            trials.databases = Databases(os.environ[_INSIDE])
        if arguments.kills or arguments.partitions:
            trials.compare()
        for number in range(arguments.kills * len(_VICTIMS)):
            trials.kill(_VICTIMS[number % len(_VICTIMS)])
        for number in range(arguments.trainings):
            trials.train(_VICTIMS[number % len(_VICTIMS)])
        for number in range(arguments.partitions):
            trials.part(arguments.cut_s * (18 if number % 2 else 1))
        figures = {key: trials.figures[key] for key in (*sorted(trials.figures), *FAILURES)}
    print(json.dumps(figures))
    sys.exit(any(figures[key] for key in FAILURES))


def _inside(*, is_on_server: bool) -> int:
    """Run this program among network namespaces, beside a database server that is reached by its socket."""
    server = PostgresServer(durable=True) if is_on_server else None
    if server is not None:
        # Only this user exists within the namespaces.
        server.folder.chmod(0o755)
    try:
        command = ["unshare", "-Urn", sys.executable, *sys.argv]
        inside = "1" if server is None else server.url("postgres")
        return subprocess.call(command, env=os.environ | {_INSIDE: inside})  # noqa: S603 - this program
    finally:
        if server is not None:
            server.close()


class Trials:
    """One tournament, played again and again while processes are killed or wires disconnected."""

    def __init__(self, lab: Lab, rounds: int, isolation: str, chance: random.Random) -> None:
        """Prepare the trials; nothing is played yet."""
        self.figures: Counter[str] = Counter()
        self.databases: Databases | None = None
        """Databases of a server for the stores; None if the stores are files."""
        self._lab, self._chance = lab, chance
        self._plan = [
            "match",
            "random",
            "random",
            *_OPTIONS,
            "--rounds",
            str(rounds),
            "--isolation",
            isolation,
        ]
        self._num = 0
        self._expected: list[Row] = []
        self._whole_s = self._train_s = 10.0

    def compare(self) -> None:
        """Play inline, locally, on a cluster of this machine and on two: all results must be equal."""
        for words in (
            ("--executor", "inline"),
            ("--executor", "local", "--concurrency", "1"),
            ("--cluster", "local:2"),
        ):
            self._hold(words)
        with self._machines():
            began = time.monotonic()
            self._hold(DASK)
            self._whole_s = time.monotonic() - began
            others = [place for place in listeners() if not place.startswith(("127.", "[::1]"))]
            self.figures["open_ports"] += others != [SCHEDULER]

    def kill(self, victim: str) -> None:
        """Kill one process at a random moment of a run, then let the run continue."""
        self.figures[f"{victim}_kills"] += 1
        with self._machines() as machines:
            self._hold(DASK, lambda: self._strike(victim, machines))
        self._count_left()

    def train(self, victim: str) -> None:
        """Train in one process, then on two machines while one process is killed: equal weights."""
        self.figures["trainings"] += 1
        began = time.monotonic()
        alone = self._train(f"alone-{self._num}", ("--executor", "inline"), None)
        self._train_s = time.monotonic() - began
        with self._machines() as machines:
            shared = self._train(f"shared-{self._num}", DASK, lambda: self._strike(victim, machines))
        self.figures["wrong_results"] += not alone or shared != alone
        self._count_left()

    def _train(self, name: str, where: Sequence[str], strike: Callable[[], bool] | None) -> bytes:
        """Return the weights of a training; a killed one is resumed."""
        self._num += 1
        process = self._lab.arena("train", "alphazero", *_TRAINING, "--name", name, *where)
        run = self._lab.folder / "lab" / "home" / "runs" / name
        if strike is not None:
            # A training that is killed before its run exists cannot be resumed.
            wait_for(lambda: process.poll() is not None or (run / "run.toml").exists(), "no run begins")
            with suppress(subprocess.TimeoutExpired):
                process.wait(self._chance.uniform(0, self._train_s))
            self.figures["in_training"] += process.poll() is None
            if strike():
                process.kill()
                process.wait()
                process = self._lab.arena("train", "--resume", name, "--keys", "lab.key", "--quiet")
        self.figures["wrong_exits"] += _status(process) != 0
        weights = run / "weights.onnx"
        return weights.read_bytes() if weights.exists() else b""

    def _strike(self, victim: str, machines: dict[str, subprocess.Popen[str]]) -> bool:
        """Kill a process; return whether the run has to be resumed."""
        name = self._chance.choice(self._lab.names)
        if victim == "coordinator":
            return True
        if victim == "scheduler":
            machines["scheduler"].kill()
            machines["scheduler"].wait()
            machines["scheduler"] = self._lab.start_scheduler()
        elif victim == "supervisor":
            machines[name].kill()
            machines[name].wait()
            machines[name] = self._lab.start_worker(name)
        else:
            for pid in _children(machines[name].pid):
                if b"cluster.slot" in _command(pid):
                    os.kill(pid, signal.SIGKILL)
        return False

    def part(self, seconds: float) -> None:
        """Disconnect a machine during a run, and connect it again."""
        self.figures["partitions"] += 1
        name = self._chance.choice(self._lab.names)
        with self._machines():

            def strike() -> bool:
                self._lab.cut(name, is_up=False)
                time.sleep(seconds)
                self._lab.cut(name, is_up=True)
                return False

            self._hold(DASK, strike)
        self._count_left()

    def _hold(self, words: Sequence[str], strike: Callable[[], bool] | None = None) -> None:
        """Play the tournament to its end with one disturbance, and compare its results."""
        self._num += 1
        store = str(self._lab.folder / f"{self._num}.db")
        if self.databases is not None:
            store = self.databases.url(self.databases.make())
        command = [*self._plan, *words, "--quiet", "--db", store]
        process = self._lab.arena(*command)
        if strike is not None:
            wait_for(lambda: process.poll() is not None or rows(store), "no match is stored")
            with suppress(subprocess.TimeoutExpired):
                process.wait(self._chance.uniform(0, self._whole_s / 2))
            self.figures["in_play"] += process.poll() is None
            if strike():
                process.kill()
                process.wait()
                if len(rows(store)) < len(self._expected):
                    process = self._lab.arena("resume", "--keys", "lab.key", "--quiet", "--db", str(store))
        status = _status(process)
        self.figures["runs"] += 1
        killed = strike is not None and status == -signal.SIGKILL and len(rows(store)) == len(self._expected)
        self.figures["wrong_exits"] += status != 0 and not killed
        found = rows(store)
        self._expected = self._expected or found
        self.figures["wrong_results"] += found != self._expected
        self.figures["voids"] += sum(row[1] == "void" for row in found)

    @contextmanager
    def _machines(self) -> Generator[dict[str, subprocess.Popen[str]]]:
        """Run a scheduler and the workers of all machines."""
        machines = {"scheduler": self._lab.start_scheduler()}
        try:
            machines |= {name: self._lab.start_worker(name) for name in self._lab.names}
            yield machines
        finally:
            for name in (*self._lab.names, "scheduler"):
                machines[name].terminate()
            for process in machines.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GONE_S * 6)

    def _count_left(self) -> None:
        """Count the arena's processes that are still there some seconds after their run, and kill them."""
        ends_at = time.monotonic() + _GONE_S
        while (left := _arenas(self._lab.folder)) and time.monotonic() < ends_at:
            time.sleep(0.1)
        self.figures["orphans"] += len(left)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


DASK = ("--executor", f"dask:tls://{SCHEDULER}", "--keys", "lab.key")


def rows(store: str) -> list[Row]:
    """Return number, outcome, actions, seeds and hash of every match that is done."""
    with suppress(DatabaseError), Store.open(store, read_only=True) as opened:
        found = opened.matches.newest(MatchFilter(rated_only=False), limit=1_000_000)
        return sorted(
            (one.number, one.outcome, one.actions, one.seed_first, one.seed_second, one.match_hash)
            for one in found
            if one.is_final
        )
    return []


def _status(process: subprocess.Popen[str]) -> int:
    """Return the exit status of a process, which is killed if it takes too long."""
    try:
        return process.wait(DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    return []


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _arenas(folder: Path) -> list[int]:
    """Return the processes that have a home or temporary files in this folder."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        pid = int(path.parent.name)
        with suppress(OSError):
            if f"ARENA_HOME={folder}".encode() in path.read_bytes() and pid != os.getpid():
                found.append(pid)
    return found


if __name__ == "__main__":
    main()
