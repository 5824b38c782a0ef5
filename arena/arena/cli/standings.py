"""How standings, crosstables and encounters are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from arena.cli.output import emit, emit_object, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.leaderboard.crosstable import Crosstable
    from arena.leaderboard.tables import Table

COLUMNS = {
    "rank": "Rank",
    "name": "Name",
    "elo": "Elo",
    "error": "+/-",
    "games": "Games",
    "wins": "W",
    "draws": "D",
    "losses": "L",
    "points": "Points",
    "score": "Score",
    "score_first": "First",
    "score_second": "Second",
    "draw_ratio": "Draw",
    "time": "Time",
    "illegal": "Illegal",
    "crash": "Crash",
    "other": "Other",
    "unique": "Unique",
    "tc": "TC",
    "los": "LOS",
}
_FAULTS = ("time", "illegal", "crash", "other")


def print_standings(tables: Sequence[Table], form: str) -> None:
    """Print rating tables; several where bots are not connected by matches."""
    if form != "table":
        rows = [_plain(table, row) for table in tables for row in table.rows]
        emit("rating", rows, form, COLUMNS)
        return
    for number, table in enumerate(tables):
        if number:
            click.echo("\nNot connected with the table above by any match:")
        rows = [_for_people(row) for row in map(msgspec.to_builtins, table.rows)]
        hidden = [fault for fault in _FAULTS if not any(row[fault] for row in rows)]
        print_table(rows, {key: header for key, header in COLUMNS.items() if key not in hidden}, {})
    if tables:
        print_notes(tables[0])


def print_notes(table: Table) -> None:
    """Say what the numbers mean, and where they do not fit."""
    click.echo(
        "Elo and its 95 % interval are relative to the mean of the table (1500); LOS: likelihood of being stronger "
        "than the next."
    )
    advantage = f"{table.first_advantage:+.0f} +/- {table.first_advantage_error:.0f}"
    click.echo(f"Moving first is worth {advantage} Elo.")
    if any(row.rests_on_prior for row in table.rows):
        click.echo("?: never lost, or never won, against the rest; how far it is away is a guess.")
    for misfit in table.misfits:
        click.echo(f"The ratings do not describe this: {misfit}")


def print_crosstable(cross: Crosstable, form: str) -> None:
    """Print how every bot did against every other: score in percent, and wins-draws-losses."""
    if form != "table":
        cells = [cell for line in cross.cells for cell in line if cell.bot != cell.opponent]
        emit("cell", [{**msgspec.to_builtins(cell), "score": cell.score} for cell in cells], form, {})
        return
    columns = {"name": "", **{str(number): str(number + 1) for number in range(len(cross.names))}}
    rows: list[dict[str, Any]] = []
    for number, (name, line) in enumerate(zip(cross.names, cross.cells, strict=True)):
        row: dict[str, Any] = {"name": f"{number + 1} {name}"}
        for column, cell in enumerate(line):
            score = (
                ""
                if cell.score is None
                else f"{100 * cell.score:.0f}% {cell.wins}-{cell.draws}-{cell.losses}"
            )
            row[str(column)] = score
        rows.append(row)
    print_table(rows, columns, {})
    click.echo("Score of the row against the column, and its wins-draws-losses.")


def emit_ratings(tables: Sequence[Table]) -> None:
    """Print every row as an object of an event stream."""
    for table in tables:
        for row in table.rows:
            emit_object("rating", _plain(table, row))


def _plain(table: Table, row: Any) -> dict[str, Any]:  # noqa: ANN401 - a Row, as msgspec takes it
    return {"game": table.game, **msgspec.to_builtins(row)}


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    percents = {
        key: _percent(row[key]) for key in ("score", "score_first", "score_second", "draw_ratio", "los")
    }
    return {
        **row,
        **percents,
        "elo": f"{row['elo']:.0f}{'?' if row['rests_on_prior'] else ''}",
        "error": f"{row['error']:.0f}",
        "points": f"{row['points']:.1f}",
        "unique": f"{row['unique']} of {row['games']}",
    }


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"
