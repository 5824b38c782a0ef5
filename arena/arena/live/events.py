"""Events of a tournament, as viewers hear of them: an envelope, and per kind a payload with its own type.

Unknown keys of a payload are ignored, so that older viewers read newer events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from arena.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["started", "move", "info", "finished", "fault", "state", "voided", "entrant"]

MAX_PAYLOAD = 4096
"""Characters of a payload as JSON; the store takes no more."""
_MAX_PAIRS = 100
"""Actions of visits and policy that stay in a payload that would be too long; the largest do."""
_MAX_PV = 30
_POLICY_DIGITS = 4


class Thoughts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a bot says about the position it moves in; what it does not say is None."""

    value: float | None = None
    """Expected result for the side to move, in [-1, 1]."""
    policy: tuple[tuple[int, float], ...] | None = None
    """Pairs of action and probability."""
    visits: tuple[tuple[int, int], ...] | None = None
    """Pairs of action and number of visits."""
    pv: tuple[int, ...] | None = None
    """The expected actions, the bot's own first."""
    nodes: int | None = None
    """Search nodes used."""
    depth: int | None = None
    """Search depth in plies."""
    text: str | None = None
    """A remark for people."""


class Started(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match begins: both bots are ready, and the clock of the one to move runs from now."""

    bots: tuple[str, str]
    """Names in the tournament of who moves first and second, in full."""
    game: str
    """Canonical spec of the game."""
    opening: tuple[int, ...] = ()
    """Actions that are given."""
    tc: str = ""
    """The time control as text."""
    clock_ms: tuple[int, int] | None = None
    """What both clocks show at the start, milliseconds."""
    free_ms: int = 0
    """Milliseconds of every move that cost the clock nothing (a bank pays only for what is beyond)."""
    stored: int | None = None
    """The store's number of the match, 20417, where it has one."""


class Move(Thoughts, frozen=True, kw_only=True, omit_defaults=True):
    """A bot has moved."""

    action: int
    elapsed_ms: int | None = None
    """From the question to the answer; None where nobody was asked."""
    clock_ms: tuple[int, int] | None = None
    """What both clocks show now, as the next player is asked, milliseconds."""


class Info(Thoughts, frozen=True, kw_only=True, omit_defaults=True):
    """A bot is thinking."""


class Finished(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match is over."""

    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str = ""
    """In words."""
    plies: int
    is_final: bool = True
    """Whether the match needs no more play; a void one may be played again."""
    stored: int | None = None
    """The store's number of the match, 313, where it has one."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot did what it must not, or the run should be looked at."""

    player: int | None = None
    """0 or 1; None where no bot of the match is to blame."""
    termination: str = ""
    text: str
    """What happened, in words."""
    stalls: bool = False
    """Whether the match stands still from now on, until it begins again."""


class RunState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the tournament stands; told at every change and with every heartbeat."""

    state: Literal["running", "paused", "stopping", "ended"]
    planned: int | None
    """Matches in all; None where nobody can know yet."""
    done: int
    """Matches that need no more play."""
    name: str = ""
    """Of the tournament; empty: as before, like all texts below."""
    game: str = ""
    tc: str = ""
    workers: int = 0
    """Processes that play."""
    rate: float | None = None
    """Matches per minute; None: reckoned from the last finished ones."""
    reason: str = ""
    """Why it stops or stopped, in words."""
    goal: str = ""
    """How far it is on the way to what it is held for, in words: of a sequential test its state."""
    is_most: bool = False
    """Whether `planned` is only the most there can be: of a sequential test that is not decided."""


class Voided(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody has declared matches void, or lets them count again; a viewer reads them anew."""

    num: int
    """How many matches."""
    match: int | None = None
    """Number of the match, where it is one."""
    reason: str = ""
    undone: bool = False
    """Whether they count again."""

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
    """A bot has joined the event, left it or was disqualified."""

    bot: str
    """Its name in the tournament."""
    change: Literal["join", "leave", "disqualify"]
    reason: str = ""

    @property
    def words(self) -> str:
        """What happened, in a sentence: `mcts left: it crashes`."""
        what = {"join": "joined", "leave": "left", "disqualify": "is disqualified"}[self.change]
        return f"{self.bot} {what}" + (f": {self.reason}" if self.reason else "")


Payload: TypeAlias = Started | Move | Info | Finished | Fault | RunState | Voided | EntrantChange
BODIES: Mapping[Kind, type[Payload]] = {
    "started": Started,
    "move": Move,
    "info": Info,
    "finished": Finished,
    "fault": Fault,
    "state": RunState,
    "voided": Voided,
    "entrant": EntrantChange,
}
"""The payload of each kind."""
_Said: TypeAlias = Move | Info
_KINDS: Mapping[type[Payload], Kind] = {body: kind for kind, body in BODIES.items()}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a tournament."""

    seq: int
    """Given by the store, higher for later ones."""
    tournament: int
    """Id of the tournament."""
    match: int | None = None
    """Number of the match within the tournament, from 1; None where it is about the tournament itself."""
    attempt: int = 0
    """How many void attempts at this match lie behind it."""
    ply: int = 0
    """How many actions the match has, that of a `move` included."""
    kind: Kind
    payload: Mapping[str, Any]
    """Plain data; `body()` gives it with its type."""
    t: float
    """UTC seconds."""

    def body(self) -> Payload:
        """Give the payload with the type of its kind.

        Raises:
            ProtocolError: the payload is not what its kind asks for.
        """
        try:
            return msgspec.convert(self.payload, BODIES[self.kind])
        except (msgspec.ValidationError, KeyError) as error:
            raise ProtocolError(f"event {self.seq} of kind {self.kind} cannot be read: {error}") from error


def make_event(  # noqa: PLR0913 # the envelope has these fields
    seq: int,
    body: Payload,
    *,
    t: float,
    tournament: int = 1,
    match: int | None = None,
    attempt: int = 0,
    ply: int = 0,
) -> Event:
    """Put a payload into its envelope."""
    payload: dict[str, Any] = msgspec.to_builtins(body)
    kind = _KINDS[type(body)]
    return Event(
        seq=seq, tournament=tournament, match=match, attempt=attempt, ply=ply, kind=kind, payload=payload, t=t
    )


def kind_of(body: Payload) -> Kind:
    """Give the kind that a payload belongs to."""
    return _KINDS[type(body)]


def thoughts_of(  # noqa: PLR0913 # a bot may say all this
    *,
    value: float | None = None,
    policy: Mapping[int, float] | None = None,
    visits: Mapping[int, int] | None = None,
    pv: Sequence[int] | None = None,
    nodes: int | None = None,
    depth: int | None = None,
    text: str | None = None,
) -> Thoughts:
    """Make thoughts of what a referee hands on, where policy and visits are mappings by action."""
    return Thoughts(
        value=value,
        policy=None if policy is None else tuple(sorted(policy.items())),
        visits=None if visits is None else tuple(sorted(visits.items())),
        pv=None if pv is None else tuple(pv),
        nodes=nodes,
        depth=depth,
        text=text,
    )


def pack(body: Payload) -> str:
    """Write a payload as JSON of at most `MAX_PAYLOAD` characters; of large boards the main actions stay.

    Raises:
        ProtocolError: it stays too long.
    """
    text = msgspec.json.encode(body).decode()
    if isinstance(body, Move | Info):
        for shorten in (_rounded, _fewer, _bare):
            if len(text) > MAX_PAYLOAD:
                text = msgspec.json.encode(shorten(body)).decode()
    if len(text) > MAX_PAYLOAD:
        raise ProtocolError(f"a payload of {len(text)} characters is too long; {MAX_PAYLOAD} are taken")
    return text


def unpack(text: str) -> Mapping[str, Any]:
    """Read what `pack` wrote, as the payload of an `Event`.

    Raises:
        ProtocolError: `text` is no JSON object.
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
