"""Matches as SGF FF[4], for games that place stones on the cells of a square board."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from arena.errors import ExportError
from arena.export.pgn import MoveComment

if TYPE_CHECKING:
    from collections.abc import Iterator

_GOMOKU = "4"
"""SGF's number of the game, the property GM: https://www.red-bean.com/sgf/properties.html#GM."""
_COLOURS = "BW"
_HEAD: Final = {"FF": "4", "GM": _GOMOKU, "CA": "UTF-8", "AP": "arena"}
_FIELDS: Final = {
    "RU": "game",
    "SZ": "size",
    "EV": "event",
    "PC": "site",
    "DT": "date",
    "RO": "round",
    "PB": "black",
    "PW": "white",
    "OT": "time_control",
    "RE": "result",
    "GN": "match_id",
}
_PROPERTY = re.compile(r"([A-Z]{1,2})\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)
_NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SgfMatch:
    """A match in SGF terms; Black is the player who moved first."""

    game: str
    """Spec of the game."""
    size: int
    """Number of cells per side, at most 26."""
    event: str
    site: str
    date: str
    """Date as `2026-01-31`, UTC."""
    round: str
    black: str
    white: str
    time_control: str
    result: str
    """Result: `B+` or `W+`, followed by `R` (resignation), `T` (time) or `F` (other forfeit); `0` for a draw;
    `Void`."""
    match_id: int
    """Number of the match in the store."""
    actions: tuple[int, ...]
    """Cells, row 0 on top; opening included."""
    remarks: tuple[MoveComment | None, ...]
    """The comments, one per action; None for preset actions."""


def print_sgf(match: SgfMatch) -> str:
    """Format a match as one game tree; `aa` is the top left cell.

    Raises:
        ExportError: the board is larger than 26x26, or an action is not a cell of it.
    """
    if not 1 <= match.size <= len(ascii_lowercase):
        raise ExportError(f"match {match.match_id}: SGF here has boards up to 26x26, not of {match.size}")
    given = {name: str(getattr(match, field)) for name, field in _FIELDS.items()}
    nodes = ["".join(f"{name}[{_escaped(value)}]" for name, value in (_HEAD | given).items())]
    for ply, (action, remark) in enumerate(zip(match.actions, match.remarks, strict=True)):
        row, col = divmod(action, match.size)
        if not 0 <= row < match.size:
            raise ExportError(f"match {match.match_id}: {action} is not a cell of {match.size}x{match.size}")
        comment = "" if remark is None else f"C[{_comment(remark)}]"
        nodes.append(f"{_COLOURS[ply % 2]}[{ascii_lowercase[col]}{ascii_lowercase[row]}]{comment}")
    return "(;" + "\n;".join(nodes) + ")\n"


def parse_sgf(text: str) -> Iterator[SgfMatch]:
    """Parse matches strictly; the inverse of `print_sgf`.

    Raises:
        ExportError: the text was not written by `print_sgf`; the message gives the number of the match.
    """
    for number, tree in enumerate(_trees(text), start=1):
        try:
            yield _match(tree)
        except (ValueError, KeyError) as error:
            raise ExportError(f"match {number} of the SGF cannot be read: {error}") from error


def _escaped(text: str) -> str:
    return re.sub(r"([\]\\])", r"\\\1", text)


def _comment(remark: MoveComment) -> str:
    value = _NOTHING if remark.value is None else repr(remark.value)
    return f"{value} {remark.time_ms}"


def _trees(text: str) -> Iterator[list[list[tuple[str, str]]]]:
    """Yield the nodes of each tree, which has no branches; a node is a list of (name, value) pairs."""
    position = _skip(text, 0)
    number = 0
    while position < len(text):
        number += 1
        if text[position] != "(":
            raise ExportError(f"match {number} of the SGF does not begin with a bracket")
        position = _skip(text, position + 1)
        nodes: list[list[tuple[str, str]]] = []
        while text[position : position + 1] == ";":
            position = _skip(text, position + 1)
            node: list[tuple[str, str]] = []
            while found := _PROPERTY.match(text, position):
                node.append((found[1], re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)))
                position = _skip(text, found.end())
            nodes.append(node)
        if text[position : position + 1] != ")" or not nodes:
            raise ExportError(
                f"match {number} of the SGF cannot be read at {text[position : position + 20]!r}"
            )
        yield nodes
        position = _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    """Return the position of the next character that is not a blank."""
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _match(nodes: list[list[tuple[str, str]]]) -> SgfMatch:
    head = dict(nodes[0])
    if {name: head.get(name) for name in _HEAD} != _HEAD or head.keys() != (_HEAD | _FIELDS).keys():
        raise ValueError(f"it has the properties {' '.join(head)}")
    given = {field: head[name] for name, field in _FIELDS.items()}
    size = int(given.pop("size"))
    number = int(given.pop("match_id"))
    actions: list[int] = []
    remarks: list[MoveComment | None] = []
    for ply, node in enumerate(nodes[1:]):
        properties = dict(node)
        actions.append(_action(properties.pop(_COLOURS[ply % 2]), size))
        comment = properties.pop("C", None)
        remarks.append(None if comment is None else _remark(comment))
        if properties:
            raise ValueError(f"ply {ply + 1} has the properties {' '.join(properties)}, too")
    return SgfMatch(**given, size=size, match_id=number, actions=tuple(actions), remarks=tuple(remarks))


def _action(place: str, size: int) -> int:
    col, row = (ascii_lowercase.index(letter) for letter in place)
    if max(col, row) >= size:
        raise ValueError(f"{place} is not a cell of {size}x{size}")
    return row * size + col


def _remark(comment: str) -> MoveComment:
    value, time_ms = comment.split()
    return MoveComment(None if value == _NOTHING else float(value), int(time_ms))
