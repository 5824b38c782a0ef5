"""What all k-in-a-row games share: one immutable state on bitboards and the rules around it."""

from __future__ import annotations

import operator
from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from arena_plugins.contract import Game, State
from arena_plugins.errors import IllegalMoveError, InvalidMoveError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from arena.games.bitboard import Bitboard
    from arena_plugins.contract import Symmetry

MAX_SIDE = 26
"""Rows and columns at most: columns are named by the letters a to z."""
_WORDS = (  # noqa: SIM905 # a list would be formatted to one word a line
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five"
    " twenty-six"
).split()
_ONGOING = (0.0, 0.0)
_WINS = ((1.0, -1.0), (-1.0, 1.0))
_MAX_LISTED = 12
"""A message lists no more legal moves than this."""

_Path = tuple["_Path", int] | None
"""Actions so far as pairs of (path before, last action), so that a child shares its parent's."""


class KInARowState(State):
    """A point in play; besides the contract, it shows the bitboards it is made of."""

    __slots__ = (
        "_cells",
        "_history",
        "_path",
        "current_player",
        "game",
        "is_terminal",
        "last",
        "legal_actions",
        "opp",
        "own",
        "ply",
        "returns",
    )

    game: KInARow
    """The rules."""
    own: int
    """Stones of the side to move, laid out as `game.board` says."""
    opp: int
    """Stones of the other side, who has just moved."""
    last: int
    """The stone placed last, as an int with one bit; 0 at the start."""
    ply: int
    """Number of actions so far."""

    def __init__(self, game: KInARow) -> None:
        self.game = game
        self.own = self.opp = self.last = self.ply = self.current_player = 0
        self.legal_actions = tuple(range(game.num_actions))
        self.is_terminal = False
        self.returns = _ONGOING
        self._path: _Path = None

    @override
    def child(self, action: int) -> KInARowState:
        game = self.game
        board = game.board
        if type(action) is not int or not 0 <= action < game.num_actions:
            action = game.checked(action)
        own, opp = self.own, self.opp
        bit = ((own | opp) + board.lows[action]) & board.columns[action]
        if not bit or self.is_terminal:
            raise game.illegal(self, action)
        new = _new(KInARowState)
        new.game = game
        new.own = opp
        new.opp = own = own | bit
        new.last = bit
        new.ply = ply = self.ply + 1
        new.current_player = 1 - self.current_player
        new._path = (self._path, action)  # noqa: SLF001 # a state of this very class
        legal = self.legal_actions
        if bit & board.closing:
            index = bisect_left(legal, action)
            legal = legal[:index] + legal[index + 1 :]
        if ply >= game.min_length and board.has_line(own):
            new.legal_actions = ()
            new.is_terminal = True
            new.returns = _WINS[self.current_player]
        else:
            new.legal_actions = legal
            new.is_terminal = not legal
            new.returns = _ONGOING
        return new

    @property
    def history(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride] # made when asked for
        """Actions from the initial state to here."""
        try:
            return self._history
        except AttributeError:
            actions: list[int] = []
            path = self._path
            while path is not None:
                path, action = path
                actions.append(action)
            self._history = tuple(reversed(actions))
            return self._history

    @property
    def cells(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride] # made when asked for
        """The board flat, row 0 on top: 0 empty, 1 first player's, 2 second player's."""
        try:
            return self._cells
        except AttributeError:
            unpack = self.game.board.unpack
            first, second = (self.opp, self.own) if self.current_player else (self.own, self.opp)
            self._cells: tuple[int, ...] = tuple((unpack(first) + 2 * unpack(second)).tolist())
            return self._cells

    @property
    @override
    def observation(self) -> NDArray[np.float32]:
        """The board for the side to move: `[4, rows, columns]`, values 0 or 1.

        Planes: the mover's stones, the opponent's, the stone placed last (none at the start), and all ones
        when the first player moves, else all zeros.
        """
        game = self.game
        planes = np.empty((4, *game.shape), np.float32)
        flat = planes.reshape(4, -1)
        for plane, stones in enumerate((self.own, self.opp, self.last)):
            flat[plane] = game.board.unpack(stones)
        flat[3] = 1 - self.current_player
        return planes


_new = KInARowState.__new__


class KInARow(Game):
    """Two players place stones in turn; the first to have k in a row wins, a full board is a draw."""

    defaults: ClassVar[Mapping[str, int | str]]
    """The values of `params` that a spec leaves out."""
    board: Bitboard
    """Layout of the states' bitboards, and the line test."""
    min_length: int
    """No match is won in fewer actions."""

    def __init__(
        self, board: Bitboard, params: Mapping[str, int | str], symmetries: Sequence[Symmetry]
    ) -> None:
        """Make the rules for `board`.

        Raises:
            OptionError: no line of k fits on the board.
        """
        if board.k > max(board.rows, board.cols):
            raise OptionError(
                f"{self.name}: k={board.k} does not fit on {board.rows} rows and {board.cols} columns;"
                f" k is at most {max(board.rows, board.cols)}"
            )
        self.board = board
        self.params = params
        self.symmetries = symmetries
        self.shape = (board.rows, board.cols)
        self.num_actions = len(board.lows)
        self.max_length = board.rows * board.cols
        self.min_length = 2 * board.k - 1

    @override
    def initial_state(self) -> KInARowState:
        return KInARowState(self)

    @override
    def ending(self, state: State) -> str:
        """Say in words by what a terminal `state` ended: "four in a row" or "full board"."""
        return f"{_WORDS[self.board.k]} in a row" if any(state.returns) else "full board"

    def checked(self, action: object) -> int:
        """Give `action` as a plain int; ints of other kinds, like NumPy's, are welcome, bools are not.

        Raises:
            InvalidMoveError: `action` is not an int in `[0, num_actions)`.
        """
        known = f"actions of {self.name} are the ints from 0 to {self.num_actions - 1}"
        if isinstance(action, bool):
            raise InvalidMoveError(f"a bool is not an action; {known}")
        try:
            number = operator.index(action)  # pyright: ignore[reportArgumentType] # the TypeError is the answer
        except TypeError:
            raise InvalidMoveError(
                f"a value of type {type(action).__name__} is not an action; {known}"
            ) from None
        if not 0 <= number < self.num_actions:
            # Python refuses to print ints of thousands of digits.
            shown = str(number) if number.bit_length() <= 64 else f"an int of {number.bit_length()} bits"  # noqa: PLR2004 # 64 bits are easily read
            raise InvalidMoveError(f"{shown} is not an action; {known}")
        return number

    def illegal(self, state: State, action: int) -> IllegalMoveError:
        """Make the error that says why `action` is not allowed in `state` and what is."""
        move = self.move(state, action)
        if state.is_terminal:
            return IllegalMoveError(f"move {move} is not allowed: the match is over by {self.ending(state)}")
        legal = state.legal_actions
        listed = ", ".join(self.move(state, other) for other in legal[:_MAX_LISTED])
        more = f" and {len(legal) - _MAX_LISTED} more" if len(legal) > _MAX_LISTED else ""
        return IllegalMoveError(f"move {move} is not allowed: no empty cell there; legal: {listed}{more}")
