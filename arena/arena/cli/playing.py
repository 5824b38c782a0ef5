"""Implements `arena play`: the coordinator without a screen, and play in lines of text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from arena.cli.exits import Exit
from arena.cli.output import emit_object, say
from arena.cli.plain_play import PlainPlay
from arena.coordinator.client import Link, NotStartedError
from arena.home import open_store
from arena.person.sessions import open_play, reopen_play
from arena.results.addresses import check_new_name, find_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.coordinator.changes import BotChange
    from arena.person.session_config import PlayConfig
    from arena_db.records import TournamentRecord


def coordinate(db: str | None, config: PlayConfig | None, attach: str | None) -> Exit:
    """Referee a new play, or continue a stored one; moves are read from the store.

    Raises:
        BotFailedError: the bot does not start.
        ArenaError: the play is not possible.
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
    return PlainPlay(link, record, sys.stdin).run()


def _tell(record: TournamentRecord, changed: Sequence[BotChange] = ()) -> None:
    news = [str(change) for change in changed]
    emit_object("begun", {"tournament": record.name, "kind": record.type, "game": record.game, "news": news})
