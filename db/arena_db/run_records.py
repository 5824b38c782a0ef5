"""What belongs to a run and to no result: live events, and commands. See `arena_db.records`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvent:
    """Something that happened in a running tournament, kept for those who watch until nobody needs it."""

    seq: int = 0
    """Given by the store, higher for later ones; 0 before that."""
    tournament: int
    """Id of the tournament."""
    number: int | None
    """Number of the planned match, None where it is about the tournament itself.

    With `attempt` it tells which stored match became of it; until then there is none.
    """
    attempt: int = 0
    ply: int = 0
    """How many actions the match has, that of a `move` included."""
    kind: str
    """started, move, info, finished, fault, state, voided or entrant."""
    payload: str = ""
    """JSON object, at most 4,096 characters."""
    t: float
    """UTC seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """What happened after some event."""

    events: tuple[LiveEvent, ...]
    """Oldest first."""
    seq: int
    """The next page is of what came after this."""
    has_gap: bool
    """Whether events before this page were removed: a `Snapshot` tells where things stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Where a running tournament stands: what a viewer needs before it follows the events."""

    events: tuple[LiveEvent, ...]
    """Of all matches that are being played, from their `started` on, with the newest `info` of each; and the
    newest `state` of the tournament. Oldest first."""
    seq: int
    """The first page to follow is of what came after this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRecord:
    """What somebody asks of whoever runs a tournament."""

    id: int
    tournament: int
    """Id of the tournament."""
    kind: str
    """pause, resume, stop, abort (running matches end, too); of a person move, undo, hint, resign, new."""
    payload: str
    """JSON object with what the kind needs, at most 4,096 characters, or empty."""
    asked_at: float
    """UTC seconds."""
    taken_at: float | None
    """When it was heard; None where nobody has yet."""
    answered_at: float | None
    answer: str
    """In words; empty before."""
