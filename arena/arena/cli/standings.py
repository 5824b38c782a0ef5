"""Prints standings, crosstables and encounters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click
import msgspec

from arena.cli.output import emit, print_table, say
from arena.rating.shares import wilson
from arena.results.brackets import bracket_lines
from arena.results.counts import say_evidence
from arena.results.table_notes import UNBOUNDED, notes_on
from arena.watching.table_objects import cell_objects, event_objects, rating_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.coordinator.config import Refusal
    from arena.results.by_place import EventTables
    from arena.results.counts import HeadToHead
    from arena.results.crosstable import Crosstable
    from arena.results.place_table import PlaceRow
    from arena.results.tables import Row, Table

COLUMNS = {
    "rank": "Rank",
    "name": "Name",
    "elo": "Elo",
    "error": "+/-",
    "bootstrap": "Bootstrap",
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
    "evidence": "Evidence",
    "tc": "TC",
    "los": "LOS",
    "against_next": "Score v next",
}
PLACE_COLUMNS = {
    "place": "Place",
    "name": "Name",
    "points": "Points",
    "buchholz": "Buchholz",
    "cut_one": "Cut 1",
    "median": "Median",
    "sonneborn_berger": "S-B",
    "direct": "Direct",
    "wins": "W",
}
_SPARE = ("tc", "draw_ratio", "evidence", "score_first", "score_second", "points", "los", "against_next")
"""Columns left out on a narrow terminal, in this order; fault columns that are present always stay."""
_FAULTS = ("time", "illegal", "crash", "other")
_NUM_MISFITS = 5
"""Maximum number of misfits that are printed."""


def print_standings(tables: Sequence[Table], form: str, **more: object) -> None:
    """Print rating tables; there are several if matches do not connect all bots.

    Args:
        tables: the tables of one pool.
        form: table, json, ndjson or csv.
        more: further keys of each object.
    """
    if form != "table":
        emit("rating", [{**row, **more} for row in rating_objects(tables)], form, {})
        return
    tables = [table for table in tables if table.rows]
    all_rows = [row for table in tables for row in table.rows]
    hidden = {fault for fault in _FAULTS if not any(getattr(row, fault) for row in all_rows)}
    if all(row.bootstrap_low is None for row in all_rows):
        hidden.add("bootstrap")
    columns = {key: header for key, header in COLUMNS.items() if key not in hidden}
    for number, table in enumerate(tables):
        if number:
            click.echo("\nNot connected with the table above by any match:")
        print_table([_for_people(row) for row in table.rows], columns, _SPARE)
    # A tournament that has not begun has no tables.
    if tables:
        _print_notes(tables)


def print_refused(refused: Sequence[Refusal]) -> None:
    """Print the refused bots, if any, as text: cells of a table would cut off the remedy in a cause."""
    if not refused:
        return
    width = max(len("Refused"), *(len(bot) for bot, _ in refused))
    click.echo()
    say(f"{'Refused':{width}}  Cause")
    say("-" * (width + 7))
    for bot, why in refused:
        say(f"{bot:{width}}  {why}")


def encounter_object(a: str, b: str, met: HeadToHead) -> dict[str, object]:
    """Return an encounter as an object, from the side of `a`; undefined or unbounded values are None."""
    counts, gap = met.counts, met.gap
    nelo, nelo_error = counts.normalized
    return {
        "a": a,
        "b": b,
        "wins": counts.wins,
        "losses": counts.losses,
        "draws": counts.draws,
        "moving_first": _side_object(counts.moving_first),
        "moving_second": _side_object(counts.moving_second),
        "score": counts.score,
        "draw_ratio": counts.draw_ratio,
        "ptnml": counts.ptnml,
        "pairs_ratio": counts.pairs_ratio,
        "drawn_pairs": counts.drawn_pairs,
        "num_unique": counts.num_unique,
        "num_unique_pairs": counts.num_unique_pairs,
        "num_openings": counts.num_openings,
        "elo": gap.elo,
        "elo_error": _finite(gap.error),
        "elo_low": _finite(gap.low),
        "elo_high": _finite(gap.high),
        "los": gap.los,
        "nelo": nelo,
        "nelo_error": nelo_error,
        "is_separated": met.verdict.is_separated,
        "look": met.look,
        "level": met.verdict.level,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _side_object(results: tuple[int, int, int]) -> dict[str, object]:
    """Return the results of one side, and the 95 % interval of its share of wins."""
    wins, draws, losses = results
    low, high = wilson(wins, sum(results))
    return {
        "wins": wins,
        "losses": losses,
        "draws": draws,
        "wins_low": round(low / 100, 6),
        "wins_high": round(high / 100, 6),
    }


def _print_notes(tables: Sequence[Table]) -> None:
    """Print notes: the meaning of the figures, and the results that they do not describe."""
    anchors = [table.anchor for table in tables if table.anchor]
    scale = anchors[0] if anchors else "the mean of the table (1500)"
    if anchors and len(anchors) < len(tables):
        scale += ", in a table without it to the mean (1500)"
    say(
        f"Elo and its 95 % interval are relative to {scale}; LOS: likelihood of being stronger than the next."
    )
    advantage = f"{tables[0].first_advantage:+z.0f} +/- {tables[0].first_advantage_error:.0f}"
    click.echo(f"A gap of 400 Elo is a score of 0.91. Moving first is worth {advantage} Elo.")
    if any(row.bootstrap_low is not None for table in tables for row in table.rows):
        click.echo("Bootstrap: where 95 % of the ratings lie when the openings are drawn again and again.")
    if any(row.rests_on_prior for table in tables for row in table.rows):
        click.echo(UNBOUNDED)
    repeated = sum(table.num_repeated for table in tables)
    if repeated:
        click.echo(f"{repeated} pairs repeat earlier ones; each opening of theirs counts once.")
    for note in notes_on(tables):
        say(note)
    misfits = tables[0].misfits
    for misfit in misfits[:_NUM_MISFITS]:
        say(f"The ratings do not describe this: {misfit}")
    if len(misfits) > _NUM_MISFITS:
        click.echo(f"... and {len(misfits) - _NUM_MISFITS} more.")


def print_crosstable(cross: Crosstable, form: str) -> None:
    """Print how every bot did against every other: score in percent, and wins-draws-losses."""
    if form != "table":
        emit("cell", cell_objects(cross), form, {})
        return
    columns = {"name": "", **{str(number): str(number) for number in range(1, len(cross.names) + 1)}}
    rows: list[dict[str, object]] = []
    for rank, (name, line) in enumerate(zip(cross.names, cross.cells, strict=True), 1):
        row: dict[str, object] = {"name": f"{rank} {name}"}
        for column, cell in enumerate(line, 1):
            results = f"{cell.wins}-{cell.draws}-{cell.losses}"
            row[str(column)] = "" if cell.score is None else f"{100 * cell.score:.0f}% {results}"
        rows.append(row)
    print_table(rows, columns)
    click.echo("Score of the row against the column, and its wins-draws-losses.")


def print_places(rows: Sequence[PlaceRow], form: str) -> None:
    """Print a table by place."""
    if form != "table":
        emit("place", map(msgspec.structs.asdict, rows), form, {})
        return
    click.echo()
    print_table([msgspec.structs.asdict(row) for row in rows], PLACE_COLUMNS)
    click.echo(
        "Equal points: Buchholz (points of all opponents), without the lowest, without lowest and highest, "
        "Sonneborn-Berger (points taken times those of the opponent), direct encounter, wins."
    )


def print_event(tables: EventTables | None) -> None:
    """Print the bracket and the table by place of a tournament that has them, each after an empty line."""
    if tables is None:
        return
    if tables.bracket:
        click.echo()
        for line in bracket_lines(tables.bracket):
            say(line)
        say("*: advances")
    click.echo()
    rows = [row for kind, row in event_objects(tables) if kind == "place"]
    print_table(rows, {key: PLACE_COLUMNS[key] for key in rows[0]})


def _for_people(row: Row) -> dict[str, object]:
    values: dict[str, object] = msgspec.structs.asdict(row)
    low, high = row.bootstrap_low, row.bootstrap_high
    return {
        **values,
        "elo": f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}{'*' if row.tested else ''}",
        "error": None if row.error is None else f"{row.error:.0f}",
        "bootstrap": None if low is None or high is None else f"{low:.0f} to {high:.0f}",
        "points": f"{row.points:.1f}",
        "score": _percent(row.score),
        "score_first": _percent(row.score_first),
        "score_second": _percent(row.score_second),
        "draw_ratio": _percent(row.draw_ratio),
        "evidence": say_evidence(row.different_pairs, row.pairs, row.games - 2 * row.pairs),
        "los": _percent(row.los),
        "against_next": _against(row),
    }


def _against(row: Row) -> str | None:
    low, high = row.expected_score_low, row.expected_score_high
    if row.expected_score is None or low is None or high is None:
        return None
    return f"{100 * row.expected_score:.0f}% ({100 * low:.0f} to {100 * high:.0f})"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}%"
