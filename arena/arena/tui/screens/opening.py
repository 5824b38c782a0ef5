"""Opens the list of matches from other screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.matches_screen import MatchesScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.message_pump import MessagePump


async def show_matches(node: MessagePump, words: Sequence[str]) -> None:
    """Show the list of matches with a filter of these terms."""

    def show(screen: object) -> None:
        if isinstance(screen, MatchesScreen):
            screen.show_condition(" ".join(words))

    await dashboard_of(node).open_screen(MatchesScreen.NAME, show)
