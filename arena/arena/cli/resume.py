"""`arena resume` and `arena stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichOption

from arena.cli.options import db_option, machine_options, run_options

if TYPE_CHECKING:
    from arena.cli.exits import Exit
    from arena.cli.options import RunOptions


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ADDRESS]")
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
    """Continue a tournament (default: the last unfinished one); every match is played exactly once."""
    from arena.cli.session import hold_again
    from arena.coordinator.prepare import Again

    where = (executor, keys, cluster)
    again = Again(rounds, concurrency, force_concurrency, max_time, take_over, *where)
    return hold_again(tournament, options, again)


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
        if tournament is None or not _stop_training(tournament, now=now):
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


def _stop_training(name: str, *, now: bool) -> bool:
    """Stop the training run with this name; return whether there is one."""
    from arena.cli.output import say
    from arena.training.runs import find_run, has_run
    from arena.training.stopping import ask_to_stop

    if not has_run(name):
        return False
    folder, _ = find_run(name)
    again = f"to go on later: arena train --resume {name}"
    if not ask_to_stop(folder, at_once=now):
        say(f"no process trains {name}, or it is suspended: the request was not received; {again}", err=True)
    elif now:
        say(f"{name} ends at once, without another checkpoint; {again}")
    else:
        say(f"{name} writes a checkpoint at its next step and ends; {again}")
    return True
