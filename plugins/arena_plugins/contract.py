"""The contract: what a game, a state and a bot are, with shapes and units."""

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
    """A permutation of the board that maps every match onto an equally legal one."""

    cells: tuple[int, ...]
    """What stands on cell `i` comes to stand on cell `cells[i]`; `[rows * columns]`."""
    actions: tuple[int, ...]
    """Action `a` becomes action `actions[a]`; `[num_actions]`."""


class State(ABC):
    """A point in play, immutable: `child` gives a new one."""

    __slots__ = ()

    current_player: int
    """Who moves: 0 (first) or 1 (second); without meaning once the state is terminal."""
    legal_actions: tuple[int, ...]
    """Allowed actions, ascending; empty when the state is terminal."""
    is_terminal: bool
    """Whether the match is over."""
    returns: tuple[float, float]
    """Result for players 0 and 1 in [-1, 1], summing to zero; `(0.0, 0.0)` until the end."""
    history: tuple[int, ...]
    """Actions from the initial state to here."""
    cells: tuple[int, ...]
    """The board flat, row 0 on top: 0 empty, 1 first player's, 2 second player's."""

    @property
    @abstractmethod
    def observation(self) -> NDArray[np.float32]:
        """The board for the side to move: `[planes, rows, columns]`, values 0 or 1.

        Plane 0 holds the mover's stones, plane 1 the opponent's; a game may add more.
        """

    @property
    def winning_cells(self) -> tuple[int, ...]:
        """Cells that decided a won match, ascending, as in `cells`; viewers light them.

        Optional: without this property, and in every state that is not won, there are none.
        """
        return ()

    @abstractmethod
    def child(self, action: int) -> State:
        """Give the state after `action`.

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
        """Give the state before the first action."""

    @abstractmethod
    def move(self, state: State, action: int) -> str:
        """Write `action` as a move, the text people read ("d", "h8", "4").

        Raises:
            InvalidMoveError: `action` is not an int in `[0, num_actions)`.
        """

    @abstractmethod
    def parse_move(self, state: State, text: str) -> int:
        """Read a move; the inverse of `move`, whatever the case and the blanks around it.

        Raises:
            InvalidMoveError: `text` is not a move of this game.
            IllegalMoveError: the move is not allowed in `state`.
        """

    def ending(self, state: State) -> str:  # noqa: ARG002 - games that override it look at the state
        """Say in words by what a terminal `state` ended, as in "X wins by four in a row"."""
        return "the rules"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What a bot may use for one answer; None is no bound."""

    seconds: float | None = None
    """Wall time in seconds until the answer must be there."""
    nodes: int | None = None
    """Search nodes; a playout counts as one node."""
    bank: float | None = None
    """Seconds left for the whole match beyond `seconds` for each answer; None where there is no such bank."""


class PlayResult(msgspec.Struct, frozen=True, gc=False):
    """A bot's answer. Only `action` is needed; the rest is shown, stored and never trusted."""

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
    """A remark for people, at most 200 characters."""
    resign: bool = False
    """The bot gives the match up."""


class Bot(Protocol):
    """A competitor. `play` is all it must have.

    Optional members, used when present:

    - `new_match(seed: int) -> None`: a new match begins. A bot without it is made anew for every match.
      A bot that has it must play as a fresh one would with that seed.
    - `deterministic: bool`: the same seed, states and node limits give the same actions.
    """

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose an action in `state`, a state that is not terminal."""
        ...


class Outcome(StrEnum):
    """Who won a match."""

    FIRST = "first"
    SECOND = "second"
    DRAW = "draw"
    VOID = "void"
    """It does not count: the arena failed, or nobody ever moved."""


class Termination(StrEnum):
    """Why a match ended (docs/reference/protocol.md tells when each one is given)."""

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
        """Whether the match was played to a result by its players: rated and exported."""
        return self in _REGULAR

    @property
    def is_void(self) -> bool:
        """Whether the arena, not a bot, ended the match: neither rated nor exported."""
        return self in _VOID

    @property
    def is_fault(self) -> bool:
        """Whether a bot forfeited: rated, not exported."""
        return not (self in _REGULAR or self in _VOID or self is Termination.WALKOVER)


_REGULAR = frozenset({Termination.RULES, Termination.ADJUDICATED, Termination.RESIGN})
_VOID = frozenset({Termination.ARENA_STALL, Termination.ARENA_ERROR, Termination.ABORTED})
