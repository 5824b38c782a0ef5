"""Starts the process of a bot, watches it and ends it with all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.own import own_python
from arena.sandbox import compiled, family
from arena.sandbox.recipe import LAUNCHER, encode, make_recipe
from arena.sandbox.resources import Resources, environment
from arena.sandbox.scratch import Scratch
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.sandbox.readable import Readable

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes per unit of `ru_maxrss`."""
_STEP_S = 0.001
_UNWIND_S = 1.0
"""Seconds the processes of T3 have to end one after the other."""
_NUM_KEEPERS = 2
"""Processes of T3 that wait for the bot."""


class Exit(NamedTuple):
    """How a process ended."""

    code: int | None
    """Its exit code; None if it did not exit by itself."""
    signal: int | None
    """The signal that ended it; None if it exited, or was ended by the arena."""
    max_rss: int
    """The most resident memory seen, in bytes."""


class Process:
    """A running bot: three pipes, without blocking on the arena's side, and a process group."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        tier: Tier,
        scratch: Scratch,
        resources: Resources,
        user: int | None = None,
    ) -> None:
        self.max_tasks = resources.tasks
        """How many threads and processes it may have, all together."""
        self.tier = tier
        """How it is kept apart."""
        self.user = user
        """The number of the user it was made; None if it is the arena's."""
        self.scratch = scratch
        """Its folder."""
        self._scratch_bounds = resources.scratch_bounds()
        self._keeps = Path(resources.compiled) if resources.keeps_compiled and resources.compiled else None
        self.pid = popen.pid
        """Also the id of its process group."""
        self._popen = popen
        self._pipes = [pipe for pipe in (popen.stdin, popen.stdout, popen.stderr) if pipe is not None]
        self.stdin, self.stdout, self.stderr = (pipe.fileno() for pipe in self._pipes)
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        self._inherited_rss = _own_max_rss()
        self._max_rss = 0
        self._exit: Exit | None = None

    @property
    def main_pid(self) -> int:
        """The process that plays, whose processor time is the bot's; from T3 on it is not the leader."""
        depth = 1 + _NUM_KEEPERS * (self.tier is Tier.T3)
        return list(islice(family.members(self.pid), depth))[-1]

    def has_exited(self) -> bool:
        """Say whether the process is dead; where the system cannot tell without reaping it, always no."""
        if self._exit is not None:
            return True
        if not hasattr(os, "waitid"):
            return False
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def usage(self) -> family.Usage:
        """Measure it and its descendants; if there are more than `max_tasks`, the sums are too small."""
        num_keepers = _NUM_KEEPERS * (self.tier is Tier.T3)
        resident, tasks = family.usage(self.pid, self.max_tasks + num_keepers)
        tasks = max(0, tasks - num_keepers)
        if tasks <= self.max_tasks:
            # What many processes share was counted for each: a crowd is no hoard.
            self._max_rss = max(self._max_rss, resident)
        return family.Usage(resident, tasks)

    def scratch_excess(self, part: float = 1.0) -> str:
        """Give the bound, or the part of it, that its scratch folder exceeds, in words; empty if none."""
        return self.scratch.excess(self._scratch_bounds, part)

    def kill(self, grace_s: float = 0.0) -> Exit:
        """Give the process `grace_s` seconds to exit, then kill its whole group and reap it.

        A second call gives the same answer.
        """
        if self._exit is None:
            if self.tier is Tier.T3:
                self._signal_keepers(signal.SIGCONT)
            exited = self._await_exit(grace_s)
            if self.tier is Tier.T3 and not exited:
                # With the first process inside all others end, and the one outside collects it.
                self._signal_keepers(signal.SIGKILL, skip=1)
                self._await_exit(_UNWIND_S)
            # The dead leader is not reaped yet, so the number of the group cannot be anyone else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._exit = self._reap(by_itself=exited)
            if self.tier is Tier.T1:
                # From T2 on no process can have left the group.
                family.sweep(str(self.scratch.home))
        return self._exit

    def close(self) -> None:
        """Close the pipes and remove the folder of a killed process."""
        for pipe in self._pipes:
            pipe.close()
        if self._keeps is not None and self._exit is not None:
            compiled.keep(self.scratch.cache, self._keeps)
            self._keeps = None
        self.scratch.remove()

    def _await_exit(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not (exited := self.has_exited()) and time.monotonic() < deadline:
            time.sleep(_STEP_S)
        return exited

    def _signal_keepers(self, number: int, skip: int = 0) -> None:
        """Send a signal to the two processes of T3 that wait for the bot; a pause stops them too."""
        for pid in list(islice(family.members(self.pid), skip, _NUM_KEEPERS)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _reap(self, *, by_itself: bool) -> Exit:
        _, status, usage = os.wait4(self.pid, 0)
        code = self._popen.returncode = os.waitstatus_to_exitcode(status)
        # The kernel counts what the arena held when it forked as the child's; only more than that is its own.
        own = usage.ru_maxrss * _RSS_UNIT
        max_rss = max(self._max_rss, own if own > self._inherited_rss else 0)
        if not by_itself and (code == -signal.SIGKILL or self.tier is Tier.T3):
            return Exit(None, None, max_rss)
        return Exit(code, None, max_rss) if code >= 0 else Exit(None, -code, max_rss)


def spawn(
    command: Sequence[str],
    tier: Tier,
    resources: Resources | None = None,
    *,
    readable: Readable | None = None,
    engine: Sequence[str] | None = None,
) -> Process:
    """Start a bot.

    Call it from the main thread: on Linux the bot dies with the thread that started it.

    With `engine` the launcher starts a second program beside the first, in a sandbox of its own of the same
    tier, since a bot cannot start programs from T2 on. The first finds `ARENA_ENGINE_FDS=R,W` in its
    environment: it reads what the engine prints from descriptor R and writes the engine's input to descriptor
    W. The engine ends with it, and both are killed and measured together.

    Args:
        command: program and arguments, both absolute, since it runs in a scratch folder.
        tier: how to keep it apart.
        resources: its limits; None for the defaults.
        readable: what it may read from T2 on; None for all that this interpreter can import.
        engine: program and arguments of an engine, the program absolute.

    Raises:
        ConfigError: `tier` is not one for processes, or not to be had on this system.
        OSError: the process cannot be started.
    """
    resources = resources or Resources()
    scratch = Scratch()
    try:
        entries, user = make_recipe(command, tier, resources, scratch, readable=readable, engine=engine)
        recipe = scratch.root / "recipe"
        recipe.write_bytes(encode(entries))
        if resources.compiled:
            compiled.take(Path(resources.compiled), scratch.cache)
        if user is not None:
            scratch.give_to(user)
        popen = subprocess.Popen(  # noqa: S603 - running what the user registered is the job
            own_python("-I", "-S", "-B", LAUNCHER, str(recipe)),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=scratch.home,
            env=environment(scratch),
            start_new_session=True,
        )
    except BaseException:
        scratch.remove()
        raise
    return Process(popen, tier, scratch, resources, user)


def _own_max_rss() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
