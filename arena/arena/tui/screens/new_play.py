"""The form of a play against a bot, and the equivalent command line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.containers import Horizontal, Vertical
from textual.message import Message
from typing_extensions import override

from arena.coordinator.client import Link
from arena.errors import ArenaError
from arena.live.forms import OFF_ON, SIDES, PlayForm
from arena.person.session_config import make_play, play_config, words_of
from arena.tui.forms.tournament_form import installed_bots
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.form_screen import FormScreen
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.form import Choice, Fields, FormField, Push

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from arena.watching.query import Query

_FIELDS: Final = (
    ("game", "connect-four", "As on the command line: gomoku:size=6,k=4"),
    ("st", "5, unless clock or nodes is given", "Seconds a move of the bot."),
    ("clock", "none; an hour a move for you", "A clock for both: 5:00+3, 60+0.6."),
    ("nodes", "none", "Search nodes a move of the bot; a playout counts as one."),
    ("opening", "empty board", "Moves that are played already, as in 4 4 3."),
    ("hint", "solver, or minimax", "The bot that gives hints."),
)
"""Key, default and help."""


class NewPlayScreen(FormScreen[PlayForm]):
    """A form over the screen from which the play is begun."""

    NAME = "new-play"
    FORM = PlayForm
    WORK = "check"
    HELP = (
        "You against a bot. Empty fields have the defaults of the command line, which is shown below. Play"
        " begins; the match is stored, and rated only if rated is on. As text: arena play"
    )
    CSS = """
    NewPlayScreen #found { height: 2; }
    NewPlayScreen #line { height: 3; }
    NewPlayScreen #pushes { height: 1; }
    NewPlayScreen.-flat #line { height: 2; }
    NewPlayScreen.-flat #found { height: 1; }
    """

    class Prepared(Message):
        """A play can begin, or cannot."""

        def __init__(self, words: Sequence[str], trouble: str = "") -> None:
            super().__init__()
            self.words = words
            self.trouble = trouble

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            with Fields(id="fields"):
                yield FormField("bot", "mcts:playouts=1000", "Its spec; names and options as everywhere.")
                yield Choice("side", SIDES, label="you are")
                for key, placeholder, help_text in _FIELDS:
                    yield FormField(key, placeholder, help_text)
                yield Choice("rated", OFF_ON)
            yield BareLines(id="found")
            yield BareLines(id="line")
            with Horizontal(id="pushes"):
                yield Push("play", "Play")
                yield Push("copy", "Copy the line")
                yield Push("back", "Back")

    def show_opponent(self, bot: str, game: str) -> None:
        """Fill the current bot and game into the form, if there are any."""
        for key, value in (("bot", bot), ("game", game)):
            for field in self.query(f"#field-{key}").results(FormField):
                field.value = value or field.value
        for push in self.query(Push if bot else "#input-bot"):
            push.focus()
            break
        self.changed()

    @override
    def words(self, form: PlayForm) -> list[str]:
        return form.words()

    @override
    def look(self, query: Query, form: PlayForm) -> str:
        if not form.bot.strip():
            return f"there are {installed_bots()}"
        plan = make_play(play_config(form.values()))
        sides = f"you are {form.side}, {plan.bot.label} is {SIDES[form.side == 'first']}"
        return f"{sides} with {plan.bot_control}"

    @override
    def show_found(self, found: str | None, trouble: str) -> None:
        self.say("#found", found or f"! {trouble}", "dim" if found else "alert")

    async def on_push_pushed(self, message: Push.Pushed) -> None:
        """Play, copy the command line, or leave."""
        message.stop()
        if message.name == "play":
            self.run_worker(partial(self._preparing, self.form), name="prepare", group="prepare", thread=True)
        elif message.name == "copy":
            dashboard_of(self).action_copy()
        else:
            await dashboard_of(self).action_back()

    def _preparing(self, form: PlayForm) -> None:
        """Resolve the bot, in a thread."""
        try:
            form.words()
            self.post_message(self.Prepared(words_of(make_play(play_config(form.values())))))
        except (ArenaError, OSError) as error:
            self.post_message(self.Prepared((), str(error)))

    def on_new_play_screen_prepared(self, message: Prepared) -> None:
        """Open the board instead of the form, or show why that is not possible."""
        message.stop()
        app = dashboard_of(self)
        if message.trouble:
            self.say("#found", f"! {message.trouble}", "alert")
        elif app.may_act():
            app.push_screen(PlayScreen(Link(app.store, message.words)))
