"""The types of all JSON answers of the API; the keys are those that the commands print."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from arena.live.events import Kind
from arena.live.tournament_views import State
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
"""Schema version in every JSON object of commands and API: keys are stable, new ones may be added."""


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
    """A bot that was refused by a tournament."""

    bot: str
    cause: str


class StoredBot(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor: its identity (a SHA-256), and the parts it was computed from."""

    identity: str
    name: str
    spec: str
    distribution: str
    version: str
    files: dict[str, Any]
    content: str | None


class SeatAnswer(StoredBot, frozen=True, kw_only=True):
    """A competitor of one tournament, with its seat."""

    seat: int
    label: str
    limit: str | None


class EntrantAnswer(SeatAnswer, frozen=True, kw_only=True):
    """A competitor of one tournament, and whether it still plays there."""

    type: Literal["entrant"]
    schema: Schema
    state: Literal["playing", "left", "out"]


class CompetitorAnswer(StoredBot, frozen=True, kw_only=True):
    """A competitor of any tournament, with its numbers of matches and forfeits."""

    type: Literal["competitor"]
    schema: Schema
    label: str
    """The competitor's last label."""
    address: str
    """An address that names this competitor and no other."""
    games: int
    """Number of rated matches."""
    forfeits: dict[str, int]
    """Number of forfeits by termination."""


class ChangeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of a person about a tournament."""

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
    """A bot in a table by place; a knockout has only place and name."""

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
    """A tournament in full except its matches, as `arena show` prints it."""

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
    """Number of the table, from 1; no match connects bots of different tables."""
    num_bots: int
    first_advantage: float
    first_advantage_error: float | None
    num_unrated: int
    replayed: bool | None
    num_other_pools: int | UnsetType = UNSET
    """Number of further pools with matches; only in a leaderboard."""


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
    """Number of matches that reached the position."""
    transposed: int
    ended: int
    move: str
    action: int
    twins: tuple[str, ...]
    games: int
    """Number of matches in which this move was played next."""
    given: int
    wins: int
    draws: int
    losses: int
    different: int
    score: float
    score_low: float
    score_high: float
    perfect: None
    """Always null: perfect play needs the solver, which only `arena openings` loads."""
    plies: None


class JudgedSide(msgspec.Struct, frozen=True, kw_only=True):
    """How well one side of a match played according to a judge."""

    judged: int
    unknown: int
    optimal: int
    first_blunder: int | None
    accuracy: float | None


class PlyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One judged action of a match."""

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
    """The verdict of a judge on a match."""

    judge: str
    first: JudgedSide
    second: JudgedSide
    plies: tuple[PlyAnswer, ...]


class WholeMatch(MatchAnswer, frozen=True, kw_only=True):
    """A stored match with the remarks of its bots and its stored grading, as `arena show` prints it."""

    remarks: tuple[Remark | None, ...]
    analysis: JudgedWhole | None


class UnplayedAnswer(UnplayedMatch, frozen=True, kw_only=True):
    """A match without a result, as `arena show` prints it."""

    type: Literal["match"]
    schema: Schema


class BotPageAnswer(BotPage, frozen=True, kw_only=True):
    """The results of a bot, as `arena bots show` prints them."""

    type: Literal["bot-page"]
    schema: Schema


class VersusAnswer(Versus, frozen=True, kw_only=True):
    """Two bots head to head, as `arena versus` prints them."""

    type: Literal["versus"]
    schema: Schema


class EventAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a tournament."""

    seq: int
    """Number of the event, increasing within a tournament; each tournament has its own numbers."""
    kind: Kind
    match: int | None
    """Number of the match in the plan; null for an event of the whole tournament."""
    attempt: int
    ply: int
    """Number of actions of the match, including that of a `move`."""
    t: float
    """UTC seconds."""
    payload: dict[str, Any]


class EventsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a tournament, oldest first."""

    events: tuple[EventAnswer, ...]
    seq: int
    """Number to pass as `after` in the next request."""
    gap: bool
    """Whether older events were deleted: `events` is then the complete state, which replaces older data."""


class CommandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the coordinator to a command."""

    kind: str
    tournament: str
    answer: str


class HealthAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The server is running, and its store can be read."""

    status: Literal["ok"] = "ok"


def answer_of(kind: type[_Answer], name: str, values: dict[str, object]) -> _Answer:
    """Convert a JSON object to its type.

    Args:
        kind: the type of the answer.
        name: value of the object's key `type`, such as `match`.
        values: values of the other keys.

    Raises:
        msgspec.ValidationError: the values do not match the type, which is a fault of the server.
    """
    return msgspec.convert(named_object(name, values), kind)
