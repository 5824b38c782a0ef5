"""Starts the dashboard, or its replay of one match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.client import Link
from arena.home import open_store
from arena.results.addresses import Address
from arena.tui.screens.app import Dashboard
from arena.tui.screens.bots import BotsScreen
from arena.tui.screens.export import ExportScreen
from arena.tui.screens.live import LiveScreen
from arena.tui.screens.matches import MatchesScreen
from arena.tui.screens.matrix import MatrixScreen
from arena.tui.screens.new_play import NewPlayScreen
from arena.tui.screens.places import SCREEN_OF, StoreDashboard
from arena.tui.screens.play import PlayScreen
from arena.tui.screens.replay import ReplayScreen
from arena.tui.screens.standings import StandingsScreen
from arena.tui.screens.tournaments import TournamentsScreen
from arena.tui.screens.train import TrainScreen
from arena.watching.first_feed import FirstFeed
from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from arena.tui.screens.app import ScreenOptions
    from arena.watching.feed import Feed
    from arena.watching.places import Place

SCREENS = (
    LiveScreen,
    StandingsScreen,
    MatchesScreen,
    MatrixScreen,
    BotsScreen,
    TrainScreen,
    TournamentsScreen,
    ExportScreen,
)
"""The screens with a digit."""
ALL_SCREENS = (*SCREENS, NewPlayScreen)
"""Those of a dashboard that is not for one thing alone."""


def watch_app(
    store: str | None, address: Address, *, is_read_only: bool = False, **options: Unpack[ScreenOptions]
) -> StoreDashboard:
    """Make the dashboard of one tournament, open at what an address names in it.

    Args:
        store: path of the store; None for the usual place.
        address: of the tournament, a screen or a match of it.
        is_read_only: whether commands are refused.
        options: as of the shell: glyphs, theme, reduce_motion, clock.
    """
    feed: Feed = StoreFeed(store, address.tournament.id, is_read_only=is_read_only, rates_past=True)
    return StoreDashboard(
        feed,
        ALL_SCREENS,
        store=store,
        tournament=address.tournament.name,
        match=0 if address.match is None else address.match.id,
        ply=address.ply,
        running=0 if address.number is None or address.match is not None else address.number,
        is_read_only=is_read_only,
        start=SCREEN_OF.get(address.screen, ""),
        **options,
    )


def empty_app(
    store: str | None, *, is_read_only: bool = False, **options: Unpack[ScreenOptions]
) -> StoreDashboard:
    """Make the dashboard of a store without tournaments, or of none yet: it waits for the first.

    Args:
        store: path of the store; None for the usual place.
        is_read_only: whether none may be begun from here.
        options: as of the shell.
    """
    feed: Feed = FirstFeed(store, is_read_only=is_read_only)
    return StoreDashboard(feed, ALL_SCREENS, store=store, is_read_only=is_read_only, **options)


def bot_app(
    store: str | None, bot: Place, *, is_read_only: bool = False, **options: Unpack[ScreenOptions]
) -> StoreDashboard:
    """Make the dashboard of the newest tournament, open at a bot.

    Args:
        store: path of the store; None for the usual place.
        bot: what is shown at first.
        is_read_only: whether commands are refused.
        options: as of the shell.
    """
    with open_store(store, read_only=True, create=False) as opened:
        newest = opened.last_tournament(unfinished=False)
    if newest is None:
        app = empty_app(store, is_read_only=is_read_only, **options)
    else:
        app = watch_app(store, Address(newest), is_read_only=is_read_only, **options)
    app.first = bot
    return app


def replay_app(
    store: str | None, number: int, ply: int | None = None, **options: Unpack[ScreenOptions]
) -> Dashboard:
    """Make the dashboard with the replay of one match alone.

    Args:
        store: path of the store; None for the usual place.
        number: of the match in the store.
        ply: how many plies are shown first; None for those that were given.
        options: as of the shell.
    """
    return Dashboard(None, [ReplayScreen], store=store, match=number, ply=ply, **options)


def play_app(store: str | None, words: Sequence[str], **options: Unpack[ScreenOptions]) -> Dashboard:
    """Make the dashboard with the play of a person alone.

    Args:
        store: path of the store; None for the usual place.
        words: the command of its coordinator, as `words_of` or `Link.again` returns it.
        options: as of the shell.
    """
    return Dashboard(None, [PlayScreen], store=store, play=Link(store, words), **options)
