"""Formats numbers for pages, in the same way as the commands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.live.table_views import StandingRow
    from arena.results.crosstable import Cell


def elo_text(row: StandingRow) -> str:
    """Format a rating: `1534`, then `?` if only the prior bounds it, `*` with matches of tests."""
    return f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}{'*' if row.tested else ''}"


def error_text(error: float | None) -> str:
    """Format half of an interval: `41`; empty for None."""
    return "" if error is None else f"{error:.0f}"


def percent_text(share: float | None) -> str:
    """Format a share from 0 to 1: `63.4%`; empty for None."""
    return "" if share is None else f"{100 * share:.1f}%"


def gap_text(cell: Cell) -> str:
    """Format a difference in Elo: `+87`, then `?` if results bound only one side; empty for None."""
    if cell.elo is None:
        return ""
    is_bounded = cell.elo_low is not None and cell.elo_high is not None
    return f"{cell.elo:+z.0f}{'' if is_bounded else '?'}"


def triple_text(results: tuple[int, int, int]) -> str:
    """Format wins, draws and losses: `5-0-2`."""
    return "-".join(map(str, results))


def day_text(t: float) -> str:
    """Format a UTC time to the minute: `2026-11-22 14:05`."""
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%d %H:%M")


def iso_text(t: float) -> str:
    """Format a UTC time in ISO 8601."""
    return datetime.fromtimestamp(t, UTC).isoformat(timespec="seconds")
