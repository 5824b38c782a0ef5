"""Records of a run that are not results: live events and commands. See `arena_db.records`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvent:
    """An event of a running tournament, kept for viewers until they no longer need it."""

    seq: int = 0
    """Number assigned by the store, higher for later events; 0 before the event is stored."""
    tournament: int
    """Id of the tournament."""
    number: int | None
    """Number of the planned match; None for an event of the tournament itself.

    With `attempt` it identifies the stored match, once there is one.
    """
    attempt: int = 0
    ply: int = 0
    """Number of actions of the match so far; a `move` event includes its own."""
    kind: str
    """started, move, info, finished, fault, state, voided or entrant."""
    payload: str = ""
    """JSON object, at most 4,096 characters."""
    t: float
    """UTC seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """The events of a tournament after some event."""

    events: tuple[LiveEvent, ...]
    """Oldest first."""
    seq: int
    """The number after which the next page begins."""
    has_gap: bool
    """Whether events before this page were removed: a `Snapshot` has the present state then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The present state of a running tournament: what a viewer needs before it follows the events."""

    events: tuple[LiveEvent, ...]
    """The events of all running matches from their `started` on, with the newest `info` of each, and the
    newest `state` of the tournament. Oldest first."""
    seq: int
    """The number after which the first page to follow begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRecord:
    """A command to the process that runs a tournament."""

    id: int
    tournament: int
    """Id of the tournament."""
    kind: str
    """pause, resume, stop, abort (running matches end, too); for human players move, undo, hint, resign,
    new."""
    payload: str
    """JSON object with the arguments of the kind, at most 4,096 characters, or empty."""
    asked_at: float
    """UTC seconds."""
    taken_at: float | None
    """When the run read it, UTC seconds; None if it has not."""
    answered_at: float | None
    answer: str
    """Text for the sender; empty until it is answered."""
