from __future__ import annotations

from arena.coordinator.recovery import ASIDE_S, Recovery
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
    # Three slots that die at once are not one slot that dies three times.
    for number in range(3):
        recovery.lost(Slot.here(number), [1])
    assert not recovery.is_hopeless
    recovery.lasted()
    for _ in range(2):
        recovery.lost(Slot.here(0), [1])
    assert not recovery.is_hopeless
    recovery.lost(Slot.here(0), [1])
    assert recovery.is_hopeless


def slots(*machines: str) -> list[Slot]:
    return [Slot(machine, 0, f"start of {machine}") for machine in machines]


def lose(recovery: Recovery, machine: str, number: int) -> None:
    slot = Slot(machine, 0, f"{machine} plays {number}")
    recovery.began(Began(slot, number))
    assert recovery.lost(slot, [number]) == number


def test_guilt_takes_two_machines_where_there_are_two() -> None:
    recovery = Recovery()
    recovery.usable(slots("a", "b"))
    lose(recovery, "a", 7)
    assert not recovery.avoids(7, "a"), "any slot may die once"
    lose(recovery, "a", 7)
    assert recovery.avoids(7, "a"), "the next attempt shows whether match or machine is to blame"
    assert not recovery.avoids(7, "b")
    assert recovery.avoided([7]) == {"a"}
    assert recovery.avoided([7, 8]) == set(), "there is something else to play on a"
    assert recovery.avoided([]) == set()
    lose(recovery, "a", 7)
    assert not recovery.is_guilty(7)
    lose(recovery, "b", 7)
    assert recovery.is_guilty(7)


def test_guilt_takes_one_machine_where_there_is_one() -> None:
    recovery = Recovery()
    recovery.usable(slots("a"))
    for _ in range(3):
        assert not recovery.avoids(7, "a")
        assert not recovery.is_guilty(7)
        lose(recovery, "a", 7)
    assert recovery.is_guilty(7)


def test_a_machine_that_loses_slots_by_different_matches_is_put_aside_for_a_time() -> None:
    now = [0.0]
    recovery = Recovery(lambda: now[0])
    both = slots("a", "b")
    recovery.usable(both)
    for number in (1, 1, 2):
        lose(recovery, "a", number)
        assert recovery.find_aside("a") is None, "two matches are not enough"
    lose(recovery, "a", 3)
    aside = recovery.find_aside("a")
    assert aside is not None
    assert (aside.machine, "3 slots died in 10 min" in aside.why) == ("a", True)
    assert recovery.find_aside("a") is None, "it is said once"
    assert recovery.usable(both) == both[1:]
    now[0] = ASIDE_S - 1
    assert recovery.usable(both) == both[1:]
    now[0] = ASIDE_S + 1
    assert recovery.usable(both) == both, "it is tried again"


def test_old_losses_of_a_machine_are_forgotten() -> None:
    now = [0.0]
    recovery = Recovery(lambda: now[0])
    recovery.usable(slots("a", "b"))
    for number in (1, 2):
        lose(recovery, "a", number)
    now[0] = ASIDE_S + 1
    lose(recovery, "a", 3)
    assert recovery.find_aside("a") is None


def test_where_all_machines_lose_slots_none_is_put_aside() -> None:
    recovery = Recovery()
    both = slots("a", "b")
    recovery.usable(both)
    for machine in ("a", "b"):
        for number in (1, 2, 3):
            lose(recovery, machine, number)
        assert recovery.find_aside(machine) is not None
    assert recovery.usable(both) == both
    alone = Recovery()
    alone.usable(slots("a"))
    for number in range(9):
        lose(alone, "a", number)
        assert alone.find_aside("a") is None


def test_a_machine_that_sends_wrong_results_is_put_aside_though_it_is_the_only_one() -> None:
    now = [0.0]
    recovery = Recovery(lambda: now[0])
    only = slots("a")
    recovery.usable(only)
    recovery.was_wrong("a")
    assert recovery.usable(only) == []
    now[0] = ASIDE_S + 1
    assert recovery.usable(only) == only


def test_slots_of_worker_machines_that_do_not_come_up_end_no_run() -> None:
    recovery = Recovery()
    for _ in range(9):
        recovery.lost(Slot("a", 0, "x"), [1])
    assert not recovery.is_hopeless
