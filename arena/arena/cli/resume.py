"""`arena resume` and `arena stop`."""

from __future__ import annotations

import sys

import click

from arena.cli.options import db_option


@click.command()
@click.argument("tournament", required=False, metavar="[ID]")
@click.option("--rounds", type=int, metavar="N", help="Enlarge it to so many rounds.")
@click.option("--concurrency", type=int, metavar="N", help="Matches at once, in place of what was planned.")
@click.option("--force-concurrency", is_flag=True, help="Allow more matches at once than cores.")
@click.option("--max-time", type=float, metavar="S", help="Begin no match after so many seconds.")
@click.option("--fast", is_flag=True, help="Do not wait for the disk: a power cut may lose the last matches.")
@click.option("--strict", is_flag=True, help="Exit 4 when bots forfeited or warnings were printed.")
@click.option("--quiet", is_flag=True, help="Print the final tables only.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "ndjson"]),
    default="text",
    show_default=True,
    help="How events are printed.",
)
@db_option
def resume(  # noqa: PLR0913 - one parameter an option
    tournament: str | None,
    rounds: int | None,
    concurrency: int | None,
    max_time: float | None,
    db: str | None,
    form: str,
    *,
    force_concurrency: bool,
    fast: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Go on with a tournament (default: the last unfinished one); every match is played exactly once."""
    import msgspec

    from arena.cli import options
    from arena.cli.session import Session, check_bots, find_tournament
    from arena.home import open_store
    from arena.tournament.plan import enlarge, restore_plan

    session = Session(db=db, fast=fast, strict=strict, quiet=quiet, form=form)
    with open_store(db, fast=fast, create=False) as store:
        record = find_tournament(store, tournament, unfinished=rounds is None)
        plan = restore_plan(store, record)
        # A time budget is one of a sitting, not of the tournament.
        config = msgspec.structs.replace(
            plan.config,
            max_time=max_time,
            force_concurrency=force_concurrency or plan.config.force_concurrency,
            concurrency=plan.config.concurrency if concurrency is None else concurrency,
        )
        plan = plan._replace(config=config)
        num_workers = options.concurrency(plan.config)
        check_bots(plan)
        if rounds is not None:
            plan = enlarge(store, record, plan, rounds)
            record = find_tournament(store, record.name, unfinished=False)
        status = session.play(store, record, plan, num_workers)
    sys.exit(status)


@click.command()
@click.argument("tournament", required=False, metavar="[ID]")
@click.option("--now", is_flag=True, help="End running matches at once; resuming plays them again.")
@db_option
def stop(tournament: str | None, db: str | None, *, now: bool) -> None:
    """Stop a tournament that another process runs (default: the last unfinished one)."""
    from arena.cli.session import find_tournament
    from arena.home import open_store

    with open_store(db, create=False) as store:
        record = find_tournament(store, tournament, unfinished=True)
        store.request(record.id, "abort" if now else "stop")
        click.echo(f"asked {record.name} to stop; to go on later: arena resume {record.name}")
