"""Kills workers, bots and starters of running tournaments with `kill -9`; counts losses and leftovers."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from kill_trials import BOTS, FAILURES, Trials, count_orphans, results

from arena.sandbox.starter import LAUNCHER
from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LEAST_S, _MOST_S = 0.1, 1.5
"""Seconds between two looks at the tournament: a kill can hit a worker at any moment."""
_DEATHS = {"crash", "init_crash"}
"""Terminations of a match whose bot was killed: during play, or while it started."""
Kind = Literal["worker", "host", "starter"]
_KINDS: tuple[Kind, ...] = ("worker", "host", "starter")
_ROUNDS = 2
"""Kills of each kind in a tournament. After a third one, a bot that is killed as it starts would be
quarantined, or a match given up, as the rules require; other trials test that."""


def main() -> None:
    """Run tournaments until enough kills happened; print the figures as JSON, fail if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kills",
        type=int,
        default=200,
        help="minimum number of kills; of workers, of starters, and in every other tournament of bots",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments of the kills")
    parser.add_argument(
        "--rounds", type=int, default=1000, help="rounds of each tournament, two matches each"
    )
    parser.add_argument("--bots", nargs=2, default=BOTS, metavar="BOT", help="of each tournament")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = WorkerTrials(Path(folder), arguments.rounds, "auto", arguments.seed, bots=arguments.bots)
        figures = trials.run_until(arguments.kills)
    print(json.dumps(figures))
    sys.exit(any(figures[key] for key in (*FAILURES, "unexplained")))


class WorkerTrials(Trials):
    """Tournaments whose coordinator lives while its workers, bots and starters are killed."""

    def run_until(self, num_kills: int) -> dict[str, float]:
        """Run tournaments until `num_kills` processes were killed in them."""
        reference = self._folder / "reference.db"
        self._expect(self._start(self._plan, reference), {0})
        self.refuse_faults(reference)
        expected = {number: rest for number, *rest in results(reference)}
        while sum(self._figures[f"{kind}s"] for kind in get_args(Kind)) < num_kills:
            self._figures["tournaments"] += 1
            store = self._folder / f"{self._figures['tournaments']}.db"
            process = self._start(self._plan, store)
            # Where no bot is killed, none may have died, however the tournament before ended.
            kills_bots = self._figures["tournaments"] % 2 == 1
            kinds: list[Kind] = [kind for kind in _KINDS if kills_bots or kind != "host"]
            killed = self._kill_children(process, store, kinds)
            self._expect(process, {0})
            self._figures["orphans"] += count_orphans()
            self._judge(store, expected, num_bots=killed["host"])
        counted = ("tournaments", "workers", "hosts", "starters", "crashes", "unexplained", *FAILURES)
        return {"matches": len(expected), **{key: self._figures[key] for key in counted}}

    def _kill_children(
        self, process: subprocess.Popen[str], store: Path, kinds: Sequence[Kind]
    ) -> Counter[Kind]:
        """Kill processes of each kind in turn while the tournament lasts; return how many of each."""
        left: deque[Kind] = deque()
        for _ in range(_ROUNDS):
            left.extend(kinds)
        killed: Counter[Kind] = Counter()
        num_done = 0
        while left:
            with suppress(subprocess.TimeoutExpired):
                process.wait(self._chance.uniform(_LEAST_S, _MOST_S))
                break
            before, num_done = num_done, _count_done(store)
            kind = left[0]
            victims = list(_players(process.pid, kind))
            may_kill = kind != "host" or may_kill_bot(num_done, killed["host"])
            if num_done == before or not victims or not may_kill:
                # Workers killed before they have begun anything are given up after some attempts.
                num_done = before
                continue
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(victims), signal.SIGKILL)
                self._figures[f"{kind}s"] += 1
                killed[kind] += 1
            left.popleft()
        return killed

    def _judge(self, store: Path, expected: Mapping[int, Sequence[object]], *, num_bots: int) -> None:
        """Check that killed workers and starters change nothing, and a killed bot loses at most one match."""
        with Store.open(store, read_only=True) as opened:
            self._figures["faulty_stores"] += bool(opened.integrity.check())
            found = opened.matches.newest(MatchFilter(rated_only=False), limit=1_000_000)
        final = [match for match in found if match.is_final]
        crashed = {match.number for match in final if match.termination in _DEATHS}
        self._figures["crashes"] += len(crashed)
        self._figures["unexplained"] += max(0, len(crashed) - num_bots)
        kept = {m.number: [m.outcome, m.actions] for m in final if m.number not in crashed}
        wanted = {number: rest for number, rest in expected.items() if number not in crashed}
        if kept != wanted or len(final) != len(expected):
            self._figures["wrong_results"] += 1
            strange = [match for match in found if [match.outcome, match.actions] != expected[match.number]]
            print(f"{store.name}: {strange}", file=sys.stderr)


def may_kill_bot(num_done: int, num_killed: int) -> bool:
    """Return whether one more bot can be killed without a quarantine, even if it is always the same bot.

    A bot that forfeits a tenth of twenty or more matches is quarantined.

    Args:
        num_done: matches with a result.
        num_killed: bots that were killed before.
    """
    return not num_killed or num_done > 10 * (num_killed + 1)


def _players(coordinator: int, kind: Kind) -> Iterator[int]:
    workers = [pid for pid in _children(coordinator) if b"spawn_main" in _command(pid)]
    if kind == "worker":
        yield from workers
        return
    for worker in workers:
        for pid in _children(worker):
            # A process that has ended and was not waited for has no command line.
            if command := _command(pid):
                is_starter = LAUNCHER.encode() in command and _holds_socket(pid, command)
                if is_starter == (kind == "starter"):
                    yield pid


def _holds_socket(pid: int, command: bytes) -> bool:
    """Return whether a process is a starter: the first process of a container has no socket.

    Both have the same command line. The oldest such process is not always the starter: once the starter was
    killed, it is the first process of a container, and a killed bot would count as a killed starter.
    """
    with suppress(OSError, ValueError):
        number = command.split(b"\0")[-2].decode("ascii")
        return _is_outside(pid) and (Path("/proc") / str(pid) / "fd" / number).readlink().name.startswith(
            "socket:"
        )
    return False


def _is_outside(pid: int) -> bool:
    """Return whether a process is in no container: it then has only one pid."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return any(line.split()[1:] == [str(pid)] for line in status.splitlines() if line.startswith("NSpid:"))


def _count_done(store: Path) -> int:
    try:
        return len(results(store))
    except DatabaseError:
        return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text("ascii").split())
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main()
