"""What stands around the board of a replay, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len

from arena.live.plain import long_clock_text
from arena.live.views import RESULTS
from arena.tui.shell.lines import Part
from arena.tui.text import clip, safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.replay import Recorded, Replay
    from arena.live.views import MatchView
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line
    from arena.watching.one_match import OneMatch

_MAX_NAME = 24


def header_of(match: OneMatch | None, glyphs: Glyphs) -> Sequence[Part]:
    """Return address, game, bots, result, day."""
    parts = [Part("arena", "title"), Part("REPLAY", "focus")]
    if match is None:
        return parts
    recorded = match.recorded
    parts.append(Part(safe(match.address)))
    names = [
        clip(label or name if cell_len(name) > _MAX_NAME else name, _MAX_NAME)
        for name, label in zip(map(safe, recorded.bots), recorded.labels, strict=True)
    ]
    day = datetime.fromtimestamp(recorded.started_t, UTC).date().isoformat()
    return [
        *parts,
        Part(safe(recorded.game), "", 2),
        Part(f"{names[0]} ({glyphs.players[0]}) v {names[1]} ({glyphs.players[1]})", "", 1),
        Part(f"{RESULTS[recorded.outcome]} {recorded.termination}"),
        Part(day, "", 3),
    ]


def search_texts(match: MatchView, glyphs: Glyphs) -> list[Line]:
    """Give what both bots last said, each where it said anything."""
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
    """Give the line below the board: last move, side to move, and the grade of the last move."""
    if match.trouble:
        return match.trouble
    last = ""
    if match.moves:
        move = match.moves[-1]
        last = f"last {glyphs.players[move.player]} {move.text}"
    grade = "none"
    if match.ply and match.ply <= len(recorded.grades):
        grade = "?" if grade_text(match, recorded) else "ok"
    if match.is_over:
        return f"{last}    {match.result} {match.termination}  grade {grade}".strip()
    side = glyphs.players[match.to_move] if match.to_move in (0, 1) else "-"
    return f"{last}    to move {side}  grade {grade}".strip()


def grade_text(match: MatchView, recorded: Recorded) -> str:
    """Say what the last move gave away: `? gives a win away`; empty for nothing, or where nobody knows."""
    if not 0 < match.ply <= len(recorded.grades) or not recorded.grades[match.ply - 1]:
        return ""
    return f"? {recorded.grades[match.ply - 1]}"


def about_lines(replay: Replay) -> list[Line]:
    """Give where the bots differ, how it ended, and how it began."""
    recorded = replay.recorded
    plies = " ".join(map(str, replay.differing))
    if recorded.judge:
        differ = f" values by {recorded.judge}, not by the bots"
    elif plies:
        differ = f" the bots differ by more than 30 points at plies {plies}"
    elif any(value is not None for value in replay.evals):
        differ = " the bots never differ by more than 30 points"
    else:
        differ = " neither bot said what it expects"
    opening = "empty board"
    if recorded.num_opening:
        moves = replay.at(recorded.num_opening).moves
        opening = " ".join(move.text for move in moves)
    end = f" end: {recorded.reason or recorded.termination}, ply {replay.num_plies}"
    clock = f"     clock {recorded.tc}" if recorded.tc else ""
    first, second = recorded.bots
    who = f" first {first}   second {second}   opening: {opening}"
    return [((differ, ""),), ((f"{end}{clock}", ""),), ((who, "dim"),)]
