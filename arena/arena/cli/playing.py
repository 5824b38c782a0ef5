"""Plays a person's matches without a screen: the coordinator, and play in lines of text."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from arena.cli.exits import Exit
from arena.cli.output import emit_object, say
from arena.coordinator.client import Link, NotStartedError
from arena.coordinator.commands import BOARD_COMMANDS, MakeMove
from arena.errors import ArenaError
from arena.home import open_store
from arena.live.geometry import find_game, position
from arena.live.plain import (
    board_lines,
    clock_line,
    column_line,
    last_line,
    legal_line,
    line_of,
    row_line,
    started_line,
)
from arena.live.reducer import reduce
from arena.live.views import LiveView
from arena.person.session_config import PERSON, is_rated
from arena.person.sessions import open_play, reopen_play
from arena.results.addresses import check_new_name, find_event
from arena.watching.play_feed import PlayFeed
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.coordinator.changes import BotChange
    from arena.coordinator.commands import BoardCommand
    from arena.live.views import MatchView
    from arena.person.session_config import PlayConfig
    from arena.watching.feed import FeedUpdate
    from arena_db.records import TournamentRecord


def coordinate(db: str | None, config: PlayConfig | None, attach: str | None) -> Exit:
    """Referee a new session, or continue a stored one; the person's moves are read from the store.

    Raises:
        BotFailedError: the bot does not start.
        ArenaError: the session cannot be played.
    """
    with open_store(db) as store:
        if config is None:
            reopen_play(store, find_event(store, attach, unfinished=False), _tell)
        else:
            check_new_name(store, config.name)
            open_play(store, config, _tell)
    return Exit.COMPLETE


def play_by_lines(db: str | None, words: Sequence[str]) -> int:
    """Start a coordinator and play in lines of text; return the exit status."""
    link = Link(db, words)
    try:
        record = link.begin()
    except NotStartedError as error:
        say(f"arena: {error}", err=True)
        return error.status if error.status > 0 else Exit.RUN_ERROR
    for sentence in link.news:
        say(sentence, err=True)
    return _PlainPlay(link, record, sys.stdin).run()


def _tell(record: TournamentRecord, changed: Sequence[BotChange] = ()) -> None:
    news = [str(change) for change in changed]
    emit_object("begun", {"tournament": record.name, "kind": record.type, "game": record.game, "news": news})


_LINE = 4000
"""Maximum number of characters printed of a line."""
_TOLD = ("started", "move", "finished", "fault")
HELP = (
    "a move, or: board, col NAME, row NAME, last, clock, legal, hint, undo, resign, new (sides swapped), quit"
)


class _PlainPlay:
    """The text interface of a session: prints events, and reads a line whenever it is the person's turn."""

    def __init__(self, link: Link, record: TournamentRecord, lines: TextIO) -> None:
        """Attach to a session.

        Args:
            link: the connection to its coordinator.
            record: the session.
            lines: the input of the person.
        """
        self._link = link
        self._lines = lines
        self._record = record
        self._feed = PlayFeed(link.db, self._record.id, is_read_only=True)
        self._view = LiveView()
        self._shown = (link.first_match, -1)
        self._asked: dict[str, Callable[[str], str | None]] = {
            "board": lambda _: "\n".join(board_lines(self._match)),
            "col": lambda name: column_line(self._match, name),
            "row": lambda name: row_line(self._match, name),
            "last": lambda _: last_line(self._match),
            "clock": lambda _: clock_line(self._match, time.time()),
            "legal": lambda _: legal_line(self._match),
            "help": lambda _: HELP,
            **{kind: partial(self._ask_for, kind) for kind in BOARD_COMMANDS},
        }

    def run(self) -> Exit:
        """Play until the person quits or the input ends."""
        _say(f"{self._record.name}: {HELP}")
        with closing(self._feed):
            try:
                while self._catch_up():
                    click.echo("> ", nl=False)
                    line = self._lines.readline()
                    if not line or line.strip() in ("quit", "q", "exit"):
                        break
                    self._obey(line.split())
            except KeyboardInterrupt:
                click.echo()
            return self._leave()

    @property
    def _match(self) -> MatchView:
        return self._view.matches[max(self._view.matches)]

    def _catch_up(self) -> bool:
        """Print events until the person has to act; return False once the session has ended."""
        while True:
            batch = self._feed.poll()
            if batch is not None:
                self._print(batch)
            elif self._view.progress.state == "ended":
                return False
            elif not self._link.is_alive:
                _say(f"the coordinator has ended; to continue: arena play --attach {self._record.name}")
                return False
            elif self._view.matches and self._is_due():
                return True
            time.sleep(min(0.05, self._feed.interval))

    def _is_due(self) -> bool:
        """Return whether to prompt the person: at their turn or the end of the match, once each."""
        match = self._match
        number, ply = self._shown
        if match.number < number or (match.number == number and match.ply < ply and not match.is_over):
            return False
        return match.is_over or (match.to_move >= 0 and match.seats[match.to_move].name == PERSON)

    def _print(self, batch: FeedUpdate) -> None:
        if batch.view is not None:
            self._view = batch.view
            for match in self._view.matches.values():
                if not match.is_over:
                    _say(started_line(match))
                    self._show_board()
        for event in batch.events:
            self._view = reduce(self._view, event)
            text = line_of(event, self._view) if event.kind in _TOLD else None
            if text is not None:
                _say(text)
            if event.kind == "started":
                self._show_board()

    def _show_board(self) -> None:
        _say(f"you are {self._side()}")
        for line in board_lines(self._match):
            _say(line)

    def _side(self) -> str:
        return "X, first" if self._match.seats[0].name == PERSON else "O, second"

    def _obey(self, words: list[str]) -> None:
        if not words:
            return
        known = self._asked.get(words[0].lower())
        text = known(" ".join(words[1:])) if known is not None else self._play(" ".join(words))
        for line in (text or "").splitlines():
            _say(line)

    def _play(self, text: str) -> str:
        match = self._match
        if match.is_over:
            return "the match is over: new, undo or quit"
        try:
            state = position(match.game, match.actions)
            action = find_game(match.game).parse_move(state, text)
        except ArenaError as error:
            return f"{error} (help lists the commands)"
        return self._order(MakeMove(number=match.number, ply=match.ply, action=action))

    def _ask_for(self, kind: str, _: str) -> str:
        return self._order(BOARD_COMMANDS[kind](number=self._match.number, ply=self._match.ply))

    def _order(self, command: BoardCommand) -> str:
        match = self._match
        try:
            answer = self._link.ask(command)
        except ArenaError as error:
            return str(error)
        if answer == "played":
            self._shown = (match.number, match.ply + 1)
            return ""
        if answer in ("taken back", "a new match, sides swapped"):
            self._shown = (match.number + 1, 0)
        elif answer == "you resign":
            self._shown = (match.number, match.ply + 1)
        return answer

    def _leave(self) -> Exit:
        """End the session if it is still running."""
        if self._view.progress.state != "ended":
            number = max(self._view.matches, default=0)
            self._link.leave(number=number, is_rated=is_rated(self._record))
        return Exit.COMPLETE


def _say(text: str) -> None:
    """Print one cleaned line."""
    click.echo(clean_text(text, _LINE))
