"""View-models: what a viewer shows of matches and of a tournament; frozen data that goes through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from arena.live.events import Thoughts
from arena.live.pace import Progress
from arena.naming import match_address

MAX_FINISHED = 200
MAX_NOTICES = 100
MAX_RECENT = 50
"""Finished matches from whose times the rate is reckoned."""

Mark = Literal["", "#", "?", "??", "~"]
"""Of a ply in Replay: the end; by a judge's grade a result given away, or a win turned into a loss; without
grades a swing in the eyes of both bots."""


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two bots of a match."""

    name: str
    """In full, cleaned."""
    label: str
    """What it is called where there is little room, unique among all bots that are shown."""
    clock_ms: int | None = None
    """What its clock showed at `MatchView.clock_t`."""
    thoughts: Thoughts | None = None
    """What it said about its last move."""
    thoughts_ply: int = 0
    """The ply of that move, from 1; 0 before."""
    thinking: Thoughts | None = None
    """What it says while it thinks; None once it has moved."""
    eval: float | None = None
    """What it last said: 50 * (1 + value for the first player), in percent; None if it said nothing."""


class MoveView(msgspec.Struct, frozen=True, kw_only=True):
    """One ply of a match."""

    ply: int
    """From 1, opening included."""
    player: int
    action: int
    text: str
    """The move as people write it."""
    cell: int | None = None
    """The cell that it filled; None where a move does something else."""
    is_opening: bool = False
    elapsed_ms: int | None = None
    eval: float | None = None
    """What the mover said, in percent for the first player."""
    mark: Mark = ""


class MatchView(msgspec.Struct, frozen=True, kw_only=True):
    """One match at one moment."""

    number: int
    """Within the tournament, from 1."""
    attempt: int = 0
    stored: int | None = None
    """The store's number, once it has one."""
    tournament: int = 1
    tournament_name: str = ""
    """Empty while it is not known."""
    game: str
    """Spec of the game."""
    tc: str = ""
    rows: int = 0
    columns: int = 0
    """0 where the game is not installed here: there is no board then."""
    cells: tuple[int, ...] = ()
    """Row 0 on top: 0 empty, 1 first player's, 2 second player's."""
    winning: tuple[int, ...] = ()
    """The cells that decided the match, where the rules tell them; empty until then."""
    seats: tuple[Seat, Seat]
    actions: tuple[int, ...] = ()
    """From the initial position, opening included."""
    moves: tuple[MoveView, ...] = ()
    to_move: int = 0
    """0 or 1; -1 once nobody can move."""
    clock_t: float = 0.0
    """When the clocks were as they say, UTC seconds; that of `to_move` runs from then."""
    free_ms: int = 0
    """Milliseconds of every move that cost the clock nothing."""
    started_t: float = 0.0
    last_t: float = 0.0
    """When something last happened, UTC seconds."""
    outcome: Literal["", "first", "second", "draw", "void"] = ""
    """Empty while it is played."""
    termination: str = ""
    reason: str = ""
    """What happened at the end; of a void match first why it is void."""
    void_reason: str = ""
    """Why it is declared void; empty where it counts."""
    trouble: str = ""
    """Why the board stands still although the match goes on; empty when all is well."""
    is_stalled: bool = False
    """Whether nobody plays it any more although it has no result; it begins again, or it never ends."""

    @property
    def is_over(self) -> bool:
        """Whether the match has ended."""
        return self.outcome != ""

    @property
    def end(self) -> str:
        """One word for how it ended; empty while it is played."""
        return end_word(self.termination, self.void_reason)

    @property
    def why(self) -> str:
        """Why it ended; see `ending_text`."""
        return ending_text(self.termination, self.reason, self.void_reason)

    @property
    def is_played(self) -> bool:
        """Whether somebody plays it now."""
        return not (self.is_over or self.is_stalled)

    @property
    def ply(self) -> int:
        """How many actions it has."""
        return len(self.actions)

    @property
    def last_cell(self) -> int | None:
        """The cell that was filled last."""
        return self.moves[-1].cell if self.moves else None

    @property
    def labels(self) -> tuple[str, str]:
        """Who plays, the first player before the second."""
        return self.seats[0].label, self.seats[1].label

    @property
    def address(self) -> str:
        """What the match is called before, while and after it is played: `live1/89`."""
        return match_address(self.tournament_name, self.number, self.attempt, self.outcome)

    @property
    def short_address(self) -> str:
        """The address without the tournament, where there is little room: `/89`."""
        return match_address("", self.number, self.attempt, self.outcome)

    @property
    def result(self) -> str:
        """1-0, 0-1, 1/2, void, or empty while it is played."""
        return RESULTS.get(self.outcome, "")

    def remaining_ms(self, player: int, now: float) -> int | None:
        """Give what the clock of `player` shows at `now` (UTC seconds), milliseconds, never below 0."""
        clock = self.seats[player].clock_ms
        if clock is None or not self.is_played or player != self.to_move:
            return clock
        return max(0, clock - max(0, round((now - self.clock_t) * 1000) - self.free_ms))

    def last_thoughts(self) -> tuple[int, Thoughts] | None:
        """Give player and thoughts of the last move; None where it has none."""
        if not self.moves or self.moves[-1].is_opening:
            return None
        player = self.moves[-1].player
        thoughts = self.seats[player].thoughts
        return None if thoughts is None else (player, thoughts)


