"""What the second player is sure of by answering in pairs, against exhaustive search."""

from __future__ import annotations

from collections import Counter

from arena.games.k_in_a_row import KInARowState
from arena.games.solver._stones import BOTTOM, follow_up, has_four, landings
from brute_force import Known, late_states, truth
from game_samples import make, seeded

GAME = make("connect-four")
EVEN_ROWS = 0b101010 * BOTTOM


def odd_columns(state: KInARowState) -> int:
    mask = state.own | state.opp
    return sum((mask >> 7 * column & 127).bit_count() % 2 for column in range(7))


def sides(state: KInARowState) -> tuple[int, int]:
    """Return the stones of the first and of the second player."""
    return (state.opp, state.own) if state.current_player else (state.own, state.opp)


def test_what_the_second_player_is_sure_of_is_what_exhaustive_search_finds_at_least() -> None:
    known: Known = {}
    seen: Counter[tuple[int, int]] = Counter()
    num_by_the_cell = 0
    for state in late_states(GAME, seeded(1), 6000, 10):
        assert isinstance(state, KInARowState)
        first, second = sides(state)
        sure = follow_up(first, second, first | second)
        if sure >= 0:
            outcome = truth(state, known).outcome
            assert (outcome if state.current_player else -outcome) >= sure
        seen[odd_columns(state), sure] += 1
        if odd_columns(state) == 1 and sure == 1:
            left = EVEN_ROWS & ~(first | second | landings(first | second))
            num_by_the_cell += not has_four(second | left)
    # Draws and wins are shown with every number of odd columns for which the function has a rule.
    assert all(seen[number, sure] > 0 for number in range(4) for sure in (-1, 0, 1)), seen
    # Some wins need the cell of a single odd column, which the second player takes.
    assert num_by_the_cell > 0
    assert follow_up(0, 0, 0) == -1
