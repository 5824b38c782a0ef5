"""Finished matches and notices as lines of a panel."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from arena.tui.widgets.small_board import short_termination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.live.views import FinishedMatch, Notice
    from arena.tui.text import Line


@lru_cache(maxsize=256)
def finished_line(match: FinishedMatch, width: int) -> Line:
    """Format a finished match: `/312 keras 0-1 az 16`, with its plies or why it ended early.

    If it does not fit, the last part is left out, then the number; labels are never cut.
    """
    last = str(match.plies) if match.end == "rules" else short_termination(match.end)
    who = f"{match.labels[0]} {match.result} {match.labels[1]}"
    forms = (f"{match.short_address} {who} {last}", f"{match.short_address} {who}", who)
    text = next((text for text in forms if cell_len(text) < width), who)
    return ((f" {text}", ""),)


@lru_cache(maxsize=256)
def finished_text(match: FinishedMatch) -> str:
    """Format a finished match with time and reason: `09:34:12 live1/312 keras 0-1 az (rules, ply 16)`."""
    why = f"{match.end}, ply {match.plies}" if match.end == "rules" else match.why
    return f"{time_text(match.t)} {match.address} {match.labels[0]} {match.result} {match.labels[1]} ({why})"


def notice_line(notice: Notice) -> Line:
    """Format a notice: `09:33:40 ! match live1/308 td: time_game, too late by 12 ms`."""
    about = f"match {notice.address} " if notice.address else ""
    mark = ("", "") if notice.is_decision else ("! ", "alert")
    return ((f" {time_text(notice.t)} ", "dim"), mark, (f"{about}{notice.what}", ""))


def fault_lines(faults: Mapping[str, Mapping[str, int]], games: Mapping[str, int]) -> list[Line]:
    """Format the forfeits of bots: `! td: 3 time_game in 104`; `games` has the number of matches of each."""
    lines: list[Line] = []
    for name, counts in faults.items():
        what = ", ".join(f"{number} {termination}" for termination, number in sorted(counts.items()))
        played = f" in {games[name]}" if name in games else ""
        lines.append(((" ! ", "alert"), (f"{name}: {what}{played}", "")))
    return lines


def time_text(t: float) -> str:
    """Format a moment as the local time of day."""
    return datetime.fromtimestamp(t).astimezone().strftime("%H:%M:%S")
