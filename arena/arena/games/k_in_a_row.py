"""The rules shared by all k-in-a-row games, and their immutable states on bitboards."""

from __future__ import annotations

import operator
from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from arena.games.tally import LineTally
from arena_plugins.contract import Game, State
from arena_plugins.errors import IllegalMoveError, InvalidMoveError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from arena.games.bitboard import Bitboard
    from arena_plugins.contract import Symmetry

MAX_SIDE = 26
"""Maximum number of rows and of columns, because columns are named by the letters a to z."""
_WORDS = (  # noqa: SIM905 # a list would be formatted to one word a line
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five"
    " twenty-six"
).split()
_ONGOING = (0.0, 0.0)
_WINS = ((1.0, -1.0), (-1.0, 1.0))
_MAX_LISTED = 12
"""Maximum number of legal moves that an error message lists."""


class KInARowState(State):
    """A state that also exposes the bitboards it is made of."""

    __slots__ = (
        "_cells",
        "_free",
        "_opp",
        "_own",
        "_past",
        "current_player",
        "game",
        "is_terminal",
        "last",
        "legal_actions",
        "returns",
    )

    game: KInARow
    """The rules."""
    last: int
    """The cell of the last action, as an int with one bit; 0 in the initial state."""
    _past: KInARowState | tuple[int, ...]
    """The previous state; replaced by the tuple of actions when `history` is first read."""
    _own: int
    """The tally of the side to move (see `LineTally`)."""
    _opp: int
    """The tally of the other side."""
    _free: int
    """The cells where a stone can land: one bit for each legal action."""

    @classmethod
    def start(cls, game: KInARow) -> KInARowState:
        """Return the state before the first action."""
        state = cls()
        state.game = game
        state.last = state.current_player = 0
        state._past = ()
        state._own = state._opp = game.tally.empty
        state._free = game.tally.free
        state.legal_actions = tuple(range(game.num_actions))
        state.is_terminal = False
        state.returns = _ONGOING
        return state

    @override
    def child(self, action: int) -> KInARowState:
        game = self.game
        tally = game.tally
        # Checked by type, because this is the hot path: only other types are examined further.
        if type(action) is not int or not 0 <= action < game.num_actions:
            action = game.checked(action)
        bit = self._free & tally.columns[action]
        if not bit:
            raise game.illegal(self, action)
        # Precomputed for each cell: what its stone adds to the tally, which cell becomes free, and whether
        # its column is full.
        gain, step, closes = tally.places[bit]
        player = self.current_player
        # The fields are set here, because a call of `__init__` would cost as much as all the rest.
        new = KInARowState()
        new.game = game
        new.last = bit
        new.current_player = 1 - player
        new._past = self
        new._own = self._opp
        new._opp = stones = self._own + gain
        # The first test is cheap and passes only if a counter is full, which hardly any stone causes.
        if stones & tally.full and tally.is_won(stones):
            new._free = 0
            new.legal_actions = ()
            new.is_terminal = True
            new.returns = _WINS[player]
            return new
        new._free = self._free + step
        legal = self.legal_actions
        if closes:
            # The tuple is sorted, so bisection finds the action; most actions fill no column, and both states
            # share the tuple.
            index = bisect_left(legal, action)
            legal = legal[:index] + legal[index + 1 :]
        new.legal_actions = legal
        new.is_terminal = not legal
        new.returns = _ONGOING
        return new

    @property
    def history(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride] # made when asked for
        """Actions from the initial state to here."""
        state, actions = self, list[int]()
        # Testing for the tuple, because `isinstance` with an abstract class is slow.
        while not isinstance(past := state._past, tuple):
            actions.append(self.game.tally.actions[state.last])
            state = past
        if actions:
            # Kept, and with it the states before are released: a long match holds one tuple, not a chain.
            self._past = past = past + tuple(reversed(actions))
        return past

    @override
    def __getstate__(self) -> object:
        """Return the state for copies and pickles, with the history as a tuple.

        A chain of previous states would exceed the recursion limit.
        """
        self._past = self.history
        return super().__getstate__()

    @property
    def own(self) -> int:
        """Stones of the side to move, in the layout of `game.board`."""
        return self._own & self.game.tally.cells

    @property
    def opp(self) -> int:
        """Stones of the other side, in the layout of `game.board`."""
        return self._opp & self.game.tally.cells

    @property
    def ply(self) -> int:
        """Number of actions so far."""
        return len(self.history)

    @property
    def cells(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride] # made when asked for
        """The board, flattened, row 0 on top: 0 empty, 1 first player's stone, 2 second player's stone."""
        try:
            return self._cells
        except AttributeError:
            first, second = (self.opp, self.own) if self.current_player else (self.own, self.opp)
            self._cells: tuple[int, ...] = self.game.board.cells(first, second)
            return self._cells

    @property
    @override
    def winning_cells(self) -> tuple[int, ...]:
        return self.game.board.lines(self.opp) if any(self.returns) else ()

    @property
    @override
    def observation(self) -> NDArray[np.float32]:
        """The board as the side to move sees it: float32 `[4, rows, columns]`, values 0 or 1.

        Planes: the mover's stones; the opponent's stones; the last stone (empty in the initial state); all
        ones if the first player is to move, else all zeros.
        """
        # Imported here because most bots never read planes, and NumPy is half of what their process loads.
        import numpy as np

        game = self.game
        planes = np.empty((4, *game.shape), np.float32)
        flat = planes.reshape(4, -1)
        for plane, stones in enumerate((self.own, self.opp, self.last)):
            flat[plane] = np.frombuffer(bytes(game.board.cells(stones, 0)), np.uint8)
        flat[3] = 1 - self.current_player
        return planes


