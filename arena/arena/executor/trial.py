"""Bots on trial: does one load, does one keep the contract? Always in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from arena_plugins.conformance import Check
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena_plugins.entries import Entry

_LOAD_S = 60.0
_KIT_S = 600.0
_LOAD = "import sys; from arena_plugins.manager import load_entry; load_entry(*sys.argv[1:])"


def load_status(group: str, entry: Entry) -> str:
    """Load a plugin in a fresh process; give `ok`, or why it does not load."""
    command = [sys.executable, "-c", _LOAD, group, entry.name, entry.value]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LOAD_S, check=False)  # noqa: S603 - our own code
    except subprocess.TimeoutExpired:
        return f"does not load within {_LOAD_S:g} s"
    return "ok" if done.returncode == 0 else _last_line(done.stderr)


def run_kit(bot: str, game: str, seconds: float) -> list[Check]:
    """Run the conformance kit on a bot in a fresh process; its death is a failed check."""
    command = [sys.executable, "-m", "arena_plugins.kit", bot, game, str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_KIT_S, check=False)  # noqa: S603 - our own code
    except subprocess.TimeoutExpired:
        return [_broken(0, f"no end within {_KIT_S:g} s")]
    checks = [Check(*json.loads(line)) for line in done.stdout.splitlines()]
    if done.returncode:
        checks.append(
            _broken(len(checks), f"its process ended with {done.returncode}: {_last_line(done.stderr)}")
        )
    return checks


def _broken(number: int, detail: str) -> Check:
    return Check(number + 1, "The kit runs to its end", passed=False, detail=detail)


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines() or ["no word of why"]
    return clean_text(lines[-1].removeprefix("arena_plugins.errors.PluginError: "), 300)
