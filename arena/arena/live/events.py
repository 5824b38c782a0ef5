"""Live events of a tournament: an envelope, and a typed payload for each kind.

Unknown keys of a payload are ignored, so that older viewers can read newer events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from arena.errors import ProtocolError
from arena_plugins.thoughts import Thoughts

Kind = Literal["started", "move", "info", "finished", "fault", "state", "voided", "entrant"]

MAX_PAYLOAD = 4096
"""Maximum characters of a payload as JSON, enforced by the store."""
_MAX_PAIRS = 100
"""Number of actions kept in `visits` and `policy` of a payload that would be too long; the largest are
kept."""
_MAX_PV = 30
"""Number of actions kept of the expected line of a payload that would be too long."""
_POLICY_DIGITS = 4
"""Number of decimals of a policy in a payload that would be too long: a hundredth of a per cent."""


class Started(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match starts: both bots are ready, and the clock of the bot to move is running."""

    bots: tuple[str, str]
    """Full names in the tournament of the bots that move first and second."""
    game: str
    """Canonical spec of the game."""
    opening: tuple[int, ...] = ()
    """Actions of the opening."""
    tc: str = ""
    """The time control as text."""
    clock_ms: tuple[int, int] | None = None
    """Initial values of both clocks, in milliseconds."""
    free_ms: int = 0
    """Milliseconds of each move that are not charged to the clock: a bank pays only for the time beyond."""
    stored: int | None = None
    """Id of the match in the store, such as 20417, if it has one."""


class Move(Thoughts, frozen=True, kw_only=True, omit_defaults=True):
    """A bot has moved."""

    action: int
    elapsed_ms: int | None = None
    """Milliseconds from question to answer; None if no bot was asked."""
    clock_ms: tuple[int, int] | None = None
    """Values of both clocks in milliseconds at the time when the next player is asked."""


class ThinkingInfo(Thoughts, frozen=True, kw_only=True, omit_defaults=True):
    """A report of a bot that is thinking."""


