from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.coordinator.quarantine import Quarantine


@pytest.mark.parametrize("termination", ["init_crash", "init_timeout", "no_common_protocol"])
def test_three_failures_to_start(termination: str) -> None:
    quarantine = Quarantine()
    quarantine.add("a", "b", "first", termination)
    quarantine.add("b", "c", "second", termination)
    assert not quarantine.holds("b")
    quarantine.add("b", "a", "second", termination)
    assert [quarantine.holds(bot) for bot in "abc"] == [False, True, False]


@pytest.mark.parametrize(
    ("played", "faults", "is_held"),
    [
        (19, 19, False),
        (20, 1, False),
        (20, 2, True),
        (29, 2, False),
        (30, 3, True),
        (31, 3, False),
        (70, 7, True),
    ],
)
def test_a_tenth_of_forfeits(played: int, faults: int, *, is_held: bool) -> None:
    quarantine = Quarantine()
    quarantine.add("a", "b", "second", "rules", played - faults)
    quarantine.add("a", "b", "second", "illegal_move", faults)
    assert (quarantine.holds("a"), quarantine.holds("b")) == (is_held, False)


@given(st.lists(st.sampled_from(["aborted", "arena_error", "arena_stall", "walkover", "init_crash"])))
def test_what_is_nobodys_fault_does_not_count(terminations: list[str]) -> None:
    quarantine = Quarantine()
    for termination in terminations:
        quarantine.add("a", "b", "first" if termination == "walkover" else "void", termination, 50)
    assert not quarantine.holds("a")
    assert not quarantine.holds("b")
