"""The base of screens with a form: fields, what follows from them, and the command line that they equal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec
from textual.message import Message
from typing_extensions import override

from arena.errors import ArenaError
from arena.live.tournaments import command_line
from arena.tui.screens.app import dashboard_of
from arena.tui.screens.lines import BareLines
from arena.tui.shell.screen import ArenaScreen
from arena.tui.shell.turns import Turns
from arena.tui.text import safe
from arena.tui.widgets.form import Choice, Field, FieldInput
from arena.tui.widgets.output import break_lines

if TYPE_CHECKING:
    from textual.widgets import Input

_Form = TypeVar("_Form", bound=msgspec.Struct)


class FormScreen(ArenaScreen, Generic[_Form]):
    """Subclass it: name the form, compose its fields and a `#line`, say what its command is and what follows.

    Whenever a field changes, the line is shown anew and `look` is asked in a thread; `show_found` hears what
    it gave, unless the form is another one by then.
    """

    FORM: type[_Form]
    """What its fields make up, a field each."""
    WORK: ClassVar[str] = "look"
    """What the thread is called that works out what follows."""

    class Looked(Message):
        """What follows from a form has come, or why nothing does."""

        def __init__(self, form: msgspec.Struct, found: object, trouble: str) -> None:
            super().__init__()
            self.form = form
            self.found = found
            self.trouble = trouble

    def __init__(self) -> None:
        super().__init__()
        self._looks = Turns(self, self.WORK)

    def words(self, form: _Form) -> list[str]:
        """Give the command that a form equals, as what stands behind `arena`.

        Raises:
            ArenaError: it equals none; says why.
        """
        raise ArenaError(f"{type(form).__name__} equals no command")

    def look(self, store: str | None, form: _Form) -> object:
        """Work out what follows from a form, in a thread.

        Raises:
            ArenaError: nothing can; says why.
            OSError: likewise.
        """

    def show_found(self, found: Any, trouble: str) -> None:  # noqa: ANN401 # what `look` gives
        """Show what follows; where nothing does, `trouble` says why."""

    @property
    def form(self) -> _Form:
        """What is written now."""
        values = {field.key: field.value for field in self.query(Field)}
        values |= {choice.key: choice.value for choice in self.query(Choice)}
        return msgspec.convert(values, self.FORM)

    def line(self) -> str:
        """Give the command line; empty while there is none."""
        try:
            return self._command(self.form)
        except ArenaError:
            return ""

    def _command(self, form: _Form) -> str:
        return command_line(self.words(form), dashboard_of(self).store)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what follows from a field."""
        event.stop()
        self.changed()

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Show what follows from a choice."""
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
        """Show the line anew, and work out what follows."""
        if self.query("#line"):
            self.show_line()
            self._looks.run(partial(self._looking, dashboard_of(self).store, self.form))

    def show_line(self) -> None:
        """Show the command line, or why there is none."""
        try:
            text, style = f"$ {self._command(self.form)}", "title"
        except ArenaError as error:
            text, style = f"! {error}", "alert"
        self.say("#line", text, style)

    def say(self, where: str, text: str, style: str = "") -> None:
        """Show a text in as many lines as it takes.

        Args:
            where: selector of the lines.
            text: is made safe.
            style: name of a style.
        """
        lines = break_lines([safe(text)], self.size.width)
        self.query_one(where, BareLines).show([((f" {line}", style),) for line in lines])

    def _looking(self, store: str | None, form: _Form) -> None:
        try:
            self.post_message(self.Looked(form, self.look(store, form), ""))
        except (ArenaError, OSError) as error:
            self.post_message(self.Looked(form, None, str(error)))

    def on_form_screen_looked(self, message: Looked) -> None:
        """Show what follows, unless the form is another one by now."""
        message.stop()
        if message.form == self.form:
            self.show_found(message.found, message.trouble)

    def on_resize(self) -> None:
        """Break the line anew."""
        if self.query("#line"):
            self.show_line()

    @override
    def text_to_copy(self) -> str:
        return self.line()
