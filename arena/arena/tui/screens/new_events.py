"""The forms for a new tournament and for a session against a bot, with the equivalent command lines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.containers import Horizontal, Vertical
from textual.message import Message
from typing_extensions import override

from arena.coordinator.client import Link, follow, start
from arena.errors import ArenaError
from arena.live.forms import OFF_ON, SIDES, PlayForm
from arena.live.tournament_views import (
    BOUNDS,
    ELIMINATIONS,
    ISOLATIONS,
    SEEDINGS,
    TYPES,
    Estimate,
    TournamentForm,
)
from arena.person.session_config import make_play, play_config, words_of
from arena.tui.forms.tournament_form import estimate, installed_bots
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.form_screen import FormScreen
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.shell.wanted import still_wanted
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.form import Choice, Fields, FormField, Push

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from arena.watching.query import Query
    from arena_db.records import TournamentRecord

_FIELDS: Final = (
    ("game", "connect-four", "As on the command line: gomoku:size=6,k=4"),
    ("rounds", "10", "Each pair of bots meets once a round; in a Swiss tournament each bot one other."),
    ("games", "2", "Matches of an encounter and round, 1 or 2."),
    (
        "pairs",
        "1; of a test all openings",
        "Pairs of each encounter; of a test the most.",
    ),
    ("tie_pairs", "2", "More pairs where an encounter of a knockout is level."),
    ("until", "it is stopped", "Elo: the ladder ends when every rating is within that much."),
    ("then_rate", "32", "Pairs after the decision of a test, which are rated; those of the test are not."),
    ("st", "5, unless tc or nodes is given", "Seconds a move."),
    ("tc", "none", "A clock for the match, moves/time+inc: 60+0.6, 40/60+0.5."),
    ("nodes", "none", "Search nodes a move; a playout counts as one."),
    ("openings", "auto", "auto:plies=,balance= or file:PATH or none."),
    ("concurrency", "0: cores - 1", "Matches at once; 0 is one fewer than there are cores."),
    ("name", "rr-N and the like; a ladder needs one", "What it is called."),
    ("more", "", "Further options, as on the command line: --max-time 600 --srand 7"),
)
"""Key, default and help text of each field."""


class NewTournamentScreen(FormScreen[TournamentForm]):
    """The form for a new tournament, shown over the list of tournaments."""

    NAME = "new-tournament"
    FORM = TournamentForm
    WORK = "estimate"
    HELP = (
        "Empty fields have the defaults of the command line, which is shown below. Tab and enter go to the"
        " next field, Start runs exactly that line, as a process of its own that outlives the dashboard. A"
        " test has one bot, NEW, or two, NEW OLD; a ladder needs a name."
    )
    CSS = """
    NewTournamentScreen #estimate { height: 2; }
    NewTournamentScreen #line { height: 3; }
    NewTournamentScreen #pushes { height: 1; }
    NewTournamentScreen.-flat #line { height: 2; }
    NewTournamentScreen.-flat #estimate { height: 1; }
    NewTournamentScreen.-tall #line { height: 5; }
    """

    class Started(Message):
        """The tournament has begun, or has failed to begin."""

        def __init__(self, record: TournamentRecord | None, trouble: str = "") -> None:
            super().__init__()
            self.record = record
            self.trouble = trouble

    def __init__(self, game: str = "") -> None:
        """Create the form; `game` is the initial value of the field `game`."""
        super().__init__()
        self._game = game
        self._is_starting = False
        self._refused: TournamentForm | None = None
        """The form that could not be started; its estimate is not shown until it changes."""

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            with Fields(id="fields"):
                yield FormField("bots", "mcts minimax:depth=4 ...", "Specs, with blanks between them.")
                yield Choice("type", TYPES)
                yield Choice("elimination", ELIMINATIONS)
                yield Choice("seeding", SEEDINGS)
                yield Choice("bounds", BOUNDS)
                yield Choice("isolation", ISOLATIONS)
                for key, placeholder, help_text in _FIELDS:
                    yield FormField(key, placeholder, help_text, label=key.replace("_", "-"))
            yield BareLines(id="estimate")
            yield BareLines(id="line")
            with Horizontal(id="pushes"):
                yield Push("start", "Start")
                yield Push("copy", "Copy the line")
                yield Push("back", "Back")

    def on_mount(self) -> None:
        """Focus the field of the bots."""
        self.query_one("#field-game", FormField).value = self._game
        self.query_one("#input-bots").focus()
        self.changed()

    @override
    def words(self, form: TournamentForm) -> list[str]:
        return form.words()

    @override
    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self.is_mounted:
            self.changed()

    @override
    def changed(self) -> None:
        form = self.form
        for field in (*self.query(FormField), *self.query(Choice)):
            field.display = form.has(field.key)
        if self._refused is not None and self.form != self._refused:
            self._refused = None
        if not self._is_starting:
            super().changed()

    @override
    def look(self, query: Query, form: TournamentForm) -> Estimate | str:
        return estimate(query, form) if form.bots.strip() else f"there are {installed_bots()}"

    @override
    def show_found(self, found: Estimate | str | None, trouble: str) -> None:
        if self._is_starting or self._refused is not None:
            return
        if isinstance(found, Estimate):
            self._tell(found.text)
        elif not found and not self.line():
            # The line with the command already says why.
            self._tell("")
        else:
            self._tell(found or f"! {trouble}", "dim" if found else "alert")

    def _tell(self, text: str, style: str = "") -> None:
        self.say("#estimate", text, style)

    async def on_push_pushed(self, message: Push.Pushed) -> None:
        """Start the tournament, copy the command line, or leave."""
        message.stop()
        if message.name == "start":
            self._start()
        elif message.name == "copy":
            dashboard_of(self).action_copy()
        else:
            await dashboard_of(self).action_back()

    def _start(self) -> None:
        if self._is_starting or not dashboard_of(self).may_act():
            return
        try:
            words = self.form.words()
        except ArenaError as error:
            self._tell(f"! {error}", "alert")
            return
        self._is_starting, self._refused = True, None
        self._tell("starting: each bot answers one position first ...")
        store = dashboard_of(self).store
        self.run_worker(partial(self._starting, words, store), name="start", group="start", thread=True)

    def _starting(self, words: Sequence[str], store: str | None) -> None:
        """Start the tournament and wait until its plan is stored, in a thread."""
        try:
            record = follow(start(words, db=store), still_wanted())
        except ArenaError as error:
            self.post_message(self.Started(None, str(error)))
        else:
            self.post_message(self.Started(record))

    def on_new_tournament_screen_started(self, message: Started) -> None:
        """Watch the tournament that has begun, or show why it has not."""
        message.stop()
        self._is_starting = False
        record = message.record
        if record is None:
            self._refused = self.form
            self._tell(f"! {message.trouble}", "alert")
            return
        self.notify(f"{record.name} has begun", markup=False)
        # Not awaited here: this screen closes, and would wait for its own end.
        app = dashboard_of(self)
        app.call_later(app.attach, record.id, record.name)


_PLAY_FIELDS: Final = (
    ("game", "connect-four", "As on the command line: gomoku:size=6,k=4"),
    ("st", "5, unless clock or nodes is given", "Seconds a move of the bot."),
    ("clock", "none; an hour a move for you", "A clock for both: 5:00+3, 60+0.6."),
    ("nodes", "none", "Search nodes a move of the bot; a playout counts as one."),
    ("opening", "empty board", "Moves that are played already, as in 4 4 3."),
    ("hint", "solver, or minimax", "The bot that gives hints."),
)
"""Key, default and help text of each field."""


class NewPlayScreen(FormScreen[PlayForm]):
    """The form for a new session, shown over the current screen."""

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
        """The options of a session were checked."""

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
                for key, placeholder, help_text in _PLAY_FIELDS:
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
