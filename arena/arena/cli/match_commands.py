"""`arena matches`, `show`, `logs` and `verify`: stored matches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from rich_click import RichCommand

from arena.cli.exits import Exit
from arena.cli.filters import match_options
from arena.cli.options import db_option, format_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.cli.filters import MatchChoice
    from arena.results.addresses import Address
    from arena_db.records import MatchFilter, StoredMatch
    from arena_db.store import Store

_COLUMNS = {
    "address": "Match",
    "game": "Game",
    "first": "First",
    "second": "Second",
    "result": "Result",
    "plies": "Plies",
    "started_at": "Begun",
    "reason": "End",
}


_LIMIT = 50
"""Default number of matches in a table."""
_PAGE = 500
"""Number of matches read at once: if a pipe closes early, at most these have been read in vain."""


@click.command(cls=RichCommand)
@match_options("Include unrated and void matches.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="How many, newest first.  [default: 50 in a table, else all]",
)
@click.option(
    "--before",
    metavar="MATCH",
    help="Only matches stored before this one: the next page.",
)
@format_option
@db_option
def matches(chosen: MatchChoice, *, limit: int | None, before: str | None, form: str, db: str | None) -> None:
    """List stored matches, newest first; the end of a void match includes the reason."""
    from arena.cli.output import emit
    from arena.home import open_store
    from arena.results.absence import check_names
    from arena.results.addresses import address_of, find_played
    from arena.watching.objects import MATCH_KEYS, stored_match_object

    with open_store(db, read_only=True) as store:
        where = chosen.to_filter(store)
        if limit is None and form == "table":
            limit = _LIMIT
        newest = None if before is None else find_played(store, before)[0].id
        if not store.matches.newest(where, before=newest, limit=1):
            check_names(store, chosen.condition)
            click.echo("no stored match fits (--unrated shows unrated and void ones, too)", err=True)
        pages = _Pages(store, where, newest, limit)
        rows = map(_for_people if form == "table" else stored_match_object, pages)
        emit("match", rows, form, _COLUMNS, MATCH_KEYS)
        if limit is not None and pages.last and store.matches.newest(where, before=pages.last.id, limit=1):
            click.echo(f"More: the same with --before {address_of(pages.last)}", err=True)


def _for_people(match: StoredMatch) -> dict[str, object]:
    """Return a table row; its `reason` includes why a match is void, a separate key in other formats."""
    from arena.results.corrections import ending_of
    from arena.watching.objects import stored_match_object

    return {**stored_match_object(match), "reason": ending_of(match)}


class _FormerName(RichCommand):
    """A command under its former name; it prints a notice."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command returns
        """Run the command after a notice on stderr."""
        click.echo("arena games is called arena matches now; the old name will go", err=True)
        return super().invoke(ctx)


games = _FormerName(
    name="games",
    callback=matches.callback,
    params=matches.params,
    help="List stored matches: the former name of arena matches.",
    hidden=True,
)


class _Pages:
    """Reads matches page by page, newest first."""

    def __init__(self, store: Store, where: MatchFilter, before: int | None, limit: int | None) -> None:
        self._store = store
        self._where = where
        self._before = before
        self._left = sys.maxsize if limit is None else limit
        self.last: StoredMatch | None = None
        """The match that was read last."""

    def __iter__(self) -> Iterator[StoredMatch]:
        """Yield the matches."""
        while self._left:
            page = self._store.matches.newest(self._where, before=self._before, limit=min(self._left, _PAGE))
            for match in page:
                self.last = match
                yield match
            if not page:
                return
            self._before = page[-1].id
            self._left -= len(page)


