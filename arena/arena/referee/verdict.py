"""What is decided: faults with their evidence, and how an end is said in words."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from arena_plugins.contract import Outcome, Termination
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena.referee.seats import Detail, Seat

MAX_OFFENDING = 512
"""Bytes of what a bot sent that are kept as evidence."""
MAX_STDERR = 8_192
"""Bytes of the end of a bot's stderr that are kept as evidence."""
# Every match is asked about these, and to look a member of an enum up takes as long as ten other things.
_VOID, _DRAW, _FIRST = Outcome.VOID, Outcome.DRAW, Outcome.FIRST
_RULES, _ADJUDICATED = Termination.RULES, Termination.ADJUDICATED
_TOO_LATE = frozenset({Termination.TIME_MOVE, Termination.TIME_GAME})


class FaultError(Exception):
    """A bot forfeits; inside the referee only, a seat gives it out as a `Fault`."""

    def __init__(
        self, termination: Termination, cause: str, offending: bytes = b"", scratch: str = ""
    ) -> None:
        super().__init__(cause)
        self.termination = termination
        self.cause = cause
        self.offending = offending
        self.scratch = scratch
        """Which bound its scratch folder exceeded, if that is the cause."""


def evidence(error: FaultError, seat: Seat, elapsed_s: float, limit_ms: float) -> Detail:
    """Give the evidence every fault has: cause, times, bot, and what it sent if that was wrong."""
    detail: Detail = {
        "cause": clean_text(error.cause, MAX_OFFENDING),
        "elapsed_ms": round(elapsed_s * 1000, 3),
        "limit_ms": round(limit_ms, 3),
        "bot": seat.name,
        "version": seat.version,
        "tier": seat.tier.value,
    }
    if error.offending:
        detail["offending"] = repr(error.offending[:MAX_OFFENDING])
    if error.scratch:
        detail["scratch"] = error.scratch
    return detail


def stderr_text(kept: bytes) -> str:
    """Give the end of what a bot wrote to stderr, line by line clean."""
    lines = kept[-MAX_STDERR:].decode("utf-8", "replace").splitlines()
    return "\n".join(clean_text(line, MAX_STDERR) for line in lines)


def reason(
    outcome: Outcome, termination: Termination, labels: tuple[str, str], ending: str, fault: Detail | None
) -> str:
    """Say in words why a match ended, as it is printed after `Finished game`.

    Args:
        outcome: who won.
        termination: why it ended.
        labels: the bots' names, first and second.
        ending: by what it ended, if by the rules: `Game.ending`.
        fault: the evidence, if a bot forfeited.
    """
    if outcome is _VOID:
        return f"Match void ({termination})"
    is_adjudicated = termination is _ADJUDICATED
    by = "adjudication" if is_adjudicated else ending
    if outcome is _DRAW:
        return f"Draw by {by}"
    winner = 0 if outcome is _FIRST else 1
    if is_adjudicated or termination is _RULES:
        return f"{labels[winner]} wins by {by}"
    return f"{labels[1 - winner]} {_failure(termination, fault or {})}"


def _failure(termination: Termination, fault: Detail) -> str:
    if termination is Termination.RESIGN:
        return "resigns"
    if termination is Termination.ILLEGAL_MOVE:
        return "makes an illegal move"
    if termination in _TOO_LATE:
        over = float(fault["elapsed_ms"] or 0) - float(fault["limit_ms"] or 0)
        return f"loses on time ({round(over)} ms over)"
    if termination is Termination.CRASH:
        return f"crashes ({_death(fault)})"
    return f"forfeits ({termination})"


def _death(fault: Detail) -> str:
    number = fault.get("signal")
    if isinstance(number, int):
        known = number in set(signal.Signals)
        return signal.Signals(number).name if known else f"signal {number}"
    code = fault.get("exit_code")
    return str(fault["cause"]) if code is None else f"exit {code}"
