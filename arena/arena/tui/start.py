"""Starts the dashboard, or its replay of one match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.tui.feed.store_feed import StoreFeed
from arena.tui.screens.app import Dashboard
from arena.tui.screens.live import LiveScreen
from arena.tui.screens.matches import MatchesScreen
from arena.tui.screens.matrix import MatrixScreen
from arena.tui.screens.replay import ReplayScreen
from arena.tui.screens.standings import StandingsScreen

if TYPE_CHECKING:
    from typing import Unpack

    from arena.tui.screens.app import Options
    from arena.tui.shell.feed import Feed

SCREENS = (LiveScreen, StandingsScreen, MatchesScreen, MatrixScreen)
"""The screens with a digit."""


def watch_app(
    store: str | None, tournament: int, name: str, *, is_read_only: bool = False, **options: Unpack[Options]
) -> Dashboard:
    """Make the dashboard of one tournament.

    Args:
        store: path of the store; None for the usual place.
        tournament: id.
        name: of the tournament.
        is_read_only: whether commands are refused.
        options: as of the shell: glyphs, theme, reduce_motion, clock.
    """
    feed: Feed = StoreFeed(store, tournament, is_read_only=is_read_only)
    return Dashboard(feed, SCREENS, store=store, tournament=name, **options)


def replay_app(store: str | None, number: int, **options: Unpack[Options]) -> Dashboard:
    """Make the dashboard with the replay of one match alone.

    Args:
        store: path of the store; None for the usual place.
        number: of the match in the store.
        options: as of the shell.
    """
    return Dashboard(None, [ReplayScreen], store=store, match=number, **options)
