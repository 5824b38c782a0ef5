"""`arena tournaments`, `archive`, `unarchive` and `remove`: the tournaments of the store."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.options import db_option, format_option
from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_COLUMNS = {
    "name": "Tournament",
    "pairing": "Type",
    "game": "Game",
    "state_text": "State",
    "matches": "Matches",
    "begun": "Begun",
    "held_by": "Run by",
}
_KEYS = (
    *("name", "pairing", "game", "pool", "state", "num_done", "num_planned", "created_at", "held_by"),
    *("refusal", "archived_at", "num_bots"),
)
_PAGE = 100
"""Number of tournaments read at once: each row brings its whole configuration."""


@click.command(cls=RichCommand)
@click.option("--all", "is_all", is_flag=True, help="Include archived ones.")
@format_option
@db_option
def tournaments(*, is_all: bool, form: str, db: str | None) -> None:
    """List the tournaments of the store, newest first."""
    from arena.cli.output import emit
    from arena.home import open_store
    from arena.watching.objects import listed_object

    with open_store(db, read_only=True) as store:
        row_of = _for_people if form == "table" else listed_object
        found = (row_of(store, record) for record in _read(store, is_all=is_all))
        emit("tournament", found, form, _COLUMNS, _KEYS)
        if form == "table":
            _print_rest(store, is_all=is_all)


@click.command(cls=RichCommand)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--cold", is_flag=True, help="Also move their matches to Parquet files.")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="With --cold: the folder of the files.  [default: beside the store]",
)
@db_option
def archive(names: tuple[str, ...], *, cold: bool, folder: Path | None, db: str | None) -> None:
    """Hide the tournaments NAME... from lists; their matches still count, and their names still find them.

    With --cold the matches of finished tournaments are moved to Parquet files, which makes room in the store.
    Tables stay the same, and commands for single matches read the files. `arena unarchive` undoes both.
    """
    from arena.home import cold_folder, open_store
    from arena.results.addresses import find_tournament

    if folder is not None and not cold:
        raise ConfigError("--to is the folder for --cold; give both, or neither")
    with open_store(db, create=False) as store:
        for record in [find_tournament(store, name, unfinished=False) for name in names]:
            if cold:
                _freeze(store, record, folder or cold_folder(db))
            else:
                _archive(store, record)


@click.command(cls=RichCommand)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@db_option
def unarchive(names: tuple[str, ...], *, db: str | None) -> None:
    """Show archived tournaments in lists again, and store their matches again if they are in files."""
    from arena.home import open_store
    from arena.results.addresses import find_tournament

    with open_store(db, create=False) as store:
        for record in [find_tournament(store, name, unfinished=False) for name in names]:
            _unarchive(store, record)


@click.command(cls=RichCommand)
@click.argument("name")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The new file.  [default: NAME.removed.db beside the store]",
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@db_option
def remove(name: str, *, target: Path | None, yes: bool, db: str | None) -> None:
    """Move the tournament NAME out of the store to a file of its own; arena db merge moves it back.

    All its data moves with it; no table here counts its matches any more. A tournament that is being run
    cannot be removed.
    """
    from arena.cli.output import say
    from arena.home import open_store, removed_file
    from arena.results.addresses import find_tournament
    from arena.results.corrections import author

    with open_store(db, create=False) as store:
        record = find_tournament(store, name, unfinished=False)
        file = target.absolute() if target else removed_file(db, record.name)
        question = f"Move {record.name} with its {record.num_done} matches out of {store.place} to {file}?"
        if not yes:
            if not sys.stdin.isatty():
                raise ConfigError(f"{question} There is no terminal to answer in; --yes confirms it")
            click.confirm(question, abort=True)
        store.transfers.remove(record.id, file, who=author())
        say(f"{record.name} is in {file}; arena db merge {shlex.quote(str(file))} takes it back")


def _archive(store: Store, record: TournamentRecord) -> None:
    from arena.cli.output import say
    from arena.results.corrections import author

    if store.changes.archive(record.id, who=author()):
        say(f"{record.name} is archived; arena tournaments --all lists it, arena unarchive takes it back")
    else:
        say(f"{record.name} is archived already", err=True)


def _freeze(store: Store, record: TournamentRecord, folder: Path) -> None:
    from arena.cli.output import say
    from arena.results.corrections import author

    found = store.cold.freeze(record.id, folder, who=author())
    if found is None:
        say(f"the matches of {record.name} are in files already", err=True)
        return
    say(
        f"{_num(found.num_matches)} of {record.name} moved to {found.folder} "
        f"({found.num_bytes / 1e6:.1f} MB); arena unarchive {record.name} takes them back"
    )


def _unarchive(store: Store, record: TournamentRecord) -> None:
    from arena.cli.output import say
    from arena.results.corrections import author

    cold = store.cold.thaw(record.id, who=author())
    if cold is not None:
        say(
            f"{record.name} is listed again, and its {_num(cold.num_matches)} are stored again; only backups "
            f"made before need the files in {cold.folder}"
        )
    elif store.changes.archive(record.id, who=author(), undo=True):
        say(f"{record.name} is listed again")
    else:
        say(f"{record.name} is not archived", err=True)


def _num(matches: int) -> str:
    return f"{matches} match{'' if matches == 1 else 'es'}"


def _read(store: Store, *, is_all: bool) -> Iterator[TournamentRecord]:
    before: int | None = None
    while page := store.tournaments.newest(before=before, limit=_PAGE, archived=is_all):
        yield from page
        before = page[-1].id


def _for_people(store: Store, record: TournamentRecord) -> dict[str, object]:
    """Return a table row; some of its cells are worded for people."""
    from arena.live.tournament_views import STATES
    from arena.naming import count_text
    from arena.results.tested import kind_of
    from arena.results.tournament_states import state_of
    from arena.watching.objects import listed_object

    row = listed_object(store, record)
    return {
        **row,
        "pairing": kind_of(record),
        "state_text": STATES[state_of(store, record)] + (", archived" if record.archived_at else ""),
        "matches": count_text(record.num_done, record.num_total),
        "begun": str(row["created_at"])[:16].replace("T", " "),
    }


def _print_rest(store: Store, *, is_all: bool) -> None:
    """Print how many tournaments are not listed."""
    hidden = 0 if is_all else store.tournaments.num_archived()
    if hidden:
        click.echo(f"{hidden} archived: arena tournaments --all lists them, too", err=True)
