"""The reducer: maps a view-model and an event to the next view-model, the same for all viewers.

A viewer may start from any snapshot; only newer events change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.errors import ArenaError, ProtocolError
from arena.live.events import EntrantChange, Fault, Finished, Move, RunState, Started, ThinkingInfo, Voided
from arena.live.geometry import changed_cells, find_game, position
from arena.live.labels import show_name
from arena.live.views import (
    MAX_FINISHED,
    MAX_NOTICES,
    MAX_RECENT,
    FinishedMatch,
    LiveView,
    MatchView,
    MoveView,
    Notice,
    SeatView,
    percent_for_first,
)
from arena.naming import match_address
from arena.referee.blame import forfeiter
from arena_plugins.text import clean_text
from arena_plugins.thoughts import Thoughts, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arena.live.events import Event, Payload

MAX_TEXT = 200
"""Maximum characters kept of a text from outside."""


def reduce(view: LiveView, event: Event) -> LiveView:
    """Return the view after `event`; a known event changes nothing, a damaged one becomes a notice."""
    if event.seq <= view.seq:
        return view
    view = replace(view, seq=event.seq)
    try:
        return _after(view, event, event.body())
    except ArenaError as error:
        text = clean_text(str(error), MAX_TEXT)
        return _note(view, Notice(t=event.t, number=event.match, address=_address(view, event), text=text))


def reduce_all(view: LiveView, events: Iterable[Event]) -> LiveView:
    """Return the view after all `events`, oldest first."""
    for event in events:
        view = reduce(view, event)
    return view


def with_ends(view: LiveView, ends: Iterable[Event]) -> LiveView:
    """Return the view with ends of matches that were read from stored results; `seq` is unchanged.

    Later events of these matches have no effect.
    """
    for event in ends:
        match = None if event.match is None else view.matches.get(event.match)
        if match is not None and not match.is_over:
            view = _after(view, event, event.body())
    return view


def stalled(view: LiveView) -> LiveView:
    """Return the view of a tournament that no process runs: its matches are stalled, and it has no rate."""
    progress = view.progress
    if progress.given_rate is not None or progress.recent:
        view = replace(view, progress=replace(progress, given_rate=None, recent=()))
    if not any(match.is_played for match in view.matches.values()):
        return view
    return replace(view, matches={number: _stall(match) for number, match in view.matches.items()})


def changed_matches(before: LiveView, after: LiveView) -> frozenset[int]:
    """Return the numbers of the matches that changed, appeared or disappeared."""
    numbers = before.matches.keys() | after.matches.keys()
    return frozenset(n for n in numbers if before.matches.get(n) is not after.matches.get(n))


def _after(view: LiveView, event: Event, body: Payload) -> LiveView:
    if event.match is None and isinstance(body, Started | Move | ThinkingInfo | Finished):
        raise ProtocolError(f"event {event.seq} of kind {event.kind} names no match")
    match = None if event.match is None else view.matches.get(event.match)
    if match is not None and match.attempt != event.attempt:
        match = None
    if isinstance(body, RunState):
        view = _run_state(view, event, body)
    elif isinstance(body, Voided | EntrantChange):
        view = _note(view, Notice(t=event.t, text=clean_text(body.words, MAX_TEXT), is_decision=True))
    elif isinstance(body, Fault):
        view = _note(view, _fault_notice(view, event, body))
        if body.stalls and match is not None:
            view = _show(view, _stall(match))
    elif isinstance(body, Started):
        view = _place(view, _begin(event, body, view.labels, view.progress.name))
    elif isinstance(body, Finished):
        view = _finish(view, event, body, match)
    # Moves of a match whose start was missed cannot be shown; the next snapshot contains the match.
    elif match is not None and not match.is_over:
        after = _move(match, event, body) if isinstance(body, Move) else _think(match, event, body)
        view = _show(view, after)
    return view


def _show(view: LiveView, match: MatchView) -> LiveView:
    return replace(view, matches={**view.matches, match.number: match})


def _place(view: LiveView, match: MatchView) -> LiveView:
    """Put a new match in the place of the one that has been over for longest, else at the end."""
    if match.number in view.matches:
        return _show(view, match)
    over = [number for number in view.places if not view.matches[number].is_played]
    if not over:
        return replace(_show(view, match), places=(*view.places, match.number))
    oldest = min(over, key=lambda number: (view.matches[number].last_t, number))
    places = tuple(match.number if number == oldest else number for number in view.places)
    matches = {number: known for number, known in view.matches.items() if number != oldest}
    return replace(view, matches={**matches, match.number: match}, places=places)


def _finish(view: LiveView, event: Event, body: Finished, match: MatchView | None) -> LiveView:
    is_counted = any((known.number, known.attempt) == (event.match, event.attempt) for known in view.finished)
    if match is None:
        # The place of its board may have gone to another match since its end was read from the store.
        return view if is_counted else _count(view, event, body)
    if match.is_over:
        return view
    match = _end(match, event, body)
    if is_counted:
        # Past results were read after this match was stored but before its events.
        return _show(view, match)
    view = _count(_show(view, match), event, body)
    row = FinishedMatch(
        number=match.number,
        attempt=match.attempt,
        stored=match.stored,
        tournament_name=match.tournament_name,
        names=(match.seats[0].name, match.seats[1].name),
        labels=(match.seats[0].label, match.seats[1].label),
        outcome=body.outcome,
        termination=match.termination,
        reason=match.reason,
        plies=body.plies,
        t=event.t,
    )
    view = replace(view, finished=(row, *view.finished)[:MAX_FINISHED])
    player = forfeiter(body.outcome, body.termination)
    return view if player is None else _blame(view, match.seats[player].name, body.termination)


def _count(view: LiveView, event: Event, body: Finished) -> LiveView:
    """Count a finished match whose board is not shown: only the payload of its end is known."""
    progress = replace(view.progress, heard_t=max(view.progress.heard_t, event.t))
    if body.is_final:
        recent = (*progress.recent, event.t)[-MAX_RECENT:]
        progress = replace(progress, done=progress.done + 1, recent=recent)
    return replace(view, progress=progress)


def _blame(view: LiveView, name: str, termination: str) -> LiveView:
    known = view.faults.get(name, {})
    counts = {**known, termination: known.get(termination, 0) + 1}
    return replace(view, faults={**view.faults, name: counts})


def _address(view: LiveView, event: Event) -> str:
    return "" if event.match is None else match_address(view.progress.name, event.match)


def _fault_notice(view: LiveView, event: Event, body: Fault) -> Notice:
    match = None if event.match is None else view.matches.get(event.match)
    if match is not None and match.attempt != event.attempt:
        match = None
    label = "" if match is None or body.player not in (0, 1) else match.seats[body.player].label
    return Notice(
        t=event.t,
        number=event.match,
        address=_address(view, event),
        label=label,
        termination=clean_text(body.termination, MAX_TEXT),
        text=clean_text(body.text, MAX_TEXT),
    )


def _note(view: LiveView, notice: Notice) -> LiveView:
    return replace(view, notices=(notice, *view.notices)[:MAX_NOTICES])


def _run_state(view: LiveView, event: Event, body: RunState) -> LiveView:
    before = view.progress
    progress = replace(
        before,
        name=show_name(body.name) if body.name else before.name,
        game=clean_text(body.game, MAX_TEXT) or before.game,
        tc=clean_text(body.tc, MAX_TEXT) or before.tc,
        state=body.state,
        reason=clean_text(body.reason, MAX_TEXT),
        goal=clean_text(body.goal, MAX_TEXT) or before.goal,
        planned=body.planned,
        is_most=body.is_most,
        done=body.done,
        workers=body.workers,
        given_rate=body.rate,
        heard_t=max(before.heard_t, event.t),
    )
    view = replace(view, progress=progress)
    if body.state != "ended":
        return view
    # Matches that are still running were abandoned by a killed run.
    left = {n: _abandon(m, event.t) for n, m in view.matches.items() if not m.is_over}
    return replace(view, matches={**view.matches, **left})


_MAX_TEXT = 200
_MAX_MOVE = 7
"""Maximum characters of a move."""


def _begin(event: Event, body: Started, labels: Mapping[str, str], tournament: str) -> MatchView:
    """Return the view of a match that starts, with its opening on the board.

    Args:
        event: the event.
        body: payload of the event.
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


def _move(match: MatchView, event: Event, body: Move) -> MatchView:
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


def _think(match: MatchView, event: Event, body: ThinkingInfo) -> MatchView:
    """Return the match with the latest report of the bot to move; reports on past positions are ignored."""
    if event.ply != match.ply or match.to_move < 0:
        return match
    player = match.to_move
    value = percent_for_first(body.value, player)
    before = match.seats[player]
    seat = replace(before, thinking=_only_thoughts(body), eval=before.eval if value is None else value)
    return replace(_with_seat(match, player, seat), last_t=event.t, is_stalled=False)


def _end(match: MatchView, event: Event, body: Finished) -> MatchView:
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


def _abandon(match: MatchView, t: float) -> MatchView:
    """Return a match as void, because it will get no further events."""
    return replace(match, outcome="void", termination="aborted", reason="the run ended before it", last_t=t)


def _stall(match: MatchView) -> MatchView:
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
