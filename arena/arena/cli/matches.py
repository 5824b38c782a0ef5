"""`arena games`, `show`, `logs` and `verify`: stored matches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.exits import Exit, NotFoundError
from arena.cli.filters import check_names, match_options
from arena.cli.options import db_option, format_option
from arena.cli.stored import MAX_NUMBER, find_match, match_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.results.condition import Condition
    from arena_db.records import MatchFilter, StoredMatch
    from arena_db.store import Store

_COLUMNS = {
    "id": "Match",
    "tournament": "Tournament",
    "game": "Game",
    "first": "First",
    "second": "Second",
    "result": "Result",
    "plies": "Plies",
    "started_at": "Begun",
    "reason": "End",
}


_LIMIT = 50
"""Matches of a table that nobody bounds."""
_PAGE = 500


@click.command(cls=RichCommand)
@match_options
@click.option("--unrated", is_flag=True, help="Unrated and void matches, too.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="How many, newest first.  [default: 50 in a table, else all]",
)
@click.option(
    "--before",
    type=click.IntRange(1, MAX_NUMBER),
    metavar="MATCH",
    help="Only matches with a smaller number: the next page.",
)
@format_option
@db_option
def games(  # noqa: PLR0913 - one parameter an option
    condition: Condition,
    *,
    unrated: bool,
    limit: int | None,
    before: int | None,
    form: str,
    db: str | None,
) -> None:
    """List stored matches, newest first."""
    from arena.cli.objects import MATCH_KEYS, stored_match_object
    from arena.cli.output import emit
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        where = condition.to_filter(store, rated_only=not unrated)
        if limit is None and form == "table":
            limit = _LIMIT
        if not store.matches(where, before=before, limit=1):
            check_names(store, condition)
            click.echo("no stored match fits (--unrated shows unrated and void ones, too)", err=True)
        matches = _Pages(store, where, before, limit)
        emit("match", map(stored_match_object, matches), form, _COLUMNS, MATCH_KEYS)
        if limit is not None and matches.last and store.matches(where, before=matches.last, limit=1):
            click.echo(f"More: arena games --before {matches.last}", err=True)


class _Pages:
    """Reads matches page by page, newest first."""

    def __init__(self, store: Store, where: MatchFilter, before: int | None, limit: int | None) -> None:
        self._store = store
        self._where = where
        self._before = before
        self._left = sys.maxsize if limit is None else limit
        self.last: int | None = None
        """Number of the match that was read last."""

    def __iter__(self) -> Iterator[StoredMatch]:
        """Read the matches."""
        while self._left:
            page = self._store.matches(self._where, before=self._before, limit=min(self._left, _PAGE))
            for match in page:
                self.last = match.id
                yield match
            if not page:
                return
            self._before = self.last
            self._left -= len(page)


@click.command(cls=RichCommand)
@click.argument("what", metavar="ID")
@click.option("--config", is_flag=True, help="Print the tournament's configuration as TOML.")
@click.option(
    "--grade",
    is_flag=True,
    help="Let the exact solver judge its matches, and store that for replay and export.",
)
@format_option
@db_option
def show(what: str, *, form: str, db: str | None, config: bool, grade: bool) -> None:
    """Show a tournament (by name) or a match (by number) in full."""
    if grade:
        from arena.cli.grading import grade_matches

        grade_matches(what, db)
    from arena.cli.output import say_whole
    from arena.cli.showing import show_match, show_tournament
    from arena.cli.stored import find_tournament
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        number = match_number(what)
        match = None if number is None else find_match(store, number)
        if match is not None and not config:
            show_match(store, match, form)
            return
        record = find_tournament(store, match.tournament_name if match else what, unfinished=False)
        if config:
            say_whole(record.config)
        else:
            show_tournament(store, record, form)


@click.command(cls=RichCommand)
@click.argument("address")
@click.option("--bot", metavar="LABEL", help="Only what this bot printed.")
@db_option
def logs(address: str, *, bot: str | None, db: str | None) -> None:
    """Print what bots wrote to stdout and stderr: in a tournament, NAME, or in a match, NAME/89 or 20417.

    Each line is headed by the number of the match and of the ply; ply 0 is before the first question.
    --bot-output of tournament and match says of which matches it is kept.
    """
    from arena.cli.output import say
    from arena.cli.stored import find_address
    from arena.executor.prints import prints_path, read_prints
    from arena.home import open_store
    from arena_plugins.spec import nearest

    with open_store(db, read_only=True) as store:
        record, number = find_address(store, address)
        labels = [entrant.label for entrant in store.entrants(record.id)]
    if bot is not None and bot not in labels:
        raise NotFoundError(
            f'no bot "{bot}" in {record.name}{nearest(bot, labels)} (there are {", ".join(labels)})'
        )
    num_lines = 0
    for label in labels if bot is None else [bot]:
        for count, line in enumerate(read_prints(record.name, label, number)):
            if not count:
                say(f"== {label} ({prints_path(record.name, label)})", err=True)
            say(line)
            num_lines += 1
    if not num_lines:
        what = record.name if number is None else f"{record.name}/{number}"
        say(
            f"nothing is kept of what bots printed in {what}; of more than 50 matches only those with a "
            "fault are kept, unless --bot-output all is given",
            err=True,
        )


@click.command(cls=RichCommand)
@click.argument("match", type=int)
@db_option
def verify(match: int, *, db: str | None) -> Exit:
    """Replay a stored match by the rules and ask deterministic bots for the same actions again."""
    from arena.cli.output import say
    from arena.home import open_store
    from arena.tournament.verify import verify_match

    with open_store(db, read_only=True) as store:
        finding = verify_match(store, find_match(store, match))
    say(finding.text)
    return Exit.COMPLETE if finding.agrees else Exit.RUN_ERROR
