"""What a side achieves for certain by answering in pairs, compared with exhaustive search."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from arena.games.k_in_a_row import KInARowState
from arena.games.solver._four import _NONE as NONE  # pyright: ignore[reportPrivateUsage] - as the search does
from arena.games.solver._four import _seen  # pyright: ignore[reportPrivateUsage] - see above
from arena.games.solver._stones import (
    BOTTOM,
    cannot_win,
    follow_up,
    has_four,
    landings,
    threats,
    zugzwang,
)
from brute_force import Known, late_states, truth
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

GAME = make("connect-four")
EVEN_ROWS = 0b101010 * BOTTOM


@pytest.fixture(scope="module")
def samples() -> list[tuple[int, int, int]]:
    """Return late positions: stones of the first player, of the second, and the first player's score."""
    return list(_samples())


def _samples() -> Iterator[tuple[int, int, int]]:
    known: Known = {}
    for state in late_states(GAME, seeded(1), 6000, 10):
        assert isinstance(state, KInARowState)
        outcome, distance = truth(state, known)
        # A win with the n-th last of the winner's stones scores n.
        score = outcome * ((44 - len(state.history) - distance) // 2)
        is_second = state.current_player == 1
        yield (state.opp, state.own, -score) if is_second else (state.own, state.opp, score)


def odd_columns(mask: int) -> int:
    return sum((mask >> 7 * column & 127).bit_count() % 2 for column in range(7))


def test_what_the_second_player_is_sure_of_is_what_exhaustive_search_finds_at_least(
    samples: list[tuple[int, int, int]],
) -> None:
    seen: Counter[tuple[int, int]] = Counter()
    exact: Counter[int] = Counter()
    num_by_the_cell = num_by_the_threat = 0
    for first, second, score in samples:
        mask = first | second
        claims = threats(second, mask)
        sure = follow_up(first, second, mask, claims)
        if sure >= 0:
            assert -score >= sure
            exact[sure] += -score == sure
            num_by_the_threat += follow_up(first, second, mask, 0) < sure
        seen[odd_columns(mask), min(sure, 1)] += 1
        if odd_columns(mask) == 1 and sure >= 1:
            left = EVEN_ROWS & ~(mask | landings(mask))
            num_by_the_cell += not has_four(second | left)
    # Draws and wins are proven for every number of odd columns for which the function has a rule.
    assert all(seen[number, sure] > 0 for number in range(4) for sure in (-1, 0, 1)), seen
    # Some wins need the cell of a single odd column, which the second player takes.
    assert num_by_the_cell > 0
    # Some wins need the rule that the first player gets no cell above a threat.
    assert num_by_the_threat > 0
    # No proven score is better than the exact one.
    assert all(exact[sure] > 0 for sure in range(4)), exact
    assert follow_up(0, 0, 0, 0) == -1


def test_what_the_first_player_is_sure_of_by_a_threat_is_what_exhaustive_search_finds_at_least(
    samples: list[tuple[int, int, int]],
) -> None:
    seen: Counter[tuple[int, int]] = Counter()
    exact: Counter[int] = Counter()
    for first, second, score in samples:
        mask = first | second
        sure = zugzwang(second, mask, threats(first, mask))
        if sure:
            assert score >= sure
            exact[sure] += score == sure
            seen[odd_columns(mask), sure] += 1
    assert all(exact[sure] > 0 for sure in (1, 2)), exact
    assert all(seen[number, 1] > 0 for number in range(4)), seen
    # Nothing is proven without a threat, or for a threat on the next cell of its column.
    assert zugzwang(0, 0, 0) == 0
    assert zugzwang(0, 0, BOTTOM) == 0


def test_what_the_rules_decide_is_what_exhaustive_search_finds(samples: list[tuple[int, int, int]]) -> None:
    seen: Counter[tuple[int, bool]] = Counter()
    num_without_a_win = 0
    for first, second, score in samples:
        mask = first | second
        ply = mask.bit_count()
        own, opp, own_score = (second, first, -score) if ply % 2 else (first, second, score)
        chances, dangers = threats(own, mask), threats(opp, mask)
        # The search never asks about a position in which a stone wins at once.
        if chances & landings(mask):
            continue
        num_without_a_win += cannot_win(second, mask) and score > 0
        for alpha in range(-5, 5):
            bound = _seen(own, mask, ply, alpha, chances, dangers)
            if bound == NONE:
                continue
            is_above = bound > alpha
            assert own_score >= bound if is_above else own_score <= bound
            seen[ply % 2, is_above] += 1
    # For each side, some positions are proven to be above a score, and some not above one.
    assert len(seen) == 4, seen
    # A second player who cannot win may still lose.
    assert num_without_a_win > 0
