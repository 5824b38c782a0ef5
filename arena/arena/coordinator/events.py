"""What a running tournament tells whoever shows it."""

from __future__ import annotations

import msgspec

from arena_db.records import MatchRecord


class MatchStarted(msgspec.Struct, frozen=True, tag=True):
    """A worker began a match."""

    number: int
    total: int | None
    """Matches that are to be played in all; None where nobody can know yet."""
    first: str
    """Label of the bot that moves first."""
    second: str


class MatchFinished(msgspec.Struct, frozen=True, tag=True):
    """A match is over, and its record is stored."""

    record: MatchRecord
    first: str
    second: str
    num_done: int
    """Matches of the tournament that need no more play."""
    total: int | None
    """As in `MatchStarted`."""


class Notice(msgspec.Struct, frozen=True, tag=True):
    """Something the host should know, in words."""

    text: str
    is_warning: bool = True
    """Whether something is wrong."""


class DecisionFell(msgspec.Struct, frozen=True, tag=True):
    """The event has decided what it is held for; it may go on after that."""

    decision: str
    """As it was stored."""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The run is over; the tournament is finished, or can be resumed."""

    state: str
    """finished or stopped."""
    reason: str
    """Why it stopped, in words; empty when it is finished."""
    num_done: int
    total: int | None
    """As in `MatchStarted`."""


Event = MatchStarted | MatchFinished | Notice | DecisionFell | Ended
