"""Starts the process of a bot, watches it and ends it with all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError
from arena.sandbox.resources import Resources, environment
from arena.sandbox.scratch import Scratch
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
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
    """The most resident memory seen, in bytes."""


class Process:
    """A running bot: three pipes, without blocking on the arena's side, and a process group."""

    def __init__(self, popen: subprocess.Popen[bytes], tier: Tier, scratch: Scratch) -> None:
        self.tier = tier
        """How it is kept apart."""
        self.scratch = scratch
        """Its folder."""
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

    def has_exited(self) -> bool:
        """Say whether the process is dead; where the system cannot tell without reaping it, always no."""
        if self._exit is not None:
            return True
        if not hasattr(os, "waitid"):
            return False
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def rss(self) -> int:
        """Give the resident memory now, in bytes; 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_bytes().split()[1])
        except (OSError, IndexError):
            return 0
        resident = pages * os.sysconf("SC_PAGE_SIZE")
        self._max_rss = max(self._max_rss, resident)
        return resident

    def kill(self, grace_s: float = 0.0) -> Exit:
        """Give the process `grace_s` seconds to exit, then kill its whole group and reap it.

        A second call gives the same answer.
        """
        if self._exit is None:
            deadline = time.monotonic() + grace_s
            while not (exited := self.has_exited()) and time.monotonic() < deadline:
                time.sleep(_STEP_S)
            # The dead leader is not reaped yet, so the number of the group cannot be anyone else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._exit = self._reap(by_itself=exited)
        return self._exit

    def close(self) -> None:
        """Close the pipes and remove the folder of a killed process."""
        for pipe in self._pipes:
            pipe.close()
        self.scratch.remove()

    def _reap(self, *, by_itself: bool) -> Exit:
        _, status, usage = os.wait4(self.pid, 0)
        code = self._popen.returncode = os.waitstatus_to_exitcode(status)
        # The kernel counts what the arena held when it forked as the child's; only more than that is its own.
        own = usage.ru_maxrss * _RSS_UNIT
        max_rss = max(self._max_rss, own if own > self._inherited_rss else 0)
        if not by_itself and code == -signal.SIGKILL:
            return Exit(None, None, max_rss)
        return Exit(code, None, max_rss) if code >= 0 else Exit(None, -code, max_rss)


def spawn(command: Sequence[str], tier: Tier, resources: Resources | None = None) -> Process:
    """Start a bot.

    Call it from the main thread: on Linux the bot dies with the thread that started it.

    Args:
        command: program and arguments, both absolute, since it runs in a scratch folder.
        tier: how to keep it apart.
        resources: its limits; None for the defaults.

    Raises:
        ConfigError: `tier` is not one for processes.
        OSError: the process cannot be started.
    """
    if tier is Tier.T0:
        raise ConfigError("tier T0 has no processes; run the bot in this one (--isolation none)")
    scratch = Scratch()
    try:
        popen = subprocess.Popen(  # noqa: S603 - running what the user registered is the job
            [
                *(sys.executable, "-I", "-S", "-B", _LAUNCHER),
                *(str(os.getpid()), (resources or Resources()).rlimits()),
                *command,
            ],
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
    return Process(popen, tier, scratch)


def _own_max_rss() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
