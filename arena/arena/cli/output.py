"""Prints rows as a table, JSON, NDJSON or CSV, and lines of text, for all commands."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from itertools import chain
from typing import TYPE_CHECKING

import click

from arena.watching.json_rows import named_object
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    Row = Mapping[str, object]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WIDE = 4096
"""Width in columns, so large that rich truncates nothing; the terminal wraps long lines."""
_LINE = 4000
"""Maximum number of characters printed of a line."""
_CELL = 200
"""Maximum number of characters printed of a table cell."""


def say(text: str, *, err: bool = False) -> None:
    """Print one line, with control characters made safe for a terminal."""
    click.echo(clean_text(text, _LINE), err=err)


def say_whole(text: str) -> None:
    """Print a TOML text as it is, with control characters escaped."""
    click.echo("".join(c if c == "\n" or clean_text(c, 1) == c else _escape(ord(c)) for c in text), nl=False)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def emit(
    kind: str, rows: Iterable[Row], form: str, columns: Mapping[str, str], keys: Sequence[str] = ()
) -> None:
    """Print rows of one type; all formats except table print each row at once, so there may be many.

    Args:
        kind: the `type` of each object.
        rows: values by JSON key.
        form: table, json, ndjson or csv.
        columns: for the table: header by JSON key, in order.
        keys: the header of a CSV without rows.
    """
    if form == "table":
        print_table(tuple(rows), columns)
    elif form == "json":
        click.echo("[", nl=False)
        for number, row in enumerate(rows):
            click.echo(f"{',' * (number > 0)}\n{_json(kind, row)}", nl=False)
        click.echo("\n]")
    elif form == "ndjson":
        for row in rows:
            emit_object(kind, row)
    else:
        _print_csv((named_object(kind, row) for row in rows), ("type", "schema", *keys))


def emit_one(kind: str, row: Row, form: str) -> None:
    """Print a single object as JSON, NDJSON or CSV."""
    if form == "json":
        click.echo(json.dumps(named_object(kind, row), indent=2))
    else:
        emit(kind, [row], form, {})


def emit_object(kind: str, row: Row) -> None:
    """Print one object on a line of its own."""
    click.echo(_json(kind, row))


def fit_columns(
    rows: Sequence[Row], columns: Mapping[str, str], spare: Sequence[str], width: int
) -> dict[str, str]:
    """Return the columns of a table that is at most `width` characters wide.

    The keys in `spare` are left out as far as needed, the first one first; all others stay.
    """
    widths = {
        key: 2 + max(len(header), *(len(format_cell(row[key])) for row in rows), 0)
        for key, header in columns.items()
    }
    for key in spare:
        if sum(widths.values()) - 2 <= width:
            break
        widths.pop(key, None)
    return {key: header for key, header in columns.items() if key in widths}


def print_table(rows: Sequence[Row], columns: Mapping[str, str], spare: Sequence[str] = ()) -> None:
    """Print a plain table; numbers are right-aligned.

    On a terminal that is too narrow, columns in `spare` are left out, the first one first, and named below
    the table.
    """
    if sys.stdout.isatty():
        shown = fit_columns(rows, columns, spare, shutil.get_terminal_size().columns)
        missing = [header for key, header in columns.items() if key not in shown]
        _print_whole_table(rows, shown)
        if missing:
            click.echo(f"Left out, the terminal is too narrow: {', '.join(missing)} (--format csv has all)")
    else:
        _print_whole_table(rows, columns)


def _print_whole_table(rows: Sequence[Row], columns: Mapping[str, str]) -> None:
    from rich.box import Box
    from rich.table import Table
    from rich.text import Text

    # ASCII only, so that the table looks the same on every terminal.
    rule = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
    table = Table(box=rule, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    body = [[format_cell(row[key]) for key in columns] for row in rows]
    for number, header in enumerate(columns.values()):
        numeric = bool(body) and all(_is_number(line[number]) for line in body)
        table.add_column(Text(header), justify="right" if numeric else "left", no_wrap=True)
    for line in body:
        table.add_row(*map(Text, line))
    console().print(table)


def console() -> Console:
    """Return a rich console on stdout without markup, as wide as the text it prints."""
    from rich.console import Console

    return Console(file=sys.stdout, width=_WIDE, markup=False, emoji=False, highlight=False)


def format_cell(value: object) -> str:
    """Format one value; None is `-`, and text is cleaned."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean_text(str(value), _CELL)


def _json(kind: str, row: Row) -> str:
    return json.dumps(named_object(kind, row), allow_nan=False)


def _is_number(text: str) -> bool:
    return text.removesuffix("?").removesuffix("%").lstrip("+-").replace(".", "", 1).isdigit() or text == "-"


def _print_csv(rows: Iterator[Row], keys: Sequence[str]) -> None:
    first = next(rows, None)
    writer = csv.DictWriter(sys.stdout, keys if first is None else list(first), lineterminator="\n")
    writer.writerow({key: _csv_cell(key) for key in writer.fieldnames})
    for row in () if first is None else chain((first,), rows):
        writer.writerow({key: _csv_cell(value) for key, value in row.items()})


def _csv_cell(value: object) -> object:
    """Return a value that neither a terminal nor a spreadsheet can take for a command or formula."""
    if isinstance(value, str):
        # Cleaned first, because a removed character may have hidden the start of a formula.
        text = clean_text(value, len(value))
        return "'" * (value.startswith(_FORMULA) or text.startswith(_FORMULA)) + text
    return json.dumps(value) if isinstance(value, bool | list | dict) else value
