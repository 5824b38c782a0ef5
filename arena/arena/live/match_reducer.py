"""Applies the events of one match to its view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.errors import ArenaError
from arena.live.geometry import changed_cells, find_game, position
from arena.live.labels import show_name
from arena.live.views import MatchView, MoveView, SeatView, percent_for_first
from arena_plugins.text import clean_text
from arena_plugins.thoughts import Thoughts, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.live.events import Event, Finished, Move, Started, ThinkingInfo

_MAX_TEXT = 200
_MAX_MOVE = 7
"""Maximum characters of a move."""


def begin(event: Event, body: Started, labels: Mapping[str, str], tournament: str) -> MatchView:
    """Return the view of a match that starts, with its opening on the board.

    Args:
        event: the event.
        body: its payload.
        labels: short labels of bots; bots without one are shown by name.
        tournament: name of the tournament.
    """
    clocks = body.clock_ms or (None, None)
    seats = tuple(
        SeatView(
            name=show_name(body.bots[player]),
            label=labels.get(body.bots[player]) or show_name(body.bots[player]),
            clock_ms=clocks[player],
        )
        for player in (0, 1)
    )
    match = MatchView(
        number=event.match or 0,
        attempt=event.attempt,
        stored=body.stored,
        tournament=event.tournament,
        tournament_name=tournament,
        game=clean_text(body.game, _MAX_TEXT),
        tc=clean_text(body.tc, _MAX_TEXT),
        seats=(seats[0], seats[1]),
        clock_t=event.t,
        free_ms=body.free_ms,
        started_t=event.t,
        last_t=event.t,
    )
    try:
        start = position(match.game, ())
        rows, columns = find_game(match.game).shape
    except ArenaError as error:
        trouble = clean_text(str(error), _MAX_TEXT)
        return replace(match, actions=body.opening, trouble=trouble, to_move=len(body.opening) % 2)
    cells = tuple(start.cells)
    match = replace(match, rows=rows, columns=columns, cells=cells, to_move=start.current_player)
    for action in body.opening:
        match = _play(match, action, MoveView(ply=0, player=0, action=0, text="", is_opening=True))
    return match


def move(match: MatchView, event: Event, body: Move) -> MatchView:
    """Return the match after a move; a move that is already known, or comes too early, changes nothing."""
    if event.ply != match.ply + 1 or match.to_move < 0:
        return match
    player = match.to_move
    value = percent_for_first(body.value, player)
    drawn = MoveView(ply=0, player=0, action=0, text="", elapsed_ms=body.elapsed_ms, eval=value)
    seat = replace(
        match.seats[player], thoughts=_only_thoughts(body), thoughts_ply=event.ply, thinking=None, eval=value
    )
    match = _with_seat(_play(match, body.action, drawn), player, seat)
    if body.clock_ms is not None:
        seats = tuple(
            replace(seat, clock_ms=clock) for seat, clock in zip(match.seats, body.clock_ms, strict=True)
        )
        match = replace(match, seats=(seats[0], seats[1]))
    return replace(match, clock_t=event.t, last_t=event.t, is_stalled=False)


def think(match: MatchView, event: Event, body: ThinkingInfo) -> MatchView:
    """Return the match with the latest report of the bot to move; reports on past positions are ignored."""
    if event.ply != match.ply or match.to_move < 0:
        return match
    player = match.to_move
    value = percent_for_first(body.value, player)
    before = match.seats[player]
    seat = replace(before, thinking=_only_thoughts(body), eval=before.eval if value is None else value)
    return replace(_with_seat(match, player, seat), last_t=event.t, is_stalled=False)


def end(match: MatchView, event: Event, body: Finished) -> MatchView:
    """Return the match with stopped clocks and its result."""
    stopped = tuple(
        replace(seat, clock_ms=match.remaining_ms(player, event.t), thinking=None)
        for player, seat in enumerate(match.seats)
    )
    return replace(
        match,
        seats=(stopped[0], stopped[1]),
        outcome=body.outcome,
        termination=clean_text(body.termination, _MAX_TEXT),
        reason=clean_text(body.reason, _MAX_TEXT),
        stored=match.stored if body.stored is None else body.stored,
        last_t=event.t,
    )


def abandon(match: MatchView, t: float) -> MatchView:
    """Return a match that will get no further events as void."""
    return replace(match, outcome="void", termination="aborted", reason="the run ended before it", last_t=t)


def stall(match: MatchView) -> MatchView:
    """Return a match that is not being played as stalled, with stopped clocks; its next move resumes it."""
    return match if match.is_over or match.is_stalled else replace(match, is_stalled=True)


def _play(match: MatchView, action: int, drawn: MoveView) -> MatchView:
    actions = (*match.actions, action)
    if match.trouble:
        return replace(match, actions=actions, to_move=len(actions) % 2)
    try:
        before = position(match.game, match.actions)
        text = find_game(match.game).move(before, action)
        after = position(match.game, actions)
    except ArenaError as error:
        trouble = clean_text(str(error), _MAX_TEXT)
        return replace(match, actions=actions, trouble=trouble, to_move=len(actions) % 2)
    cells = tuple(after.cells)
    filled = [cell for cell in changed_cells(match.cells, cells) if cells[cell]]
    drawn = replace(
        drawn,
        ply=len(actions),
        player=before.current_player,
        action=action,
        text=clean_text(text, _MAX_MOVE),
        cell=filled[0] if len(filled) == 1 else None,
    )
    to_move = -1 if after.is_terminal else after.current_player
    return replace(
        match,
        actions=actions,
        cells=cells,
        winning=after.winning_cells,
        moves=(*match.moves, drawn),
        to_move=to_move,
    )


def _with_seat(match: MatchView, player: int, seat: SeatView) -> MatchView:
    return replace(match, seats=(seat, match.seats[1]) if player == 0 else (match.seats[0], seat))


def _only_thoughts(body: Thoughts) -> Thoughts:
    text = None if body.text is None else clean_text(body.text, _MAX_TEXT)
    return replace(Thoughts(**fields_of(body)), text=text)
