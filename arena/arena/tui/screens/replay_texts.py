"""The texts around the board of a replay."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len

from arena.live.plain import long_clock_text
from arena.live.views import RESULTS, end_word
from arena.tui.shell.chrome import HeaderPart
from arena.tui.text import clip, join, safe
from arena.tui.widgets.bars import bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.replay_views import PlyGrade, Recorded, Replay
    from arena.live.views import MatchView
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line
    from arena.watching.one_match import OneMatch

_MAX_NAME = 24
"""Width in cells up to which a bot is shown by its name, not by its label."""
_WIDE = 120
"""Columns from which the evaluation bar is long."""
_BAR, _WIDE_BAR = 10, 32
"""Width of the evaluation bar on normal and on wide terminals, in cells."""


def replay_header(match: OneMatch | None, glyphs: Glyphs) -> Sequence[HeaderPart]:
    """Return address, bots, game, result, day."""
    parts = [HeaderPart("arena", "title"), HeaderPart("REPLAY", "focus")]
    if match is None:
        return parts
    recorded = match.recorded
    parts.append(HeaderPart(safe(match.address)))
    names = [
        clip(label or name if cell_len(name) > _MAX_NAME else name, _MAX_NAME)
        for name, label in zip(map(safe, recorded.bots), recorded.labels, strict=True)
    ]
    day = datetime.fromtimestamp(recorded.started_t, UTC).date().isoformat()
    return [
        *parts,
        HeaderPart(safe(recorded.game), "", 2),
        HeaderPart(f"{names[0]} ({glyphs.players[0]}) v {names[1]} ({glyphs.players[1]})", "", 1),
        HeaderPart(f"{RESULTS[recorded.outcome]} {end_word(recorded.termination, recorded.void_reason)}"),
        HeaderPart(day, "", 3),
    ]


def search_texts(match: MatchView, glyphs: Glyphs) -> list[Line]:
    """Return the last evaluation and search figures of both bots, as far as known."""
    lines: list[Line] = []
    for player, seat in enumerate(match.seats):
        glyph, style = glyphs.players[player], ("first", "second")[player]
        said = f"ply {seat.thoughts_ply:>3} {'-':>5}" if seat.thoughts_ply else "-"
        if seat.eval is not None:
            said = f"ply {seat.thoughts_ply:>3} {seat.eval:4.0f}%"
        lines.append(((f" {glyph}", style), (f" {said}", "")))
    for player, seat in enumerate(match.seats):
        facts: list[tuple[str, str]] = []
        if seat.thoughts is not None:
            if seat.thoughts.visits is not None:
                facts.append(("visits", str(sum(visits for _, visits in seat.thoughts.visits))))
            for name, value in (("nodes", seat.thoughts.nodes), ("depth", seat.thoughts.depth)):
                if value is not None:
                    facts.append((name, str(value)))
        if seat.clock_ms is not None:
            facts.append(("clock", long_clock_text(seat.clock_ms)))
        lines += [((f" {name} {glyphs.players[player]} {text}", ""),) for name, text in facts]
    if match.moves and match.moves[-1].elapsed_ms is not None:
        lines.append(((f" move {match.moves[-1].elapsed_ms} ms", ""),))
    return lines


def status_line(match: MatchView, recorded: Recorded, glyphs: Glyphs) -> str:
    """Return the line below the board: last move, side to move, and the grade of the last move."""
    if match.trouble:
        return match.trouble
    last = ""
    if match.moves:
        move = match.moves[-1]
        last = f"last {glyphs.players[move.player]} {move.text}"
    judged = _grade_of(match, recorded)
    grade = "none" if judged is None else judged.mark or "ok"
    if match.is_over:
        return f"{last}    {match.result} {match.end}  grade {grade}".strip()
    side = glyphs.players[match.to_move] if match.to_move in (0, 1) else "-"
    return f"{last}    to move {side}  grade {grade}".strip()


def grade_text(match: MatchView, recorded: Recorded) -> str:
    """Return the grade of the last move: `? gives a win away`; empty if it has none."""
    judged = _grade_of(match, recorded)
    return "" if judged is None else f"{judged.mark} {judged.text}".strip()


def _grade_of(match: MatchView, recorded: Recorded) -> PlyGrade | None:
    """Return the grade of the last move."""
    return recorded.grades[match.ply - 1] if 0 < match.ply <= len(recorded.grades) else None


def about_lines(replay: Replay, ply: int, progress: str, width: int, glyphs: Glyphs) -> list[Line]:
    """Return three lines: evaluation with the judge's advice, the ending, the opening.

    Args:
        replay: the match.
        ply: ply of the position.
        progress: progress of a running grading; empty without one.
        width: cells of a line.
        glyphs: glyphs to draw with.
    """
    return [_standing(replay, ply, progress, width, glyphs), *ending_lines(replay)]


def ending_lines(replay: Replay) -> list[Line]:
    """Return two lines: how a match ended, and how it began."""
    recorded = replay.recorded
    opening = "empty board"
    if recorded.num_opening:
        moves = replay.at(recorded.num_opening).moves
        opening = " ".join(move.text for move in moves)
    end = f" end: {recorded.reason or recorded.termination}, ply {replay.num_plies}"
    clock = f"     clock {recorded.tc}" if recorded.tc else ""
    first, second = recorded.bots
    who = f" first {first}   second {second}   opening: {opening}"
    return [((f"{end}{clock}", ""),), ((who, "dim"),)]


def _standing(replay: Replay, ply: int, progress: str, width: int, glyphs: Glyphs) -> Line:
    """Return the evaluation bar, followed by the progress of a grading or the judge's advice."""
    percent, grade, head = replay.eval_at(ply), replay.grade(ply), join(" ")
    if percent is not None:
        cells = _WIDE_BAR if width >= _WIDE else _BAR
        head = join(
            ((f" {glyphs.players[0]}", "first"),),
            " ",
            bar(percent / 100, cells, glyphs),
            f" {percent:3.0f}%  ",
        )
    if progress:
        return join(head, progress)
    if grade is not None:
        # The line of moves comes last, so that only its end is cut.
        words = f"{replay.recorded.judge}: {grade.advice}".split(" ")
        used = sum(cell_len(text) for text, _ in head)
        while len(words) > 1 and used + cell_len(" ".join(words)) > width:
            words.pop()
        return join(head, " ".join(words))
    return join(
        head, "" if replay.recorded.grades else "this match has not been judged; g judges it, J by a bot"
    )
