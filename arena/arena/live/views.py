"""View-models of matches and tournaments: immutable data that can be encoded as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from arena.live.pace import Progress
from arena.naming import match_address
from arena_plugins.thoughts import Thoughts

MAX_FINISHED = 200
MAX_NOTICES = 100
MAX_RECENT = 50
"""Number of finished matches from whose times the rate is computed."""

Mark = Literal["", "#", "?", "??", "~"]
"""Mark of a ply: `#` is the end; `?` gives a result away and `??` turns a win into a loss, both by a judge's
grade; `~` is a swing in the evaluations of both bots of a match without grades."""


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two bots of a match."""

    name: str
    """Full name, cleaned."""
    label: str
    """Short label, unique among all bots that are shown."""
    clock_ms: int | None = None
    """Value of the bot's clock at `MatchView.clock_t`, in milliseconds."""
    thoughts: Thoughts | None = None
    """The bot's report on its last move."""
    thoughts_ply: int = 0
    """The ply of the bot's last move, from 1; 0 before the first."""
    thinking: Thoughts | None = None
    """The bot's report while it thinks; None once it has moved."""
    eval: float | None = None
    """The bot's last evaluation, 50 * (1 + value for the first player), in percent; None if not reported."""


class MoveView(msgspec.Struct, frozen=True, kw_only=True):
    """One ply of a match."""

    ply: int
    """Number of the ply, from 1, opening included."""
    player: int
    action: int
    text: str
    """The move as people write it."""
    cell: int | None = None
    """The cell that the move filled; None if it has another effect."""
    is_opening: bool = False
    elapsed_ms: int | None = None
    eval: float | None = None
    """Evaluation by the bot that moved, 50 * (1 + value for the first player), in percent."""
    mark: Mark = ""


class MatchView(msgspec.Struct, frozen=True, kw_only=True):
    """One match at one time."""

    number: int
    """Number within the tournament, from 1."""
    attempt: int = 0
    stored: int | None = None
    """Id of the match in the store, once it has one."""
    tournament: int = 1
    tournament_name: str = ""
    """Name of the tournament; empty while it is unknown."""
    game: str
    """Spec of the game."""
    tc: str = ""
    rows: int = 0
    columns: int = 0
    """Size of the board; 0 if the game is not installed, and then there is no board."""
    cells: tuple[int, ...] = ()
    """Cells row by row from the top: 0 empty, 1 first player, 2 second player."""
    winning: tuple[int, ...] = ()
    """The cells that decided the match, if the rules report them; empty until then."""
    seats: tuple[SeatView, SeatView]
    actions: tuple[int, ...] = ()
    """Actions from the initial position, opening included."""
    moves: tuple[MoveView, ...] = ()
    to_move: int = 0
    """The player to move, 0 or 1; -1 once no move is possible."""
    clock_t: float = 0.0
    """Time of the clock values, in seconds since 1970 (UTC); the clock of `to_move` runs from then on."""
    free_ms: int = 0
    """Milliseconds of each move that are not charged to the clock (time control with a bank)."""
    started_t: float = 0.0
    last_t: float = 0.0
    """Time of the last event, in seconds since 1970 (UTC)."""
    outcome: Literal["", "first", "second", "draw", "void"] = ""
    """The result; empty while the match is being played."""
    termination: str = ""
    reason: str = ""
    """What happened at the end; for a void match, its void reason comes first."""
    void_reason: str = ""
    """Why the match was declared void; empty if it is valid."""
    trouble: str = ""
    """Why the board cannot be updated although the match continues; empty if it can."""
    is_stalled: bool = False
    """Whether no process plays the match although it has no result; it may be started again."""

    @property
    def is_over(self) -> bool:
        """Whether the match has ended."""
        return self.outcome != ""

    @property
    def end(self) -> str:
        """The end in one word; empty during the match."""
        return end_word(self.termination, self.void_reason)

    @property
    def why(self) -> str:
        """Why the match ended; see `ending_text`."""
        return ending_text(self.termination, self.reason, self.void_reason)

    @property
    def is_played(self) -> bool:
        """Whether the match is being played."""
        return not (self.is_over or self.is_stalled)

    @property
    def ply(self) -> int:
        """Number of actions."""
        return len(self.actions)

    @property
    def last_cell(self) -> int | None:
        """The cell that was filled last."""
        return self.moves[-1].cell if self.moves else None

    @property
    def labels(self) -> tuple[str, str]:
        """Labels of the bots, the first player's first."""
        return self.seats[0].label, self.seats[1].label

    @property
    def address(self) -> str:
        """Address of the match before, during and after play: `live1/89`."""
        return match_address(self.tournament_name, self.number, self.attempt, self.outcome)

    @property
    def short_address(self) -> str:
        """Address without the tournament: `/89`."""
        return match_address("", self.number, self.attempt, self.outcome)

    @property
    def result(self) -> str:
        """1-0, 0-1, 1/2 or void; empty during the match."""
        return RESULTS.get(self.outcome, "")

    def remaining_ms(self, player: int, now: float) -> int | None:
        """Return the clock of `player` at `now` (seconds since 1970, UTC) in milliseconds, at least 0."""
        clock = self.seats[player].clock_ms
        if clock is None or not self.is_played or player != self.to_move:
            return clock
        return max(0, clock - max(0, round((now - self.clock_t) * 1000) - self.free_ms))

    def last_thoughts(self) -> tuple[int, Thoughts] | None:
        """Return player and report of the last move; None if there is none."""
        if not self.moves or self.moves[-1].is_opening:
            return None
        player = self.moves[-1].player
        thoughts = self.seats[player].thoughts
        return None if thoughts is None else (player, thoughts)


