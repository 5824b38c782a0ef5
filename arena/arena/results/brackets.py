"""A bracket as rows, for programs, and as lines of text, for people."""

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
    """semifinal, losers' round 2."""
    encounter: str
    """semifinal 1; unique in the bracket."""
    stage: int
    """From 1; encounters of one stage are played at the same time."""
    state: str
    """waiting, open, level, decided or not needed."""
    first: str | None
    """Label of the bot on top; None where nobody is there, or nobody knows yet."""
    second: str | None
    first_origin: str
    """Where it comes from: `seed 1`, `winner of semifinal 2`, `bye`."""
    second_origin: str
    first_points: float
    second_points: float
    first_forfeits: int
    """Matches of this encounter that it forfeited."""
    second_forfeits: int
    winner: str | None
    """Label; None while it is not decided."""
    why: str
    """What decided it, in words; empty before."""


def bracket_rows(bracket: Bracket, labels: Sequence[str]) -> list[BracketRow]:
    """Return the encounters of a bracket in the order in which they can be decided; labels are by seat."""
    return [_row(tie, labels) for tie in bracket.ties]


class TieText(NamedTuple):
    """What a table says of an encounter of a bracket, a text for each column."""

    row: BracketRow
    first: str
    """The bot on top with a star if it goes on, or in brackets where it comes from."""
    score: str
    """`2 : 1`, always as wide; blank before the encounter can begin."""
    second: str
    remark: str
    """What the score does not say; may be empty."""


def tie_texts(rows: Sequence[BracketRow]) -> list[TieText]:
    """Return the encounters of a bracket that are played, or will be, in words: byes are left out."""
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
    """Return how many encounters of a bracket are decided, and how many there may be at most.

    Byes, and encounters that are not needed any more, are none.
    """
    real = [row for row in rows if row.why != "bye" and row.state != "not needed"]
    return sum(row.state == "decided" for row in real), len(real)


def bracket_lines(rows: Sequence[BracketRow]) -> list[str]:
    """Return a bracket as text: a title for each round, and a line for each encounter with two bots.

    The bot that goes on has a star. What a score alone does not say stands behind it.
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
    """Return who is in a slot, with a star where it goes on; or where it will come from."""
    if label is None:
        return f"({row.second_origin if is_second else row.first_origin})"
    return f"{label} *" if label == row.winner else label


def _remark(row: BracketRow) -> str:
    """Return what the score does not say."""
    if row.state == "open":
        # Encounters of a round are played one after another, and a stopped event has open ones, too.
        return "undecided" if row.first_points or row.second_points else "no result yet"
    if row.state == "level":
        return "level, more matches are played"
    points = sorted((row.first_points, row.second_points), reverse=True)
    return "" if row.why == f"{points[0]:g} : {points[1]:g}" else row.why
