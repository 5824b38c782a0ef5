"""A knockout bracket as rows for programs and as lines of text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.schedules.bracket_state import Bracket, BracketSlot, BracketTie


class BracketRow(msgspec.Struct, frozen=True, kw_only=True):
    """One encounter of a bracket; the fields are the keys of the JSON form."""

    round: str
    """Name of the round, such as `semifinal` or `losers' round 2`."""
    encounter: str
    """Name of the encounter, such as `semifinal 1`; unique in the bracket."""
    stage: int
    """Number of the stage, from 1; encounters of one stage are played at the same time."""
    state: str
    """State: waiting, open, level, decided or not needed."""
    first: str | None
    """Label of the upper bot; None for a bye or while it is unknown."""
    second: str | None
    first_origin: str
    """Where the bot comes from: `seed 1`, `winner of semifinal 2`, `bye`."""
    second_origin: str
    first_points: float
    second_points: float
    first_forfeits: int
    """Number of matches of this encounter that the first bot forfeited."""
    second_forfeits: int
    winner: str | None
    """Label of the winner; None while the encounter is undecided."""
    why: str
    """Reason for the decision, in words; empty while the encounter is undecided."""


def bracket_rows(bracket: Bracket, labels: Sequence[str]) -> list[BracketRow]:
    """Return the encounters of a bracket in an order in which they can be decided; `labels` are by seat."""
    return [_row(tie, labels) for tie in bracket.ties]


class TieText(NamedTuple):
    """The text of an encounter in a table, by column."""

    row: BracketRow
    first: str
    """The upper bot, with a star if it advances; or in parentheses where it will come from."""
    score: str
    """Score, such as `2 : 1`, with fixed width; blank before the encounter can start."""
    second: str
    remark: str
    """Information that the score does not show; may be empty."""


def tie_texts(rows: Sequence[BracketRow]) -> list[TieText]:
    """Return the texts of the encounters that are or may be played; byes are left out."""
    return [
        TieText(
            row,
            _name(row.first, row),
            " " * 13 if row.state == "waiting" else f"{row.first_points:>5g} : {row.second_points:<5g}",
            _name(row.second, row, is_second=True),
            _remark(row),
        )
        for row in rows
        if row.why != "bye" and row.state != "not needed"
    ]


def count_decided(rows: Sequence[BracketRow]) -> tuple[int, int]:
    """Return the number of decided encounters and the maximum number of encounters of a bracket.

    Byes and encounters that are no longer needed are not counted.
    """
    real = [row for row in rows if row.why != "bye" and row.state != "not needed"]
    return sum(row.state == "decided" for row in real), len(real)


def bracket_lines(rows: Sequence[BracketRow]) -> list[str]:
    """Return a bracket as text: a title for each round, and a line for each encounter with two bots.

    The bot that advances has a star. A remark follows if the score alone does not explain the result.
    """
    texts = tie_texts(rows)
    width = max((len(name) for text in texts for name in (text.first, text.second)), default=0)
    lines: list[str] = []
    for title, group in groupby(texts, key=lambda text: text.row.round):
        lines.append(title)
        for text in group:
            line = f"  {text.first:<{width}} {text.score} {text.second:<{width}}  {text.remark}"
            lines.append(line.rstrip())
    return lines


def _row(tie: BracketTie, labels: Sequence[str]) -> BracketRow:
    one, other = tie.slots
    return BracketRow(
        round=tie.shape.round_name,
        encounter=tie.shape.name,
        stage=tie.shape.stage + 1,
        state=tie.state,
        first=_label(one, labels),
        second=_label(other, labels),
        first_origin=one.origin,
        second_origin=other.origin,
        first_points=one.points,
        second_points=other.points,
        first_forfeits=one.num_forfeits,
        second_forfeits=other.num_forfeits,
        winner=None if tie.winner is None else labels[tie.winner],
        why=tie.why,
    )


def _label(slot: BracketSlot, labels: Sequence[str]) -> str | None:
    return None if slot.seat is None else labels[slot.seat]


def _name(label: str | None, row: BracketRow, *, is_second: bool = False) -> str:
    """Return the bot in a slot, with a star if it advances; or where it will come from."""
    if label is None:
        return f"({row.second_origin if is_second else row.first_origin})"
    return f"{label} *" if label == row.winner else label


def _remark(row: BracketRow) -> str:
    """Return the information that the score does not show."""
    if row.state == "open":
        # A stopped tournament leaves encounters open, too.
        return "undecided" if row.first_points or row.second_points else "no result yet"
    if row.state == "level":
        return "level, more matches are played"
    points = sorted((row.first_points, row.second_points), reverse=True)
    return "" if row.why == f"{points[0]:g} : {points[1]:g}" else row.why
