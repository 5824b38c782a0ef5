"""Seats of a worker: bots stay warm between matches; the least recently used one is stopped first."""

from __future__ import annotations

import os
import platform
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.content.packages import shared_path
from arena.content.store import stamp_used, state_of
from arena.entrants import short
from arena.executor.bytecode import write_bytecode
from arena.executor.runtime_versions import describe_runtime
from arena.garbage import collect_as_usual
from arena.own_python import interpreter
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.sandbox.compiled import folder_for
from arena.sandbox.launch.container_paths import CONTENT
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import Readable, python_readable
from arena.sandbox.resources import Resources
from arena.sandbox.runtimes import script_programs
from arena.sandbox.tier import Tier
from arena_plugins.command import host_command
from arena_plugins.entries import BOTS, GAMES, find
from arena_plugins.errors import PluginError
from arena_plugins.manager import load_entry
from arena_plugins.program import CMD, EXEC, command_words, exec_command, is_file
from arena_plugins.submission import FILE, KAGGLE, PLACE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.entrants import Competitor
    from arena.executor.cores import Core
    from arena.referee.seats import Seat

MAX_WARM = 8
"""Maximum number of bots that one worker keeps; each may use a few hundred megabytes."""


class WarmSeats:
    """Cache of seats: returns a warm seat of a competitor if there is one, else a new one."""

    def __init__(self, core: Core | None = None) -> None:
        """Start without seats; the first bot in its own process pins this process to `core`."""
        self._core = core
        self._seats: OrderedDict[tuple[str, str, str, str, str], Seat] = OrderedDict()

    def of(self, competitor: Competitor, game_name: str, tier: str) -> Seat:
        """Return a seat; each label gets its own, since a bot may play against itself.

        A bot whose files were stored again gets another seat, because a seat accepts only the files that it
        was made for.
        """
        key = (competitor.record.identity, competitor.label, game_name, tier, competitor.state)
        # Taken out and put back at the end, so that the seat used longest ago comes first.
        seat = self._seats.pop(key, None) or self.make(competitor, game_name, Tier(tier))
        self._seats[key] = seat
        while len(self._seats) > MAX_WARM:
            _, oldest = self._seats.popitem(last=False)
            oldest.close()
        return seat

    def deterministic(self) -> dict[str, bool]:
        """Return by label whether a bot declared itself deterministic."""
        return {label: seat.deterministic for (_, label, *_), seat in self._seats.items()}

    def close(self) -> None:
        """Stop all bots."""
        # Removed before it is closed: an interrupt in between must not close a seat twice.
        while self._seats:
            _, seat = self._seats.popitem()
            seat.close()

    def make(self, competitor: Competitor, game_name: str, tier: Tier) -> Seat:
        """Make a seat for a competitor that has none; its bot is not started yet.

        Raises:
            OptionError: `exec` has no program.
            PluginError: the bot cannot or must not be loaded here, or its content or runtime is missing.
        """
        if self._core is None or tier is Tier.T0:
            return make_seat(competitor, game_name, tier)
        # Only now, because a worker whose bots run in its own process needs no core of its own.
        self._core.settle()
        return make_seat(competitor, game_name, tier, program_cores=self._core.for_program())


def make_seat(
    competitor: Competitor,
    game_name: str,
    tier: Tier,
    *,
    program_cores: frozenset[int] | None = None,
    adjust: Callable[[Resources], Resources] | None = None,
) -> Seat:
    """Make a seat in this process (T0) or in a host process; the bot is not started yet.

    Args:
        competitor: the bot.
        game_name: name of the game.
        tier: isolation tier.
        program_cores: cores for a bot that is, or starts, a program; None for the cores of this process.
        adjust: changes the resources of its processes; None keeps those of a match.

    Raises:
        OptionError: `exec` has no program.
        PluginError: the bot cannot or must not be loaded here, or its content or runtime is missing.
    """
    record = competitor.record
    if tier is Tier.T0:
        if competitor.folder:
            raise PluginError(
                f"{record.name} came by `arena bots install`; such bots never run in a process of the arena"
            )
        plugin = load_entry(BOTS, record.name, competitor.entry)
        collect_as_usual()
        return InProcessSeat(
            lambda game, seed: plugin.make_bot(game, seed, competitor.options_here()),
            name=record.name,
            version=record.version,
        )
    setup = start_of(competitor, content_root(competitor, tier))
    command = setup.program or host_command(
        interpreter(),
        entry=competitor.entry,
        name=record.name,
        version=record.version,
        options=setup.options,
        games={game_name: _game_entry(game_name)},
        path=setup.path,
    )
    resources = _resources(competitor)
    is_program = setup.program is not None or setup.engine is not None
    return HostedSeat(
        ProcessSettings(
            command,
            tier,
            resources if adjust is None else adjust(resources),
            setup.readable,
            setup.engine,
            cores=program_cores if is_program else None,
        ),
        name=record.name,
        version=record.version,
        runtime=_runtime_of(setup),
        before_start=lambda: check_content(competitor),
    )