class Finished(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match is over."""

    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str = ""
    """The end in words."""
    plies: int
    is_final: bool = True
    """Whether the match needs no further attempt; a void match may be repeated."""
    stored: int | None = None
    """Id of the match in the store, such as 313, if it has one."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot broke the rules, or the run needs the operator's attention."""

    player: int | None = None
    """The player to blame, 0 or 1; None if no bot of the match is to blame."""
    termination: str = ""
    text: str
    """What happened, in words."""
    stalls: bool = False
    """Whether the match is stalled from now on, until it starts again."""


class RunState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """State of the tournament; sent with every change and every heartbeat."""

    state: Literal["running", "paused", "stopping", "ended"]
    planned: int | None
    """Number of matches in all; None while it is unknown."""
    done: int
    """Number of matches that need no further attempt."""
    name: str = ""
    """Name of the tournament; as for all texts below, empty means unchanged."""
    game: str = ""
    tc: str = ""
    workers: int = 0
    """Number of worker processes."""
    rate: float | None = None
    """Matches per minute; None if viewers compute the rate from the last finished matches."""
    reason: str = ""
    """Why the run stops or stopped, in words."""
    goal: str = ""
    """Progress towards the tournament's goal in words, such as the state of a sequential test."""
    is_most: bool = False
    """Whether `planned` is only an upper bound, as in an undecided sequential test."""


class Voided(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Matches were declared void, or valid again; viewers must read them again."""

    num: int
    """Number of matches."""
    match: int | None = None
    """Number of the match, if it is a single one."""
    reason: str = ""
    undone: bool = False
    """Whether the matches are valid again."""

    @property
    def words(self) -> str:
        """What happened, in a sentence: `3 matches are void: the bots were mixed up`."""
        if self.undone:
            what = "counts again" if self.num == 1 else "count again"
        else:
            what = "is void" if self.num == 1 else "are void"
        who = "1 match" if self.num == 1 else f"{self.num} matches"
        who = who if self.match is None else f"match {self.match}"
        return f"{who} {what}" + (f": {self.reason}" if self.reason else "")


class EntrantChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot joined the tournament, left it or was disqualified."""

    bot: str
    """Name of the bot in the tournament."""
    change: Literal["join", "leave", "disqualify"]
    reason: str = ""

    @property
    def words(self) -> str:
        """What happened, in a sentence: `mcts left: it crashes`."""
        what = {"join": "joined", "leave": "left", "disqualify": "is disqualified"}[self.change]
        return f"{self.bot} {what}" + (f": {self.reason}" if self.reason else "")


Payload: TypeAlias = Started | Move | ThinkingInfo | Finished | Fault | RunState | Voided | EntrantChange
BODIES: Mapping[Kind, type[Payload]] = {
    "started": Started,
    "move": Move,
    "info": ThinkingInfo,
    "finished": Finished,
    "fault": Fault,
    "state": RunState,
    "voided": Voided,
    "entrant": EntrantChange,
}
"""Payload type of each kind."""
_Said: TypeAlias = Move | ThinkingInfo
_KINDS: Mapping[type[Payload], Kind] = {body: kind for kind, body in BODIES.items()}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a tournament."""

    seq: int
    """Number assigned by the store; increases with time."""
    tournament: int
    """Id of the tournament."""
    match: int | None = None
    """Number of the match within the tournament, from 1; None if the event is about the tournament itself."""
    attempt: int = 0
    """Number of earlier attempts at the match, all of them void."""
    ply: int = 0
    """Number of actions of the match, including that of a `move`."""
    kind: Kind
    payload: Mapping[str, Any]
    """The payload as plain data; `body()` converts it to its type."""
    t: float
    """Time of the event, in seconds since 1970 (UTC)."""

    def body(self) -> Payload:
        """Return the payload converted to the type of its kind.

        Raises:
            ProtocolError: the payload does not have this type.
        """
        try:
            return msgspec.convert(self.payload, BODIES[self.kind])
        except (msgspec.ValidationError, KeyError) as error:
            raise ProtocolError(f"event {self.seq} of kind {self.kind} cannot be read: {error}") from error


def make_event(seq: int, body: Payload, *, t: float, match: int | None = None, ply: int = 0) -> Event:
    """Return an event with this payload, in the first attempt at a match of tournament 1."""
    payload: dict[str, Any] = msgspec.to_builtins(body)
    return Event(seq=seq, tournament=1, match=match, ply=ply, kind=_KINDS[type(body)], payload=payload, t=t)


def kind_of(body: Payload) -> Kind:
    """Return the kind of a payload."""
    return _KINDS[type(body)]


def pack(body: Payload) -> str:
    """Encode a payload as JSON of at most `MAX_PAYLOAD` characters, with fewer actions if needed.

    Raises:
        ProtocolError: the payload is too long even after shortening.
    """
    text = msgspec.json.encode(body).decode()
    if isinstance(body, Move | ThinkingInfo):
        for shorten in (_rounded, _fewer, _bare):
            if len(text) > MAX_PAYLOAD:
                text = msgspec.json.encode(shorten(body)).decode()
    if len(text) > MAX_PAYLOAD:
        raise ProtocolError(f"a payload of {len(text)} characters is too long; {MAX_PAYLOAD} are taken")
    return text


def unpack(text: str) -> Mapping[str, Any]:
    """Decode the JSON of `pack` into the payload of an `Event`.

    Raises:
        ProtocolError: `text` is not a JSON object.
    """
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ProtocolError(f"a payload cannot be read: {error}") from error


def _rounded(body: _Said) -> _Said:
    if body.policy is None:
        return body
    return replace(body, policy=tuple((a, round(p, _POLICY_DIGITS)) for a, p in body.policy))


def _fewer(body: _Said) -> _Said:
    pv = None if body.pv is None else body.pv[:_MAX_PV]
    return _rounded(replace(body, policy=_largest(body.policy), visits=_largest(body.visits), pv=pv))


def _bare(body: _Said) -> _Said:
    return replace(body, policy=None, visits=None, pv=None, text=None)


def _largest(pairs: tuple[tuple[int, Any], ...] | None) -> tuple[tuple[int, Any], ...] | None:
    if pairs is None or len(pairs) <= _MAX_PAIRS:
        return pairs
    return tuple(sorted(sorted(pairs, key=lambda pair: -pair[1])[:_MAX_PAIRS]))
