"""Events as plain lines and boards in words, for screen readers, pipes and simple terminals."""

from __future__ import annotations

import shlex
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.live.views import ending_text
from arena.naming import count_text
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.events import Event
    from arena.live.geometry import Geometry
    from arena.live.table_views import StandingRow, StandingsView
    from arena.live.views import FinishedMatch, LiveView, MatchView, Notice, ProgressView

_SIDES = ("first", "second")
_MAX_LINE = 400
"""Maximum characters of a line, which may contain texts of bots and people."""


def line_of(event: Event, view: LiveView) -> str | None:
    """Return a line about `event`, given the view after it; None if it has nothing to report."""
    match = None if event.match is None else view.matches.get(event.match)
    text: str | None = None
    if event.kind == "state":
        text = progress_line(view.progress)
    elif event.kind == "fault":
        newest = view.notices[0] if view.notices else None
        if newest is not None:
            text = notice_line(newest)
    elif event.kind in {"voided", "entrant"}:
        text = view.notices[0].what if view.notices else None
    elif match is not None and match.attempt == event.attempt:
        if event.kind == "started":
            text = started_line(match)
        elif event.kind == "move" and match.moves and match.ply == event.ply:
            text = move_line(match)
        elif event.kind == "finished":
            text = over_line(match)
    return None if text is None else clean_text(text, _MAX_LINE)


def started_line(match: MatchView) -> str:
    """Return `match live1/313 begins: first az against second mcts, connect-four 10+0.1`."""
    first, second = match.seats
    opening = " ".join(move.text for move in match.moves)
    about = f"{match.game} {match.tc}".strip() + (f", opening {opening}" if opening else "")
    return f"match {match.address} begins: first {first.name} against second {second.name}, {about}"


def move_line(match: MatchView) -> str:
    """Return the last move as `match live1/313 ply 7: first az plays 3, X wins 71 %, clock 12.4 s`."""
    if not match.moves:
        return f"match {match.address}: no move yet"
    move = match.moves[-1]
    seat = match.seats[move.player]
    parts = [f"{_SIDES[move.player]} {seat.name} plays {move.text}"]
    if move.eval is not None:
        parts.append(eval_text(move.eval))
    if seat.clock_ms is not None:
        parts.append(f"clock {seat.clock_ms / 1000:.1f} s")
    return f"match {match.address} ply {move.ply}: {', '.join(parts)}"


def over_line(match: MatchView) -> str:
    """Return the end of a match as `match live1/308 over: first mm5 beats second td, time_game`."""
    names = (match.seats[0].name, match.seats[1].name)
    return _over(match.address, names, match.outcome, ending_text(match.termination, match.reason))


def finished_line(match: FinishedMatch) -> str:
    """Return the end of a match from its summary, in the format of `over_line`."""
    return _over(match.address, match.names, match.outcome, match.why)


def _over(address: str, names: tuple[str, str], outcome: str, why: str) -> str:
    sides = [f"{side} {name}" for side, name in zip(_SIDES, names, strict=True)]
    if outcome == "second":
        sides.reverse()
    verb = {"first": "beats", "second": "beats", "draw": "draws with"}.get(outcome, "against")
    void = "void, " if outcome == "void" else ""
    return f"match {address} over: {void}{sides[0]} {verb} {sides[1]}, {why}"


def past_line(num: int, name: str) -> str:
    """Return how many past matches are omitted, and the command that prints them."""
    many = "1 match is" if num == 1 else f"{num} matches are"
    return f"{many} over before this; arena watch {shlex.quote(name)} --plain --from-start prints each"


def standings_lines(standings: StandingsView, most: int = 10, *, is_by_place: bool = False) -> list[str]:
    """Return the top of a table, one line per bot: `1 mcts: 13 of 16 points, Elo 1781 +/- 226`.

    Args:
        standings: the table.
        most: maximum number of bots.
        is_by_place: whether it is a table by place, whose points include byes: `1 mcts: 6 points`.
    """
    lines = [_standing_line(row, is_by_place=is_by_place) for row in standings.rows[:most]]
    left_out = len(standings.rows) - most
    return [*lines, f"and {left_out} more: arena leaderboard"] if left_out > 0 else lines


def _standing_line(row: StandingRow, *, is_by_place: bool) -> str:
    games = "" if is_by_place else f" of {row.games}"
    error = "?" if row.rests_on_prior else "" if row.error is None else f" +/- {row.error:.0f}"
    state = f", {row.standing}" if row.standing else ""
    return f"{row.place} {row.name}: {row.points:g}{games} points, Elo {row.elo:.0f}{error}{state}"


def progress_line(progress: ProgressView) -> str:
    """Return `rr-42 running: 312 of 600 matches, 52 %, 7.8 a minute, 37 min to go`."""
    done = count_text(progress.done, progress.planned, " of ")
    text = f"{progress.name or 'tournament'} {progress.state}: {done} matches"
    parts = [text] if progress.planned is None else [text, f"{100 * progress.at().share:.0f} %"]
    if progress.rate is not None:
        parts.append(f"{progress.rate:.1f} a minute")
    if (eta_s := progress.at().eta_s) is not None:
        parts.append(f"{duration_text(eta_s)} to go")
    if progress.reason:
        parts.append(progress.reason)
    if progress.goal:
        parts.append(progress.goal)
    return ", ".join(parts)


