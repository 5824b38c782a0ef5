"""`arena worker`: runs one process per slot, and restarts it when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ArenaError
from arena.executor.cluster.facts import machine_id
from arena.executor.cluster.hardware import describe_gpus
from arena.executor.cluster.setups import BUSY, CONNECTED, END, FREE, LOST, PLAYED, SlotSetup, SupervisorSetup
from arena.executor.cluster.speed import SpeedWatch
from arena.executor.cores import num_workers
from arena.executor.parent import end_with_parent
from arena.executor.slots import Slot
from arena.executor.workspace import workspace
from arena.own_python import own_python, safe_path
from arena.removal import remove
from arena.sandbox.limits.exact import own_subtree
from arena.sandbox.resources import num_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.executor.cluster.facts import WorkerFacts

MAX_BACKOFF_S: Final = 60.0
"""Maximum seconds before a slot that died is started again; they double from 1 with each death in a row."""
MAX_EARLY: Final = 5
"""Number of deaths in a row before the first match after which the supervisor gives up."""
_NUM_LINES: Final = 20
"""Last lines of a slot's output, which the error message quotes."""
_LOOK_S: Final = 0.1
"""Seconds between two checks of the slots."""
_CUT_S: Final = 10.0
"""Seconds without a connected slot before the user is told; slots that start again need one or two."""
_LASTED_S: Final = 60.0
"""Seconds of life after which a slot is restarted without delay, since its start was not at fault."""


