"""A line of text to write into, as plain and as readable as everything else."""

from __future__ import annotations

from textual.widgets import Input

from arena.tui.look import LookApp, app_of


class LineInput(Input):
    """Textual's, without a frame, and without the tints that take text below what can be read."""

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
        """Hold the cursor still where nothing may move."""
        app = app_of(self)
        self.cursor_blink = not (isinstance(app, LookApp) and app.reduce_motion)
