"""Parts of forms: a labelled line of text, a choice, a button."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.suggester import SuggestFromList
from typing_extensions import override

from arena.tui.look import LookApp, app_of
from arena.tui.text import clip, left
from arena.tui.widgets.canvas import Canvas
from arena.tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

    from arena.tui.text import Line

FIELD_BINDINGS: list[BindingType] = [
    Binding("up,k", "field(-1)", "Field before", show=False, id="form.before"),
    Binding("down,j", "field(1)", "Next field", show=False, id="form.next"),
]
"""Keys of all parts of a form; in a line of text, letters are typed instead."""
LABEL_WIDTH = 13
"""Width of a label in cells, including the mark of the focus."""


def _go(node: Widget, step: int) -> None:
    """Focus the next or previous part of the form."""
    if step > 0:
        node.screen.focus_next()
    else:
        node.screen.focus_previous()


class FieldLabel(Canvas):
    """The name of a field; a mark before it shows that the field has the focus."""

    DEFAULT_CSS = f"""
    FieldLabel {{ width: {LABEL_WIDTH}; height: 1; }}
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.is_marked = False

    def mark(self, *, marked: bool) -> None:
        """Set or clear the mark."""
        self.is_marked = marked
        self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        mark = self.glyphs.arrow if self.is_marked else " "
        return [
            ((mark, "focus"), (left(self._text, width - 2), "title" if self.is_marked else ""), (" ", ""))
        ]


class FieldInput(LineInput):
    """The input line of a field; enter focuses the next one."""

    DEFAULT_CSS = """
    FieldInput { padding: 0; }
    """

    def __init__(self, placeholder: str, help_text: str, *, id: str) -> None:  # noqa: A002 # as in Textual
        super().__init__(placeholder=placeholder, select_on_focus=False, id=id)
        self.help_text = help_text
        """Help text of the field for `?`."""


class Fields(VerticalScroll, can_focus=False):
    """The fields of a form, one below the other; it scrolls to the focused one."""

    DEFAULT_CSS = """
    Fields { height: 1fr; scrollbar-size-vertical: 1; }
    """

    def on_mount(self) -> None:
        """Hide the scroll bar in ASCII mode, because it is drawn with block glyphs."""
        app = app_of(self)
        if isinstance(app, LookApp) and app.glyphs.is_ascii:
            self.styles.scrollbar_size_vertical = 0


class FormField(Horizontal):
    """A label and a line of text."""

    BINDINGS: ClassVar[list[BindingType]] = FIELD_BINDINGS
    DEFAULT_CSS = """
    FormField { height: 1; width: 100%; }
    """

    def __init__(self, name: str, placeholder: str = "", help_text: str = "", *, label: str = "") -> None:
        """Create the field.

        Args:
            name: key of its value.
            placeholder: the default, shown while the field is empty.
            help_text: help text for `?`.
            label: text of the label; empty for its name.
        """
        super().__init__(id=f"field-{name}")
        self.key = name
        """Key of the field's value."""
        self._label = FieldLabel(label or name)
        self._input = FieldInput(placeholder, help_text, id=f"input-{name}")

    @override
    def compose(self) -> ComposeResult:
        yield self._label
        yield self._input

    @property
    def value(self) -> str:
        """The text of the field."""
        return self._input.value

    @value.setter
    def value(self, text: str) -> None:
        self._input.value = text

    def suggest(self, options: Sequence[str]) -> None:
        """Suggest the first of these options that begins with the text; the right arrow accepts it."""
        self._input.suggester = SuggestFromList(options, case_sensitive=False)

    def action_field(self, step: int) -> None:
        """Focus another part of the form."""
        _go(self, step)

    def on_descendant_focus(self) -> None:
        """Mark the label."""
        self._label.mark(marked=True)

    def on_descendant_blur(self) -> None:
        """Clear the mark."""
        self._label.mark(marked=False)


class Choice(Canvas, can_focus=True):
    """One of several words, all of them shown, the chosen one in brackets; left and right choose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *FIELD_BINDINGS,
        Binding("left,h", "step(-1)", "Before", show=False, id="choice.before"),
        Binding("right,l", "step(1)", "Choose", key_display="left/right", id="choice.next"),
        Binding("enter", "on", "On", show=False, id="choice.on"),
    ]
    ALLOW_MAXIMIZE = False
    HELP = "Left and right (or h and l) choose, a click does, too; enter continues."
    DEFAULT_CSS = """
    Choice { height: 1; width: 100%; }
    """

    class Changed(Message):
        """Another word was chosen."""

    def __init__(self, name: str, options: Sequence[str], *, label: str = "") -> None:
        super().__init__(id=f"field-{name}")
        self.key = name
        """Key of the field's value."""
        self._label = label or name
        self._options = options
        self._at = 0

    @property
    def value(self) -> str:
        """The chosen word."""
        return self._options[self._at]

    @value.setter
    def value(self, text: str) -> None:
        if text in self._options and text != self.value:
            self._at = self._options.index(text)
            self.post_message(self.Changed())
            self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        mark = self.glyphs.arrow if self.has_focus else " "
        label = left(self._label, LABEL_WIDTH - 2)
        head: Line = ((mark, "focus"), (label, "title" if self.has_focus else ""), (" ", ""))
        if sum(len(text) + 2 for text in self._options) > width - LABEL_WIDTH:
            number = f"[{self.value}] {self._at + 1} of {len(self._options)}"
            return [(*head, (number, "focus" if self.has_focus else "title"))]
        return [(*head, *(span for text in self._options for span in self._option(text)))]

    def _option(self, text: str) -> Line:
        if text != self.value:
            return ((f" {text} ", "dim"),)
        return ((f"[{text}]", "focus" if self.has_focus else "title"),)

    def action_step(self, step: int) -> None:
        """Choose the next or previous word."""
        self.value = self._options[(self._at + step) % len(self._options)]

    def action_field(self, step: int) -> None:
        """Focus another part of the form."""
        _go(self, step)

    def action_on(self) -> None:
        """Focus the next part of the form."""
        _go(self, 1)

    def on_click(self, event: events.Click) -> None:
        """Choose the word that was clicked, or the next one if not all are shown."""
        event.stop()
        edge = LABEL_WIDTH
        if sum(len(text) + 2 for text in self._options) > self.size.width - LABEL_WIDTH:
            self.action_step(1)
            return
        for text in self._options:
            edge += len(text) + 2
            if LABEL_WIDTH <= event.x < edge:
                self.value = text
                return


class Push(Canvas, can_focus=True):
    """A button, pressed by enter or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *FIELD_BINDINGS,
        Binding("enter", "push", "Press", id="push.press"),
    ]
    ALLOW_MAXIMIZE = False
    DEFAULT_CSS = """
    Push { height: 1; width: auto; }
    """

    class Pushed(Message):
        """The button was pressed."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, name: str, text: str) -> None:
        super().__init__(id=f"push-{name}")
        self.key = name
        """Key of the button."""
        self._text = text

    @override
    def get_content_width(self, container: object, viewport: object) -> int:
        return len(self._text) + 6

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        mark = self.glyphs.arrow if self.has_focus else " "
        text = clip(self._text, width - 5)
        return [((mark, "focus"), (f"[ {text} ]", "focus" if self.has_focus else "title"), (" ", ""))]

    def action_field(self, step: int) -> None:
        """Focus another part of the form."""
        _go(self, step)

    def action_push(self) -> None:
        """Press the button."""
        self.post_message(self.Pushed(self.key))

    def on_click(self, event: events.Click) -> None:
        """Press the button."""
        event.stop()
        self.focus()
        self.action_push()
