"""The rows of bots, of head-to-heads and of matches as text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from arena.errors import ConfigError, ExportError
from arena.pages.bot import bot_page, bots_page
from arena.pages.versus import versus_page
from arena.results.addresses import find_in
from arena.serve.problems import ProblemError
from arena.serve.rows import DataRoute, PageRoute, Raw, Route
from arena.watching.page_source import match_text
from arena.watching.page_views import BotListPage, BotProfile, VersusPage
from arena.watching.profiles import EventProfiles, Profiles

if TYPE_CHECKING:
    from arena.serve.context import RequestContext
    from arena.serve.reading import Reading

_MEDIA: Final = {"pgn": "application/x-chess-pgn", "sgf": "application/x-go-sgf"}


def _bots(reading: Reading, context: RequestContext) -> BotListPage:
    del context
    return Profiles(reading.store).bots()


def _bot(reading: Reading, context: RequestContext) -> BotProfile:
    profiles = Profiles(reading.store)
    return profiles.bot(profiles.identity_of(context.parameters["bot"]))


def _versus(reading: Reading, context: RequestContext) -> VersusPage:
    record = reading.tournament(context.parameters["tournament"])
    profiles = EventProfiles(reading.store, record)
    one, other = (profiles.identity_of(context.parameters[name]) for name in ("one", "other"))
    return profiles.versus(one, other)


def _text(form: str, reading: Reading, context: RequestContext) -> Raw:
    record = reading.tournament(context.parameters["tournament"])
    number = context.parameters["match"]
    match = find_in(reading.store, record, number).match
    if match is None:
        raise ProblemError(404, f"{record.name}/{number} has no result yet.")
    # What is asked for is digits and a dot by now, and the name of a tournament may hold anything.
    headers = {"content-disposition": f'attachment; filename="{number}.{form}"'}
    try:
        text = match_text(reading.store, match, form)
    except (ConfigError, ExportError) as error:
        raise ProblemError(404, f"{record.name}/{number} cannot be written as {form}: {error}") from error
    return Raw(content=text.encode(), media_type=f"{_MEDIA[form]}; charset=utf-8", headers=headers)


PROFILE_ROWS: Final[tuple[Route, ...]] = (
    PageRoute(
        path="/bots", handle=_bots, show=bots_page, answer=BotListPage, summary="All bots with a rated match."
    ),
    PageRoute(
        path="/b/{bot}",
        handle=_bot,
        show=bot_page,
        answer=BotProfile,
        summary="A bot by the first digits of its identity: ratings, opponents, losses, forfeits, hashes.",
    ),
    PageRoute(
        path="/t/{tournament}/v/{one}/{other}",
        handle=_versus,
        show=versus_page,
        answer=VersusPage,
        summary="Two bots of a tournament head to head, by the first digits of their identities.",
    ),
    *(
        DataRoute(
            path=f"/t/{{tournament}}/{{match}}.{form}",
            handle=partial(_text, form),
            summary=f"A stored match as {form.upper()}.",
        )
        for form in _MEDIA
    ),
)
