"""Seats a worker keeps: bots stay warm between matches, the least recently used one ends first."""

from __future__ import annotations

import hashlib
import json
import platform
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from arena.entrants import files_of
from arena.own import interpreter
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.sandbox.compiled import folder_for
from arena.sandbox.readable import Readable, bot_readable
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier
from arena.shelf.shipped import FOLDER
from arena_plugins.command import host_command, host_path
from arena_plugins.entries import BOTS, GAMES, find
from arena_plugins.errors import PluginError
from arena_plugins.manager import load_entry
from arena_plugins.program import CMD, EXEC, command_words, exec_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.entrants import Competitor
    from arena.executor.cores import Core
    from arena.referee.seats import Seat

MAX_WARM = 8
"""Bots that one worker keeps; each may hold a few hundred megabytes."""


class WarmSeats:
    """Gives the seat of a competitor, the one that is warm if there is one."""

    def __init__(self, core: Core | None = None) -> None:
        """Keep none yet; a bot in a process of its own makes this one settle on `core`, if there is one."""
        self._core = core
        self._seats: OrderedDict[tuple[str, str, str, str], Seat] = OrderedDict()

    def of(self, competitor: Competitor, game_name: str, tier: str) -> Seat:
        """Give a seat; two labels of one bot are two seats, since a bot may meet itself."""
        key = (competitor.record.identity, competitor.label, game_name, tier)
        seat = self._seats.pop(key, None) or self._make(competitor, game_name, Tier(tier))
        self._seats[key] = seat
        while len(self._seats) > MAX_WARM:
            _, oldest = self._seats.popitem(last=False)
            oldest.close()
        return seat

    def deterministic(self) -> dict[str, bool]:
        """Tell by label whether a bot said that it is deterministic."""
        return {label: seat.deterministic for (_, label, _, _), seat in self._seats.items()}

    def close(self) -> None:
        """End all bots."""
        while self._seats:
            _, seat = self._seats.popitem()
            seat.close()

    def _make(self, competitor: Competitor, game_name: str, tier: Tier) -> Seat:
        if self._core is None or tier is Tier.T0:
            return make_seat(competitor, game_name, tier)
        self._core.settle()
        return make_seat(competitor, game_name, tier, program_cores=self._core.for_program())


def make_seat(
    competitor: Competitor,
    game_name: str,
    tier: Tier,
    *,
    program_cores: frozenset[int] | None = None,
    keeps_compiled: bool = False,
) -> Seat:
    """Make a seat in this process (T0) or in a host of its own; the bot is not started yet.

    Args:
        competitor: who plays.
        game_name: what it plays.
        tier: how it is kept apart.
        program_cores: the cores of a bot that is a program, or has one; None for those of this process.
        keeps_compiled: whether what its code compiles is kept for its next processes.

    Raises:
        OptionError: `exec` has no program.
        PluginError: the bot cannot be loaded into this process, or must not.
    """
    record = competitor.record
    if tier is Tier.T0:
        if competitor.folder:
            raise PluginError(f"{record.name} was installed apart and runs in no process of the arena")
        plugin = load_entry(BOTS, record.name, competitor.entry)
        return InProcessSeat(
            lambda game, seed: plugin.make_bot(game, seed, competitor.options),
            name=record.name,
            version=record.version,
        )
    command = _command(competitor, game_name)
    readable, engine = Readable(()).with_program(command), None
    program_runs = record.name == EXEC or CMD in competitor.options
    if record.name != EXEC:
        if CMD not in competitor.options:
            program_cores = None
        readable = bot_files(competitor.entry, competitor.folder, competitor.options.values())
        if CMD in competitor.options:
            engine = command_words(record.name, competitor.options)
            readable = readable.with_program(engine)
    return HostedSeat(
        command,
        name=record.name,
        version=record.version,
        tier=tier,
        resources=Resources(
            procfs=competitor.procfs,
            allow=competitor.allow,
            compiled=compiled_folder(competitor),
            keeps_compiled=keeps_compiled,
        ),
        runtime="" if program_runs else f"python {platform.python_version()}",
        readable=readable,
        engine=engine,
        cores=program_cores,
    )


def compiled_folder(competitor: Competitor) -> str:
    """Give the folder of what a bot's code compiled; no other bot's code gets to write there."""
    record = competitor.record
    # A program is named by its command, of which not every word need be a file.
    program = competitor.options.get(CMD, "")
    source = "" if competitor.folder else _source_hash(competitor.entry)
    # Other weights of its own are other numbers, for the same code.
    named = {name: sha for name, sha in files_of(record).items() if not name.startswith(FOLDER)}
    files = json.dumps(named, sort_keys=True)
    return str(folder_for(record.name, record.distribution, record.version, files, program, source))


@cache
def _source_hash(entry: str) -> str:
    """Give a hash of the module or package that an entry point names, which may be edited where it lies."""
    parts, found = entry.partition(":")[0].split("."), hashlib.sha256()
    for folder in host_path():
        place = Path(folder, *parts)
        for file in (*sorted(place.rglob("*.py")), place.with_suffix(".py")):
            with suppress(OSError):
                found.update(f"{file} {file.stat().st_size}\n".encode() + file.read_bytes())
    return found.hexdigest()


def bot_path(folder: str) -> list[str]:
    """Give the `sys.path` of a bot's host: its folder, if it was installed apart, then the arena's."""
    return [folder, *host_path()] if folder else host_path()


def bot_files(entry: str, folder: str, files: Iterable[str] = ()) -> Readable:
    """Give what the host of a bot may read: the arena's libraries, its own code, and no other bot's.

    Args:
        entry: the bot's entry point.
        folder: where it was installed apart; empty if it was not.
        files: more files, such as its options name.
    """
    if not folder:
        return bot_readable(entry, host_path(), files)
    # Whatever its entry point names, no module of another bot is its own.
    return bot_readable("", host_path(), (*files, folder))


def _command(competitor: Competitor, game_name: str) -> list[str]:
    if competitor.record.name == EXEC:
        return exec_command(competitor.options)
    return host_command(
        interpreter(),
        entry=competitor.entry,
        name=competitor.record.name,
        version=competitor.record.version,
        options=competitor.options,
        games={game_name: _game_entry(game_name)},
        path=bot_path(competitor.folder),
    )


@cache
def _game_entry(name: str) -> str:
    return find(GAMES, name).value
