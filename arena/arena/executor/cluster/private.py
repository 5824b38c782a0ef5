"""`--cluster local:N`: a scheduler and a worker for one run, on this machine, with keys of their own."""

from __future__ import annotations

import os
import select
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ArenaError
from arena.executor.cluster.certificates import make_keys
from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.key_files import find_place
from arena.executor.cluster.setups import SchedulerSetup, SupervisorSetup
from arena.own_python import own_python, safe_path

if TYPE_CHECKING:
    from pathlib import Path

    from arena.executor.cluster.key_files import SchedulerPlace

_START_S: Final = 30.0
"""Timeout in seconds until the scheduler, which first imports Dask, has printed its address."""
_END_S: Final = 10.0
"""Seconds that both processes together have to end before they are killed."""
_ADDRESS: Final = "tls://127.0.0.1:0"
"""Port 0: the system chooses a free one, so any number of runs can have a cluster at once."""
_MAX_EARLY: Final = 5
"""Number of deaths of the scheduler in a row, each soon after its start, after which it stays dead."""
_LASTED_S: Final = 60.0
"""Seconds of life after which a death of the scheduler is the first in a row."""
_LINE: Final = 200
"""Characters of the output that an error message quotes."""


class PrivateCluster:
    """A scheduler and a supervisor for one run; they end when this process ends, even if it is killed."""

    def __init__(self, slots: int, folder: Path) -> None:
        """Start both; slots join later.

        Args:
            slots: matches at once.
            folder: folder for keys and output; it is readable by this user only.

        Raises:
            ArenaError: the scheduler does not start.
        """
        self._folder = folder / "cluster"
        self._folder.mkdir(mode=0o700)
        (keys,) = make_keys(self._folder, ["local"]).files
        self._keys = str(keys)
        self._num_early = 0
        self._start_scheduler(_ADDRESS)
        try:
            address = self._read_address()
            facts = find_facts(slots, 0.0)
            # All its slots are on this machine, so no speed is compared.
            setup = SupervisorSetup(
                address=address, keys=self._keys, facts=facts, parent=os.getpid(), measures_speed=False
            )
            self._supervisor = self._start("supervisor", setup)
        except BaseException:
            # The constructor fails, so `close` will never be called.
            self._scheduler.kill()
            self._scheduler.wait()
            _close_output(self._scheduler)
            raise
        self.place: SchedulerPlace = find_place(address, keys)
        """Where the scheduler is."""

    @property
    def pids(self) -> tuple[int, int]:
        """The process ids of scheduler and supervisor."""
        return self._scheduler.pid, self._supervisor.pid

    def find_death(self) -> str:
        """Return which of the two has ended, with its last line of output; empty if both run."""
        for process, name in ((self._scheduler, "scheduler"), (self._supervisor, "supervisor")):
            if process.poll() is not None:
                said = self._said(name)
                return (
                    f"the {name} of --cluster local:N ended with {process.returncode}{said and f': {said}'}"
                )
        return ""

    def revive(self) -> str:
        """Start the scheduler again if it has ended; return why this cluster cannot go on, empty if it can.

        Must be called by the thread that created this cluster: on Linux a child ends with the thread that
        started it.
        """
        death = self.find_death()
        # Without its supervisor there are no slots.
        if not death or self._supervisor.poll() is not None:
            return death
        lasted = time.monotonic() - self._began >= _LASTED_S
        self._num_early = 1 if lasted else self._num_early + 1
        if self._num_early >= _MAX_EARLY:
            return f"{death}, {self._num_early} times in a row"
        _close_output(self._scheduler)
        # At the old address, where the slots and this run look for it; they connect as soon as it listens.
        self._start_scheduler(self.place.address)
        return ""

    def close(self) -> None:
        """Stop both; kill them after some seconds."""
        # By now the slots have no match to finish.
        for process in (self._supervisor, self._scheduler):
            process.terminate()
        ends_at = time.monotonic() + _END_S
        for process in (self._supervisor, self._scheduler):
            try:
                process.wait(max(0.0, ends_at - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _close_output(process)

    def _start_scheduler(self, address: str) -> None:
        self._began = time.monotonic()
        setup = SchedulerSetup(address=address, keys=self._keys, parent=os.getpid())
        self._scheduler = self._start("scheduler", setup)

    def _start(self, name: str, setup: SchedulerSetup | SupervisorSetup) -> subprocess.Popen[str]:
        with (self._folder / f"{name}.log").open("w") as log, safe_path():
            process = subprocess.Popen(  # noqa: S603 - this interpreter, arguments as a list
                own_python("-m", f"arena.executor.cluster.{name}"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl-C is handled by the coordinator.
                start_new_session=True,
            )
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(msgspec.json.encode(setup).decode() + "\n")
        return process

    def _read_address(self) -> str:
        output = self._scheduler.stdout
        if output is not None and select.select([output], [], [], _START_S)[0]:
            address = output.readline().strip()
            if address:
                return address
        raise ArenaError(f"the scheduler of --cluster local:N does not start: {self._said('scheduler')}")

    def _said(self, name: str) -> str:
        with suppress(OSError):
            lines = (self._folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
            return lines[-1][:_LINE] if lines else ""
        return ""


def _close_output(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        process.stdout.close()