class KInARow(Game):
    """Two players place stones in turn; the first with k in a row wins, and a full board is a draw."""

    defaults: ClassVar[Mapping[str, int | str]]
    """The default values of `params`."""
    board: Bitboard
    """Layout of the states' bitboards, and the test for lines."""
    tally: LineTally
    """Counts the stones on each line of the board."""
    min_length: int
    """Length in actions of the shortest possible win."""

    def __init__(
        self, board: Bitboard, params: Mapping[str, int | str], symmetries: Sequence[Symmetry]
    ) -> None:
        """Initialise the rules for `board`.

        Raises:
            OptionError: the board is too small for a line of k.
        """
        if board.k > max(board.rows, board.cols):
            raise OptionError(
                f"{self.name}: k={board.k} does not fit on {board.rows} rows and {board.cols} columns;"
                f" k is at most {max(board.rows, board.cols)}"
            )
        self.board = board
        self.tally = LineTally(board)
        self.params = params
        self.symmetries = symmetries
        self.shape = (board.rows, board.cols)
        self.num_actions = len(board.lows)
        self.max_length = board.rows * board.cols
        # The first player's k-th stone, after k - 1 of each side.
        self.min_length = 2 * board.k - 1
        self._start = KInARowState.start(self)

    @override
    def initial_state(self) -> KInARowState:
        return self._start

    @override
    def ending(self, state: State) -> str:
        """Describe how a terminal `state` was decided: "four in a row" or "full board"."""
        return f"{_WORDS[self.board.k]} in a row" if any(state.returns) else "full board"

    def checked(self, action: object) -> int:
        """Return `action` as a plain int. Other integers, such as NumPy's, are accepted; bools are not.

        Raises:
            InvalidMoveError: `action` is not an int in `[0, num_actions)`.
        """
        known = f"actions of {self.name} are the ints from 0 to {self.num_actions - 1}"
        if isinstance(action, bool):
            raise InvalidMoveError(f"a bool is not an action; {known}")
        try:
            number = operator.index(action)  # pyright: ignore[reportArgumentType] # the TypeError is handled
        except TypeError:
            raise InvalidMoveError(
                f"a value of type {type(action).__name__} is not an action; {known}"
            ) from None
        if not 0 <= number < self.num_actions:
            # Python refuses to convert ints of thousands of digits to text.
            shown = str(number) if number.bit_length() <= 64 else f"an int of {number.bit_length()} bits"  # noqa: PLR2004 # 64 bits are easily read
            raise InvalidMoveError(f"{shown} is not an action; {known}")
        return number

    def illegal(self, state: State, action: int) -> IllegalMoveError:
        """Make the error that says why `action` is not allowed in `state`, and lists what is."""
        move = self.move(state, action)
        if state.is_terminal:
            return IllegalMoveError(f"move {move} is not allowed: the match is over by {self.ending(state)}")
        legal = state.legal_actions
        listed = ", ".join(self.move(state, other) for other in legal[:_MAX_LISTED])
        more = f" and {len(legal) - _MAX_LISTED} more" if len(legal) > _MAX_LISTED else ""
        return IllegalMoveError(f"move {move} is not allowed: no empty cell there; legal: {listed}{more}")
