"""Starts the process of a bot, watches it and ends it with all it started."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox import compiled, family
from arena.sandbox.launch.places import COMPILED_NAME
from arena.sandbox.limits.exact import own_subtree
from arena.sandbox.limits.polled import Polled, Usage
from arena.sandbox.recipe import encode, make_recipe
from arena.sandbox.resources import Resources, environment
from arena.sandbox.scratch import Scratch
from arena.sandbox.starter import Spawned, start, take_descriptor, take_status
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.sandbox.limits.cgroup import Leaf
    from arena.sandbox.limits.exact import Limits
    from arena.sandbox.readable import Readable
    from arena.sandbox.trace import Tracer

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes per unit of `ru_maxrss`."""
_STEP_S = 0.001


class Exit(NamedTuple):
    """How a process ended."""

    code: int | None
    """Its exit code; None if it did not exit by itself."""
    signal: int | None
    """The signal that ended it; None if it exited, or was ended by the arena."""
    max_rss: int
    """The most memory in bytes: exact with limits `kernel`, else the most resident memory that was seen."""
    out_of_memory: bool = False
    """Whether the kernel killed a process of it at its memory limit; never known where limits are polled."""


class Process:
    """A running bot: three pipes, without blocking on the arena's side, and a process group."""

    def __init__(  # noqa: PLR0913 - what a start came with
        self,
        started: Spawned,
        tier: Tier,
        scratch: Scratch,
        resources: Resources,
        user: int | None = None,
        *,
        leaf: Leaf | None = None,
    ) -> None:
        self.max_tasks = resources.tasks
        """How many threads and processes it may have, all together."""
        self.tier = tier
        """How it is kept apart."""
        self.user = user
        """The number of the user it was made; None if it is the arena's."""
        self.scratch = scratch
        """Its folder on the host; in a container the folder it has is another one, in memory."""
        self.leaf = leaf
        """Its control group, which keeps its limits; None where they are polled."""
        self._scratch_bounds = resources.scratch_bounds()
        self._keeps = Path(resources.compiled) if resources.keeps_compiled and resources.compiled else None
        self.pid = started.pid
        """Also the id of its process group; in a container that of its first process."""
        self._started = started
        self.stdin, self.stdout, self.stderr = self._pipes = (started.stdin, started.stdout, started.stderr)
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
        self._num_keepers = _num_keepers(tier)
        self._polled = Polled(self.pid, self.max_tasks + self._num_keepers)
        self._inside = take_descriptor(started.control) if started.control and tier is Tier.T3 else None
        self._inherited_rss = _own_max_rss()
        self._exit: Exit | None = None

    @property
    def limits(self) -> Limits:
        """How its memory and tasks are limited."""
        return "polled" if self.leaf is None else "kernel"

    @property
    def main_pid(self) -> int:
        """The process that plays, whose processor time is the bot's; in a container it is not the leader."""
        return list(islice(family.members(self.pid), 1 + self._num_keepers))[-1]

    def open_scratch(self, name: str) -> int:
        """Open a regular file in the scratch folder of a process that has ended; return the descriptor.

        Raises:
            OSError: there is none of this name, or no regular file.
        """
        path = name if self._inside is not None else str(self.scratch.home / name)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, dir_fd=self._inside)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "not a regular file", name)
        return fd

    def has_exited(self) -> bool:
        """Say whether the process is dead; where the system cannot tell without reaping it, always no."""
        if self._exit is not None:
            return True
        if not hasattr(os, "waitid"):
            return False
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def usage(self) -> Usage:
        """Measure it and its descendants; if there are more than `max_tasks`, the sums are too small."""
        memory, tasks = (self.leaf or self._polled).usage()
        return Usage(memory, max(0, tasks - self._num_keepers))

    def scratch_excess(self, part: float = 1.0) -> str:
        """Return the bound, or the part of it, that its scratch folder exceeds, in words; empty if none.

        The folder of a container is a file system, of which the kernel keeps the bounds.
        """
        if self._inside is None:
            return self.scratch.excess(self._scratch_bounds, part)
        if part >= 1:
            return ""
        state = os.fstatvfs(self._inside)
        num_bytes, num_entries = state.f_blocks - state.f_bfree, state.f_files - state.f_ffree
        used = max(num_bytes / state.f_blocks, num_entries / state.f_files)
        return f"{used:.0%} of what it may" if used > part else ""

    def kill(self, grace_s: float = 0.0) -> Exit:
        """Give the process `grace_s` seconds to exit, then kill its whole group and reap it.

        A second call gives the same answer.
        """
        if self._exit is None:
            exited = self._await_exit(grace_s)
            # The dead leader is not reaped yet, so the number of the group cannot be anyone else's. With the
            # leader of a container, its first process, the kernel ends all others inside.
            # Alone first: a process that has just been started may not lead its group yet.
            for send in (os.kill, os.killpg):
                with suppress(ProcessLookupError, PermissionError):
                    send(self.pid, signal.SIGKILL)
            if self.leaf is not None:
                self.leaf.kill()
            self._exit = self._reap(by_itself=exited)
            if self.tier is Tier.T1 and self.leaf is None:
                # From T2 on no process can have left the group.
                family.sweep(str(self.scratch.home))
        return self._exit

    def close(self) -> None:
        """Close the pipes and remove the folder and the control group of a killed process."""
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = ()
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

    def _reap(self, *, by_itself: bool) -> Exit:
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if self._started.popen is not None:
            self._started.popen.returncode = code
        # The kernel counts what the arena held when it forked as the child's; only more than that is its own.
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
        if not by_itself and (code == -signal.SIGKILL or self.tier is Tier.T3):
            return Exit(None, None, max_rss, out_of_memory)
        return Exit(code if code >= 0 else None, -code if code < 0 else None, max_rss, out_of_memory)


def spawn(  # noqa: PLR0913 - one keyword for each thing that is decided about a bot
    command: Sequence[str],
    tier: Tier,
    resources: Resources | None = None,
    *,
    readable: Readable | None = None,
    engine: Sequence[str] | None = None,
    tracer: Tracer | None = None,
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
        tracer: counts the system calls that the filter refuses; in tiers without a filter nothing.

    Raises:
        ConfigError: `tier` is not one for processes, or not to be had on this system.
        OSError: the process cannot be started.
    """
    resources = resources or Resources()
    scratch, leaf = Scratch(), None
    try:
        entries, user = make_recipe(command, tier, resources, scratch, readable=readable, engine=engine)
        subtree = own_subtree()
        if subtree is not None:
            leaf = subtree.make_leaf(resources.memory_bytes, resources.tasks + _num_keepers(tier))
            entries.append(("cgroup", leaf.path))
        recipe = encode(entries)
        if tier is not Tier.T3:
            if resources.compiled:
                compiled.take(Path(resources.compiled), scratch.cache)
            if user is not None:
                scratch.give_to(user)
        started = start(
            recipe,
            environment(str(scratch.home), str(scratch.cache)),
            scratch.home,
            None if tracer is None else tracer.descriptor,
        )
    except BaseException:
        if leaf is not None:
            leaf.remove()
        scratch.remove()
        raise
    return Process(started, tier, scratch, resources, user, leaf=leaf)


def _num_keepers(tier: Tier) -> int:
    """Return how many processes of ours share the limits of a bot: in a container, its first one."""
    return int(tier is Tier.T3)


def _own_max_rss() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
