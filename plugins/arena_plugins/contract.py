"""The contract: the interfaces of games, states and bots, with shapes and units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class Symmetry(NamedTuple):
    """A permutation of the board that maps every legal match to a legal match with the same result."""

    cells: tuple[int, ...]
    """The content of cell `i` moves to cell `cells[i]`; `[rows * columns]`."""
    actions: tuple[int, ...]
    """Action `a` becomes action `actions[a]`; `[num_actions]`."""


class State(ABC):
    """A position with its history. Immutable: `child` returns a new state."""

    __slots__ = ()

    current_player: int
    """The side to move: 0 (first) or 1 (second); meaningless once the state is terminal."""
    legal_actions: tuple[int, ...]
    """Allowed actions in ascending order; empty when the state is terminal."""
    is_terminal: bool
    """Whether the match is over."""
    returns: tuple[float, float]
    """Result for players 0 and 1 in [-1, 1], summing to zero; `(0.0, 0.0)` until the end."""
    history: tuple[int, ...]
    """Actions from the initial state to here."""
    cells: tuple[int, ...]
    """The board, flattened, row 0 on top: 0 empty, 1 first player's stone, 2 second player's stone."""

    @property
    @abstractmethod
    def observation(self) -> NDArray[np.float32]:
        """The board as the side to move sees it: float32 `[planes, rows, columns]`, values 0 or 1.

        Plane 0 holds the mover's stones, plane 1 the opponent's; a game may add more.
        """

    @property
    def winning_cells(self) -> tuple[int, ...]:
        """The cells that decided a won match, ascending, as indices into `cells`; viewers highlight them.

        Optional: empty unless a state class overrides it, and in every state that is not won.
        """
        return ()

    @abstractmethod
    def child(self, action: int) -> State:
        """Return the state after `action`.

        Raises:
            InvalidMoveError: `action` is not an int in `[0, num_actions)`.
            IllegalMoveError: `action` is not in `legal_actions`.
        """


class Game(ABC):
    """The rules of a two-player, perfect-information, zero-sum board game."""

    name: str
    """Lower case with hyphens."""
    params: Mapping[str, int | str]
    """Every option with its value, defaults included."""
    num_actions: int
    """Actions are the ints in `[0, num_actions)`."""
    max_length: int
    """No match has more actions than this."""
    shape: tuple[int, int]
    """Rows and columns of the board."""
    symmetries: Sequence[Symmetry]
    """All symmetries of the rules, identity first."""

    @abstractmethod
    def initial_state(self) -> State:
        """Return the state before the first action."""

    @abstractmethod
    def move(self, state: State, action: int) -> str:
        """Write `action` as a move, the text people read ("d", "h8", "4").

        Raises:
            InvalidMoveError: `action` is not an int in `[0, num_actions)`.
        """

    @abstractmethod
    def parse_move(self, state: State, text: str) -> int:
        """Read a move; the inverse of `move`. Case and surrounding blanks are ignored.

        Raises:
            InvalidMoveError: `text` is not a move of this game.
            IllegalMoveError: the move is not allowed in `state`.
        """

    def ending(self, state: State) -> str:  # noqa: ARG002 - games that override it look at the state
        """Describe how a terminal `state` was decided, as in "X wins by four in a row"."""
        return "the rules"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The resources that a bot may use for one answer; None means unlimited."""

    seconds: float | None = None
    """Wall time in seconds within which the answer must arrive."""
    nodes: int | None = None
    """Search nodes; a playout counts as one node."""
    bank: float | None = None
    """Seconds left in the match's reserve, on top of `seconds` for each answer; None without a reserve."""


class PlayResult(msgspec.Struct, frozen=True, gc=False):
    """A bot's answer. Only `action` is required; the rest is displayed and stored, but never trusted."""

    action: int
    """The chosen action; ignored when `resign` is set."""
    value: float | None = None
    """Expected result for the side to move, in [-1, 1]."""
    policy: Mapping[int, float] | None = None
    """Probability per legal action; sums to one."""
    visits: Mapping[int, int] | None = None
    """Search visits per legal action."""
    pv: tuple[int, ...] | None = None
    """Principal variation: the expected actions from here, the chosen one first."""
    nodes: int | None = None
    """Search nodes used for this answer."""
    depth: int | None = None
    """Search depth in plies."""
    text: str | None = None
    """A remark for human readers, at most 200 characters."""
    resign: bool = False
    """Whether the bot resigns the match."""


class Bot(Protocol):
    """A competitor. Only `play` is required.

    Optional members, used when present:

    - `new_match(seed: int) -> None`: called when a match begins. After it the bot must play as a newly made
      bot with that seed would. A bot without this method is made again for every match.
    - `deterministic: bool`: whether the same seed, states and node limits always give the same actions.
    """

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose an action in `state`, which is not terminal."""
        ...


class Outcome(StrEnum):
    """Who won a match."""

    FIRST = "first"
    SECOND = "second"
    DRAW = "draw"
    VOID = "void"
    """The match does not count: the arena failed, or no move was ever made."""


class Termination(StrEnum):
    """Why a match ended (docs/reference/protocol.md defines each value)."""

    RULES = "rules"
    ADJUDICATED = "adjudicated"
    RESIGN = "resign"
    ILLEGAL_MOVE = "illegal_move"
    MALFORMED = "malformed"
    OVERSIZE_LINE = "oversize_line"
    OUTPUT_FLOOD = "output_flood"
    PROTOCOL_ORDER = "protocol_order"
    TIME_MOVE = "time_move"
    TIME_GAME = "time_game"
    CRASH = "crash"
    OOM = "oom"
    PONDERING = "pondering"
    BOT_ERROR = "bot_error"
    NO_COMMON_PROTOCOL = "no_common_protocol"
    INIT_TIMEOUT = "init_timeout"
    INIT_CRASH = "init_crash"
    DISCONNECT = "disconnect"
    WALKOVER = "walkover"
    ARENA_STALL = "arena_stall"
    ARENA_ERROR = "arena_error"
    ABORTED = "aborted"

    @property
    def is_regular(self) -> bool:
        """Whether the players played the match to a result: it is rated and exported."""
        return self in _REGULAR

    @property
    def is_void(self) -> bool:
        """Whether the arena, not a bot, ended the match: it is neither rated nor exported."""
        return self in _VOID

    @property
    def is_fault(self) -> bool:
        """Whether a bot forfeited the match: it is rated, but not exported."""
        return not (self in _REGULAR or self in _VOID or self is Termination.WALKOVER)


_REGULAR = frozenset({Termination.RULES, Termination.ADJUDICATED, Termination.RESIGN})
_VOID = frozenset({Termination.ARENA_STALL, Termination.ARENA_ERROR, Termination.ABORTED})
