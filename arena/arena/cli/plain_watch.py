"""Events of a tournament as plain lines: for screen readers, pipes and terminals that cannot draw."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from arena.home import open_store, store_place
from arena.live.plain import (
    duration_text,
    finished_line,
    line_of,
    notice_line,
    past_line,
    progress_line,
    standings_lines,
    started_line,
)
from arena.live.reducer import reduce, stalled
from arena.live.table_views import StandingsView
from arena.live.views import LiveView
from arena.watching.feed import Health, Poller, with_news
from arena.watching.query import StoreLost
from arena.watching.store_feed import StoreFeed
from arena.watching.stored import finished_of
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from arena.errors import ArenaError
    from arena.live.views import FinishedMatch
    from arena.results.addresses import Address
    from arena.watching.feed import Feed, FeedUpdate

_LINE = 4000
"""Maximum number of characters printed of a line."""
_LAST_LOOKS = 3
"""Number of polls for the standings of an ended tournament: its tables are stored after its matches."""


def print_events(db: str | None, address: Address, *, from_start: bool = False) -> None:
    """Print the state of a tournament and its events until it has ended or ctrl+c is pressed.

    For the address of a match, only the events of that match are printed, until it has a result.

    Args:
        db: path of the store; None for the default place.
        address: address of the tournament or match.
        from_start: print a line for each finished match, oldest first, instead of a summary.
    """
    if address.match is not None:
        _say(finished_line(finished_of(address.match, {})))
        return
    feed = StoreFeed(db, address.tournament.id, is_read_only=True)
    try:
        if from_start and address.number is None:
            known = _print_past(db, address)
            follow_plain(feed, time.sleep, known=known)
        else:
            follow_plain(feed, time.sleep, address.number)
    except KeyboardInterrupt:
        click.echo("left; the tournament continues", err=True)
    finally:
        feed.close()


def say_how_to_begin(db: str | None) -> None:
    """Say that there is nothing to watch yet, and how to begin a tournament."""
    _say(
        f"no tournament has been played yet (the store is {store_place(db)}); arena tournament mcts minimax "
        "begins one, arena watch in a terminal has a form for it"
    )


def _print_past(db: str | None, address: Address) -> set[int]:
    """Print a line for each stored match of a tournament, by number; return the store ids of the matches."""
    known: set[int] = set()
    with open_store(db, read_only=True, create=False) as store:
        for match in store.matches.of_tournament(address.tournament.id):
            _say(finished_line(finished_of(match, {})))
            known.add(match.id)
    return known


def follow_plain(
    feed: Feed,
    wait: Callable[[float], None],
    number: int | None = None,
    *,
    known: Container[int] | None = None,
) -> None:
    """Print the lines of a feed until its tournament has ended, or the chosen match.

    A store that is gone or locked is reported once, and polled again.

    Args:
        feed: the source of the events.
        wait: waits the given number of seconds between two polls.
        number: number of the chosen match; None for all.
        known: store ids of the matches that were printed before; None prints a summary of the past instead.

    Raises:
        ArenaError: the feed fails permanently.
    """
    has_standings = known is not None or number is not None
    looks_left = _LAST_LOOKS
    view, health = LiveView(), Health()
    poller, trouble = Poller(feed), ""
    is_first, is_stalled = True, False
    while True:
        batch, error, pause_s = poller.poll()
        trouble = _print_trouble(error, trouble)
        if batch is not None:
            view = _print_batch(batch, view, number, known, is_first=is_first)
            # A viewer that was present before the first match has seen all results as lines.
            has_standings = has_standings or (is_first and not view.finished)
            standings = batch.facts.get("standings")
            if not has_standings and isinstance(standings, StandingsView):
                has_standings = True
                # Like the dashboard: by place in tournaments that have places.
                ranked = batch.facts.get("by_place")
                is_by_place = isinstance(ranked, StandingsView)
                for line in standings_lines(ranked if is_by_place else standings, is_by_place=is_by_place):
                    _say(line)
            is_first = False
            health = _print_health(batch.health or health, health, view)
            if any(match.number == number and match.outcome != "void" for match in view.finished):
                return
        is_over = view.progress.state == "ended" or (batch is not None and batch.is_last)
        if is_over and (has_standings or looks_left == 0):
            return
        looks_left -= is_over
        was_stalled, is_stalled = is_stalled, view.progress.at(time.time()).is_stalled
        if is_stalled and not was_stalled:
            _say(f"{view.progress.name or 'tournament'} stalled: no result for longer than usual")
        wait(pause_s)


def _print_trouble(error: ArenaError | None, before: str) -> str:
    """Report once that the store cannot be read, and once that it can be again; return the current error."""
    if error is not None and not isinstance(error, StoreLost):
        raise error
    now = "" if error is None else str(error)
    if now != before:
        _say(now or "the store can be read again")
    return now


def _print_batch(
    batch: FeedUpdate, view: LiveView, number: int | None, known: Container[int] | None, *, is_first: bool
) -> LiveView:
    """Print the contents of a batch, and return the view after it."""
    view = _print_news(batch, _print_view(batch, view, number, known, is_first=is_first), number)
    for event in batch.events:
        view = reduce(view, event)
        line = line_of(event, view)
        if line is not None and number in (None, event.match):
            _say(line)
    return view


def _print_view(
    batch: FeedUpdate, view: LiveView, number: int | None, known: Container[int] | None, *, is_first: bool
) -> LiveView:
    """Print the news of a batch that replaces the whole view."""
    if batch.view is not None:
        told = {(match.number, match.attempt) for match in view.finished}
        before, view = view, _played(batch.view, batch.health)
        new = [match for match in view.finished if (match.number, match.attempt) not in told]
        if is_first and number is None:
            new = _since(new, view, known)
        for match in reversed([match for match in new if number in (None, match.number)]):
            _say(finished_line(match))
        if is_first and number is None:
            for notice in reversed(view.notices):
                _say(notice_line(notice))
        if is_first:
            for board in view.matches.values():
                if not board.is_over and number in (None, board.number):
                    _say(started_line(board))
        if number is None and (is_first or view.progress.done != before.progress.done):
            _say(progress_line(view.progress))
    return view


def _print_news(batch: FeedUpdate, view: LiveView, number: int | None) -> LiveView:
    """Print people's decisions, and the progress of the tournament if it has changed."""
    before, view = view, with_news(view, batch, view)
    if number is None and view.progress.goal != before.progress.goal and batch.view is None:
        _say(progress_line(view.progress))
    return view


def _since(new: list[FinishedMatch], view: LiveView, known: Container[int] | None) -> list[FinishedMatch]:
    """Return the matches to print for a new viewer; without `known`, print a summary instead."""
    if known is not None:
        return [match for match in new if match.stored is None or match.stored not in known]
    if new:
        _say(past_line(view.progress.done, view.progress.name))
    return []


def _played(view: LiveView, health: Health | None) -> LiveView:
    """Return a view without the rate if the coordinator is gone or not responding."""
    return stalled(view) if health is not None and (health.is_gone or health.is_silent) else view


def _print_health(health: Health, before: Health, view: LiveView) -> Health:
    """Report that the coordinator has stopped responding or responds again; return its present health."""
    name = view.progress.name or "tournament"
    if health.is_silent and not before.is_silent and health.heartbeat_t is not None:
        silence = duration_text(time.time() - health.heartbeat_t)
        _say(f"{name} silent: no sign of life from the process that plays it for {silence}")
    elif before.is_silent and not health.is_silent:
        _say(f"{name} continues")
    return health


def _say(text: str) -> None:
    """Print one cleaned line."""
    click.echo(clean_text(text, _LINE))
