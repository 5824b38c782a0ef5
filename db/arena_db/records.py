"""The frozen values that go into the store and come out of it; plain data, no rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from arena_db.pools import PoolRecord

# Callers import all records from here; the aliases say that these names are meant to leave again.
from arena_db.match_filter import MatchFilter as MatchFilter  # noqa: PLC0414
from arena_db.match_filter import MatchSelection as MatchSelection  # noqa: PLC0414
from arena_db.match_filter import OpeningFilter as OpeningFilter  # noqa: PLC0414
from arena_db.plan_records import BatchRecord as BatchRecord  # noqa: PLC0414
from arena_db.plan_records import NewBatch as NewBatch  # noqa: PLC0414
from arena_db.plan_records import OpenPlan as OpenPlan  # noqa: PLC0414
from arena_db.plan_records import PairedResult as PairedResult  # noqa: PLC0414
from arena_db.plan_records import PlannedMatch as PlannedMatch  # noqa: PLC0414
from arena_db.plan_records import SeededMatch as SeededMatch  # noqa: PLC0414
from arena_db.run_records import CommandRecord as CommandRecord  # noqa: PLC0414
from arena_db.run_records import EventPage as EventPage  # noqa: PLC0414
from arena_db.run_records import LiveEvent as LiveEvent  # noqa: PLC0414
from arena_db.run_records import Snapshot as Snapshot  # noqa: PLC0414

UNBEGUN: Final = ("preparing", "refused")
"""States of a tournament that nobody is entered in yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotRecord:
    """A competitor, known by its content: new weights or options are a new competitor."""

    identity: str
    """SHA-256 in hex over everything below."""
    name: str
    """The name of its entry point."""
    spec: str
    """Its canonical text, `mcts:playouts=1000`."""
    distribution: str
    """The distribution it comes from."""
    version: str
    """The version of that distribution."""
    files: str
    """JSON object: file name to SHA-256, for its weights and the files its options name."""
    content: str = ""
    """SHA-256 in hex of the file tree that is run; empty where the code was not hashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A bot in a tournament."""

    seat: int
    """Its place on the command line, from 0."""
    label: str
    """Its name in this tournament, unique there."""
    bot: BotRecord
    limit: str
    """Its own limit where that differs from the tournament's, as TimeControl text; else empty."""
    state: Literal["playing", "left", "out"] = "playing"
    """playing, left (it keeps its matches) or out (disqualified)."""
    anchor: float | None = None
    """Elo it is given in tables of this tournament; None where it is rated."""
    joined: int = 0
    """Id of the change by which it joined; 0 where it was there from the beginning."""
    left: int = 0
    """Id of the change by which it left or was disqualified; 0 while it plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTournament:
    """A tournament before it is stored."""

    name: str
    """Unique; empty for type and number (`rr-42`), given by the store."""
    type: str
    """round-robin, gauntlet, match, play, ladder, swiss or knockout."""
    game: str
    """Canonical spec of the game, `gomoku:k=4,size=6`."""
    num_actions: int
    """Of the game; above 256 an action takes two bytes in the store."""
    pool: PoolRecord
    """Ratings are fitted per game and pool."""
    seed: int
    """Tournament seed, 63 bits."""
    config: str
    """Everything that defines it, as TOML."""
    event: str
    site: str
    plan_version: int = 2
    """How its plan is built again from its configuration: 1 numbers encounters by their place in a round, 2
    by their seats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentRecord(NewTournament):
    """A stored tournament."""

    id: int
    uid: str
    """32 hexadecimal digits that no other tournament of any store has."""
    state: str
    """running, stopped or finished; preparing before its bots are checked, refused where one failed that."""
    created_at: float
    """UTC seconds."""
    num_planned: int
    """Matches planned so far, dropped ones included."""
    num_total: int | None
    """Matches that are to be played in all; None where nobody can know yet."""
    num_done: int
    """Matches with a final result."""
    num_dropped: int
    """Matches that were planned and are not needed any more."""
    is_planned: bool
    """Whether the plan is complete."""
    decision: str
    """What the event was held to decide, once that is known, or why it was refused; empty where it decides
    nothing."""
    archived_at: float | None
    """When it was hidden, UTC seconds; None where it is shown."""

    @property
    def has_begun(self) -> bool:
        """Whether its bots are entered; else it is being prepared, or was refused."""
        return self.state not in UNBEGUN

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to plan or to play."""
        return self.is_planned and self.num_done + self.num_dropped == self.num_planned


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRecord:
    """One play of a planned match, whole."""

    tournament: int
    """Id of the tournament."""
    number: int
    """Number of the planned match within the tournament."""
    attempt: int
    """0, or how many void attempts were stored before this one."""
    first: str
    """Identity of the bot that moves first."""
    second: str
    outcome: str
    """first, second, draw or void."""
    termination: str
    reason: str
    """In words, `X wins by four in a row`, as printed after `Finished game`."""
    rated: bool
    is_final: bool
    """Whether the planned match is done with this record and needs no more play; save() then marks it done.

    A void record is final, too, where nobody would gain by playing again (both bots failed to start).
    """
    actions: tuple[int, ...]
    """From the initial state, opening included."""
    num_opening: int
    """How many of `actions` were given."""
    times_ms: tuple[int, ...]
    """Elapsed milliseconds per action; 0 in the opening."""
    values: tuple[float | None, ...]
    """What the mover claimed to expect, for the side to move in [-1, 1]; None where it claimed nothing.

    The store keeps four-byte floats.
    """
    match_hash: str
    """SHA-256 in hex of game, parameters and the least action sequence over the symmetries."""
    seed_first: int
    seed_second: int
    started_at: float
    """UTC seconds."""
    duration_ms: int
    tier: str
    """Isolation the bots were run in: T0, T1, …"""
    fault: str
    """JSON object with the evidence of a fault, or empty."""
    versions: str
    """JSON object: arena, python, platform."""
    remarks: bytes = b""
    """What the movers said beside values, as `pack_remarks` packs it; empty where nobody said any such thing.

    A stored match comes without them; `Store.remarks` gives them.
    """
    idle_cpu_first_ms: float | None = None
    """Milliseconds of CPU that the first bot used while it had to wait; None where nobody measured it."""
    idle_cpu_second_ms: float | None = None
    limits: str = ""
    """How memory, tasks and CPU of the bots were limited: `kernel`, `polled`, or empty where unknown."""
    runtime_first: str = ""
    """The runtime that ran the first bot's code, such as `python 3.11.2`; empty where unknown."""
    runtime_second: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a bot said about a position it moved in, beside the value it claimed."""

    policy: tuple[tuple[int, float], ...] | None = None
    """Pairs of action and probability, which sum to 1; the store keeps five digits."""
    visits: tuple[tuple[int, int], ...] | None = None
    """Pairs of action and number of visits."""
    pv: tuple[int, ...] | None = None
    """The expected actions, its own first."""
    nodes: int | None = None
    depth: int | None = None
    """In plies."""
    text: str | None = None
    """For people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMatch(MatchRecord):
    """A match with its number in the store and the names people read."""

    id: int
    game: str
    tournament_name: str
    encounter: int
    """Of the planned match, as `match_no`."""
    match_no: int
    first_seat: int
    """Seat in the tournament of the bot that moves first."""
    second_seat: int
    first_label: str
    second_label: str
    void_reason: str = ""
    """Why it is out of all tables; empty where it is not."""


