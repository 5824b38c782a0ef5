"""`arena games`, `show`, `replay` and `verify`: stored matches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from arena.cli.exits import Exit, NotFoundError
from arena.cli.filters import filter_options, match_filter
from arena.cli.options import db_option, format_option

if TYPE_CHECKING:
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

_COLUMNS = {
    "id": "Match",
    "tournament_name": "Tournament",
    "game": "Game",
    "first": "First",
    "second": "Second",
    "result": "Result",
    "termination": "End",
    "plies": "Plies",
    "started_at": "Begun",
}


@click.command()
@filter_options
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="How many, newest first."
)
@click.option(
    "--before", type=int, metavar="MATCH", help="Only matches with a smaller number: the next page."
)
@format_option
@db_option
def games(limit: int, before: int | None, form: str, db: str | None, **given: Any) -> None:
    """List stored matches, newest first."""
    from arena.cli.output import emit
    from arena.cli.report import RESULT, match_object
    from arena.home import open_store

    where = match_filter(given)
    with open_store(db, read_only=True) as store:
        found = store.matches(where, before=before, limit=limit)
    rows: list[dict[str, Any]] = []
    for match in found:
        row = {**match_object(match), "result": RESULT[match.outcome], "plies": len(match.actions)}
        row["first"], row["second"] = match.first_label, match.second_label
        rows.append(row)
    emit("match", rows, form, _COLUMNS)
    if form == "table" and len(found) == limit:
        click.echo(f"More: arena games --before {found[-1].id}", err=True)


@click.command()
@click.argument("what", metavar="ID")
@click.option("--config", is_flag=True, help="Print the tournament's configuration as TOML.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How it is printed.",
)
@db_option
def show(what: str, form: str, db: str | None, *, config: bool) -> None:
    """Show a tournament (by name) or a match (by number) in full."""
    from arena.cli.session import find_tournament
    from arena.cli.showing import show_match, show_tournament
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        match = store.match(int(what)) if what.isdecimal() else None
        if match is not None and not config:
            show_match(match, form)
            return
        if what.isdecimal() and match is None:
            raise NotFoundError(f"no match {what}; arena games lists the stored ones")
        record: TournamentRecord = find_tournament(
            store, match.tournament_name if match else what, unfinished=False
        )
        if config:
            click.echo(record.config, nl=False)
        else:
            show_tournament(store, record, form)


@click.command()
@click.argument("match", type=int)
@click.option(
    "--plain", is_flag=True, help="Print every position, one below the other (the only way for now)."
)
@db_option
def replay(match: int, db: str | None, *, plain: bool) -> None:
    """Go through a stored match, position by position."""
    from arena.cli.showing import replay_match
    from arena.home import open_store

    del plain  # a screen to step through comes with the dashboard
    with open_store(db, read_only=True) as store:
        replay_match(find_match(store, match))


@click.command()
@click.argument("match", type=int)
@db_option
def verify(match: int, db: str | None) -> None:
    """Replay a stored match by the rules and ask deterministic bots for the same actions again."""
    from arena.home import open_store
    from arena.tournament.verify import verify_match

    with open_store(db, read_only=True) as store:
        found = find_match(store, match)
        finding = verify_match(store, found)
    click.echo(finding.text)
    sys.exit(Exit.COMPLETE if finding.agrees else Exit.RUN_ERROR)


def find_match(store: Store, number: int) -> StoredMatch:
    """Find a match by its number.

    Raises:
        NotFoundError: there is none.
    """
    found = store.match(number)
    if found is None:
        raise NotFoundError(f"no match {number}; arena games lists the stored ones")
    return found