def _runtime_of(setup: BotStart) -> str:
    """Return the runtime that runs a bot's code, for the record; empty for a program of its own."""
    if setup.runtime:
        return describe_runtime(setup.runtime)
    return "" if setup.program or setup.engine else f"python {platform.python_version()}"


def keep_compiled(resources: Resources) -> Resources:
    """Return resources with which compiled code of a bot is kept for its later processes."""
    return msgspec.structs.replace(resources, keeps_compiled=True)


def _resources(competitor: Competitor) -> Resources:
    return Resources(procfs=competitor.procfs, allow=competitor.allow, compiled=compiled_folder(competitor))


class BotStart(NamedTuple):
    """How the processes of a bot are started."""

    options: dict[str, str]
    """Options passed to the hook of the bot."""
    path: list[str]
    """The `sys.path` of its host, after the standard library."""
    program: list[str] | None
    """Command that replaces the host, with its arguments; None if there is a host."""
    engine: list[str] | None
    """Command that is started beside the host, with its arguments."""
    readable: Readable
    """Files that the processes may read."""
    runtime: str
    """Path of the program of this machine that executes the code of the bot; empty if that is the arena's
    interpreter or the bot's own program."""


def content_root(competitor: Competitor, tier: Tier) -> str:
    """Return the folder in which the processes of a bot find its content.

    Raises:
        PluginError: the content is not kept.
    """
    if not competitor.place:
        raise PluginError(f"{competitor.label} has no content to start from; enter it again")
    return CONTENT if tier is Tier.T3 else competitor.place


def start_of(competitor: Competitor, root: str) -> BotStart:
    """Return how the processes of a bot are started, the same for matches and checks.

    Args:
        competitor: the bot.
        root: the folder of its content as its processes see it.

    Raises:
        OptionError: it needs a program and has none.
        PluginError: the program of this machine that executes it is missing.
    """
    name, options = competitor.record.name, competitor.options_at(root)
    if competitor.runtime and not is_file(competitor.runtime):
        raise PluginError(
            f"{competitor.label} needs {competitor.runtime}, which is not installed; install it, or name "
            "another program in cmd"
        )
    if name == EXEC:
        program = exec_command(options)
        readable, runtime = _with_programs(Readable(()), competitor, program, root)
        # A program speaks arena-bot/1 itself, so there is no host, and no Python path to set.
        return BotStart(options, [], program, None, readable, runtime)
    write_bytecode()
    path = [*(f"{root}/{folder}" for folder in competitor.roots), *shared_path()]
    engine = command_words(name, options) if CMD in options else None
    shared = python_readable(tuple(shared_path()))._replace(also=_also(competitor))
    readable, runtime = _with_programs(shared, competitor, engine or [], root)
    return BotStart(options, path, None, engine, readable, runtime)


def _also(competitor: Competitor) -> tuple[tuple[str, str], ...]:
    """Return pairs of folders (real, shown) that make a submission's files visible where Kaggle has them."""
    main = competitor.copies.get(FILE, "") if competitor.record.name == KAGGLE else ""
    return ((f"{competitor.place}/{os.path.dirname(main)}", PLACE),) if main else ()  # noqa: PTH120 - text


def _with_programs(
    readable: Readable, competitor: Competitor, words: Sequence[str], root: str
) -> tuple[Readable, str]:
    """Add to `readable` the content of a bot and the programs of this machine that execute it.

    These are the runtime of its command, or else the programs in the first line of its script. The last of
    them is returned, too; empty if there is none.
    """
    readable = readable.with_content(competitor.place)
    if competitor.runtime:
        return readable.with_runtime(competitor.runtime), competitor.runtime
    own = [word.replace(root, competitor.place, 1) for word in words[:1] if word.startswith(f"{root}/")]
    programs = [program for word in own for program in script_programs(word)]
    for program in programs:
        readable = readable.with_runtime(program)
    return readable, programs[-1] if programs else ""


def check_content(competitor: Competitor) -> None:
    """Verify that the content of a bot is unchanged since it was hashed, and mark it as used.

    Raises:
        PluginError: it was changed or removed.
    """
    if state_of(competitor.place) != competitor.state:
        raise PluginError(
            f"content {short(competitor.content)} of {competitor.label} in {competitor.place} was changed "
            "or removed during play; resume the tournament, which restores it from its source"
        )
    stamp_used(competitor.content)


def compiled_folder(competitor: Competitor) -> str:
    """Return the folder for code that a bot compiles; no other bot's code can write there.

    It is the same wherever the processes of the bot find its content. numba identifies code by its path, so
    it compiles once for each place; the arena's kernels are identified by their sources.
    """
    # A program is identified by its whole command, since not every word of it is a file.
    program = competitor.options.get(CMD, "")
    return str(folder_for(competitor.record.name, competitor.content, program))


@cache
def _game_entry(name: str) -> str:
    return find(GAMES, name).value
