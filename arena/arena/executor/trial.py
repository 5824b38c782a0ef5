"""Bots on trial: does one load, does one keep the contract? Always in a process of its own.

One that was installed apart is tried in the sandbox, with the path and the files its host has.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import msgspec

from arena.entrants import resolve
from arena.errors import ConfigError
from arena.executor.fenced import Done, run_fenced
from arena.executor.seats import bot_files, bot_path
from arena.executor.workspace import workspace
from arena.own import own_python
from arena.sandbox.resources import Resources
from arena_plugins.command import Start
from arena_plugins.conformance import Check
from arena_plugins.entries import GAMES, find
from arena_plugins.program import CMD, command_words
from arena_plugins.spec import Spec
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena.entrants import Competitor
    from arena_plugins.entries import Entry

_LOAD_S = 60.0
_KIT_S = 600.0
_LOAD = "import sys; from arena_plugins.manager import load_entry; load_entry(*sys.argv[1:])"
_KIT = "import sys; from arena_plugins.kit import main_by_entry; main_by_entry(sys.argv[1:])"
_PATH = "import json, sys; sys.path += json.loads(sys.argv.pop(1)); "
"""Goes first where `site` is skipped."""


def load_status(group: str, entry: Entry) -> str:
    """Load a plugin in a fresh process; give `ok`, or why it does not load."""
    arguments = [group, entry.name, entry.value]
    try:
        if entry.folder:
            with workspace():
                readable = bot_files("", entry.folder)
                done = run_fenced(_python(_LOAD, arguments, entry.folder), readable, _LOAD_S)
        else:
            done = _run(own_python("-c", _LOAD, *arguments), _LOAD_S)
    except ConfigError as error:
        return f"not tried: {error}"
    if done.code is None:
        return f"does not load within {_LOAD_S:g} s"
    return "ok" if done.code == 0 else _last_line(done.stderr)


def run_kit(bot: str, game: str, seconds: float) -> list[Check]:
    """Run the conformance kit on a bot in a fresh process; its death is a failed check.

    Raises:
        PluginError: there is no such bot.
        OptionError: its command cannot be read.
        ConfigError: it was installed apart, and this system has no sandbox.
    """
    competitor = resolve([bot], margin_ms=0)[0]
    if competitor.folder:
        done = _run_kit_apart(competitor, game, seconds)
    else:
        done = _run(own_python("-m", "arena_plugins.kit", bot, game, str(seconds)), _KIT_S)
    if done.code is None:
        return [_broken(0, f"no end within {_KIT_S:g} s")]
    return _checks(done)


def _run(command: list[str], seconds: float) -> Done:
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)  # noqa: S603 - our own code
    except subprocess.TimeoutExpired:
        return Done(None, b"", b"")
    return Done(done.returncode, done.stdout, done.stderr)


def _run_kit_apart(competitor: Competitor, game: str, seconds: float) -> Done:
    """Run the kit in the sandbox, with the engine that a match would start beside the bot."""
    arguments = [_start_of(competitor, game), game, str(seconds)]
    readable = bot_files("", competitor.folder, competitor.options.values())
    engine = None
    if CMD in competitor.options:
        engine = command_words(competitor.record.name, competitor.options)
        readable = readable.with_program(engine)
    with workspace():
        return run_fenced(
            _python(_KIT, arguments, competitor.folder),
            readable,
            _KIT_S,
            resources=Resources(procfs=competitor.procfs, allow=competitor.allow),
            engine=engine,
        )


def _python(code: str, arguments: list[str], folder: str) -> list[str]:
    """Give the command that runs code as the host of a bot that was installed apart is run."""
    path = msgspec.json.encode(bot_path(folder)).decode()
    return own_python("-s", "-S", "-B", "-X", "utf8", "-c", _PATH + code, path, *arguments)


def _start_of(competitor: Competitor, game: str) -> str:
    name = Spec.parse(game).name
    start = Start(
        entry=competitor.entry,
        name=competitor.record.name,
        version=competitor.record.version,
        options=dict(competitor.options),
        games={name: find(GAMES, name).value},
        path=[],
    )
    return msgspec.json.encode(start).decode()


def _checks(done: Done) -> list[Check]:
    """Read what the kit found; a process in which a bot runs may say anything."""
    checks: list[Check] = []
    try:
        checks += [msgspec.json.decode(line, type=Check) for line in done.stdout.splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        checks.append(_broken(len(checks), f"what the kit says cannot be read: {error}"))
    if done.code:
        why = f"its process ended with {done.code}: {_last_line(done.stderr)}"
        checks.append(_broken(len(checks), why))
    return checks


def _broken(number: int, detail: str) -> Check:
    return Check(number + 1, "The kit runs to its end", passed=False, detail=detail)


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines() or ["no word of why"]
    return clean_text(lines[-1].removeprefix("arena_plugins.errors.PluginError: "), 300)
