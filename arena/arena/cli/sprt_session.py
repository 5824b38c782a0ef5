"""The part of a session that is particular to a sequential test: its expected length and exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.exits import Exit
from arena.cli.output import emit_object, say

if TYPE_CHECKING:
    from arena.cli.options import RunOptions
    from arena.coordinator.config import TournamentConfig
    from arena.results.sequential import SprtReport


def print_expectation(config: TournamentConfig, options: RunOptions) -> None:
    """Print the expected length of a test; `config` is that of its plan."""
    from arena.results.sequential import expectation
    from arena.schedules.sprt_words import parse_sprt

    told = expectation(parse_sprt(config.sprt or ""), config.pairs or 0)
    if options.form == "ndjson":
        values = {"sprt": config.sprt, "max_pairs": config.pairs, "then_rate": config.then_rate}
        emit_object("expectation", {**values, "text": told})
    elif not options.quiet:
        say(told)


def exit_of(report: SprtReport) -> Exit:
    """Return the exit status of a decided test."""
    return {"H0": Exit.NOT_SHOWN, "undecided": Exit.UNDECIDED}.get(str(report.state.decision), Exit.COMPLETE)
