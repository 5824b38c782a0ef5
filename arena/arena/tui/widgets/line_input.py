"""An input line in the plain style of the dashboard."""

from __future__ import annotations

from textual.widgets import Input

from arena.tui.look import LookApp, app_of


class LineInput(Input):
    """Textual's input without a frame, and without the tints that would make text unreadable."""

    DEFAULT_CSS = """
    LineInput {
        height: 1; border: none; padding: 0 1; width: 1fr;
        background: $arena-surface; color: $arena-text;
    }
    LineInput:focus { border: none; background-tint: $arena-surface 0%; }
    LineInput > .input--placeholder, LineInput > .input--suggestion { color: $arena-dim; }
    LineInput > .input--cursor { background: $arena-text; color: $arena-surface; text-style: none; }
    LineInput > .input--selection { background: $arena-text; color: $arena-surface; }
    """

    def on_mount(self) -> None:
        """Stop the cursor from blinking if motion is reduced."""
        app = app_of(self)
        self.cursor_blink = not (isinstance(app, LookApp) and app.reduce_motion)
