"""The frozen values that are written to the store and read from it; plain data, no rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena_db.pools import PoolRecord

# Callers import all records from here; the aliases mark these names as re-exported.
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
"""States of a tournament that has no entrants yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotRecord:
    """A competitor, identified by its content: new weights or options make a new competitor."""

    identity: str
    """SHA-256 in hex over all fields below."""
    name: str
    """The name of its entry point."""
    spec: str
    """Its canonical spec, such as `mcts:playouts=1000`."""
    distribution: str
    """Name of the Python distribution that provides it."""
    version: str
    """The version of `distribution`."""
    files: str
    """JSON object: file name to SHA-256, for its weights and the files named in its options."""
    content: str = ""
    """SHA-256 in hex of its source tree; empty if the code was not hashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A bot in a tournament."""

    seat: int
    """Its place on the command line, from 0."""
    label: str
    """Its name in this tournament, unique there."""
    bot: BotRecord
    limit: str
    """Its own time limit as TimeControl text; empty if it has the tournament's."""
    state: Literal["playing", "left", "out"] = "playing"
    """playing, left (it keeps its matches) or out (disqualified)."""
    anchor: float | None = None
    """Fixed Elo in tables of this tournament; None if it is rated."""
    joined: int = 0
    """Id of the change by which it joined; 0 if it took part from the beginning."""
    left: int = 0
    """Id of the change by which it left or was disqualified; 0 while it plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTournament:
    """A tournament before it is stored."""

    name: str
    """Unique; if empty, the store makes one of type and number (`rr-42`)."""
    type: str
    """round-robin, gauntlet, match, play, ladder, swiss or knockout."""
    game: str
    """Canonical spec of the game, such as `gomoku:k=4,size=6`."""
    num_actions: int
    """Number of actions of the game; above 256 the store keeps two bytes per action."""
    pool: PoolRecord
    """The rating pool; ratings are fitted per game and pool."""
    seed: int
    """Tournament seed, 63 bits."""
    config: str
    """The complete configuration, as TOML."""
    event: str
    site: str
    plan_version: int = 2
    """Version of the rule that rebuilds the plan from the configuration: 1 numbers encounters by their place
    in a round, 2 by their seats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentRecord(NewTournament):
    """A stored tournament."""

    id: int
    uid: str
    """32 hexadecimal digits, unique among the tournaments of all stores."""
    state: str
    """running, stopped or finished; preparing until its bots are checked, refused if one failed the check."""
    created_at: float
    """Time of creation, UTC seconds."""
    num_planned: int
    """Number of matches planned so far, dropped ones included."""
    num_total: int | None
    """Number of matches of the whole tournament; None while it cannot be known."""
    num_done: int
    """Number of matches with a final result."""
    num_dropped: int
    """Number of planned matches that are no longer needed."""
    is_planned: bool
    """Whether the plan is complete."""
    decision: str
    """What the tournament decided, once known, or why it was refused; empty if it decides nothing."""
    archived_at: float | None
    """Time at which it was archived, UTC seconds; None if it is not."""

    @property
    def has_begun(self) -> bool:
        """Whether its bots are entered; otherwise it is being prepared or was refused."""
        return self.state not in UNBEGUN

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to plan or to play."""
        return self.is_planned and self.num_done + self.num_dropped == self.num_planned


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRecord:
    """One play of a planned match."""

    tournament: int
    """Id of the tournament."""
    number: int
    """Number of the planned match within the tournament."""
    attempt: int
    """Number of void attempts that were stored before this one."""
    first: str
    """Identity of the bot that moves first."""
    second: str
    outcome: str
    """first, second, draw or void."""
    termination: str
    reason: str
    """The reason in words, as printed after `Finished game`: `X wins by four in a row`."""
    rated: bool
    is_final: bool
    """Whether the planned match needs no more play after this record; `save` then marks it as done.

    A void record is final, too, if playing again would not help (both bots failed to start).
    """
    actions: tuple[int, ...]
    """All actions from the initial state, opening included."""
    num_opening: int
    """How many of `actions` belong to the opening."""
    times_ms: tuple[int, ...]
    """Elapsed milliseconds per action; 0 in the opening."""
    values: tuple[float | None, ...]
    """The value that the mover claimed, for the side to move in [-1, 1]; None if it claimed none.

    The store keeps four-byte floats.
    """
    match_hash: str
    """SHA-256 in hex of game, parameters and the smallest action sequence over the symmetries."""
    seed_first: int
    seed_second: int
    started_at: float
    """UTC seconds."""
    duration_ms: int
    tier: str
    """Isolation tier in which the bots ran: T0, T1, …"""
    fault: str
    """JSON object with the evidence of a fault; empty without a fault."""
    versions: str
    """JSON object: arena, python, platform."""
    remarks: bytes = b""
    """The movers' remarks besides values, encoded by `pack_remarks`; empty if there are none.

    A `StoredMatch` comes without them; `Store.matches.remarks` returns them.
    """
    idle_cpu_first_ms: float | None = None
    """CPU milliseconds that the first bot used while it had to wait; None if not measured."""
    idle_cpu_second_ms: float | None = None
    limits: str = ""
    """How memory, tasks and CPU of the bots were limited: `kernel`, `polled`, or empty if unknown."""
    runtime_first: str = ""
    """The runtime of the first bot's code, such as `python 3.11.2`; empty if unknown."""
    runtime_second: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a bot reported about a position it moved in, besides the value it claimed."""

    policy: tuple[tuple[int, float], ...] | None = None
    """Pairs of action and probability; probabilities sum to 1 and are stored with five digits."""
    visits: tuple[tuple[int, int], ...] | None = None
    """Pairs of action and number of visits."""
    pv: tuple[int, ...] | None = None
    """Principal variation: the expected actions, beginning with the bot's own."""
    nodes: int | None = None
    depth: int | None = None
    """Search depth in plies."""
    text: str | None = None
    """Free text for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMatch(MatchRecord):
    """A match with its id in the store and the names that people read."""

    id: int
    game: str
    tournament_name: str
    encounter: int
    """Number of the encounter, copied from the plan, like `match_no`."""
    match_no: int
    first_seat: int
    """Seat in the tournament of the bot that moves first."""
    second_seat: int
    first_label: str
    second_label: str
    void_reason: str = ""
    """Why the match is excluded from all tables; empty if it is not."""


class Tally(NamedTuple):
    """How often two bots met with one result: the input of ratings and crosstables.

    There may be thousands of them, and creating a tuple takes a tenth of the time of other frozen values.
    """

    tournament: int
    game: str
    pool: str
    """Name of the rating pool."""
    first: str
    """Identity of the bot that moved first."""
    second: str
    first_seat: int
    """Seat of `first` in the tournament: one identity may have two seats in a `match`."""
    second_seat: int
    outcome: str
    termination: str
    rated: bool
    num_matches: int


class PoolTally(NamedTuple):
    """How often two bots met with one result, in all tournaments of a pool."""

    game: str
    pool: str
    first: str
    """Identity of the bot that moved first."""
    second: str
    outcome: str
    termination: str
    num_matches: int


class PoolCounts(NamedTuple):
    """Counts of matches by pool, and the seats that the bots had, without matches of a bot against itself.

    A pool of 200 bots has some 100,000 counts, however many tournaments it has.
    """

    tallies: list[PoolTally]
    seats: dict[tuple[str, str], dict[tuple[int, int], str]]
    """Identities by tournament and seat, for each game and pool; all seats that have a count."""

    @classmethod
    def of(cls, tallies: Iterable[Tally]) -> PoolCounts:
        """Return the sums of counts by tournament."""
        sums: Counter[tuple[str, str, str, str, str, str]] = Counter()
        seats: defaultdict[tuple[str, str], dict[tuple[int, int], str]] = defaultdict(dict)
        for each in tallies:
            if each.first == each.second:
                continue
            pool = each.game, each.pool
            sums[*pool, each.first, each.second, each.outcome, each.termination] += each.num_matches
            seats[pool][each.tournament, each.first_seat] = each.first
            seats[pool][each.tournament, each.second_seat] = each.second
        return cls([PoolTally(*key, num) for key, num in sums.items()], dict(seats))


class Entered(NamedTuple):
    """A bot in a tournament."""

    tournament: int
    """Id of the tournament."""
    seat: int
    label: str
    identity: str


class PlayedMatch(NamedTuple):
    """The part of a rated match that ratings need; a tuple, as there may be hundreds of thousands."""

    id: int
    tournament: int
    encounter: int
    match_no: int
    """Within the encounter; matches 2k and 2k + 1 are a pair."""
    first_seat: int
    second_seat: int
    outcome: str
    opening_hash: int
    """60-bit hash of the opening."""
    match_hash: bytes
    """32 bytes, equal for matches that are equal up to a symmetry of the board."""


class PackedMatch(NamedTuple):
    """The part of a match that training data is made of, as stored; a million are read in seconds."""

    id: int
    tournament: int
    """Id of the tournament."""
    first_seat: int
    """Seat in the tournament of the bot that moves first."""
    second_seat: int
    outcome: str
    termination: str
    actions: bytes
    """All actions from the initial state; one byte each, two (little-endian) with more than 256 actions."""
    num_opening: int
    """How many of the actions belong to the opening."""
    claims: bytes
    """The movers' claimed values, a little-endian four-byte float per action, NaN for no claim; empty if none
    of the actions has a claim."""
    match_hash: bytes
    """32 bytes, equal for matches that are equal up to a symmetry of the board."""
    started_at: float
    """UTC seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """How many matches of a tournament match a query."""

    tournament: int
    """Id of the tournament."""
    game: str
    """Canonical spec of the game."""
    num_matches: int
    num_actions: int
    """Number of actions of all these matches, openings included."""
