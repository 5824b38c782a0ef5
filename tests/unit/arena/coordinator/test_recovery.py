from __future__ import annotations

from arena.coordinator.recovery import Recovery
from arena.executor.slots import Slot
from arena.executor.worker import Began

ONE, OTHER = Slot.here(0), Slot.here(1)


def test_only_the_last_match_of_the_dead_slot_is_a_suspect() -> None:
    recovery = Recovery()
    for slot, number in ((ONE, 1), (OTHER, 4), (ONE, 2), (ONE, 3)):
        recovery.began(Began(slot, number))
    assert recovery.lost(ONE, [1, 2, 3]) == 3
    assert recovery.lost(ONE, [1, 2, 3]) is None, "it cannot die twice"
    assert recovery.lost(OTHER, [5, 6]) is None, "the result of match 4 has come before"


def test_the_third_loss_proves_guilt() -> None:
    recovery = Recovery()
    for num in range(3):
        assert not recovery.is_guilty(7)
        slot = Slot.here(num)
        recovery.began(Began(slot, 7))
        recovery.began(Began(OTHER, 8))
        assert recovery.lost(slot, [7]) == 7
    assert recovery.is_guilty(7)
    assert not recovery.is_guilty(8), "it only ran at the same time"


def test_a_slot_that_never_comes_up_is_hopeless() -> None:
    recovery = Recovery()
    # Three slots that die at once are not one that dies three times.
    for number in range(3):
        recovery.lost(Slot.here(number), [1])
    assert not recovery.is_hopeless
    recovery.lasted()
    for _ in range(2):
        recovery.lost(Slot.here(0), [1])
    assert not recovery.is_hopeless
    recovery.lost(Slot.here(0), [1])
    assert recovery.is_hopeless
