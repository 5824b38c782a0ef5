"""The base of screens with a form: its fields, a preview, and the equivalent command line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec
from typing_extensions import override

from arena.errors import ArenaError
from arena.live.tournament_views import command_line
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import safe
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.form import Choice, FieldInput, FormField
from arena.tui.widgets.output_panel import break_lines
from arena.watching.query_answers import Answer, Empty, Rows, Unavailable

if TYPE_CHECKING:
    from textual.widgets import Input

    from arena.watching.query import Query

_Form = TypeVar("_Form", bound=msgspec.Struct)


class FormScreen(ArenaScreen, Generic[_Form]):
    """Base class: a subclass sets `FORM` and composes its fields and a widget with the id `line`.

    Whenever a field changes, the command line is shown and `look` is called in a thread; `show_found` gets
    its result, unless the form has changed by then.
    """

    FORM: type[_Form]
    """Type of the form, with a field for each field of the screen."""
    WORK: ClassVar[str] = "look"
    """Name of the worker that computes the preview."""
    DOING: ClassVar[str] = "computing the preview"
    """Text that is shown while the preview is computed, if that takes long."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = self.query_runner(self.WORK)

    def words(self, form: _Form) -> list[str]:
        """Return the command of a form, as the words after `arena`.

        Raises:
            ArenaError: the form has no equivalent command; the message says why.
        """
        raise ArenaError(f"{type(form).__name__} equals no command")

    def look(self, query: Query, form: _Form) -> object:
        """Compute the preview of a form, in a thread.

        Raises:
            Cancelled: the form has changed.
            ArenaError: there is no preview; the message says why.
            OSError: there is no preview for a reason of the operating system.
        """

    def show_found(self, found: Any, trouble: str) -> None:  # noqa: ANN401 # the result of `look`
        """Show the preview; if there is none, `trouble` says why."""

    @property
    def form(self) -> _Form:
        """The form as filled in now."""
        values = {field.key: field.value for field in self.query(FormField)}
        values |= {choice.key: choice.value for choice in self.query(Choice)}
        return msgspec.convert(values, self.FORM)

    def line(self) -> str:
        """Return the command line; empty if there is none."""
        try:
            return self._command(self.form)
        except ArenaError:
            return ""

    def _command(self, form: _Form) -> str:
        return command_line(self.words(form), dashboard_of(self).store)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Update the preview after a field has changed."""
        event.stop()
        self.changed()

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Update the preview after a choice has changed."""
        event.stop()
        self.changed()

    @override
    def on_input_submitted(self, event: Input.Submitted) -> None:
        if isinstance(event.input, FieldInput):
            event.stop()
            self.focus_next()

    @override
    def reload(self) -> None:
        self.changed()

    def changed(self) -> None:
        """Update the command line and compute the preview."""
        if self.query("#line"):
            self.show_line()
            self._looks.run(partial(self._looking, form=self.form), self.DOING, self._take)

    def show_line(self) -> None:
        """Show the command line, or why there is none."""
        try:
            text, style = f"$ {self._command(self.form)}", "title"
        except ArenaError as error:
            text, style = f"! {error}", "alert"
        self.say("#line", text, style)

    def say(self, where: str, text: str, style: str = "") -> None:
        """Show a text, wrapped to as many lines as it needs.

        Args:
            where: selector of the lines.
            text: the text; control characters are cleaned.
            style: name of a style.
        """
        lines = break_lines([safe(text)], self.size.width)
        self.query_one(where, BareLines).show([((f" {line}", style),) for line in lines])

    def _looking(self, query: Query, form: _Form) -> Rows[object]:
        try:
            return Rows(self.look(query, form))
        except OSError as error:
            raise ArenaError(str(error)) from error

    def _take(self, answer: Answer[object]) -> None:
        """Show the preview; the previous one stays until then."""
        if isinstance(answer, Rows):
            self.show_found(answer.content, "")
        elif isinstance(answer, Empty):
            self.show_found(None, answer.why)
        elif isinstance(answer, Unavailable):
            self.show_found(None, answer.reason)

    def on_resize(self) -> None:
        """Wrap the command line again."""
        if self.query("#line"):
            self.show_line()

    @override
    def text_to_copy(self) -> str:
        return self.line()