def notice_line(notice: Notice) -> str:
    """Return a decision of a person, or a problem: `match live1/7: fault: td: time_game`."""
    about = f"match {notice.address}: " if notice.address else ""
    return notice.what if notice.is_decision else f"{about}fault: {notice.what}"


def eval_text(percent: float, mark: str = "X") -> str:
    """Return an evaluation as `X wins 71 %`."""
    return f"{mark} wins {percent:.0f} %"


def duration_text(seconds: float) -> str:
    """Return a duration in suitable units: `40 s`, `37 min`, `5 h 10 min`."""
    if seconds < 90:  # noqa: PLR2004 # up to a minute and a half, seconds say more
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 # so do minutes


def moment_text(t: float) -> str:
    """Return a time, given in seconds since 1970 (UTC), in local time: `2026-11-21 16:20`."""
    return datetime.fromtimestamp(t).astimezone().strftime("%Y-%m-%d %H:%M")


def clock_text(milliseconds: int) -> str:
    """Return a clock as `0:12`, or `1:02:03` from an hour on; 0:00 means less than a second."""
    seconds = milliseconds // 1000
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def long_clock_text(milliseconds: int) -> str:
    """Return a clock with tenths of a second: `0:12.4`."""
    return f"{clock_text(milliseconds)}.{milliseconds % 1000 // 100}"


STONES = ".XO"
"""Symbols of an empty cell and of the two players' stones."""
_SAID = ("empty", "X", "O")


def board_lines(match: MatchView) -> list[str]:
    """Return the board as text, one line per row, with the names of rows and columns."""
    shape = _shape(match)
    if shape is None:
        return [match.trouble or "this game has no board"]
    width = max(map(len, (*shape.column_names, "X")))
    side = max(map(len, shape.row_names))
    lines = [" ".join(["", " " * side, *(name.rjust(width) for name in shape.column_names)])]
    for row in range(shape.rows):
        cells = match.cells[row * shape.columns : (row + 1) * shape.columns]
        stones = (STONES[cell].rjust(width) for cell in cells)
        lines.append(" ".join(["", shape.row_names[row].rjust(side), *stones]))
    return lines


def column_line(match: MatchView, name: str) -> str:
    """Return a column from the bottom: `column 4 from the bottom: X, O, 4 empty`."""
    shape = _shape(match)
    if shape is None or name not in shape.column_names:
        return _no("column", name, () if shape is None else shape.column_names)
    column = shape.column_names.index(name)
    cells = [match.cells[row * shape.columns + column] for row in reversed(range(shape.rows))]
    return f"column {name} from the bottom: {_said(cells)}"


def row_line(match: MatchView, name: str) -> str:
    """Return a row from the left: `row 2 from the left: 3 empty, X, 3 empty`."""
    shape = _shape(match)
    if shape is None or name not in shape.row_names:
        return _no("row", name, () if shape is None else shape.row_names)
    start = shape.row_names.index(name) * shape.columns
    return f"row {name} from the left: {_said(match.cells[start : start + shape.columns])}"


def last_line(match: MatchView) -> str:
    """Return the last move: `last: O minimax plays 4, X wins 71 %`."""
    if not match.moves:
        return "no move yet"
    move = match.moves[-1]
    parts = [f"last: {STONES[1 + move.player]} {match.seats[move.player].name} plays {move.text}"]
    if move.eval is not None:
        parts.append(eval_text(move.eval))
    return ", ".join(parts)


def clock_line(match: MatchView, now: float) -> str:
    """Return both clocks at `now`, in seconds since 1970 (UTC)."""
    said: list[str] = []
    for player, side in enumerate(_SIDES):
        left = match.remaining_ms(player, now)
        if left is not None:
            said.append(f"{side} {STONES[1 + player]} {long_clock_text(left)}")
    return f"clock: {', '.join(said)}" if said else "clock: none in this match"


def legal_line(match: MatchView) -> str:
    """Return the legal moves."""
    # Imported late: it loads the games' plugins, and most lines of text do not need a board.
    from arena.live.geometry import find_game, position

    try:
        state, game = position(match.game, match.actions), find_game(match.game)
    except ArenaError as error:
        return str(error)
    moves = [game.move(state, action) for action in state.legal_actions] if not match.is_over else []
    return f"legal: {' '.join(moves)}" if moves else "legal: nothing, the match is over"


def _shape(match: MatchView) -> Geometry | None:
    from arena.live.geometry import geometry

    try:
        return geometry(match.game) if match.columns else None
    except ArenaError:
        return None


def _no(what: str, name: str, names: Sequence[str]) -> str:
    return (
        f"there is no {what} {name}; there are {' '.join(names)}" if names else f"there is no {what} {name}"
    )


def _said(cells: Sequence[int]) -> str:
    """Return cells in words; runs of empty cells are counted."""
    found: list[str] = []
    for cell, some in groupby(cells):
        number = len(list(some))
        if cell == 0:
            found.append(f"{number} empty" if number > 1 else "empty")
        else:
            found += [_SAID[cell]] * number
    return ", ".join(found)
