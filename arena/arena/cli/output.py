"""Prints rows as a table, JSON, NDJSON or CSV; one place, so that all commands agree."""

from __future__ import annotations

import csv
import json
import math
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA = "arena/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WIDE = 4096


def emit(
    kind: str,
    rows: Iterable[Mapping[str, Any]],
    form: str,
    columns: Mapping[str, str],
    cells: Mapping[str, str] | None = None,
) -> None:
    """Print rows of one type.

    Args:
        kind: the `type` of each object.
        rows: values by JSON key.
        form: table, json, ndjson or csv.
        columns: for the table: JSON key to header, in order.
        cells: for the table: JSON key to a format, as `.1f`.
    """
    if form == "table":
        print_table(rows, columns, cells or {})
    elif form == "json":
        click.echo(json.dumps([_object(kind, row) for row in rows], ensure_ascii=False, indent=2))
    elif form == "ndjson":
        for row in rows:
            emit_object(kind, row)
    else:
        _print_csv([_object(kind, row) for row in rows])


def emit_object(kind: str, row: Mapping[str, Any]) -> None:
    """Print one object on a line of its own."""
    click.echo(json.dumps(_object(kind, row), ensure_ascii=False))


def print_table(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str], cells: Mapping[str, str]
) -> None:
    """Print a plain table; numbers stand to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    body = [[format_cell(row[key], cells.get(key, "")) for key in columns] for row in rows]
    for number, header in enumerate(columns.values()):
        numeric = all(_is_number(line[number]) for line in body)
        table.add_column(Text(header), justify="right" if numeric and body else "left", no_wrap=True)
    for line in body:
        table.add_row(*map(Text, line))
    console().print(table)


def console() -> Any:  # noqa: ANN401 - rich is imported only when something is printed with it
    """Give a rich console on stdout: as wide as the terminal, unbounded in a pipe."""
    from rich.console import Console

    return Console(
        file=sys.stdout, width=None if sys.stdout.isatty() else _WIDE, highlight=False, soft_wrap=False
    )


def format_cell(value: object, form: str) -> str:
    """Write one value; what is absent is `-`, and text is cleaned."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:{form}}"
    return clean_text(str(value), 200)


def utc(seconds: float) -> str:
    """Write UTC seconds as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _object(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, "schema": SCHEMA, **{key: _finite(value) for key, value in row.items()}}


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(text: str) -> bool:
    return text.removesuffix("?").removesuffix("%").lstrip("+-").replace(".", "", 1).isdigit() or text == "-"


def _print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _csv_cell(value) for key, value in row.items()} for row in rows)


def _csv_cell(value: object) -> object:
    """Keep a spreadsheet from running a text as a formula."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return json.dumps(value) if isinstance(value, list | dict) else value
