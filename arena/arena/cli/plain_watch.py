"""A tournament as plain lines, as they come: for screen readers, pipes and terminals that draw nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from arena.home import store_path
from arena.live.plain import finished_line, line_of, progress_line, started_line
from arena.live.reducer import reduce
from arena.live.views import LiveView
from arena.tui.feed.store_feed import StoreFeed
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.tui.shell.feed import Batch, Feed
    from arena_db.records import TournamentRecord

_LINE = 4000


def print_events(db: str | None, tournament: TournamentRecord) -> None:
    """Print what has happened and what happens, until the tournament has ended or ctrl+c is pressed."""
    feed = StoreFeed(db, tournament.id, is_read_only=True)
    try:
        follow_plain(feed, time.sleep)
    except KeyboardInterrupt:
        click.echo("left; the tournament goes on by itself", err=True)
    finally:
        feed.close()


def say_how_to_begin(db: str | None) -> None:
    """Say that there is nothing to watch yet, and how that changes."""
    _say(
        f"no tournament has been played yet (the store is {store_path(db)}); arena tournament mcts minimax "
        "begins one, arena watch in a terminal has a form for it"
    )


def follow_plain(feed: Feed, wait: Callable[[float], None]) -> None:
    """Print the lines of a feed until its tournament has ended."""
    view = LiveView()
    is_first = True
    while True:
        batch = feed.poll()
        if batch is not None:
            view = _print_batch(batch, view, is_first=is_first)
            is_first = False
            if view.progress.state == "ended" or batch.is_last:
                return
        wait(feed.interval)


def _print_batch(batch: Batch, view: LiveView, *, is_first: bool) -> LiveView:
    if batch.view is not None:
        known = {(match.number, match.attempt) for match in view.finished}
        new = [match for match in batch.view.finished if (match.number, match.attempt) not in known]
        for match in reversed(new):
            _say(finished_line(match))
        if is_first:
            for board in batch.view.matches.values():
                if not board.is_over:
                    _say(started_line(board))
        if is_first or batch.view.progress.done != view.progress.done:
            _say(progress_line(batch.view.progress))
        view = batch.view
    for event in batch.events:
        view = reduce(view, event)
        line = line_of(event, view)
        if line is not None:
            _say(line)
    return view


def _say(text: str) -> None:
    """Print a line at once, whoever reads it."""
    click.echo(clean_text(text, _LINE))