@click.command(cls=RichCommand)
@click.argument("address")
@click.option("--config", is_flag=True, help="Print the tournament's configuration as TOML.")
@click.option(
    "--grade",
    is_flag=True,
    help="Judge its matches with the exact solver first, as arena grade does.",
)
@format_option
@db_option
def show(address: str, *, form: str, db: str | None, config: bool, grade: bool) -> None:
    """Show a tournament, ADDRESS spring, a match, spring/89, or a position of it, spring/89:17, in full.

    For a match without a result, the moves received so far are shown.
    """
    if grade:
        from arena.cli.grade_command import GradeWish, grade_address

        grade_address(address, db, GradeWish(), None)
    from arena.cli.output import say_whole
    from arena.cli.showing import show_match, show_tournament
    from arena.home import open_store
    from arena.results.addresses import find_address
    from arena.watching.whole_objects import is_played_again

    with open_store(db, read_only=True) as store:
        found = find_address(store, address)
        if config:
            say_whole(found.tournament.config)
        elif found.match is not None and not is_played_again(store, found):
            show_match(store, found.match, form, found.ply)
        elif found.number is not None:
            _show_unplayed(store, found, form)
        else:
            show_tournament(store, found.tournament, form)


@click.command(cls=RichCommand)
@click.argument("address")
@click.option(
    "--bot",
    metavar="BOT",
    help="Only the output of this bot: name, spec, label, or ~ and digits of its identity.",
)
@db_option
def logs(address: str, *, bot: str | None, db: str | None) -> None:
    """Print what bots wrote to stdout and stderr: in a tournament, ADDRESS spring, or in a match, spring/89.

    Each line begins with the numbers of the match and the ply; ply 0 is before the first question. The option
    --bot-output of tournament and match chooses the matches whose output is kept.
    """
    from arena.cli.output import say
    from arena.executor.prints import prints_path, read_prints
    from arena.home import open_store
    from arena.results.addresses import find_address, find_entrants

    with open_store(db, read_only=True) as store:
        found = find_address(store, address)
        record = found.tournament
        labels = [entrant.label for entrant in find_entrants(store, record, bot)]
    num_lines = 0
    for label in labels:
        for count, line in enumerate(read_prints(record.name, label, found.number)):
            if not count:
                say(f"== {label} ({prints_path(record.name, label)})", err=True)
            say(line)
            num_lines += 1
    if not num_lines:
        say(
            f"nothing is kept of what bots printed in {found}; of more than 50 matches only those with a "
            "fault are kept, unless --bot-output all is given",
            err=True,
        )


@click.command(cls=RichCommand)
@click.argument("address")
@db_option
def verify(address: str, *, db: str | None) -> Exit:
    """Replay a stored match, ADDRESS spring/89, by the rules and ask its bots for the same actions again.

    Only bots that declare themselves deterministic must play the same actions.
    """
    from arena.cli.output import say
    from arena.coordinator.verify import verify_match
    from arena.home import open_store
    from arena.results.addresses import find_played

    with open_store(db, read_only=True) as store:
        finding = verify_match(store, find_played(store, address)[0])
    say(finding.text)
    return Exit.COMPLETE if finding.agrees else Exit.RUN_ERROR


def _show_unplayed(store: Store, address: Address, form: str) -> None:
    """Print a planned match: players, opening, and the moves received so far.

    Raises:
        NotFoundError: the match has fewer plies than the address says.
    """
    import msgspec

    from arena.cli.output import console, emit_one, say
    from arena.cli.text_board import draw_board
    from arena.live.geometry import position
    from arena.watching.whole_objects import unplayed_match
    from arena_plugins import load_game

    found = unplayed_match(store, address)
    if form != "table":
        emit_one("match", msgspec.to_builtins(found), form)
        return
    shown = found.actions
    say(f"{address} {found.game}  {found.first} (X) vs {found.second} (O)  {found.state}")
    say(f"{len(shown)} plies, {found.num_opening} of them from the opening; arena watch {address} shows it")
    game = load_game(found.game)
    moves: list[str] = []
    for ply, action in enumerate(shown):
        moves.append(game.move(position(found.game, shown[:ply]), action))
    before = position(found.game, shown[:-1]) if shown else None
    console().print(draw_board(game, position(found.game, shown), before), end="")
    if moves:
        say(f"moves {' '.join(moves)}")
