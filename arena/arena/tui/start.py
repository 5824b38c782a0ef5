"""Creates the dashboard, or a dashboard for a single replay or session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.client import Link
from arena.home import open_store
from arena.results.addresses import Address
from arena.tui.screens.bots_screen import BotsScreen
from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.export_screen import ExportScreen
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.matrix_screen import MatrixScreen
from arena.tui.screens.new_events import NewPlayScreen
from arena.tui.screens.palette_search import SCREEN_OF, StoreDashboard
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.screens.standings_screen import StandingsScreen
from arena.tui.screens.tournaments_screen import TournamentsScreen
from arena.tui.screens.train_screen import TrainScreen
from arena.watching.first_feed import FirstFeed
from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from arena.tui.screens.dashboard import ScreenOptions
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
"""The screens of a dashboard for a whole store."""


def watch_app(
    store: str | None, address: Address, *, is_read_only: bool = False, **options: Unpack[ScreenOptions]
) -> StoreDashboard:
    """Return the dashboard of one tournament, opened at an address in that tournament.

    Args:
        store: path of the store; None for the default place.
        address: address of the tournament, or of a screen or match of it.
        is_read_only: whether commands are refused.
        options: as for `ArenaApp`: glyphs, theme, reduce_motion, clock.
    """
    feed: Feed = StoreFeed(store, address.tournament.id, is_read_only=is_read_only, rates_past=True)
    return StoreDashboard(
        feed,
        ALL_SCREENS,
        store=store,
        at=StartPoint(
            address.tournament.name,
            match=0 if address.match is None else address.match.id,
            ply=address.ply,
            running=0 if address.number is None or address.match is not None else address.number,
            screen=SCREEN_OF.get(address.screen, ""),
        ),
        is_read_only=is_read_only,
        **options,
    )


def empty_app(
    store: str | None, *, is_read_only: bool = False, **options: Unpack[ScreenOptions]
) -> StoreDashboard:
    """Return the dashboard of a store without tournaments, or of a missing store; it waits for the first one.

    Args:
        store: path of the store; None for the default place.
        is_read_only: whether new tournaments are refused.
        options: as for `ArenaApp`.
    """
    feed: Feed = FirstFeed(store, is_read_only=is_read_only)
    return StoreDashboard(feed, ALL_SCREENS, store=store, is_read_only=is_read_only, **options)


def bot_app(
    store: str | None, bot: Place, *, is_read_only: bool = False, **options: Unpack[ScreenOptions]
) -> StoreDashboard:
    """Return the dashboard of the newest tournament, opened at a bot.

    Args:
        store: path of the store; None for the default place.
        bot: the bot to show first.
        is_read_only: whether commands are refused.
        options: as for `ArenaApp`.
    """
    with open_store(store, read_only=True, create=False) as opened:
        newest = opened.tournaments.last(unfinished=False)
    if newest is None:
        app = empty_app(store, is_read_only=is_read_only, **options)
    else:
        app = watch_app(store, Address(newest), is_read_only=is_read_only, **options)
    app.first = bot
    return app


def replay_app(
    store: str | None, number: int, ply: int | None = None, **options: Unpack[ScreenOptions]
) -> Dashboard:
    """Return the dashboard with only the replay of one match.

    Args:
        store: path of the store; None for the default place.
        number: number of the match in the store.
        ply: ply that is shown first; None for the end of the opening.
        options: as for `ArenaApp`.
    """
    return Dashboard(None, [ReplayScreen], store=store, at=StartPoint(match=number, ply=ply), **options)


def play_app(store: str | None, words: Sequence[str], **options: Unpack[ScreenOptions]) -> Dashboard:
    """Return the dashboard with only the session of a person.

    Args:
        store: path of the store; None for the default place.
        words: the command of its coordinator, from `words_of` or `Link.again`.
        options: as for `ArenaApp`.
    """
    return Dashboard(None, [PlayScreen], store=store, at=StartPoint(play=Link(store, words)), **options)
