"""The palette's search for tournaments, matches and bots, and navigation to its results."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.command import Hit, Provider
from textual.content import Content
from typing_extensions import override

from arena.errors import ArenaError
from arena.results.condition import word
from arena.tui.app import LOWEST
from arena.tui.screens.bots_screen import BotsScreen
from arena.tui.screens.dashboard import Dashboard, dashboard_of
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.matrix_screen import MatrixScreen
from arena.tui.screens.page_screens import BotPageScreen
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.text import safe
from arena.watching.places import search_places
from arena.watching.query import Query
from arena_db.called import MARK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.watching.places import Place

SCREEN_OF: Final = {"table": MatrixScreen.NAME, "matches": MatchesScreen.NAME, "live": LiveScreen.NAME}
"""Names of screens by their names in addresses."""
_DIGITS: Final = 12
"""Number of digits of an identity with which a bot is requested."""
_SCORES: Final = (3000.0, 2000.0, 0.5)
"""Scores of exact, prefix and substring matches of a name; a command scores a few tens."""


class PlaceSearch(Provider):
    """Searches places of the store for the palette."""

    @override
    async def search(self, query: str) -> AsyncIterator[Hit]:
        app = dashboard_of(self.screen)
        question = Query(app.store, is_expected=False)
        try:
            places = await asyncio.to_thread(search_places, question, query)
        except ArenaError:
            # The banner shows what is wrong with the store; the palette still finds commands.
            return
        finally:
            # The next letter cancels this search, which must also interrupt its query.
            question.cancel()
        for number, place in enumerate(places):
            yield Hit(
                # A small offset keeps the order, which equal scores would lose.
                _SCORES[place.rank] - number / 1000,
                Content(safe(place.address)),
                partial(self._go, place),
                text=place.address,
                help=safe(place.about),
            )

    async def _go(self, place: Place) -> None:
        app = self.app
        if isinstance(app, StoreDashboard):
            await app.go(place)


class StoreDashboard(Dashboard):
    """The dashboard of a whole store, whose palette finds every tournament, match and bot in it."""

    COMMANDS = Dashboard.COMMANDS | {PlaceSearch}

    first: Place | None = None
    """The place shown at the start; None for the screen and match given to the constructor."""

    async def on_ready(self) -> None:
        """Show the place for which the dashboard was opened."""
        if self.first is not None:
            await self.go(self.first)

    async def go(self, place: Place) -> None:
        """Show a place; screens on top of the tab's screen are closed, if necessary after a question."""
        if place.kind == "bot":
            await self._go_to_bot(place)
        elif place.match:
            await self.leave(self.screen_stack[LOWEST:], partial(self._replay, place.match, place.ply))
        else:
            await self._go_to_tournament(place)

    async def _replay(self, match: int, ply: int | None) -> None:
        while len(self.screen_stack) > LOWEST:
            await self.pop_screen()
        await self.push_screen(ReplayScreen(match, ply=ply))

    async def _go_to_bot(self, place: Place) -> None:
        """Show the page of a bot, over the screen of bots with the cursor on it."""
        # A name without a version would mean all versions of the bot.
        is_bare = place.address == place.bot
        called = f"{place.address}{MARK}{place.identity[:_DIGITS]}" if is_bare else place.address

        def show(screen: object) -> None:
            if isinstance(screen, BotsScreen):
                screen.show_bot(place.bot)
                self.push_screen(BotPageScreen(called))

        await self.open_screen(BotsScreen.NAME, show)

    async def _go_to_tournament(self, place: Place) -> None:
        """Watch a tournament, or one of its matches as soon as it is known."""

        def show(screen: object) -> None:
            if self.tournament != place.tournament_name:
                self._watch(place.tournament, place.tournament_name)
            self.running = place.number
            if isinstance(screen, MatchesScreen):
                screen.show_condition(word("tournament", place.tournament_name))

        await self.open_screen(SCREEN_OF.get(place.screen, LiveScreen.NAME), show)