class Tally(NamedTuple):
    """How often two bots met with one result: the material of ratings and crosstables.

    There may be thousands of them, and a tuple is made in a tenth of the time of other frozen values.
    """

    tournament: int
    game: str
    pool: str
    """Its name."""
    first: str
    """Identity of the bot that moved first."""
    second: str
    first_seat: int
    """Its seat in the tournament: one identity may sit twice in a `match`."""
    second_seat: int
    outcome: str
    termination: str
    rated: bool
    num_matches: int


class Entered(NamedTuple):
    """A bot in a tournament."""

    tournament: int
    """Its id."""
    seat: int
    label: str
    identity: str


class PlayedMatch(NamedTuple):
    """What a rated match tells ratings; a tuple, as there may be hundreds of thousands."""

    id: int
    tournament: int
    encounter: int
    match_no: int
    """Within the encounter; matches 2k and 2k + 1 are a pair."""
    first_seat: int
    second_seat: int
    outcome: str
    opening_hash: int
    """60 bits that tell an opening from others."""
    match_hash: bytes
    """32 bytes, equal for equal matches, mirrored and turned ones included."""


class PackedMatch(NamedTuple):
    """What training data is made of, as the store keeps it; a million of them are read in seconds."""

    id: int
    tournament: int
    """Id of the tournament."""
    first_seat: int
    """Seat in the tournament of the bot that moves first."""
    second_seat: int
    outcome: str
    termination: str
    actions: bytes
    """From the initial state; one byte each, two (little-endian) in a game of more than 256 actions."""
    num_opening: int
    """How many of the actions were given."""
    claims: bytes
    """What the mover claimed to expect, a little-endian four-byte float per action, NaN where nothing was
    claimed; empty where nothing ever was."""
    match_hash: bytes
    """32 bytes, equal for equal matches, mirrored and turned ones included."""
    started_at: float
    """UTC seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """How many matches of a tournament a query is about."""

    tournament: int
    """Id of the tournament."""
    game: str
    """Canonical spec of the game."""
    num_matches: int
    num_actions: int
    """Of all of them, openings included."""
