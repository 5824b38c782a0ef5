"""Starts the process of a bot, watches it, and ends it together with everything it started."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import time
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox import compiled, family
from arena.sandbox.launch.container_paths import COMPILED_NAME
from arena.sandbox.launch_recipe import encode, make_recipe
from arena.sandbox.limits.exact import own_subtree
from arena.sandbox.limits.polled import Polled, Usage
from arena.sandbox.resources import environment
from arena.sandbox.scratch import ScratchFolder
from arena.sandbox.starter import Spawned, start, take_descriptor, take_status
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from arena.sandbox.limits.cgroup import Leaf
    from arena.sandbox.limits.exact import Limits
    from arena.sandbox.process_settings import ProcessSettings
    from arena.sandbox.trace import Tracer

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes per unit of `ru_maxrss`."""
_STEP_S = 0.001
"""Seconds between two checks of whether a process has exited; they are made only while its end is
awaited."""


class ProcessExit(NamedTuple):
    """How a process ended."""

    code: int | None
    """Its exit code; None if it did not exit by itself."""
    signal: int | None
    """The signal that killed it; None if it exited, or if the arena killed it."""
    max_rss: int
    """Peak memory in bytes: exact with limits `kernel`, otherwise the most resident memory that was seen."""
    out_of_memory: bool = False
    """Whether the kernel killed one of its processes at the memory limit; always False with polled limits."""


