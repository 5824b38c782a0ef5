"""A dialog with a few lines to fill in, and the resulting command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static
from typing_extensions import override

from arena.tui.look import app_of
from arena.tui.text import safe
from arena.tui.widgets.form import FormField

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widgets import Input

_WIDTH, _FRAME = 76, 4
"""Maximum width of the dialog, and width of its frame and padding, in cells."""
Filled: TypeAlias = Mapping[str, str]
"""The answers, by key."""


class Asked(NamedTuple):
    """A line to fill in."""

    key: str
    placeholder: str
    is_needed: bool = True
    """Whether an answer is required."""
    value: str = ""
    """Initial value."""
    options: Sequence[str] = ()
    """Suggestions; other answers are accepted, too."""


class PromptScreen(ModalScreen[Filled | None]):
    """A dialog that is dismissed with the answers by `enter` in the last line, with None by `escape`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", id="prompt.cancel")]
    DEFAULT_CSS = f"""
    PromptScreen {{ align: center middle; }}
    PromptScreen > Vertical {{
        width: {_WIDTH}; max-width: 100%; height: auto; max-height: 100%;
        background: $arena-surface; color: $arena-text; border: heavy $arena-focus; padding: 0 1;
    }}
    PromptScreen Static {{ width: 100%; height: auto; }}
    """

    def __init__(self, question: str, asked: Sequence[Asked], line: Callable[[Filled], str]) -> None:
        """Create the dialog.

        Args:
            question: heading of the dialog.
            asked: the lines to fill in.
            line: returns the command for some answers.
        """
        super().__init__()
        self._question = question
        self._asked = asked
        self._line = line

    @override
    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(f"{safe(self._question)}\n", style="bold"))
            for asked in self._asked:
                yield FormField(asked.key, asked.placeholder)
            completes = ""
            if any(asked.options for asked in self._asked):
                yield Static(id="options")
                completes = "right completes   "
            yield Static(id="equals")
            yield Static(Text(f"\n{completes}enter continues   esc cancels"))

    def on_mount(self) -> None:
        """Fill in the initial values and focus the first line."""
        for asked in self._asked:
            field = self.query_one(f"#field-{asked.key}", FormField)
            field.value = asked.value
            field.suggest(asked.options)
        self.query_one(f"#input-{self._asked[0].key}").focus()
        self._show_line()

    @property
    def answers(self) -> dict[str, str]:
        """The answers as filled in now."""
        return {field.key: field.value.strip() for field in self.query(FormField)}

    def on_input_changed(self, event: Input.Changed) -> None:
        """Update the command."""
        event.stop()
        self._show_line()

    def _show_line(self) -> None:
        room = max(0, min(_WIDTH, app_of(self).size.width) - _FRAME)
        for options in self.query("#options").results(Static):
            options.update(Text(f"\n{self._fitting(room)}", style="dim"))
        self.query_one("#equals", Static).update(Text(f"\nRuns: {safe(self._line(self.answers))}"))

    def _fitting(self, room: int) -> str:
        """Return the options that contain the answer, those that begin with it first, in `room` cells."""
        for asked in self._asked:
            if asked.options:
                text = self.answers[asked.key].casefold()
                found = [option for option in asked.options if text in option.casefold()]
                found.sort(key=lambda option: not option.casefold().startswith(text))
                shown = list(accumulate(map(safe, found), "{}  {}".format))
                if not shown or cell_len(shown[-1]) <= room:
                    return "".join(shown[-1:])
                shorter = (f"{text} ..." for text in reversed(shown))
                return next((text for text in shorter if cell_len(text) <= room), "...")
        return ""

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Focus the next required line, or close the dialog with the answers."""
        event.stop()
        answers = self.answers
        missing = [asked.key for asked in self._asked if asked.is_needed and not answers[asked.key]]
        keys = [asked.key for asked in self._asked]
        at = keys.index(str(event.input.id).removeprefix("input-"))
        if missing or at + 1 < len(keys):
            following = missing[0] if missing and at + 1 == len(keys) else keys[min(at + 1, len(keys) - 1)]
            self.query_one(f"#input-{following}").focus()
            if following in missing and not answers[keys[at]]:
                self.query_one("#equals", Static).update(Text(f"\n{following} is needed"))
        else:
            self.dismiss(answers)

    def action_cancel(self) -> None:
        """Close the dialog without answers."""
        self.dismiss(None)
