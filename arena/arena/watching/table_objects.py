"""Tables, brackets and gradings as objects for JSON and CSV; their keys are an interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.analysis import Analysis, Ply
    from arena.results.by_place import EventTables
    from arena.results.crosstable import Crosstable
    from arena.results.tables import Table


def rating_objects(tables: Sequence[Table]) -> list[dict[str, object]]:
    """Return the rows as objects; `table` separates bots that are not connected by matches.

    `num_bots` is the number of bots in the table, of which not all may be shown.
    """
    return [
        {
            "game": table.game,
            "table": number,
            **msgspec.structs.asdict(row),
            "num_bots": table.num_bots,
            "first_advantage": table.first_advantage,
            "first_advantage_error": table.first_advantage_error,
            "num_unrated": table.num_unrated,
            "replayed": table.replayed,
        }
        for number, table in enumerate(tables, 1)
        for row in table.rows
    ]


def cell_objects(cross: Crosstable) -> list[dict[str, object]]:
    """Return the cells of a crosstable as objects, without the diagonal."""
    cells = (cell for line in cross.cells for cell in line if cell.bot != cell.opponent)
    return [{**msgspec.structs.asdict(cell), "score": cell.score} for cell in cells]


def event_objects(tables: EventTables | None) -> list[tuple[str, dict[str, object]]]:
    """Return the rows of a tournament's tables, each as `place` or `bracket` and its values."""
    if tables is None:
        return []
    return [
        *(("place", msgspec.structs.asdict(row)) for row in tables.places),
        *(("place", row._asdict()) for row in tables.bracket_places),
        *(("bracket", msgspec.structs.asdict(row)) for row in tables.bracket),
    ]


def analysis_object(analysis: Analysis | None) -> dict[str, object] | None:
    """Return the grading of a match; None if there is none."""
    if analysis is None:
        return None
    sides = [
        {
            **side._asdict(),
            "first_blunder": side.first_blunder and side.first_blunder.ply,
            "accuracy": side.accuracy,
        }
        for side in analysis.sides
    ]
    plies = list(map(ply_object, analysis.plies))
    return {"judge": analysis.judge, "first": sides[0], "second": sides[1], "plies": plies}


def ply_object(ply: Ply) -> dict[str, object]:
    """Return the grade of an action; a score is a list of action, value and distance."""
    scores = [[action, *score] for action, score in ply.scores.items()]
    return {
        **ply._asdict(),
        "best": list(ply.best),
        "loss": ply.loss,
        "scores": scores,
        "line": list(ply.line),
    }