class Process:
    """A running bot: a process group and three pipes, which never block on the arena's side."""

    def __init__(
        self,
        started: Spawned,
        settings: ProcessSettings,
        scratch: ScratchFolder,
        user: int | None = None,
        leaf: Leaf | None = None,
    ) -> None:
        tier, resources = settings.tier, settings.resources
        self.max_tasks = resources.tasks
        """Maximum number of threads and processes together."""
        self.tier = tier
        """Its isolation tier."""
        self.user = user
        """The user id it runs as; None if it is the arena's."""
        self.scratch = scratch
        """Its folder on the host; in a container the bot uses another one, in memory."""
        self.leaf = leaf
        """The control group that enforces its limits; None if they are polled."""
        self._scratch_bounds = resources.scratch_bounds()
        self._keeps = Path(resources.compiled) if resources.keeps_compiled and resources.compiled else None
        self.pid = started.pid
        """Its process id, which is also the id of its group; in a container that of the first process."""
        self._started = started
        self.stdin, self.stdout, self.stderr = self._pipes = (started.stdin, started.stdout, started.stderr)
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
        self._num_keepers = _num_keepers(tier)
        self._polled = Polled(self.pid, self.max_tasks + self._num_keepers)
        self._inside = take_descriptor(started.control) if started.control and tier is Tier.T3 else None
        self._inherited_rss = _own_max_rss()
        self._exit: ProcessExit | None = None

    @property
    def limits(self) -> Limits:
        """How its memory and tasks are limited."""
        return "polled" if self.leaf is None else "kernel"

    @property
    def main_pid(self) -> int:
        """The process that plays, whose CPU time counts; in a container it is not the group leader."""
        # Parents come before their children: in a container its first process, then the bot, its first child.
        return list(islice(family.members(self.pid), 1 + self._num_keepers))[-1]

    def open_scratch(self, name: str) -> int:
        """Open a regular file in the scratch folder of an ended process; return the descriptor.

        Raises:
            OSError: there is no file of this name, or it is not a regular file.
        """
        # The bot decided what is at this place: opening a pipe would block, and a link would lead to a file
        # that only the arena may read.
        path = name if self._inside is not None else str(self.scratch.home / name)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, dir_fd=self._inside)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "not a regular file", name)
        return fd

    def has_exited(self) -> bool:
        """Return whether the process is dead; always False on systems that cannot tell without reaping it."""
        if self._exit is not None:
            return True
        if not hasattr(os, "waitid"):
            return False
        # WNOWAIT leaves it unreaped, so no other process can get its pid or group id before `kill` has used
        # them.
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def usage(self) -> Usage:
        """Measure the process and its descendants; beyond `max_tasks` tasks the sums are too small."""
        memory, tasks = (self.leaf or self._polled).usage()
        return Usage(memory, max(0, tasks - self._num_keepers))

    def scratch_excess(self, part: float = 1.0) -> str:
        """Describe the limit that its scratch folder exceeds, scaled by `part`; empty if it exceeds none.

        In a container the folder is a file system, whose limits the kernel enforces.
        """
        if self._inside is None:
            return self.scratch.excess(self._scratch_bounds, part)
        if part >= 1:
            return ""
        state = os.fstatvfs(self._inside)
        num_bytes, num_entries = state.f_blocks - state.f_bfree, state.f_files - state.f_ffree
        used = max(num_bytes / state.f_blocks, num_entries / state.f_files)
        return f"{used:.0%} of what it may" if used > part else ""

    def kill(self, grace_s: float = 0.0) -> ProcessExit:
        """Wait `grace_s` seconds for the process to exit, then kill its whole group and reap it.

        A second call returns the same result.
        """
        if self._exit is None:
            exited = self._await_exit(grace_s)
            # The dead leader has not been reaped yet, so its pid cannot have been reused. If it is the first
            # process of a container, the kernel kills all others inside with it.
            # The leader is killed first by itself, because a new process may not lead its group yet.
            for send in (os.kill, os.killpg):
                with suppress(ProcessLookupError, PermissionError):
                    send(self.pid, signal.SIGKILL)
            if self.leaf is not None:
                self.leaf.kill()
            self._exit = self._reap(by_itself=exited)
            if self.tier is Tier.T1 and self.leaf is None:
                # Needed in T1 only: in T2 and T3 no process can leave the group.
                family.sweep(str(self.scratch.home))
        return self._exit

    def close(self) -> None:
        """Close the pipes; remove the scratch folder and the control group of a killed process."""
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = ()
        # Before `_inside` is closed: the file system of an ended container lives as long as this descriptor.
        if self._keeps is not None and self._exit is not None:
            self._keep_compiled(self._keeps)
            self._keeps = None
        if self._inside is not None:
            os.close(self._inside)
            self._inside = None
        if self._started.control is not None:
            self._started.control.close()
        if self.leaf is not None:
            self.leaf.remove()
        self.scratch.remove()

    def _keep_compiled(self, folder: Path) -> None:
        if self._inside is None:
            compiled.keep(self.scratch.cache, folder)
            return
        with suppress(OSError):
            cache = os.open(COMPILED_NAME, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._inside)
            try:
                compiled.keep(cache, folder)
            finally:
                os.close(cache)

    def _await_exit(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not (exited := self.has_exited()) and time.monotonic() < deadline:
            time.sleep(_STEP_S)
        return exited

    def _reap(self, *, by_itself: bool) -> ProcessExit:
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if self._started.popen is not None:
            self._started.popen.returncode = code
        # The kernel counts memory that the arena had when it forked as the child's; only more is its own.
        own = usage.ru_maxrss * _RSS_UNIT
        max_rss = max(self._polled.peak_bytes, own if own > self._inherited_rss else 0)
        out_of_memory = False
        if self.leaf is not None:
            peak, num_kills = self.leaf.toll()
            max_rss, out_of_memory = peak or max_rss, num_kills > 0
        if self._num_keepers and self._started.control is not None and by_itself:
            inside = take_status(self._started.control)
            if inside is not None:
                code = os.waitstatus_to_exitcode(inside)
        # The arena's own signal is not how the bot ended; in a container this is the status of the first
        # process.
        if not by_itself and (code == -signal.SIGKILL or self.tier is Tier.T3):
            return ProcessExit(None, None, max_rss, out_of_memory)
        return ProcessExit(code if code >= 0 else None, -code if code < 0 else None, max_rss, out_of_memory)


def spawn(settings: ProcessSettings, tracer: Tracer | None = None) -> Process:
    """Start a bot.

    Call it from the main thread: on Linux the bot dies with the thread that started it.

    With an engine, the launcher starts a second program beside the first one, in a sandbox of the same tier,
    because in T2 and T3 a bot cannot start programs. The first program finds `ARENA_ENGINE_FDS=R,W` in its
    environment: it reads the engine's output from descriptor R and writes its input to descriptor W. The
    engine ends with the first program; both are measured and killed together.

    Args:
        settings: what is started.
        tracer: counts the system calls that the filter refuses; has no effect in tiers without a filter.

    Raises:
        ConfigError: the tier is not one for processes, or is not available on this system.
        OSError: the process cannot be started.
    """
    with _on_cores(settings.cores):
        return _spawn(settings, None if tracer is None else tracer.descriptor)


def _spawn(settings: ProcessSettings, tracer: int | None) -> Process:
    tier, resources = settings.tier, settings.resources
    scratch, leaf = ScratchFolder(), None
    try:
        entries, user = make_recipe(settings, scratch)
        subtree = own_subtree()
        if subtree is not None:
            leaf = subtree.make_leaf(resources.memory_bytes, resources.tasks + _num_keepers(tier))
            entries.append(("cgroup", leaf.path))
        recipe = encode(entries)
        # In a container the launcher does the same, because the scratch folder exists only there.
        if tier is not Tier.T3:
            if resources.compiled:
                compiled.take(Path(resources.compiled), scratch.cache)
            if user is not None:
                scratch.give_to(user)
        started = start(recipe, environment(str(scratch.home), str(scratch.cache)), scratch.home, tracer)
    # An interrupted start too: no `Process` exists yet that could be closed later.
    except BaseException:
        if leaf is not None:
            leaf.remove()
        scratch.remove()
        raise
    return Process(started, settings, scratch, user, leaf)


@contextmanager
def _on_cores(cores: Collection[int] | None) -> Generator[None]:
    """Run what is started within the `with` block on these cores; do nothing for None or without affinity."""
    if cores is None or sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _num_keepers(tier: Tier) -> int:
    """Return how many of the arena's processes share a bot's limits: in a container, its first process."""
    return int(tier is Tier.T3)


def _own_max_rss() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
