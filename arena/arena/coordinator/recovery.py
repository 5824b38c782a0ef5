"""Which match a dead slot took with it, and which matches are to blame for such deaths."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from arena.executor.slots import Slot
    from arena.executor.worker import Began

MAX_LOSSES = 3
"""A match that was being played when this many slots died is not tried again."""


class Recovery:
    """Keeps the match that each slot plays.

    Each slot is a failure domain of its own: what merely ran at the same time elsewhere is no suspect.
    """

    def __init__(self) -> None:
        self._playing: dict[Slot, int] = {}
        self._losses: Counter[int] = Counter()
        self._early: Counter[tuple[str, int]] = Counter()

    def began(self, began: Began) -> None:
        """Note that a slot began a match; so the one it played before has ended."""
        self._playing[began.slot] = began.number

    def lost(self, slot: Slot, numbers: Collection[int]) -> int | None:
        """Return which of the matches that a slot had was being played when it died; None if none was."""
        number = self._playing.pop(slot, None)
        if number is None or number not in numbers:
            self._early[slot.machine, slot.number] += 1
            return None
        self._losses[number] += 1
        return number

    def is_guilty(self, number: int) -> bool:
        """Return whether so many slots died while they played a match that it is not tried again."""
        return self._losses[number] >= MAX_LOSSES

    def lasted(self) -> None:
        """Note that matches were played, so that slots do come up."""
        self._early.clear()

    @property
    def is_hopeless(self) -> bool:
        """Whether a slot died again and again without a match, and no other slot played one meanwhile."""
        return max(self._early.values(), default=0) >= MAX_LOSSES
