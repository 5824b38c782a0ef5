"""The rule for who forfeited a match, for the referee and for viewers of stored matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena_plugins.contract import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAULTS: Final = frozenset(kind.value for kind in Termination if kind.is_fault)
_LOSERS: Final[Mapping[str, int]] = {Outcome.FIRST.value: 1, Outcome.SECOND.value: 0}


def forfeiter(outcome: str, termination: str) -> int | None:
    """Return the player that forfeited, 0 or 1: a forfeit belongs to the loser.

    Returns None for a void match, for a match that ended without a fault, and for words that no version of
    the arena has written, because viewers pass on whatever an event contains.
    """
    return _LOSERS.get(outcome) if termination in _FAULTS else None
