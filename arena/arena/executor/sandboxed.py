"""Runs a program in the sandbox until it ends: a conformance kit, a runtime, or an import of plugins."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.content.collect import Collection
from arena.content.packages import bundled_part, collect_package, shared_path
from arena.content.store import keep_content
from arena.errors import ArenaError
from arena.executor.bytecode import write_bytecode
from arena.executor.workspace import workspace
from arena.own_python import own_python
from arena.sandbox.launch.container_paths import CONTENT
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import python_readable
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier
from arena.sandbox.tier_grades import default_tier
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.sandbox.process import Process
    from arena.sandbox.readable import Readable
    from arena_plugins.entries import Entry

_KEPT = 1 << 20
"""Bytes kept of each output; older ones are dropped."""
_WAIT_MS = 50.0
"""Milliseconds of one wait for output, and so the delay before an exit is noticed if children of the program
keep its pipes open."""
_CHUNK = 1 << 16
"""Bytes per read: the capacity of a pipe on Linux."""
_PATH = "import json, sys; sys.path += json.loads(sys.argv.pop(1)); "
"""Code that runs first, since `site` is skipped and `sys.path` lacks the packages."""
_MAX_REASON = 300
"""Maximum length in characters of `last_line`."""
_LOAD_S = 60.0
"""Seconds to import plugins, as long as a bot may take to start."""
_LOAD = """
import sys
from arena_plugins.manager import load_entry
group, *entries = sys.argv[1:]
for name, value in zip(entries[::2], entries[1::2]):
    load_entry(group, name, value)
"""
_OK = "ok"


class Done(NamedTuple):
    """The result of a program that was run."""

    code: int | None
    """Exit status, or the negative number of the signal that ended it; None if it ran out of time."""
    stdout: bytes
    stderr: bytes


def strongest_usual_tier() -> Tier:
    """Return the tier for untrusted code: the default tier of bots, but at least T1 (own process)."""
    return max(default_tier(), Tier.T1)


def python_command(code: str, arguments: Sequence[str], path: Sequence[str]) -> list[str]:
    """Return the command that runs code as the host of a bot is run, with this `sys.path`."""
    entries = msgspec.json.encode(path).decode()
    return own_python("-s", "-S", "-B", "-X", "utf8", "-c", _PATH + code, entries, *arguments)


def last_line(errors: bytes) -> str:
    """Return the last line of what a program wrote to stderr, cleaned: the reason why it failed."""
    lines = errors.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    return clean_text(lines[-1].removeprefix("arena_plugins.errors.PluginError: "), _MAX_REASON)


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
        # Killed only after `has_exited`, which is always true for a killed program.
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
            # Read even if it is not kept: a program blocks on a full pipe, and would never end.
            kept[fd] += chunk
            del kept[fd][:-_KEPT]
            if not chunk:
                waiting.unregister(fd)
        if ended and not events:
            break
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])


def load_statuses(group: str, entries: Sequence[Entry]) -> list[str]:
    """Load plugins in the sandbox; return for each `ok`, or why it fails to load.

    Each has a process of its own, except the bundled ones, which share one for each content: most of their
    start time goes into the same libraries. If one of these fails, each is loaded alone, as if the others did
    not exist.
    """
    # Before the processes, which cannot write it and would each compile the same modules.
    write_bytecode()
    bundled: dict[str, list[Entry]] = {}
    for entry in entries:
        if part := bundled_part(entry):
            bundled.setdefault(part, []).append(entry)
    loaded = {
        entry
        for together in bundled.values()
        if len(together) > 1 and _load(group, together) == _OK
        for entry in together
    }
    return [_OK if entry in loaded else _load(group, [entry]) for entry in entries]


def _load(group: str, entries: Sequence[Entry]) -> str:
    """Load plugins of one content, in one process; return `ok`, or why one of them fails."""
    try:
        collection = Collection(entries[0].name)
        collect_package(collection, entries[0])
        place = keep_content(collection).folder
        at = CONTENT if strongest_usual_tier() is Tier.T3 else place
        path = [*(f"{at}/{root}" for root in collection.roots), *shared_path()]
        readable = python_readable(tuple(shared_path())).with_content(place)
        with workspace():
            arguments = [group, *(text for entry in entries for text in (entry.name, entry.value))]
            done = run_sandboxed(python_command(_LOAD, arguments, path), readable, _LOAD_S)
    except ArenaError as error:
        return f"not tried: {error}"
    if done.code is None:
        return f"does not load within {_LOAD_S:g} s"
    return _OK if done.code == 0 else last_line(done.stderr)
