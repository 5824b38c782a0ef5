"""The events of a running tournament that are reported to its displays."""

from __future__ import annotations

import msgspec

from arena_db.records import MatchRecord


class MatchStarted(msgspec.Struct, frozen=True, tag=True):
    """A worker began a match."""

    number: int
    total: int | None
    """Number of matches of the whole tournament; None while it cannot be known."""
    first: str
    """Label of the bot that moves first."""
    second: str


class MatchFinished(msgspec.Struct, frozen=True, tag=True):
    """A match has ended, and its record is stored."""

    record: MatchRecord
    first: str
    second: str
    num_done: int
    """Number of matches of the tournament that need no more play."""
    total: int | None
    """Number of matches of the whole tournament; None while it cannot be known."""


class RunNotice(msgspec.Struct, frozen=True, tag="Notice"):
    """Information for the operator, as text."""

    text: str
    is_warning: bool = True
    """Whether something is wrong."""


class BotWithdrawn(msgspec.Struct, frozen=True, tag=True):
    """The run has withdrawn a bot: it cannot be started here, or it failed too often in a ladder."""

    bot: str
    """Its label."""
    reason: str
    """Why, as stored with the change."""


class DecisionFell(msgspec.Struct, frozen=True, tag=True):
    """The tournament has made its decision; more matches may follow."""

    decision: str
    """The decision as stored."""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The run has ended; the tournament is finished, or can be resumed."""

    state: str
    """finished or stopped."""
    reason: str
    """Why it stopped, as text; empty if it is finished."""
    num_done: int
    total: int | None
    """Number of matches of the whole tournament; None while it cannot be known."""


Event = MatchStarted | MatchFinished | RunNotice | BotWithdrawn | DecisionFell | Ended
