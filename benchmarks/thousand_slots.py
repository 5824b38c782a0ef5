"""Measures the CPU time of coordinator and scheduler with up to a thousand slots; prints one JSON line each.

Slots are threads of a few processes: they send the real messages over connections of their own, and their
matches are so short that the messages are most of the work. One thread serves all connections of a process:
with a thread each, a thousand slots leave the scheduler no CPU to answer them. Only the CPU per match of
coordinator and scheduler is meaningful, since all of them share this computer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from arena.errors import ArenaError
from arena.executor.cluster.coordinator_link import ask_status
from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.key_files import find_place
from arena.executor.cluster.setups import LOST, SlotSetup
from arena.executor.cluster.slot import SlotPlayer
from arena.executor.slots import Slot
from loopback_machines import Cluster, await_true, cluster, stored

if TYPE_CHECKING:
    from collections.abc import Sequence

_PER_PROCESS = 250
_JOINING = 10
"""Slots of a process that join at once: this computer computes both sides of each handshake."""
_BOTS = ("random", "random", "--game", "tic-tac-toe", "--nodes", "10", "--isolation", "none")


def run_slots(address: str, keys: str, folder: str, num: int) -> None:
    """Run `num` slots of one machine, until this process is killed."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    facts, machine = find_facts(num, 0.0), os.urandom(16).hex()
    setups: list[SlotSetup] = []
    for number in range(num):
        own = Path(folder) / f"{machine}-{number}"
        own.mkdir()
        setups.append(
            SlotSetup(
                address=address,
                keys=keys,
                slot=Slot(machine, number, os.urandom(16).hex()),
                facts=facts,
                folder=str(own),
                parent=os.getppid(),
                programs_roam=True,
            )
        )
    asyncio.run(_serve_all([SlotPlayer(setup) for setup in setups]))


async def _serve_all(players: Sequence[SlotPlayer]) -> None:
    joining: list[SlotPlayer] = []
    async with asyncio.TaskGroup() as group:
        for player in players:
            group.create_task(_serve(player))
            threading.Thread(target=player.run, daemon=True).start()
            joining.append(player)
            while len(joining) == _JOINING:
                await asyncio.sleep(0.02)
                joining = [each for each in joining if not each.link.has_joined]


async def _serve(player: SlotPlayer) -> None:
    try:
        await player.link.serve()
    finally:
        # As the process of a single slot does; `measure` then ends, too.
        os._exit(LOST)


def measure(num_slots: int, num_matches: int) -> dict[str, Any]:
    """Play a match of two bots on `num_slots` slots; return the figures."""
    with cluster() as own:
        started = [
            _start(own, min(_PER_PROCESS, num_slots - before)) for before in range(0, num_slots, _PER_PROCESS)
        ]
        try:
            await_true(lambda: _num_joined(own, started) >= num_slots, "slots do not join")
            return {"slots": num_slots, **_play(own, num_matches)}
        finally:
            for process in started:
                process.kill()
                process.wait()


def _start(own: Cluster, num: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", __file__, "--be", own.address, "lab.key", str(own.folder), str(num)]
    home = {"ARENA_HOME": str(own.folder / "slots"), "TMPDIR": str(own.folder)}
    return subprocess.Popen(command, cwd=own.folder, env=os.environ | home, stdout=subprocess.DEVNULL)  # noqa: S603 - this program


def _num_joined(own: Cluster, started: Sequence[subprocess.Popen[bytes]]) -> int:
    """Return how many slots the scheduler lists; 0 while a thousand greetings keep it from answering."""
    if any(process.poll() is not None for process in started):
        raise SystemExit("a slot has lost its scheduler")
    time.sleep(1)
    place = find_place(own.address, own.folder / "lab.key")
    with suppress(ArenaError):
        return sum(machine.slots for machine in ask_status(place))
    return 0


def _play(own: Cluster, num_matches: int) -> dict[str, Any]:
    store = own.folder / "many.db"
    words = ("match", *_BOTS, "--rounds", str(num_matches // 2), "--srand", "7", "--quiet", *own.dask)
    hub_s = _cpu_s(own.scheduler_pid)
    process = own.start(*words, "--db", str(store))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    matches = stored(store)
    seconds = max(match.started_at for match in matches) - matches[0].started_at
    return {
        "matches": len({match.number for match in matches}),
        "status": status,
        "coordinator_ms": round(1000 * (used.ru_utime + used.ru_stime) / num_matches, 3),
        "coordinator_mb": round(used.ru_maxrss / 1024),
        "scheduler_ms": round(1000 * (_cpu_s(own.scheduler_pid) - hub_s) / num_matches, 3),
        "matches_per_s": round(len(matches) / seconds),
    }


def _cpu_s(pid: int) -> float:
    """Return the seconds of CPU that a process and its living children have used."""
    total = 0
    for each in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())):
        fields = Path(f"/proc/{each}/stat").read_text("ascii").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print one line per number of slots."""
    if sys.argv[1:2] == ["--be"]:
        address, keys, folder, num = sys.argv[2:]
        run_slots(address, keys, folder, int(num))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 1000])
    parser.add_argument("--matches", type=int, default=40_000)
    given = parser.parse_args()
    for num in given.slots:
        figures = measure(num, given.matches)
        print(json.dumps(figures), flush=True)
        if figures["matches"] != given.matches or figures["status"]:
            sys.exit(1)


if __name__ == "__main__":
    main()
