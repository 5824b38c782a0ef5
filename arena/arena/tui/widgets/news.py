"""Finished matches and notices as lines of a panel."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from arena.tui.text import left
from arena.tui.widgets.small_board import short_termination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.live.views import FinishedMatch, Notice
    from arena.tui.text import Line

_MIN_LABEL = 3
_MAX_LABEL = 7


@lru_cache(maxsize=256)
def finished_line(match: FinishedMatch, width: int) -> Line:
    """Say a match that is over: `#312 keras  0-1 az     16`; last come plies, or why it ended early."""
    last = str(match.plies) if match.termination == "rules" else short_termination(match.termination)
    fixed = cell_len(match.id_text) + len(match.result) + len(last) + 5
    room = min(_MAX_LABEL, max(_MIN_LABEL, (width - fixed) // 2))
    names = [left(label, room) for label in match.labels]
    return ((f" {match.id_text} {names[0]} {match.result} {names[1]} {last}", ""),)


@lru_cache(maxsize=256)
def finished_text(match: FinishedMatch) -> str:
    """Say a match that is over with time and reason: `09:34:12 #312 keras 0-1 az (rules, ply 16)`."""
    why = f"{match.termination}, ply {match.plies}" if match.termination == "rules" else match.why
    return f"{time_text(match.t)} {match.id_text} {match.labels[0]} {match.result} {match.labels[1]} ({why})"


def notice_line(notice: Notice) -> Line:
    """Say a notice: `09:33:40 ! #308 td: time_game, too late by 12 ms`."""
    about = "" if notice.number is None else f"match {notice.number} "
    return ((f" {time_text(notice.t)} ", "dim"), ("! ", "alert"), (f"{about}{notice.what}", ""))


def fault_lines(faults: Mapping[str, Mapping[str, int]], games: Mapping[str, int]) -> list[Line]:
    """Say which bots forfeit: `! td: 3 time_game in 104`; `games` tells how many matches each has played."""
    lines: list[Line] = []
    for name, counts in faults.items():
        what = ", ".join(f"{number} {termination}" for termination, number in sorted(counts.items()))
        played = f" in {games[name]}" if name in games else ""
        lines.append(((" ! ", "alert"), (f"{name}: {what}{played}", "")))
    return lines


def time_text(t: float) -> str:
    """Show a moment as the time of day here."""
    return datetime.fromtimestamp(t).astimezone().strftime("%H:%M:%S")
