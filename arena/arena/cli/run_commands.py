"""`arena tournament`, `match` and `test` begin a run; `arena resume`, `pause` and `stop` control it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichOption

from arena.cli.options import (
    db_option,
    encounter_options,
    machine_options,
    run_options,
    sprt_options,
    tournament_options,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.cli.exits import Exit
    from arena.cli.options import RunOptions, StartOptions
    from arena.training.stopping import RunOrder


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="[BOT]...")
@click.option(
    "--type",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["round-robin", "gauntlet", "swiss", "knockout"]),
    help="How bots are paired.  [default: round-robin]",
)
@click.option(
    "--pairs",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="Pairs per encounter of a swiss or knockout.  [default: 1]",
)
@click.option(
    "--tie-pairs",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="More pairs if an encounter of a knockout is tied.  [default: 2]",
)
@click.option(
    "--double",
    cls=RichOption,
    panel="Matches",
    is_flag=True,
    default=None,
    help="In a knockout, a bot is out after two defeats.",
)
@click.option(
    "--third-place",
    cls=RichOption,
    panel="Matches",
    is_flag=True,
    default=None,
    help="In a knockout, the losers of the semifinals play for third place.",
)
@click.option(
    "--seeding",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["given", "leaderboard"]),
    help="Seeding of a swiss or knockout: as named, or by rating.  [default: given]",
)
@click.option(
    "--seeds",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="In a gauntlet, how many of the first bots meet all others.  [default: 1]",
)
@click.option(
    "--on-preflight",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["stop", "skip"]),
    help="Stop if a bot fails before the first match, or leave it out.  [default: stop]",
)
@tournament_options
@run_options
def tournament(options: RunOptions, *, start: StartOptions, **given: object) -> int:
    """Run a tournament between all BOTs, written name@version:option=value,option=value.

    Every match is stored; the run can be stopped at any moment and continued with: arena resume
    """
    return _hold(given, options, start)


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="A B")
@encounter_options
@run_options
def match(options: RunOptions, *, start: StartOptions, **given: object) -> int:
    """Play two bots against each other and report which one is stronger.

    With --sprt it is a sequential test of A, which ends as soon as it is decided: see arena test.
    """
    if given["sprt"] is not None and given["rounds"] is not None:
        raise click.UsageError("--rounds does not go with --sprt: a test ends by itself; --pairs N bounds it")
    return _hold({**given, "type": "match"}, options, start)


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="NEW [OLD]")
@sprt_options
@run_options
def test(options: RunOptions, *, start: StartOptions, **given: object) -> int:
    """Test whether NEW is stronger than OLD (default: the version of NEW that was kept or tested last).

    Pairs are played until a sequential test decides: exit 0 if NEW is stronger, 10 if that is not shown, 11
    if the openings run out. Both bots are kept as they are now. The matches of the test are not rated, since
    a test stops when a bot is ahead; the 32 pairs after the test are.

    30 normalized Elo are 28 Elo at 11 % draws, 24 if openings favour a side, 21 at 50 % draws.
    """
    from arena.coordinator.config import THEN_RATE

    then_rate = 0 if given["rated"] else THEN_RATE
    defaults = {"sprt": "gain", "then-rate": then_rate}
    return _hold({**given, "type": "match"}, options, start, defaults)


def _hold(
    given: Mapping[str, object],
    options: RunOptions,
    start: StartOptions,
    defaults: Mapping[str, object] | None = None,
) -> int:
    from arena.cli.configuration import configuration

    settings = configuration(given, start.config, defaults or {})
    if start.tui and not start.dry_run:
        from arena.cli.attached import hold_and_watch

        return hold_and_watch(options.db)
    from arena.cli.session import hold_new

    return hold_new(settings, options, dry_run=start.dry_run)


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ADDRESS|RUN]")
@click.option(
    "--rounds",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="Extend it to N rounds.",
)
@click.option(
    "--concurrency",
    cls=RichOption,
    panel="Machine",
    type=int,
    metavar="N",
    help="Matches at once, instead of the planned number.",
)
@click.option(
    "--force-concurrency",
    cls=RichOption,
    panel="Machine",
    is_flag=True,
    help="Allow more matches at once than cores.",
)
@click.option(
    "--max-time",
    cls=RichOption,
    panel="Ends",
    type=float,
    metavar="S",
    help="Begin no match after S seconds.",
)
@click.option(
    "--take-over",
    cls=RichOption,
    panel="Machine",
    is_flag=True,
    help="Take the tournament over from a process that has been silent for 30 s; that process stores nothing "
    "more.",
)
@machine_options
@run_options
def resume(options: RunOptions, *, tournament: str | None, **given: object) -> Exit:
    """Continue a tournament (default: the last unfinished one); every match is played exactly once.

    A tournament or a training run that `arena pause` paused continues in the process that runs it.
    """
    from arena.cli.exits import Exit
    from arena.cli.session import hold_again

    if not given["take_over"] and given["rounds"] is None and _goes_on(tournament, options.db):
        return Exit.COMPLETE
    from arena.coordinator.prepare import Again

    return hold_again(tournament, options, Again.of_options(given))


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ADDRESS|RUN]")
@db_option
def pause(tournament: str | None, *, db: str | None) -> None:
    """Pause a tournament that another process runs (default: the last unfinished one), or a training run.

    Running matches end and are stored; a training run writes a checkpoint at its next step and waits. `arena
    resume` continues it. A pause ends with the process that runs it.
    """
    from arena.errors import ArenaError

    try:
        _pause_tournament(tournament, db)
    except ArenaError:
        if tournament is None or not _order_training(tournament, "pause"):
            raise


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ADDRESS|RUN]")
@click.option(
    "--now",
    is_flag=True,
    help="Abort running matches; resuming plays them again. A training run writes no checkpoint.",
)
@db_option
def stop(tournament: str | None, *, db: str | None, now: bool) -> None:
    """Stop a tournament that another process runs (default: the last unfinished one), or a training run."""
    from arena.errors import ArenaError

    try:
        _stop_tournament(tournament, db, now=now)
    except ArenaError:
        if tournament is None or not _order_training(tournament, "abort" if now else "stop"):
            raise


def _stop_tournament(tournament: str | None, db: str | None, *, now: bool) -> None:
    from arena.cli.output import say
    from arena.coordinator.client import ask
    from arena.coordinator.commands import AbortRun, StopRun
    from arena.coordinator.holder import nobody_runs
    from arena.home import open_store
    from arena.results.addresses import find_event

    with open_store(db, read_only=True, create=False) as store:
        record = find_event(store, tournament, unfinished=True)
        if record.state not in ("running", "preparing"):
            say(f"{record.name} is {record.state}; nothing is running", err=True)
            return
        if store.leases.find(record.id) is None:
            say(nobody_runs(record), err=True)
            return
    answer = ask(db, record.id, AbortRun() if now else StopRun())
    again = "play --attach" if record.type == "play" else "resume"
    say(f"asked {record.name} to stop: {answer}; to continue later: arena {again} {record.name}")


def _pause_tournament(tournament: str | None, db: str | None) -> None:
    from arena.cli.output import say
    from arena.coordinator.client import ask
    from arena.coordinator.commands import PauseRun
    from arena.home import open_store
    from arena.results.addresses import find_event

    with open_store(db, read_only=True, create=False) as store:
        record = find_event(store, tournament, unfinished=True)
    if record.is_complete or record.state == "refused":
        say(f"{record.name} is {record.state}; nothing is running", err=True)
        return
    answer = ask(db, record.id, PauseRun())
    say(f"asked {record.name} to pause: {answer}; to continue: arena resume {record.name}")


def _goes_on(tournament: str | None, db: str | None) -> bool:
    """Continue a paused tournament or training run in its own process; return whether it was paused.

    Raises:
        ConfigError: a training run of that name is not paused.
    """
    from arena.errors import ArenaError

    try:
        return _unpause_tournament(tournament, db)
    except ArenaError:
        return tournament is not None and _unpause_training(tournament)


def _unpause_tournament(tournament: str | None, db: str | None) -> bool:
    from arena.cli.output import say
    from arena.coordinator.client import ask
    from arena.coordinator.commands import ResumeRun
    from arena.home import open_store
    from arena.results.addresses import find_event
    from arena.results.tournament_states import state_of

    with open_store(db, read_only=True, create=False) as store:
        record = find_event(store, tournament, unfinished=True)
        if state_of(store, record) != "paused":
            return False
    say(f"asked {record.name} to continue: {ask(db, record.id, ResumeRun())}")
    return True


def _unpause_training(name: str) -> bool:
    import time

    from arena.errors import ConfigError
    from arena.live.run_views import is_paused
    from arena.training.runs import find_run, has_run

    if not has_run(name):
        return False
    folder, _ = find_run(name)
    if not is_paused(folder, time.time()):
        raise ConfigError(f"the training run {name} is not paused; arena train --resume {name} continues it")
    return _order_training(name, "resume")


def _order_training(name: str, order: RunOrder) -> bool:
    """Send an order to the process that trains a run; return whether there is such a run."""
    from arena.cli.output import say
    from arena.training.runs import find_run, has_run
    from arena.training.stopping import order_run

    if not has_run(name):
        return False
    told = order_run(find_run(name)[0], order)
    say(told.text, err=not told.is_taken)
    return True
