"""Runs a program that is not a player, such as a kit or a runtime, in the sandbox to its end."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier
from arena.sandbox.tier_grades import default_tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.sandbox.process import Process
    from arena.sandbox.readable import Readable

_KEPT = 1 << 20
"""Bytes kept of each output; older ones are dropped."""
_WAIT_MS = 50.0
"""Milliseconds of one wait for output: so late is an exit noticed if children of the program keep its pipes
open."""
_CHUNK = 1 << 16
"""Bytes per read: the capacity of a pipe on Linux."""


class Done(NamedTuple):
    """The result of a program that was run."""

    code: int | None
    """Exit status, or the negative number of the signal that ended it; None if it ran out of time."""
    stdout: bytes
    stderr: bytes


def strongest_usual_tier() -> Tier:
    """Return the tier for untrusted code: the default tier of bots, but at least T1 (own process)."""
    return max(default_tier(), Tier.T1)


def run_sandboxed(
    command: Sequence[str],
    readable: Readable,
    seconds: float,
    *,
    resources: Resources | None = None,
) -> Done:
    """Run a program in the sandbox until it ends or its time is up.

    Args:
        command: program and arguments.
        readable: files that it may read.
        seconds: time after which it is killed.
        resources: its limits; None for the defaults.

    Raises:
        ConfigError: this system has no tier for processes.
        OSError: it cannot be started.
    """
    tier = strongest_usual_tier()
    process = spawn(ProcessSettings(command, tier, resources or Resources(), readable))
    try:
        stdout, stderr = _read(process, time.monotonic() + seconds)
        ended = process.has_exited()
        # After the question above, because once it is killed every program has ended.
        end = process.kill()
        code = None if not ended else end.code if end.signal is None else -end.signal
        return Done(code, stdout, stderr)
    finally:
        process.kill()
        process.close()


def _read(process: Process, deadline: float) -> tuple[bytes, bytes]:
    """Read both outputs until the program ends or the deadline (monotonic seconds) passes."""
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    waiting = select.poll()
    for fd in kept:
        waiting.register(fd, select.POLLIN)
    while time.monotonic() < deadline:
        # Check for the exit before polling the pipes, so that the final output is already in them.
        ended = process.has_exited()
        events = waiting.poll(0 if ended else _WAIT_MS)
        for fd, _ in events:
            chunk = os.read(fd, _CHUNK)
            kept[fd] += chunk
            del kept[fd][:-_KEPT]
            if not chunk:
                waiting.unregister(fd)
        if ended and not events:
            break
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])
