"""The routes of matches: filtered lists, and one match in full."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from arena.errors import NotFoundError
from arena.results.absence import check_names
from arena.results.addresses import find_address, find_played
from arena.serve.api.answers import MatchAnswer, UnplayedAnswer, WholeMatch, answer_of
from arena.serve.api.paging import page_of
from arena.serve.api.questions import MatchFilters
from arena.serve.rows import DataRoute, Route
from arena.watching.objects import stored_match_object
from arena.watching.whole_objects import is_played_again, unplayed_match, whole_match

if TYPE_CHECKING:
    from arena.results.addresses import Address
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena.serve.rows import Raw
    from arena.watching.whole_objects import UnplayedMatch


def _list(reading: Reading, context: RequestContext) -> Raw:
    asked, store = context.query(MatchFilters), reading.store
    condition = asked.condition()
    where = condition.to_filter(store, rated_only=not asked.unrated)
    newest = None if asked.before is None else find_played(store, asked.before)[0].id
    found = store.matches(where, before=newest, limit=asked.limit + 1)
    if not found and newest is None:
        check_names(store, condition)
    shown = found[: asked.limit]
    rows = [answer_of(MatchAnswer, "match", stored_match_object(match)) for match in shown]
    # Identified by its number in the store, which void attempts have, too, and which needs no escapes.
    return page_of(rows, context, str(shown[-1].id) if len(found) > len(shown) else None)


def _whole(reading: Reading, context: RequestContext) -> WholeMatch | UnplayedAnswer:
    store, address = reading.store, _address(reading, context.parameters["address"])
    if address.number is None:
        raise NotFoundError(
            f"{address} is a tournament, not a match; /api/v1/matches?tournament={address} lists its matches"
        )
    if address.match is not None and not is_played_again(store, address):
        # Solving takes a request of an anonymous client up to seconds of CPU, which matches need more.
        return answer_of(WholeMatch, "match", whole_match(store, address.match, is_solved=False))
    found = _held_back(unplayed_match(store, address), context)
    return answer_of(UnplayedAnswer, "match", msgspec.structs.asdict(found))


def _address(reading: Reading, text: str) -> Address:
    """Return the address that a text names; the tournament may be its uid, as in addresses of pages."""
    head, slash, tail = text.partition("/")
    if slash and reading.store.tournament(head) is None:
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
        handle=_list,
        kept_s=inf,
        answer=list[MatchAnswer],
        summary="Stored matches, newest first; what `arena matches` prints under the same filters.",
    ),
    DataRoute(
        path="/api/v1/matches/{address:path}",
        handle=_whole,
        answer=WholeMatch,
        other_answer=UnplayedAnswer,
        summary="A match by its address, `spring/89` or `spring/89.1`, in full; what `arena show` prints "
        "with a stored grading.",
    ),
)
