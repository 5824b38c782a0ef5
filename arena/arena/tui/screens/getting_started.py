"""Shown instead of the boards while there is no tournament: how to begin one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from arena.home import store_place
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.text import clip
from arena.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from arena.tui.text import Line

_WORDS = 58
"""Width of the longest line, in cells."""


class GettingStarted(Panel):
    """Explains how to begin a tournament; hidden once there is one."""

    DEFAULT_CSS = """
    GettingStarted { width: 1fr; height: 1fr; display: none; }
    """

    @override
    def body(self, width: int, height: int) -> list[Line]:
        app = dashboard_of(self)
        keys: list[Line] = [
            (("7 ", "focus"), ("then ", ""), ("n ", "focus"), ("opens the form of a tournament", "")),
            (("p ", "focus"), ("opens the form of a match of yours against a bot", "")),
        ]
        where = clip(f"The store is {store_place(app.store)}", min(width - 2, 200))
        lines: list[Line] = [
            (("No tournament has been played yet.", "title"),),
            (),
            *(() if app.is_read_only else keys),
            (("", ""), ("arena tournament mcts minimax", "title"), (" in another terminal does, too;", "")),
            (("what is begun there is shown here at once.", ""),),
            (),
            ((where, "dim"),),
        ]
        left = " " * max(1, (width - _WORDS) // 2)
        above = max(0, (height - len(lines)) // 3)
        return [*([()] * above), *(((left, ""), *line) if line else () for line in lines)]