class SlotProcess:
    """The process of one slot, and its successors."""

    def __init__(self, number: int, folder: Path) -> None:
        """Start nothing yet; temporary files will be in `folder`."""
        self.number = number
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        self.is_connected = self.is_busy = self.has_played = False
        self.lines: deque[str] = deque(maxlen=_NUM_LINES)
        self.has_died = False
        """Whether the last process ended although nobody wanted it to."""
        self.starts_at = 0.0
        self.num_deaths = 0
        """Deaths in a row, each soon after its start."""
        self.began = 0.0
        self._num_starts = 0

    def start(self, setup: SupervisorSetup, machine: str) -> None:
        """Start the process; it ends when the thread that calls this ends."""
        self._num_starts += 1
        place = self.folder / f"{self.number}-{self._num_starts}"
        # Bots may run as other users, who must be able to pass through this folder but not to list it.
        place.mkdir(mode=0o711)
        told = SlotSetup(
            address=setup.address,
            keys=setup.keys,
            slot=Slot(machine, self.number, os.urandom(16).hex()),
            facts=setup.facts,
            folder=str(place),
            parent=os.getpid(),
            programs_roam=setup.facts.slots < num_workers(0, num_cores()),
            quota=setup.quota,
        )
        self.is_connected = self.is_busy = False
        self.began = time.monotonic()
        with safe_path():
            self.process = subprocess.Popen(  # noqa: S603 - this interpreter, arguments as a list
                own_python("-m", "arena.executor.cluster.slot", str(self.number)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=os.environ | gpu_environment(setup.gpus, self.number),
                # Ctrl-C is handled by the supervisor.
                start_new_session=True,
            )
        self._write(msgspec.json.encode(told).decode())
        threading.Thread(target=self.read, args=(self.process,), daemon=True).start()

    def end_soon(self) -> None:
        """Have the process end once what it computes is done.

        By a line, not by a signal: libraries that compute shards may block signals or replace handlers. A
        slot that had computed on a GPU never noticed SIGTERM.
        """
        self._write(END)

    def _write(self, line: str) -> None:
        assert self.process is not None  # noqa: S101 - for the type checker
        assert self.process.stdin is not None  # noqa: S101 - the same
        # A process that just ended needs no order.
        with suppress(OSError):
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()

    def read(self, process: subprocess.Popen[str]) -> None:
        """Read what the process prints, so that it never blocks on a full pipe."""
        assert process.stdout is not None  # noqa: S101 - for the type checker
        for line in process.stdout:
            match line.strip():
                case said if said == CONNECTED:
                    self.is_connected = True
                case said if said == PLAYED:
                    self.has_played = True
                case said if said in {BUSY, FREE}:
                    self.is_busy = said == BUSY
                case said:
                    self.lines.append(said)

    def has_ended(self) -> bool:
        """Return whether the process has ended; if so, remove its temporary files and count a death."""
        if self.process is None or self.process.poll() is None:
            return False
        # A slot that lost its scheduler, or aborted a match, is not at fault and starts again at once.
        self.has_died = self.process.returncode not in (0, LOST)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None
        remove(self.folder / f"{self.number}-{self._num_starts}")
        lasted = time.monotonic() - self.began >= _LASTED_S
        self.num_deaths = self.num_deaths + 1 if self.has_died and not lasted else 0
        self.starts_at = time.monotonic() + (
            min(MAX_BACKOFF_S, 2.0 ** (self.num_deaths - 1)) if self.num_deaths else 0.0
        )
        return True


class Supervisor:
    """Keeps the slots of this machine running."""

    def __init__(self, setup: SupervisorSetup, tell: Callable[[str], None]) -> None:
        """Prepare to run.

        Args:
            setup: where the scheduler is, and properties of this machine.
            tell: receives sentences for the user.
        """
        self._setup = setup
        self._tell = tell
        self._num_signals = 0
        self._connected_at: float | None = None
        """When a slot was last seen connected; None before all of them were."""
        self._is_cut = False
        self._machine = machine_id()
        self._watch = SpeedWatch(setup.facts.slots, setup.facts.speed, measures=setup.measures_speed)

    def run(self) -> None:
        """Keep the slots running; the first SIGTERM or SIGINT lets matches end, the second kills them.

        Raises:
            ArenaError: a slot dies repeatedly before it plays a match; the message has its last lines of
                output.
        """
        # The handler only counts. `_keep_running` acts on it, since it may be starting a process at that
        # moment.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._count_signal)
        # Before any slot starts: slots run in this cgroup and can limit their bots only in a divided one.
        own_subtree()
        with workspace() as folder:
            slots = [SlotProcess(number, folder) for number in range(self._setup.facts.slots)]
            try:
                self._keep_running(slots)
            finally:
                self._watch.cancel()
                for slot in slots:
                    if slot.process is not None:
                        # An error, or a second signal during the first one's wait, must leave no slot behind.
                        slot.process.kill()
                        slot.process.wait()

    def _keep_running(self, slots: list[SlotProcess]) -> None:
        num_told = 0
        while True:
            for slot in slots:
                if slot.has_ended():
                    self._note_end(slot)
                # After a signal nothing is started again, so the loop below ends when the last slot has.
                if slot.process is None and not self._num_signals and time.monotonic() >= slot.starts_at:
                    slot.start(self._setup, self._machine)
            self.tell_connection(slots)
            # Compared with a count, because two signals may come between two checks: the second one must not
            # be lost.
            if self._num_signals > num_told:
                num_told = self._num_signals
                self._end(slots)
            if self._num_signals and all(slot.process is None for slot in slots):
                return
            self.watch_speed(slots)
            time.sleep(_LOOK_S)

    def tell_connection(self, slots: Sequence[SlotProcess]) -> None:
        """Tell the user once when all slots are connected, when none is any more, and when one is again."""
        # A slot that is told to end while it waits for its scheduler reports that it waits no longer.
        if self._num_signals:
            return
        if any(slot.is_connected for slot in slots):
            if self._is_cut:
                self._tell("connected again")
            elif self._connected_at is None and not all(slot.is_connected for slot in slots):
                return
            elif self._connected_at is None:
                self._tell(f"{describe(self._setup.facts)}, connected")
            self._connected_at, self._is_cut = time.monotonic(), False
        elif self._connected_at is not None and not self._is_cut:
            self._is_cut = time.monotonic() - self._connected_at >= _CUT_S
            if self._is_cut:
                self._tell(f"no scheduler answers at {self._setup.address}; the slots keep trying")

    def watch_speed(self, slots: Sequence[SlotProcess]) -> None:
        """Start the slots again with another speed if the idle machine has changed its own."""
        is_idle = not self._num_signals and all(slot.is_connected and not slot.is_busy for slot in slots)
        speed = self._watch.look(is_idle=is_idle)
        if speed is None:
            return
        facts = self._setup.facts
        self._tell(f"{facts.name}: speed {speed:.2f} instead of {facts.speed:.2f}; the slots start again")
        self._setup = msgspec.structs.replace(
            self._setup, facts=msgspec.structs.replace(facts, speed=round(speed, 3))
        )
        for slot in slots:
            if slot.process is not None:
                # The slot finishes a batch that has arrived meanwhile.
                slot.end_soon()

    def _note_end(self, slot: SlotProcess) -> None:
        if not slot.has_died or self._num_signals:
            return
        if slot.num_deaths >= MAX_EARLY and not slot.has_played:
            lines = "\n".join(slot.lines) or "nothing"
            raise ArenaError(
                f"slot {slot.number} died {MAX_EARLY} times before it played a match; its output:\n{lines}"
            )
        wait_s = max(0.0, slot.starts_at - time.monotonic())
        when = f"in {wait_s:.0f} s" if wait_s else "now"
        self._tell(f"slot {slot.number} died; it restarts {when}")

    def _end(self, slots: list[SlotProcess]) -> None:
        is_first = self._num_signals == 1
        if is_first and any(slot.process is not None for slot in slots):
            self._tell("stopping: running matches end; Ctrl-C again ends them now")
        for slot in slots:
            if slot.process is not None:
                slot.end_soon() if is_first else slot.process.kill()

    def _count_signal(self, *_: object) -> None:
        self._num_signals += 1


def gpu_environment(gpus: Sequence[str], number: int) -> dict[str, str]:
    """Return the variables by which a slot sees its own GPU only; nothing changes without `--gpu`."""
    if not gpus:
        return {}
    return {"CUDA_VISIBLE_DEVICES": gpus[number] if number < len(gpus) else ""}


def describe(facts: WorkerFacts) -> str:
    """Return the properties of a machine in one line."""
    tiers = " ".join(facts.tiers) or "none"
    speed = f", speed {facts.speed:.2f}" if facts.speed else ""
    slots = f"{facts.slots} slot{'s' * (facts.slots != 1)}"
    if facts.gpus:
        slots += f", {describe_gpus(facts.gpus)}"
    return f"{facts.name}: {slots}, tiers {tiers}{speed}, bot-arena {facts.version}, no port open"


def main() -> None:
    """Supervise the slots described by the first line of standard input."""
    setup = msgspec.json.decode(sys.stdin.readline(), type=SupervisorSetup)
    end_with_parent(setup.parent)
    try:
        Supervisor(setup, lambda text: print(text, file=sys.stderr, flush=True)).run()  # noqa: T201
    except ArenaError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
