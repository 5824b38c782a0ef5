"""Positions and matches as text for people to read and paste: formatting and parsing."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.errors import IllegalMoveError, InvalidMoveError
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arena_plugins.contract import Game, State

_STONES = "xo"
# Texts come from outside. Numbers of at most 4 and 9 digits keep a short text from making a huge list or int.
_RUN = re.compile(r"[xo]|[1-9][0-9]*")
_ROW = re.compile(r"(?:[xo]|[1-9][0-9]{0,3}(?![0-9]))+")
_PLY = re.compile(r"0|[1-9][0-9]{0,8}")


class Position(NamedTuple):
    """A parsed position text; `str()` formats it."""

    spec: Spec
    """The game with its options, defaults left out."""
    shape: tuple[int, int]
    """Rows and columns."""
    cells: tuple[int, ...]
    """The board, flattened, row 0 on top: 0 empty, 1 first player's stone, 2 second player's stone."""
    player: int
    """The side to move, 0 or 1."""
    ply: int
    """Number of actions so far."""

    def __str__(self) -> str:
        """Return the text: game, rows from the top, side to move, ply; separated by blanks."""
        rows, cols = self.shape
        board = "/".join(_print_row(self.cells[row * cols : (row + 1) * cols]) for row in range(rows))
        return f"{self.spec} {board} {_STONES[self.player]} {self.ply}"


def spec_of(game: Game) -> Spec:
    """Return the spec of a game; parameters equal to `game.defaults`, if it has them, are left out."""
    defaults: Mapping[str, int | str] = getattr(game, "defaults", {})
    return Spec(
        game.name, {key: str(value) for key, value in game.params.items() if defaults.get(key) != value}
    )


def position_of(game: Game, state: State) -> Position:
    """Return the position of a state; format it with `str`.

    For example `connect-four 7/7/7/7/7/3x3 o 1`: numbers are runs of empty cells, x is first, o is second.
    """
    return Position(spec_of(game), game.shape, state.cells, state.current_player, len(state.history))


def parse_position(text: str) -> Position:
    """Parse a position text strictly; the inverse of `str`.

    It does not check whether the position can be reached by play.

    Raises:
        PluginError: the game is not a valid spec.
        InvalidMoveError: the board, the side or the ply is malformed.
    """
    parts = text.strip().rsplit(" ", 3)
    if len(parts) != 4:  # noqa: PLR2004 # the four parts that the message names
        raise InvalidMoveError(
            f'"{text}" is not a position; write GAME ROWS SIDE PLY, separated by one blank'
        )
    name, board, side, ply = parts
    rows = [_parse_row(row) for row in board.split("/")]
    if len({len(row) for row in rows}) > 1:
        raise InvalidMoveError(f'the rows of "{board}" differ in length')
    if side not in ("x", "o"):
        raise InvalidMoveError(f'"{side}" is not a side; write x (first) or o (second)')
    if not _PLY.fullmatch(ply):
        raise InvalidMoveError(f'"{ply}" is not a number of plies')
    cells = tuple(cell for row in rows for cell in row)
    return Position(
        Spec.parse(name, versioned=False),
        (len(rows), len(rows[0])),
        cells,
        _STONES.index(side),
        int(ply),
    )


def format_moves(game: Game, actions: Iterable[int]) -> str:
    """Format a match or its beginning as moves: "4453" for Connect Four up to 9 columns, else "h8 g7".

    Raises:
        InvalidMoveError: an action does not exist in the game.
        IllegalMoveError: an action is not allowed in its position.
    """
    state = game.initial_state()
    moves: list[str] = []
    for action in actions:
        moves.append(game.move(state, action))
        state = state.child(action)
    return ("" if _is_compact(game) else " ").join(moves)


def parse_moves(game: Game, text: str) -> tuple[int, ...]:
    """Parse a match or its beginning; blanks between moves are optional where `format_moves` writes none.

    Raises:
        InvalidMoveError: a word is not a move of the game; the text names its ply.
        IllegalMoveError: a move is not allowed in its position; the text names its ply.
    """
    state = game.initial_state()
    words = "".join(text.split()) if _is_compact(game) else text.split()
    for ply, word in enumerate(words, start=1):
        try:
            state = state.child(game.parse_move(state, word))
        except (IllegalMoveError, InvalidMoveError) as error:
            raise type(error)(f"at ply {ply}: {error}") from error
    return state.history


def _is_compact(game: Game) -> bool:
    return game.name == "connect-four" and game.shape[1] <= 9  # noqa: PLR2004 # columns with one digit


def _print_row(cells: tuple[int, ...]) -> str:
    runs = [(stone, len(list(run))) for stone, run in groupby(cells)]
    return "".join(_STONES[stone - 1] * length if stone else str(length) for stone, length in runs)


def _parse_row(text: str) -> list[int]:
    if not _ROW.fullmatch(text):
        raise InvalidMoveError(f'"{text}" is not a row of a board; write x, o and numbers of empty cells')
    cells: list[int] = []
    for run in _RUN.findall(text):
        cells += [_STONES.index(run) + 1] if run in _STONES else [0] * int(run)
    return cells
