"""The types of all answers of the API; where a command prints the same thing, the keys are the same."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from arena.live.events import Kind
from arena.live.tournaments import State
from arena.results.bot_page import BotPage
from arena.results.brackets import BracketRow
from arena.results.crosstable import Cell
from arena.results.place_table import PlaceRow
from arena.results.tables import Row
from arena.results.versus import Versus
from arena.watching.json_rows import named_object
from arena.watching.whole_objects import UnplayedMatch
from arena_db.records import Remark

_Answer = TypeVar("_Answer", bound=msgspec.Struct)
Schema: TypeAlias = Literal["arena/1"]
"""What every object that a command prints says of its keys: they stay, and more may come."""


class ListedTournament(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament in a list, as `arena tournaments` prints it."""

    type: Literal["tournament"]
    schema: Schema
    name: str
    pairing: str
    game: str
    pool: str
    state: State
    num_done: int
    num_planned: int | None
    created_at: str
    held_by: str | None
    refusal: str | None
    archived_at: str | None
    num_bots: int


class RefusedBot(msgspec.Struct, frozen=True, kw_only=True):
    """A bot that was left out of a tournament."""

    bot: str
    cause: str


class StoredBot(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor: SHA-256 of what it is, and what it was made of."""

    identity: str
    name: str
    spec: str
    distribution: str
    version: str
    files: dict[str, Any]
    content: str | None


class SeatAnswer(StoredBot, frozen=True, kw_only=True):
    """A competitor of one tournament."""

    seat: int
    label: str
    limit: str | None


class EntrantAnswer(SeatAnswer, frozen=True, kw_only=True):
    """A competitor of one tournament, and whether it still plays there."""

    type: Literal["entrant"]
    schema: Schema
    state: Literal["playing", "left", "out"]


class CompetitorAnswer(StoredBot, frozen=True, kw_only=True):
    """A competitor of any tournament, and how much it played."""

    type: Literal["competitor"]
    schema: Schema
    label: str
    """What it was called last."""
    address: str
    """Names this one and no other."""
    games: int
    """Matches that count."""
    forfeits: dict[str, int]
    """By termination."""


class ChangeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody decided about a tournament."""

    kind: str
    subject: str
    reason: str
    who: str
    made_at: str


class HolderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The process that runs a tournament."""

    pid: int
    host: str
    heard_at: str
    silent_s: float
    is_silent: bool


class PlaceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A bot in a table by place; of a knockout place and name alone."""

    place: int | None
    name: str
    points: float | UnsetType = UNSET
    buchholz: float | UnsetType = UNSET
    cut_one: float | UnsetType = UNSET
    median: float | UnsetType = UNSET
    sonneborn_berger: float | UnsetType = UNSET
    direct: float | UnsetType | None = UNSET
    wins: int | UnsetType = UNSET


class WholeTournament(msgspec.Struct, frozen=True, kw_only=True):
    """All of a tournament but its matches, as `arena show` prints it."""

    type: Literal["tournament"]
    schema: Schema
    name: str
    pairing: str
    game: str
    pool: str
    seed: int
    state: str
    refusal: str | None
    num_planned: int | None
    num_done: int
    created_at: str
    event: str
    site: str
    config: str
    refused: tuple[RefusedBot, ...]
    bots: tuple[SeatAnswer, ...]
    changes: tuple[ChangeAnswer, ...]
    holder: HolderAnswer | None
    test: dict[str, Any] | None
    places: tuple[PlaceAnswer, ...]
    bracket: tuple[BracketRow, ...]


class RatingAnswer(Row, frozen=True, kw_only=True):
    """A bot in a table of ratings."""

    type: Literal["rating"]
    schema: Schema
    game: str
    table: int
    """From 1; bots of different tables are connected by no match."""
    num_bots: int
    first_advantage: float
    first_advantage_error: float | None
    num_unrated: int
    replayed: bool | None
    num_other_pools: int | UnsetType = UNSET
    """Of a leaderboard alone."""


class CellAnswer(Cell, frozen=True, kw_only=True):
    """A bot against another, as `arena crosstable` prints it."""

    type: Literal["cell"]
    schema: Schema
    score: float | None = None  # pyright: ignore[reportIncompatibleMethodOverride] # a key of the JSON


class StandingPlace(PlaceRow, frozen=True, kw_only=True):
    """A bot in a table by place, as `arena crosstable --tie-breaks` prints it."""

    type: Literal["place"]
    schema: Schema


class BracketAnswer(BracketRow, frozen=True, kw_only=True):
    """An encounter of a knockout."""

    type: Literal["bracket"]
    schema: Schema


class MatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match, as `arena matches` prints it."""

    type: Literal["match"]
    schema: Schema
    id: int
    """Number of the match in the store."""
    address: str
    tournament: str
    number: int
    attempt: int
    encounter: int
    match_no: int
    game: str
    first: str
    second: str
    first_identity: str
    second_identity: str
    first_seat: int
    second_seat: int
    result: str
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str
    void_reason: str
    rated: bool
    is_final: bool
    plies: int
    actions: tuple[int, ...]
    num_opening: int
    times_ms: tuple[int, ...]
    values: tuple[float | None, ...]
    match_hash: str
    seed_first: int
    seed_second: int
    started_at: str
    duration_ms: int
    tier: str
    fault: dict[str, Any] | None
    versions: dict[str, Any] | None
    idle_cpu_first_ms: float | None
    idle_cpu_second_ms: float | None
    limits: str | None
    runtime_first: str | None
    runtime_second: str | None


class NextMoveAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="next-move"):
    """A move that was played next in a position."""

    schema: Schema
    game: str
    line: tuple[str, ...]
    matches: int
    """That had the position."""
    transposed: int
    ended: int
    move: str
    action: int
    twins: tuple[str, ...]
    games: int
    """In which this move was played next."""
    given: int
    wins: int
    draws: int
    losses: int
    different: int
    score: float
    score_low: float
    score_high: float
    perfect: None
    """Always null: what perfect play says needs the solver, which `arena openings` loads."""
    plies: None


class JudgedSide(msgspec.Struct, frozen=True, kw_only=True):
    """How one side of a match played, by a judge."""

    judged: int
    unknown: int
    optimal: int
    first_blunder: int | None
    accuracy: float | None


class PlyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One action of a match, judged."""

    ply: int
    player: int
    action: int
    best: tuple[int, ...]
    value_before: float | None
    value_after: float | None
    distance_before: int | None
    distance_after: int | None
    scores: tuple[tuple[int, float | None, int | None], ...]
    line: tuple[int, ...]
    loss: float | None


class JudgedWhole(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said of a match."""

    judge: str
    first: JudgedSide
    second: JudgedSide
    plies: tuple[PlyAnswer, ...]


class WholeMatch(MatchAnswer, frozen=True, kw_only=True):
    """A stored match with what its bots and its judge said, as `arena show` prints it."""

    remarks: tuple[Remark | None, ...]
    analysis: JudgedWhole | None


class UnplayedAnswer(UnplayedMatch, frozen=True, kw_only=True):
    """A match that has no result yet, as `arena show` prints it."""

    type: Literal["match"]
    schema: Schema


class BotPageAnswer(BotPage, frozen=True, kw_only=True):
    """All of a bot, as `arena bots show` prints it."""

    type: Literal["bot-page"]
    schema: Schema


class VersusAnswer(Versus, frozen=True, kw_only=True):
    """Two bots head to head, as `arena versus` prints them."""

    type: Literal["versus"]
    schema: Schema


class EventAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a tournament."""

    seq: int
    """Higher for later events of the tournament; other tournaments number their own."""
    kind: Kind
    match: int | None
    """Number of the match in the plan; None where it is about the tournament."""
    attempt: int
    ply: int
    """How many actions the match has, that of a `move` included."""
    t: float
    """UTC seconds."""
    payload: dict[str, Any]


class EventsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a tournament, oldest first."""

    events: tuple[EventAnswer, ...]
    seq: int
    """Ask for those after this number next."""
    gap: bool
    """Whether older events were cleaned away: `events` then are the state, and begin anew."""


class CommandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator said to a command."""

    kind: str
    tournament: str
    answer: str


class HealthAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The server runs, and its store can be read."""

    status: Literal["ok"] = "ok"


def answer_of(kind: type[_Answer], name: str, values: dict[str, object]) -> _Answer:
    """Return an object of JSON by its type.

    Args:
        kind: the type of the answer.
        name: what the object says it is: `match`.
        values: its other keys.

    Raises:
        msgspec.ValidationError: the values are of another type, which is a fault of the server.
    """
    return msgspec.convert(named_object(name, values), kind)
