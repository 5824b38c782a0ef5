"""`arena export`: write stored matches as training data or as text."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.exits import Exit
from arena.cli.filters import match_options
from arena.cli.options import as_one, db_option
from arena.cli.output import say
from arena.errors import ConfigError
from arena.interrupts import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.cli.filters import MatchChoice
    from arena.export.match_selection import Count, ExportQuery
    from arena.export.writing import ExportSettings
    from arena_db.records import MatchFilter
    from arena_db.store import Store

_FORMATS = ("parquet", "npz", "jsonl", "csv", "pgn", "sgf")
_TEXTS = ("pgn", "sgf")
_CLEAR = "\r\x1b[K"
_MEGABYTE = 1e6
_INTERVAL = 1.0
"""Seconds between two progress lines."""


class _ExportOptions(NamedTuple):
    """Options of `arena export` for the format and the contents of an export."""

    form: str
    split: float | None
    salt: str | None
    dedup: bool
    disjoint: bool
    include_forfeits: bool
    include_void: bool
    limit: int | None

    def query(self, where: MatchFilter) -> ExportQuery:
        """Return the query for these matches."""
        from arena.export.match_selection import ExportQuery

        return ExportQuery(
            where=where,
            include_forfeits=self.include_forfeits,
            include_void=self.include_void,
            limit=self.limit,
        )

    def settings(self) -> ExportSettings:
        """Return the settings of an export of positions."""
        from arena.export.writing import SALT, ExportSettings

        return ExportSettings(
            form=self.form,
            split=self.split,
            salt=SALT if self.salt is None else self.salt,
            dedup=self.dedup,
            disjoint=self.disjoint,
        )

    def check(self) -> None:
        """Check that options for positions are not given for a file of matches.

        Raises:
            ConfigError: one is given.
        """
        is_given = self.split is not None or self.salt is not None or self.dedup or self.disjoint
        if self.form in _TEXTS and is_given:
            raise ConfigError(f"--split, --salt, --dedup and --disjoint are not for --format {self.form}")


@click.command(cls=RichCommand)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="parquet",
    show_default=True,
    help="A folder of positions (parquet, npz, jsonl, csv) or a file of matches (pgn, sgf).",
)
@match_options("Include unrated matches.")
@click.option("--include-forfeits", is_flag=True, help="Include matches that a bot forfeited.")
@click.option("--include-void", is_flag=True, help="Include void matches.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N matches.  [default: all]")
@click.option(
    "--split",
    type=float,
    metavar="SHARE",
    help="Share of the matches for training, as 0.9; the others are for validation.  [default: all]",
)
@click.option("--salt", metavar="TEXT", help="Seed text of the split.  [default: arena]")
@click.option("--dedup", is_flag=True, help="One row per position, with count, mean value and mean policy.")
@click.option("--disjoint", is_flag=True, help="Leave out of validation the positions that are in training.")
@click.option("--dry-run", is_flag=True, help="Count the chosen matches and write nothing.")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@db_option
@as_one("options", _ExportOptions)
def export(  # noqa: PLR0913 - what, where to, how much is said of it, and the store
    chosen: MatchChoice, *, out: Path, options: _ExportOptions, dry_run: bool, quiet: bool, db: str | None
) -> Exit:
    """Write stored matches to OUT as training data or as text.

    Forfeited and void matches are left out unless asked for; matches without a result always are. OUT must be
    new; it is written completely or not at all.
    """
    from arena.export.match_selection import count
    from arena.home import open_store
    from arena.results.absence import check_names

    options.check()
    with open_store(db, read_only=True) as store:
        query = options.query(chosen.to_filter(store))
        found = count(store, query)
        if not found.num_matches:
            check_names(store, chosen.condition)
        if dry_run:
            _say_count(found)
            return Exit.COMPLETE
        progress = None if quiet else _Progress()
        try:
            with interruptible():
                if options.form in _TEXTS:
                    text = _export_matches(store, query, options.form, out, progress)
                else:
                    text = _export_positions(store, query, options.settings(), out, progress)
        except KeyboardInterrupt:
            click.echo("arena export: stopped; nothing was written", err=True)
            return Exit.STOPPED
        finally:
            if progress is not None:
                progress.end()
    say(text)
    return Exit.COMPLETE


def _say_count(found: Count) -> None:
    games = f" of {' and '.join(found.games)}" if found.games else ""
    say(f"{found.num_matches} matches{games}, {found.num_positions} positions")


def _export_positions(
    store: Store, query: ExportQuery, settings: ExportSettings, out: Path, progress: _Progress | None
) -> str:
    from arena.export.writing import export_positions

    report = export_positions(store, query, settings, out, progress=progress)
    splits = ", ".join(f"{split} {num}" for split, num in report.num_rows.items())
    return (
        f"{out}: {report.num_matches} matches, {report.num_positions} positions ({splits}),"
        f" {report.num_bytes / _MEGABYTE:.1f} MB"
    )


def _export_matches(
    store: Store, query: ExportQuery, form: str, out: Path, progress: _Progress | None
) -> str:
    from arena.export.match_notation import export_matches

    num_matches, num_bytes = export_matches(store, query, form, out, progress=progress)
    return f"{out}: {num_matches} matches, {num_bytes / _MEGABYTE:.1f} MB"


class _Progress:
    """Progress of an export on stderr: one line redrawn on a terminal, else one line a second at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_live = sys.stderr.isatty()
        self._clock = clock
        self._shown_at = clock() - _INTERVAL
        self._is_drawn = False

    def __call__(self, done: int, total: int, positions: int) -> None:
        """Print the progress if an update is due, or if the export is complete."""
        now = self._clock()
        if now - self._shown_at < _INTERVAL and done < total:
            return
        self._shown_at = now
        text = f"exported {done}/{total} matches ({100 * done // max(total, 1)}%)  {positions} positions"
        click.echo(f"{_CLEAR}{text}" if self._is_live else text, nl=not self._is_live, err=True)
        self._is_drawn = self._is_live

    def end(self) -> None:
        """Clear the line."""
        if self._is_drawn:
            click.echo(_CLEAR, nl=False, err=True)
