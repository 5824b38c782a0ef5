"""The routes of tournaments and matches: lists in pages, one in full, tables, commands to a coordinator."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from msgspec.structs import replace

from arena.coordinator.client import ask
from arena.coordinator.commands import RunCommand
from arena.coordinator.event_tables import event_tables, place_rows_of
from arena.errors import ArenaError, ConfigError, NotFoundError, StoreError
from arena.pages.twins import twin_json
from arena.results.absence import check_names
from arena.results.addresses import find_address, find_played
from arena.results.crosstable import crosstable
from arena.results.rating_tables import standings
from arena.serve.api.answers import (
    BracketAnswer,
    CellAnswer,
    CommandAnswer,
    EntrantAnswer,
    ListedTournament,
    MatchAnswer,
    RatingAnswer,
    StandingPlace,
    UnplayedAnswer,
    WholeMatch,
    WholeTournament,
    answer_of,
)
from arena.serve.api.questions import MatchFilters, TableChoice, TournamentFilters
from arena.serve.problems import ProblemError
from arena.serve.rows import JSON, DataRoute, Raw, Route
from arena.watching.objects import entrant_object, listed_object, stored_match_object
from arena.watching.table_objects import cell_objects, event_objects, rating_objects
from arena.watching.whole_objects import is_played_again, unplayed_match, whole_match, whole_tournament

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.addresses import Address
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena.watching.whole_objects import UnplayedMatch
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
    # One row more than requested shows whether there is a next page, without counting all rows.
    found = store.tournaments.newest(before=before, limit=asked.limit + 1, archived=asked.all)
    shown = found[: asked.limit]
    rows = [answer_of(ListedTournament, "tournament", listed_object(store, record)) for record in shown]
    following = reading.slugs[shown[-1].name] if len(found) > len(shown) else None
    return _page_of(rows, context, following)


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
    entrants = reading.store.tournaments.entrants(_record(reading, context).id)
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


def _list_matches(reading: Reading, context: RequestContext) -> Raw:
    asked, store = context.query(MatchFilters), reading.store
    condition = asked.condition()
    where = condition.to_filter(store, rated_only=not asked.unrated)
    newest = None if asked.before is None else find_played(store, asked.before)[0].id
    found = store.matches.newest(where, before=newest, limit=asked.limit + 1)
    if not found and newest is None:
        check_names(store, condition)
    shown = found[: asked.limit]
    rows = [answer_of(MatchAnswer, "match", stored_match_object(match)) for match in shown]
    # The store id identifies the match: void attempts have one, too, and it needs no escapes in an address.
    return _page_of(rows, context, str(shown[-1].id) if len(found) > len(shown) else None)


def _whole_match(reading: Reading, context: RequestContext) -> WholeMatch | UnplayedAnswer:
    store, address = reading.store, _address(reading, context.parameters["address"])
    if address.number is None:
        raise NotFoundError(
            f"{address} is a tournament, not a match; /api/v1/matches?tournament={address} lists its matches"
        )
    if address.match is not None and not is_played_again(store, address):
        # Not solved: a request of an anonymous client could cost seconds of CPU, which matches need more.
        return answer_of(WholeMatch, "match", whole_match(store, address.match, is_solved=False))
    found = _held_back(unplayed_match(store, address), context)
    return answer_of(UnplayedAnswer, "match", msgspec.structs.asdict(found))


def _address(reading: Reading, text: str) -> Address:
    """Return the address that a text names; the tournament may be its uid, as in addresses of pages."""
    head, slash, tail = text.partition("/")
    if slash and reading.store.tournaments.find(head) is None:
        name = next((name for name, slug in reading.slugs.items() if slug == head), head)
        text = f"{name}/{tail}"
    return find_address(reading.store, text)


def _held_back(match: UnplayedMatch, context: RequestContext) -> UnplayedMatch:
    """Return a match without its last moves if viewers may be opponents (`--delay`)."""
    delay = context.settings.delay
    if not delay or context.caller.may("host"):
        return match
    shown = max(match.num_opening, len(match.actions) - delay)
    return replace(match, actions=match.actions[:shown])


MATCH_ROWS: Final[tuple[Route, ...]] = (
    DataRoute(
        path="/api/v1/matches",
        query=MatchFilters,
        handle=_list_matches,
        kept_s=inf,
        answer=list[MatchAnswer],
        summary="Stored matches, newest first; what `arena matches` prints under the same filters.",
    ),
    DataRoute(
        path="/api/v1/matches/{address:path}",
        handle=_whole_match,
        answer=WholeMatch,
        other_answer=UnplayedAnswer,
        summary="A match by its address, `spring/89` or `spring/89.1`, in full; what `arena show` prints "
        "with a stored grading.",
    ),
)


def _page_of(rows: Sequence[msgspec.Struct], context: RequestContext, before: str | None) -> Raw:
    """Return one page of a list as JSON.

    Args:
        rows: the rows of the page.
        context: the request, whose other parameters the next page keeps.
        before: value of the parameter `before` for the next page; None on the last page.
    """
    content = twin_json(rows)
    if before is None:
        return Raw(content=content, media_type=JSON)
    kept = [each for each in parse_qsl(context.query_text) if each[0] != "before"]
    following = f"{quote(context.path)}?{urlencode([*kept, ('before', before)])}"
    return Raw(content=content, media_type=JSON, headers={"link": f'<{following}>; rel="next"'})
