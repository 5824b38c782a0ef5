"""Seats a worker keeps: bots stay warm between matches, the least recently used one ends first."""

from __future__ import annotations

import os
import platform
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from arena.content.packages import linked_bots
from arena.content.store import stamp_used, state_of
from arena.entrants import short
from arena.executor.runtime_versions import describe_runtime
from arena.own import interpreter
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.sandbox.compiled import folder_for
from arena.sandbox.launch.places import CONTENT
from arena.sandbox.readable import Readable, python_readable
from arena.sandbox.resources import Resources
from arena.sandbox.runtimes import script_programs
from arena.sandbox.tier import Tier
from arena_plugins.command import host_command, host_path
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
        seat = self._seats.pop(key, None) or self.make(competitor, game_name, Tier(tier))
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

    def make(self, competitor: Competitor, game_name: str, tier: Tier) -> Seat:
        """Make a seat for a competitor that has none; its bot is not started yet.

        Raises:
            OptionError: `exec` has no program.
            PluginError: the bot cannot be loaded here, or must not; its content or its runtime is not there.
        """
        if self._core is None or tier is Tier.T0:
            return make_seat(competitor, game_name, tier)
        self._core.settle()
        return make_seat(competitor, game_name, tier, program_cores=self._core.for_program())


def make_seat(  # noqa: PLR0913 - one keyword for each thing a caller may want
    competitor: Competitor,
    game_name: str,
    tier: Tier,
    *,
    program_cores: frozenset[int] | None = None,
    keeps_compiled: bool = False,
    constrain: Callable[[Resources], Resources] | None = None,
) -> Seat:
    """Make a seat in this process (T0) or in a host of its own; the bot is not started yet.

    Args:
        competitor: who plays.
        game_name: what it plays.
        tier: how it is kept apart.
        program_cores: the cores of a bot that is a program, or has one; None for those of this process.
        keeps_compiled: whether what its code compiles is kept for its next processes.
        constrain: changes what its processes may use; None for what they may in a match.

    Raises:
        OptionError: `exec` has no program.
        PluginError: the bot cannot be loaded here, or must not; its content or its runtime is not there.
    """
    record = competitor.record
    if tier is Tier.T0:
        if competitor.folder:
            raise PluginError(f"{record.name} was installed apart and runs in no process of the arena")
        plugin = load_entry(BOTS, record.name, competitor.entry)
        return InProcessSeat(
            lambda game, seed: plugin.make_bot(game, seed, competitor.options_here()),
            name=record.name,
            version=record.version,
        )
    setup = start_of(competitor, root := content_root(competitor, tier))
    command = setup.program or host_command(
        interpreter(),
        entry=competitor.entry,
        name=record.name,
        version=record.version,
        options=setup.options,
        games={game_name: _game_entry(game_name)},
        path=setup.path,
    )
    resources = _resources(competitor, root, keeps_compiled=keeps_compiled)
    is_program = setup.program is not None or setup.engine is not None
    return HostedSeat(
        command,
        name=record.name,
        version=record.version,
        tier=tier,
        resources=resources if constrain is None else constrain(resources),
        runtime=_runtime_of(setup),
        readable=setup.readable,
        engine=setup.engine,
        cores=program_cores if is_program else None,
        before_start=lambda: check_content(competitor),
    )


def _runtime_of(setup: BotStart) -> str:
    """Return what runs the code of a bot, for the record; empty if its program is its own."""
    if setup.runtime:
        return describe_runtime(setup.runtime)
    return "" if setup.program or setup.engine else f"python {platform.python_version()}"


def _resources(competitor: Competitor, root: str, *, keeps_compiled: bool) -> Resources:
    return Resources(
        procfs=competitor.procfs,
        allow=competitor.allow,
        compiled=compiled_folder(competitor, root),
        keeps_compiled=keeps_compiled,
    )


class BotStart(NamedTuple):
    """How the processes of a bot are started."""

    options: dict[str, str]
    """What its hook is given."""
    path: list[str]
    """The `sys.path` of its host, after the standard library."""
    program: list[str] | None
    """The program that takes the place of a host, with its arguments; None where there is a host."""
    engine: list[str] | None
    """The program that is started beside the host, with its arguments."""
    readable: Readable
    """What they may read."""
    runtime: str
    """The program of this machine that runs the code of the bot, by its path; empty if it is the arena's
    interpreter, or the bot's own program."""


def content_root(competitor: Competitor, tier: Tier) -> str:
    """Return the folder in which the processes of a bot find its content.

    Raises:
        PluginError: it is not kept.
    """
    if not competitor.place:
        raise PluginError(f"{competitor.label} has no content to start from; enter it again")
    return CONTENT if tier is Tier.T3 else competitor.place


def start_of(competitor: Competitor, root: str) -> BotStart:
    """Return how the processes of a bot are started, in a match as in its check.

    Args:
        competitor: the bot.
        root: where its content lies for them.

    Raises:
        OptionError: it has no program, and needs one.
        PluginError: the program of this machine that runs it is not there.
    """
    name, options = competitor.record.name, competitor.options_at(root)
    if competitor.runtime and not is_file(competitor.runtime):
        raise PluginError(
            f"{competitor.label} is run by {competitor.runtime}, which is not there; install it, or name "
            "another program in cmd"
        )
    if name == EXEC:
        program = exec_command(options)
        readable, runtime = _with_programs(Readable(()), competitor, program, root)
        return BotStart(options, [], program, None, readable, runtime)
    path = [*(f"{root}/{folder}" for folder in competitor.roots), *shared_path()]
    engine = command_words(name, options) if CMD in options else None
    shared = python_readable(tuple(shared_path()))._replace(also=_also(competitor))
    readable, runtime = _with_programs(shared, competitor, engine or [], root)
    return BotStart(options, path, None, engine, readable, runtime)


def _also(competitor: Competitor) -> tuple[tuple[str, str], ...]:
    """Return what of the content of a submission is shown where Kaggle shows it."""
    main = competitor.copies.get(FILE, "") if competitor.record.name == KAGGLE else ""
    return ((f"{competitor.place}/{os.path.dirname(main)}", PLACE),) if main else ()  # noqa: PTH120 - text


def _with_programs(
    readable: Readable, competitor: Competitor, words: Sequence[str], root: str
) -> tuple[Readable, str]:
    """Add the content of a bot and the programs of this machine that run it; return the last of these, too.

    They are the runtime of its command, or else those that the first line of its script names.
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
    """See that the content of a bot has not been changed since it was hashed, and note that it is used.

    Raises:
        PluginError: it has been changed, or removed.
    """
    if state_of(competitor.place) != competitor.state:
        raise PluginError(
            f"content {short(competitor.content)} of {competitor.label} in {competitor.place} was changed "
            "or removed while it was played; resume the tournament, which restores it from where it came"
        )
    stamp_used(competitor.content)


def compiled_folder(competitor: Competitor, root: str) -> str:
    """Return the folder of what a bot's code compiled; no other bot's code gets to write there.

    Args:
        competitor: the bot.
        root: where its content lies for its processes, since numba knows code by its path.
    """
    # A program is named by its command, of which not every word need be a file.
    program = competitor.options.get(CMD, "")
    return str(folder_for(competitor.record.name, competitor.content, root, program))


def shared_path() -> list[str]:
    """Return the part of `sys.path` that all hosts have: the arena's, without folders of editable bots.

    These hold code that is no part of any content, and would be imported unhashed.
    """
    return [folder for folder in host_path() if folder not in linked_bots()]


@cache
def _game_entry(name: str) -> str:
    return find(GAMES, name).value
