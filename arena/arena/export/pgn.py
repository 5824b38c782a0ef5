"""Matches as PGN-like text for any game: rating programs read the tags, people the moves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.errors import ExportError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RESULTS: Final = ("1-0", "0-1", "1/2-1/2", "*")
_WIDTH = 80
_NOTHING = "-"
_TAG = re.compile(r'\[([A-Za-z]+) "((?:[^"\\\n]|\\["\\])*)"\]')
_MOVE = re.compile(r'[^\s{}()\[\]";.]+')
_TOKEN = re.compile(r"\{[^{}]*\}|[^\s{}]+")
_NUMBER = re.compile(r"[0-9]+\.")


class MoveComment(NamedTuple):
    """The comment beside a move."""

    value: float | None
    """The result that the mover expected, in [-1, 1]."""
    time_ms: int
    """Thinking time in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PgnMatch:
    """A match in PGN terms; White is the player who moved first. Texts must be single lines."""

    event: str
    site: str
    date: str
    """Date as `2026.01.31`, UTC."""
    round: str
    white: str
    black: str
    result: str
    """Result: `1-0` if the first player won, `0-1`, `1/2-1/2`, or `*` if void."""
    game: str
    """Spec of the game."""
    opening: str
    """The preset moves, separated by single blanks."""
    time_control: str
    """The time control, such as `40/60+0.5` or `5/move`; `-` if there is none."""
    termination: str
    """Termination: normal, adjudication, time forfeit, illegal move, abandoned or unterminated."""
    reason: str = ""
    """The arena's sentence about the termination; empty in files of older versions."""
    match_id: int
    """Number of the match in the store."""
    moves: tuple[str, ...]
    """All moves from the initial state, opening included."""
    remarks: tuple[MoveComment | None, ...]
    """The comments, one per move; None for preset moves."""


_TAGS: Final = {
    "Event": "event",
    "Site": "site",
    "Date": "date",
    "Round": "round",
    "White": "white",
    "Black": "black",
    "Result": "result",
    "Game": "game",
    "Opening": "opening",
    "TimeControl": "time_control",
    "Termination": "termination",
    "Reason": "reason",
    "MatchId": "match_id",
}
_OPTIONAL: Final = "Reason"
"""Name of the tag that is omitted if it is empty."""


def print_pgn(match: PgnMatch) -> str:
    """Format a match: tags, moves with comments `{value time_ms}`, result, and an empty line at the end.

    Raises:
        ExportError: a text has more than one line, or a move contains characters that PGN reserves.
    """
    lines: list[str] = []
    for tag, field in _TAGS.items():
        value = str(getattr(match, field))
        if tag == _OPTIONAL and not value:
            continue
        if "\n" in value:
            raise ExportError(f"match {match.match_id}: the tag {tag} has more than one line")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{tag} "{escaped}"]')
    return "\n".join([*lines, "", *_filled(_words(match)), "", ""])


def parse_pgn(text: str) -> Iterator[PgnMatch]:
    """Parse matches strictly; the inverse of `print_pgn`.

    Raises:
        ExportError: the text was not written by `print_pgn`; the message gives the number of the match.
    """
    lines = iter(text.split("\n"))
    for number, (tags, moves) in enumerate(_parts(lines), start=1):
        try:
            yield _match(tags, moves)
        except (ValueError, KeyError) as error:
            raise ExportError(f"match {number} of the PGN cannot be read: {error}") from error


def _filled(words: Iterable[str]) -> list[str]:
    """Fill lines with words; a comment, although it contains a blank, is not broken."""
    lines = [""]
    for word in words:
        line = f"{lines[-1]} {word}".lstrip()
        if len(line) > _WIDTH and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = line
    return lines


def _words(match: PgnMatch) -> Iterator[str]:
    for ply, (move, remark) in enumerate(zip(match.moves, match.remarks, strict=True)):
        if not _MOVE.fullmatch(move) or move in RESULTS:
            raise ExportError(f"match {match.match_id}: the move {move!r} cannot be written as PGN")
        if ply % 2 == 0:
            yield f"{ply // 2 + 1}."
        yield move
        if remark is not None:
            value = _NOTHING if remark.value is None else repr(remark.value)
            yield f"{{{value} {remark.time_ms}}}"
    yield match.result


def _parts(lines: Iterable[str]) -> Iterator[tuple[list[str], str]]:
    """Yield the tag lines and the move text of each match."""
    tags: list[str] = []
    moves: list[str] = []
    for line in [*lines, "["]:
        if line.startswith("[") and moves:
            yield tags, " ".join(moves)
            tags, moves = [], []
        if line.startswith("["):
            tags.append(line)
        elif line:
            moves.append(line)
    if tags != ["["]:
        raise ExportError(f"the PGN ends with tags but no moves: {tags[0]}")


def _match(lines: list[str], moves: str) -> PgnMatch:
    tags: dict[str, str] = {}
    for line in lines:
        found = _TAG.fullmatch(line)
        if found is None or found[1] in tags or found[1] not in _TAGS:
            raise ValueError(f"{line} is not one of its tags")
        tags[found[1]] = re.sub(r"\\(.)", r"\1", found[2])
    given: dict[str, str] = {
        field: tags[tag] for tag, field in _TAGS.items() if tag in tags or tag != _OPTIONAL
    }
    words, remarks = _parse_moves(moves)
    if words.pop() != given["result"] or given["result"] not in RESULTS:
        raise ValueError(f"the moves do not end with the result {given['result']}")
    remarks.pop()
    number = int(given.pop("match_id"))
    return PgnMatch(**given, match_id=number, moves=tuple(words), remarks=tuple(remarks))


def _parse_moves(text: str) -> tuple[list[str], list[MoveComment | None]]:
    """Return moves (with the result last) and the comments beside them."""
    words: list[str] = []
    remarks: list[MoveComment | None] = []
    for token in _TOKEN.findall(text):
        if token.startswith("{"):
            if not words or remarks[-1] is not None:
                raise ValueError(f"{token} does not follow a move")
            remarks[-1] = _remark(token)
        elif _NUMBER.fullmatch(token):
            if token != f"{len(words) // 2 + 1}." or len(words) % 2:
                raise ValueError(f"{token} is not the number of the next move")
        else:
            words.append(token)
            remarks.append(None)
    if not words:
        raise ValueError("there are no moves and no result")
    return words, remarks


def _remark(token: str) -> MoveComment:
    value, time_ms = token[1:-1].split()
    return MoveComment(None if value == _NOTHING else float(value), int(time_ms))
