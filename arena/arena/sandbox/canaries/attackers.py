"""Starts attackers the way bots are started, and reads what they print."""

from __future__ import annotations

import json
import os
import select
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from arena.own_python import own_python
from arena.sandbox.attacks import attacker as program
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import python_readable
from arena.sandbox.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from arena.sandbox.process import Process
    from arena.sandbox.tier import Tier

INTERPRETER = tuple(own_python("-I", "-S", "-B"))
RESOURCES = Resources(address_bytes=1 << 29, scratch_bytes=1 << 20)
"""Small limits, so that they are reached quickly."""
DEADLINE_S = 20.0
_PROGRAM = str(Path(program.__file__))
_BEAT_S = 0.01

Reports = dict[str, dict[str, object]]
"""An attacker's reports about its attempts, by the key of the attack."""


@contextmanager
def attacker(
    tier: Tier, files: Iterable[str] = (), resources: Resources = RESOURCES, token: str = ""
) -> Generator[Process]:
    """Start an attacker that waits for its order; kill it at the end of the `with` block.

    Args:
        tier: its isolation tier.
        files: files it may read in addition to its program.
        resources: its limits.
        token: an argument on its command line, which its children inherit, to find them by.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    folder = str(Path(_PROGRAM).parent)
    readable = python_readable(()).with_files([folder, *files])
    process = spawn(ProcessSettings([*INTERPRETER, _PROGRAM, token], tier, resources, readable))
    try:
        yield process
    finally:
        process.kill()
        process.close()


def send_order(
    process: Process,
    targets: Mapping[str, object],
    attacks: Sequence[tuple[str, str]],
    file: str | None = None,
) -> None:
    """Send an attacker its order, so that it begins.

    Args:
        process: the attacker.
        targets: its targets, see `arena.sandbox.attacks.targets`.
        attacks: pairs of key and `module.function`, in the order of execution.
        file: a host's own file; if given, the functions are looked up by name in it.
    """
    order = {"targets": targets, "attacks": attacks, "file": file}
    data = memoryview(json.dumps(order).encode() + b"\n")
    os.set_blocking(process.stdin, True)
    try:
        while data:
            data = data[os.write(process.stdin, data) :]
    except BrokenPipeError:
        return  # it has already ended, which shows in its missing reports
    finally:
        os.set_blocking(process.stdin, False)


def read_reports(
    process: Process,
    pulse: Callable[[], object] | None = None,
    deadline_s: float = DEADLINE_S,
    *,
    last: str | None = None,
) -> Reports:
    """Read an attacker's reports until it is done, has ended, or has used up its time.

    Args:
        process: the attacker.
        pulse: a function to call meanwhile, a hundred times a second.
        deadline_s: its time, in seconds.
        last: key of the attack after which to stop reading; None for all.
    """
    text, deadline = b"", time.monotonic() + deadline_s
    reports: Reports = {}
    while time.monotonic() < deadline:
        select.select([process.stdout], [], [], _BEAT_S)
        if pulse is not None:
            pulse()
        try:
            chunk = os.read(process.stdout, 1 << 16)
        except BlockingIOError:
            continue
        if not chunk:
            break
        *lines, text = (text + chunk).split(b"\n")
        for line in lines:
            report = _parse(line)
            if report is None:
                continue
            if report["attack"] is None:
                return reports
            reports[str(report["attack"])] = report
            if report["attack"] == last:
                return reports
    return reports


def last_words(process: Process) -> str:
    """Return the error output of an attacker that did not begin."""
    with suppress(BlockingIOError):
        text = os.read(process.stderr, 1 << 16).decode(errors="replace").strip()
        return text.splitlines()[-1] if text else "a bot ended without any output"
    return "a bot does not answer"


def _parse(line: bytes) -> dict[str, object] | None:
    try:
        report = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, object]", report) if isinstance(report, dict) and "attack" in report else None
