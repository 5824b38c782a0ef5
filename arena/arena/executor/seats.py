"""Seats a worker keeps: bots stay warm between matches, the least recently used one ends first."""

from __future__ import annotations

import sys
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING

from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.sandbox.readable import Readable, bot_readable
from arena.sandbox.tier import Tier
from arena_plugins.command import host_command, host_path
from arena_plugins.entries import BOTS, GAMES, find
from arena_plugins.errors import PluginError
from arena_plugins.manager import load_entry
from arena_plugins.program import CMD, EXEC, command_words, exec_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.entrants import Competitor
    from arena.referee.seats import Seat

MAX_WARM = 8
"""Bots that one worker keeps; each may hold a few hundred megabytes."""


class WarmSeats:
    """Gives the seat of a competitor, the one that is warm if there is one."""

    def __init__(self) -> None:
        self._seats: OrderedDict[tuple[str, str, str, str], Seat] = OrderedDict()

    def of(self, competitor: Competitor, game_name: str, tier: str) -> Seat:
        """Give a seat; two labels of one bot are two seats, since a bot may meet itself."""
        key = (competitor.record.identity, competitor.label, game_name, tier)
        seat = self._seats.pop(key, None) or make_seat(competitor, game_name, Tier(tier))
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


def make_seat(competitor: Competitor, game_name: str, tier: Tier) -> Seat:
    """Make a seat in this process (T0) or in a host of its own; the bot is not started yet.

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
    if record.name != EXEC:
        readable = bot_files(competitor.entry, competitor.folder, competitor.options.values())
        if CMD in competitor.options:
            engine = command_words(record.name, competitor.options)
            readable = readable.with_program(engine)
    return HostedSeat(
        command, name=record.name, version=record.version, tier=tier, readable=readable, engine=engine
    )


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
        sys.executable,
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