RESULTS: Mapping[str, str] = {"first": "1-0", "second": "0-1", "draw": "1/2", "void": "void"}
"""How outcomes are shown."""


def end_word(termination: str, void_reason: str) -> str:
    """Return one word for how a match ended: `void` where it was declared so, else the termination."""
    return "void" if void_reason else termination


def ending_text(termination: str, reason: str, void_reason: str = "") -> str:
    """Return why a match ended: the termination, or the sentence that contains it or says why it is void."""
    return reason if void_reason or f"({termination})" in reason else termination


class FinishedMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A match that is over, in one line."""

    number: int
    attempt: int = 0
    stored: int | None = None
    tournament_name: str = ""
    names: tuple[str, str]
    labels: tuple[str, str]
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str
    """What happened; of a void match first why it is void."""
    void_reason: str = ""
    """Why it is declared void; empty where it counts."""
    plies: int
    t: float

    @property
    def address(self) -> str:
        """What the match is called: `live1/89`."""
        return match_address(self.tournament_name, self.number, self.attempt, self.outcome)

    @property
    def short_address(self) -> str:
        """The address without the tournament, where there is little room: `/89`."""
        return match_address("", self.number, self.attempt, self.outcome)

    @property
    def result(self) -> str:
        """1-0, 0-1, 1/2 or void."""
        return RESULTS[self.outcome]

    @property
    def end(self) -> str:
        """One word for how it ended."""
        return end_word(self.termination, self.void_reason)

    @property
    def why(self) -> str:
        """Why it ended; see `ending_text`."""
        return ending_text(self.termination, self.reason, self.void_reason)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something the host should see."""

    t: float
    number: int | None = None
    """The match it is about."""
    address: str = ""
    """Of that match; empty where it is about none."""
    label: str = ""
    """The bot that is to blame."""
    termination: str = ""
    text: str = ""
    is_decision: bool = False
    """Whether somebody decided it, so that nothing is wrong: a bot joined, a match was declared void."""

    @property
    def what(self) -> str:
        """What happened, to whom; the sentence about a forfeit names bot and termination itself."""
        if f"({self.termination})" in self.text:
            return self.text
        told = ", ".join(part for part in (self.termination, self.text) if part)
        return f"{self.label}: {told}" if self.label else told


class ProgressView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a tournament is."""

    name: str = ""
    game: str = ""
    tc: str = ""
    state: Literal["", "preparing", "running", "paused", "stopping", "ended"] = ""
    """Empty before the first word of it."""
    reason: str = ""
    goal: str = ""
    """How far it is on the way to what it is held for; empty where that is no question."""
    planned: int | None = 0
    """Matches that are to be played in all; None where nobody can know yet."""
    is_most: bool = False
    """Whether `planned` is only the most there can be: of a sequential test that is not decided."""
    done: int = 0
    workers: int = 0
    given_rate: float | None = None
    recent: tuple[float, ...] = ()
    """When the last matches finished, UTC seconds, oldest first."""
    heard_t: float = 0.0
    """When something was last heard of it, UTC seconds."""

    @property
    def rate(self) -> float | None:
        """Matches per minute; None before two have finished, and where none begins any more."""
        if self.state in ("stopping", "ended"):
            return None
        if self.given_rate is not None:
            return self.given_rate
        span = self.recent[-1] - self.recent[0] if self.recent else 0.0
        return 60 * (len(self.recent) - 1) / span if span > 0 else None

    def at(self, now: float | None = None) -> Progress:
        """Return where it stands at a moment, UTC seconds; without one nothing is called stalled."""
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
    """Everything that events tell of a tournament."""

    seq: int = 0
    """The newest event that is in it; older ones change nothing."""
    matches: Mapping[int, MatchView] = {}
    """Those on the wall, by number."""
    places: tuple[int, ...] = ()
    """Numbers in the order of their places: a new match takes the place of one that is over."""
    progress: ProgressView = ProgressView()
    finished: tuple[FinishedMatch, ...] = ()
    """Newest first."""
    notices: tuple[Notice, ...] = ()
    """Newest first."""
    labels: Mapping[str, str] = {}
    """What bots are called where there is little room, by their names in the tournament."""
    faults: Mapping[str, Mapping[str, int]] = {}
    """By name of a bot and termination: how often it forfeited."""


def percent_for_first(value: float | None, player: int) -> float | None:
    """Turn what `player` expects, in [-1, 1], into percent for the first player."""
    if value is None:
        return None
    return 50 * (1 + (value if player == 0 else -value))
