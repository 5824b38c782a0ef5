"""`arena resume`, `arena pause` and `arena stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichOption

from arena.cli.options import db_option, machine_options, run_options

if TYPE_CHECKING:
    from arena.cli.exits import Exit
    from arena.cli.options import RunOptions
    from arena.training.stopping import RunOrder


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
def resume(  # noqa: PLR0913 - one parameter an option
    options: RunOptions,
    *,
    tournament: str | None,
    rounds: int | None,
    concurrency: int | None,
    force_concurrency: bool,
    max_time: float | None,
    take_over: bool,
    executor: str | None,
    keys: str | None,
    cluster: str | None,
) -> Exit:
    """Continue a tournament (default: the last unfinished one); every match is played exactly once.

    A tournament or a training run that `arena pause` paused goes on in the process that runs it.
    """
    from arena.cli.exits import Exit
    from arena.cli.session import hold_again

    if not take_over and rounds is None and _goes_on(tournament, options.db):
        return Exit.COMPLETE
    from arena.coordinator.prepare import Again

    where = (executor, keys, cluster)
    again = Again(rounds, concurrency, force_concurrency, max_time, take_over, *where)
    return hold_again(tournament, options, again)


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ADDRESS|RUN]")
@db_option
def pause(tournament: str | None, *, db: str | None) -> None:
    """Pause a tournament that another process runs (default: the last unfinished one), or a training run.

    Running matches end and are stored; a training run writes a checkpoint at its next step and waits. `arena
    resume` goes on. A pause ends with the process that runs it.
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
        if store.lease(record.id) is None:
            say(nobody_runs(record), err=True)
            return
    answer = ask(db, record.id, AbortRun() if now else StopRun())
    again = "play --attach" if record.type == "play" else "resume"
    say(f"asked {record.name} to stop: {answer}; to go on later: arena {again} {record.name}")


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
    say(f"asked {record.name} to pause: {answer}; to go on: arena resume {record.name}")


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
    say(f"asked {record.name} to go on: {ask(db, record.id, ResumeRun())}")
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
        raise ConfigError(
            f"the training run {name} is not paused; arena train --resume {name} goes on with it"
        )
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
