"""Faults with their evidence, and the sentence that describes how a match ended."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import msgspec

from arena.referee.raised import last_raised
from arena.referee.seats import Detail
from arena_plugins.contract import Outcome, Termination
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena.referee.seats import Seat

MAX_OFFENDING = 512
"""Bytes of a bot's offending output that are kept as evidence."""
MAX_STDERR = 8_192
"""Bytes from the end of a bot's stderr that are kept as evidence."""
MAX_CAUSE = 120
"""Maximum characters of a cause in a sentence; with two names it stays below 200, where viewers cut it."""
# Module constants, because every match tests them and looking up a member of an enum is comparatively slow.
_VOID, _DRAW, _FIRST = Outcome.VOID, Outcome.DRAW, Outcome.FIRST
_RULES, _ADJUDICATED = Termination.RULES, Termination.ADJUDICATED
_TOO_LATE = frozenset({Termination.TIME_MOVE, Termination.TIME_GAME})
_DEATHS = frozenset({Termination.CRASH, Termination.INIT_CRASH})
_VERBS = {
    Termination.ILLEGAL_MOVE: "makes an illegal move",
    Termination.TIME_MOVE: "loses on time",
    Termination.TIME_GAME: "loses on time",
    Termination.CRASH: "crashes",
}
"""The verb for how a bot loses by each fault; for any other it is "forfeits"."""
_REPORTED = re.compile(r"it reported \w+: ")
"""The prefix that the referee adds to the text of an `error` message."""


class FaultError(Exception):
    """A bot forfeits; used only inside the referee, where a seat turns it into a `Fault`."""

    def __init__(
        self, termination: Termination, cause: str, offending: bytes = b"", scratch: str = ""
    ) -> None:
        super().__init__(cause)
        self.termination = termination
        self.cause = cause
        self.offending = offending
        self.scratch = scratch
        """The exceeded limit of its scratch folder, if that is the cause."""


def evidence(error: FaultError, seat: Seat, elapsed_s: float, limit_ms: float) -> Detail:
    """Return the evidence of a fault: cause, times, bot, and the offending output."""
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
    """Return the end of a bot's stderr as text, each line cleaned."""
    lines = kept[-MAX_STDERR:].decode("utf-8", "replace").splitlines()
    return "\n".join(clean_text(line, MAX_STDERR) for line in lines)


class Ending(msgspec.Struct, frozen=True):
    """How a match ended."""

    outcome: Outcome
    """Who won."""
    termination: Termination
    """Why it ended."""
    fault: Detail | None = None
    """The evidence, if a bot forfeited or the arena failed."""
    fault_player: int | None = None
    """The player who forfeited."""


def reason(ending: Ending, labels: tuple[str, str], how: str = "", ply: int = 0) -> str:
    """Describe in one sentence how a match ended and why; the sentence is stored and shown everywhere.

    A forfeit names the ply, the cause and the termination:
    `buggy forfeits at ply 7: KeyError: 'd' in bot.py:41 (bot_error)`.

    Args:
        ending: how the match ended.
        labels: the bots' names, first player's and second player's.
        how: the description by the rules (`Game.ending`), if they ended the match.
        ply: number of the ply at which the bot forfeited, from 1; 0 before the first question.
    """
    outcome, termination, fault = ending.outcome, ending.termination, ending.fault
    if outcome is _VOID:
        return _with_cause("Match void", _cause(termination, fault or {}), termination)
    is_adjudicated = termination is _ADJUDICATED
    by = "adjudication" if is_adjudicated else how
    if outcome is _DRAW:
        return f"Draw by {by}"
    winner = 0 if outcome is _FIRST else 1
    if is_adjudicated or termination is _RULES:
        return f"{labels[winner]} wins by {by}"
    loser = labels[1 - winner]
    if termination is Termination.RESIGN:
        return f"{loser} resigns"
    what = f"{loser} {_VERBS.get(termination, 'forfeits')} {f'at ply {ply}' if ply else 'at the start'}"
    return _with_cause(what, _cause(termination, fault or {}), termination)


def _with_cause(what: str, cause: str, termination: Termination) -> str:
    return f"{what}: {cause} ({termination})" if cause else f"{what} ({termination})"


def _cause(termination: Termination, fault: Detail) -> str:
    """Describe briefly what a bot did wrong, and where in its code; empty if nothing is known."""
    # If it is a traceback of the arena itself, its last line names the error.
    said = str(fault.get("cause") or fault.get("traceback") or "").strip().rpartition("\n")[2]
    cause = _REPORTED.sub("", said)
    if termination is Termination.ILLEGAL_MOVE:
        cause = f"action {str(fault.get('offending') or '?')[2:-1]}"
    elif termination in _TOO_LATE:
        cause = _lateness(fault)
    raised = last_raised(str(fault.get("stderr") or ""))
    if termination in _DEATHS and cause == said:
        cause = _death(fault)
        if raised is not None and fault.get("exit_code"):
            cause = f"{cause}, {raised.error}"
    if raised is not None and raised.place and _is_of(raised.error, cause):
        # Only the exception's text is cut, so that the place stays complete.
        cause = f"{_cut(cause, MAX_CAUSE - len(raised.place) - 4)} in {raised.place}"
    return clean_text(_cut(cause, MAX_CAUSE), MAX_CAUSE)


def _is_of(error: str, cause: str) -> bool:
    """Return whether a cause names an exception; its module, or the class of ours, may be missing."""
    name, _, text = error.partition(": ")
    short = f"{name.rpartition('.')[2]}: {text}" if text else name.rpartition(".")[2]
    return short[:MAX_OFFENDING] in cause or (bool(text) and cause.startswith(text))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _lateness(fault: Detail) -> str:
    over = float(fault.get("elapsed_ms") or 0) - float(fault.get("limit_ms") or 0)
    return f"{round(over)} ms over"


def _death(fault: Detail) -> str:
    number = fault.get("signal")
    if isinstance(number, int):
        known = number in set(signal.Signals)
        return signal.Signals(number).name if known else f"signal {number}"
    code = fault.get("exit_code")
    return str(fault.get("cause") or "") if code is None else f"exit {code}"
