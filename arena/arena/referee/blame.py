"""Who forfeited a match: the one rule, in the lowest room that knows outcomes and terminations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena_plugins.contract import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAULTS: Final = frozenset(kind.value for kind in Termination if kind.is_fault)
_LOSERS: Final[Mapping[str, int]] = {Outcome.FIRST.value: 1, Outcome.SECOND.value: 0}


def forfeiter(outcome: str, termination: str) -> int | None:
    """Return the player that forfeited, 0 or 1: a forfeit belongs to the loser, a void match to nobody.

    None also where a match ended without a fault, or with words that no version of the arena has written: a
    viewer asks about whatever an event says.
    """
    return _LOSERS.get(outcome) if termination in _FAULTS else None
