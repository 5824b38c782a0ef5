"""`arena site`."""

from __future__ import annotations

from pathlib import Path

import click
from rich_click import RichCommand

from arena.cli.options import db_option


@click.command(cls=RichCommand)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--matches",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="The newest matches of each tournament that get a page; every forfeit gets one, too.",
)
@click.option("--tournament", metavar="NAME", help="Only this tournament and its matches.")
@click.option("--title", default="arena", show_default=True, help="Heading of the first page.")
@db_option
def site(out: Path, *, matches: int, tournament: str | None, title: str, db: str | None) -> None:
    """Write the store as a folder of web pages: events, tables, bots and matches.

    The folder OUT can be opened from disk or published by any web server. A second run writes only the files
    that have changed. Archived tournaments are left out.
    """
    from arena.cli.output import say
    from arena.home import open_store
    from arena.results.addresses import find_tournament
    from arena.site.build import build

    with open_store(db, read_only=True) as store:
        if tournament is not None:
            tournament = find_tournament(store, tournament, unfinished=False).name
        done = build(store, out, num_matches=matches, tournament=tournament, title=title)
    size = f"{done.num_bytes / 1e6:.1f} MB"
    say(
        f"{out}: {done.num_pages:,} pages, {done.num_changed:,} changed, {size}; "
        f"open {out / 'index.html'} or publish the folder"
    )
