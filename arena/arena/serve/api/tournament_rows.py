"""The routes of tournaments: the list, one in full, its tables, and commands to its coordinator."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from arena.coordinator.client import ask
from arena.coordinator.commands import RunCommand
from arena.coordinator.event_tables import event_tables, place_rows_of
from arena.errors import ArenaError, ConfigError, StoreError
from arena.results.crosstable import crosstable
from arena.results.rating_tables import standings
from arena.serve.api.answers import (
    BracketAnswer,
    CellAnswer,
    CommandAnswer,
    EntrantAnswer,
    ListedTournament,
    RatingAnswer,
    StandingPlace,
    WholeTournament,
    answer_of,
)
from arena.serve.api.paging import page_of
from arena.serve.api.questions import TableChoice, TournamentFilters
from arena.serve.problems import ProblemError
from arena.serve.rows import DataRoute, Route
from arena.watching.objects import entrant_object, listed_object
from arena.watching.table_objects import cell_objects, event_objects, rating_objects
from arena.watching.whole_objects import whole_tournament

if TYPE_CHECKING:
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena.serve.rows import Raw
    from arena_db.records import TournamentRecord


class CommandBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command to the process that runs a tournament."""

    kind: Literal["pause", "resume", "stop", "abort"]


def _record(reading: Reading, context: RequestContext) -> TournamentRecord:
    return reading.tournament(context.parameters["tournament"])


def _list(reading: Reading, context: RequestContext) -> Raw:
    asked = context.query(TournamentFilters)
    store = reading.store
    before = None if asked.before is None else reading.tournament(asked.before).id
    found = store.tournaments(before=before, limit=asked.limit + 1, archived=asked.all)
    shown = found[: asked.limit]
    rows = [answer_of(ListedTournament, "tournament", listed_object(store, record)) for record in shown]
    following = reading.slugs[shown[-1].name] if len(found) > len(shown) else None
    return page_of(rows, context, following)


def _whole(reading: Reading, context: RequestContext) -> WholeTournament:
    return answer_of(
        WholeTournament, "tournament", whole_tournament(reading.store, _record(reading, context))
    )


def _standings(reading: Reading, context: RequestContext) -> list[RatingAnswer]:
    tables = standings(reading.store, _record(reading, context))
    return [answer_of(RatingAnswer, "rating", row) for row in rating_objects(tables)]


def _table(reading: Reading, context: RequestContext) -> list[CellAnswer] | list[StandingPlace]:
    store, record = reading.store, _record(reading, context)
    if context.query(TableChoice).tie_breaks:
        return [
            answer_of(StandingPlace, "place", msgspec.structs.asdict(row))
            for row in place_rows_of(store, record)
        ]
    order = [row.name for table in standings(store, record) for row in table.rows]
    return [answer_of(CellAnswer, "cell", cell) for cell in cell_objects(crosstable(store, record, order))]


def _entrants(reading: Reading, context: RequestContext) -> list[EntrantAnswer]:
    entrants = reading.store.entrants(_record(reading, context).id)
    return [
        answer_of(EntrantAnswer, "entrant", entrant_object(entrant) | {"state": entrant.state})
        for entrant in entrants
    ]


def _bracket(reading: Reading, context: RequestContext) -> list[BracketAnswer]:
    rows = event_objects(event_tables(reading.store, _record(reading, context)))
    return [answer_of(BracketAnswer, "bracket", row) for kind, row in rows if kind == "bracket"]


def _command(reading: Reading, context: RequestContext) -> CommandAnswer:
    if context.settings.read_only:
        raise ProblemError(403, "This server takes no commands (--read-only); its host's terminal does.")
    record, body = _record(reading, context), context.body(CommandBody)
    command = msgspec.convert({"kind": body.kind}, RunCommand)
    try:
        answer = ask(context.settings.db, record.id, command)
    except (StoreError, ConfigError):
        raise
    except ArenaError as error:
        # Either no process runs the tournament, or that process is silent: the command has no receiver.
        raise ProblemError(409, str(error)) from error
    return CommandAnswer(kind=body.kind, tournament=record.name, answer=answer)


_ONE: Final = "/api/v1/tournaments/{tournament}"
TOURNAMENT_ROWS: Final[tuple[Route, ...]] = (
    DataRoute(
        path="/api/v1/tournaments",
        query=TournamentFilters,
        handle=_list,
        answer=list[ListedTournament],
        summary="Tournaments, newest first; what `arena tournaments` prints.",
    ),
    DataRoute(
        path=_ONE,
        handle=_whole,
        answer=WholeTournament,
        summary="All of a tournament but its matches; what `arena show` prints.",
    ),
    DataRoute(
        path=f"{_ONE}/standings",
        handle=_standings,
        kept_s=inf,
        answer=list[RatingAnswer],
        summary="Ratings of the bots of a tournament, with 95 % intervals.",
    ),
    DataRoute(
        path=f"{_ONE}/table",
        query=TableChoice,
        handle=_table,
        kept_s=inf,
        answer=list[CellAnswer],
        other_answer=list[StandingPlace],
        summary="Every bot of a tournament against every other; what `arena crosstable` prints.",
    ),
    DataRoute(
        path=f"{_ONE}/entrants",
        handle=_entrants,
        kept_s=inf,
        answer=list[EntrantAnswer],
        summary="The bots of a tournament by seat, those included that left.",
    ),
    DataRoute(
        path=f"{_ONE}/bracket",
        handle=_bracket,
        kept_s=inf,
        answer=list[BracketAnswer],
        summary="The encounters of a knockout; none of another event.",
    ),
    DataRoute(
        path=f"{_ONE}/commands",
        method="POST",
        role="host",
        body=CommandBody,
        handle=_command,
        answer=CommandAnswer,
        cache="no-store",
        summary="Ask the process that runs a tournament to pause, resume, stop or abort; its answer.",
    ),
)