RESULTS: Mapping[str, str] = {"first": "1-0", "second": "0-1", "draw": "1/2", "void": "void"}
"""Displayed outcomes."""


def end_word(termination: str, void_reason: str) -> str:
    """Return the end of a match in one word: `void` if it was declared void, else the termination."""
    return "void" if void_reason else termination


def ending_text(termination: str, reason: str, void_reason: str = "") -> str:
    """Return why a match ended: the termination, or a sentence that contains it or the void reason."""
    return reason if void_reason or f"({termination})" in reason else termination


class FinishedMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A finished match in one line."""

    number: int
    attempt: int = 0
    stored: int | None = None
    tournament_name: str = ""
    names: tuple[str, str]
    labels: tuple[str, str]
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str
    """What happened; for a void match, its void reason comes first."""
    void_reason: str = ""
    """Why the match was declared void; empty if it is valid."""
    plies: int
    t: float

    @property
    def address(self) -> str:
        """Address of the match: `live1/89`."""
        return match_address(self.tournament_name, self.number, self.attempt, self.outcome)

    @property
    def short_address(self) -> str:
        """Address without the tournament: `/89`."""
        return match_address("", self.number, self.attempt, self.outcome)

    @property
    def result(self) -> str:
        """1-0, 0-1, 1/2 or void."""
        return RESULTS[self.outcome]

    @property
    def end(self) -> str:
        """The end in one word."""
        return end_word(self.termination, self.void_reason)

    @property
    def why(self) -> str:
        """Why the match ended; see `ending_text`."""
        return ending_text(self.termination, self.reason, self.void_reason)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice for the operator."""

    t: float
    number: int | None = None
    """Number of the match that the notice is about."""
    address: str = ""
    """Address of the match that the notice is about; empty if there is none."""
    label: str = ""
    """The bot that is to blame."""
    termination: str = ""
    text: str = ""
    is_decision: bool = False
    """Whether a person decided it, so that nothing is wrong: a bot joined, a match was declared void."""

    @property
    def what(self) -> str:
        """What happened to whom; the sentence about a forfeit already contains bot and termination."""
        if f"({self.termination})" in self.text:
            return self.text
        told = ", ".join(part for part in (self.termination, self.text) if part)
        return f"{self.label}: {told}" if self.label else told


class ProgressView(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a tournament."""

    name: str = ""
    game: str = ""
    tc: str = ""
    state: Literal["", "preparing", "running", "paused", "stopping", "ended"] = ""
    """State of the run; empty before the first event about it."""
    reason: str = ""
    goal: str = ""
    """Progress towards the tournament's goal; empty if it has none."""
    planned: int | None = 0
    """Number of matches in all; None while it is unknown."""
    is_most: bool = False
    """Whether `planned` is only an upper bound, as in an undecided sequential test."""
    done: int = 0
    workers: int = 0
    given_rate: float | None = None
    recent: tuple[float, ...] = ()
    """End times of the last matches, in seconds since 1970 (UTC), oldest first."""
    heard_t: float = 0.0
    """Time of the last event, in seconds since 1970 (UTC)."""

    @property
    def ending(self) -> str:
        """How a run ended, in a few words: `ended`, `stopped`, `ended: --max-time 5 is over`."""
        if self.reason == "stopped" or self.reason.startswith("refused: "):
            return self.reason
        return f"ended: {self.reason}" if self.reason else "ended"

    @property
    def rate(self) -> float | None:
        """Matches per minute; None before two have finished, and while none is started any more."""
        if self.state in ("stopping", "ended"):
            return None
        if self.given_rate is not None:
            return self.given_rate
        span = self.recent[-1] - self.recent[0] if self.recent else 0.0
        return 60 * (len(self.recent) - 1) / span if span > 0 else None

    def at(self, now: float | None = None) -> Progress:
        """Return the progress at a time, in seconds since 1970 (UTC); without a time it is never stalled."""
        is_played = self.state in ("running", "stopping") and now is not None and self.recent
        return Progress(
            done=self.done,
            total=self.planned,
            rate=None if self.state == "paused" else self.rate,
            goal=self.goal,
            is_most=self.is_most,
            silent_s=max(0.0, (now or 0.0) - self.recent[-1]) if is_played else None,
        )


class LiveView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of a tournament from its events."""

    seq: int = 0
    """The newest event that is included; older ones change nothing."""
    matches: Mapping[int, MatchView] = {}
    """The matches whose boards are shown, by number."""
    places: tuple[int, ...] = ()
    """Match numbers in the order of their boards; a new match takes the place of one that is over."""
    progress: ProgressView = ProgressView()
    finished: tuple[FinishedMatch, ...] = ()
    """Finished matches, newest first."""
    notices: tuple[Notice, ...] = ()
    """Notices, newest first."""
    labels: Mapping[str, str] = {}
    """Short labels of bots, by their names in the tournament."""
    faults: Mapping[str, Mapping[str, int]] = {}
    """Number of forfeits by name of a bot and termination."""


def percent_for_first(value: float | None, player: int) -> float | None:
    """Convert an expected result of `player`, in [-1, 1], into percent for the first player."""
    if value is None:
        return None
    return 50 * (1 + (value if player == 0 else -value))
