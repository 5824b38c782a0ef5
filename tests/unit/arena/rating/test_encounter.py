from __future__ import annotations

import pytest

from arena.rating.encounter import EncounterCounts, MatchResult, count_encounter
from arena.rating.pairs import statistics


def _matches(*pairs: tuple[float, float], same: bool = False) -> list[MatchResult]:
    return [
        MatchResult(number, is_first, score, "same" if same else f"{number} {is_first}")
        for number, pair in enumerate(pairs)
        for is_first, score in zip((True, False), pair, strict=True)
    ]


def test_matches_and_pairs_are_counted() -> None:
    matches = _matches((0, 0), (0, 0.5), (0.5, 0), (1, 0), (0.5, 0.5), (1, 0.5), (1, 1), (1, 1))
    counts = count_encounter(matches)
    assert (counts.wins, counts.draws, counts.losses) == (6, 5, 5)
    assert counts.ptnml == (1, 2, 2, 1, 2)
    assert (counts.moving_first, counts.moving_second) == ((4, 2, 2), (2, 3, 3))
    assert (counts.num_matches, counts.num_pairs, counts.score) == (16, 8, 8.5 / 16)
    assert (counts.num_unique, counts.num_unique_pairs) == (16, 8)
    assert counts.draw_ratio == 5 / 16
    assert counts.drawn_pairs == 2 / 8
    assert counts.pairs_ratio == 1
    assert count_encounter(matches[::-1]) == counts
    assert count_encounter(matches[1::2] + matches[::2]) == counts


def test_deterministic_bots_show_two_of_a_hundred() -> None:
    counts = count_encounter(_matches(*[(1, 0)] * 50, same=True))
    assert (counts.num_unique, counts.num_matches) == (2, 100)
    assert (counts.num_unique_pairs, counts.num_pairs) == (1, 50)
    assert counts.is_mostly_repeated
    assert counts.statistics == statistics((0, 0, 1, 0, 0))


def test_a_pair_is_unique_if_one_of_its_matches_is() -> None:
    other = MatchResult(1, is_first=False, score=0, match_hash="other")
    counts = count_encounter([*_matches((1, 0), same=True), MatchResult(1, True, 1, "same"), other])  # noqa: FBT003 (the fields in order)
    assert (counts.num_unique, counts.num_unique_pairs) == (3, 2)
    assert not counts.is_mostly_repeated


def test_a_half_pair_and_matches_without_swap_count_as_matches_only() -> None:
    half = [MatchResult(9, is_first=True, score=1, match_hash="half")]
    unswapped = [MatchResult(8, is_first=True, score=0, match_hash=name) for name in "ab"]
    counts = count_encounter([*_matches((1, 1)), *half, *unswapped])
    assert counts.num_matches == 5
    assert counts.ptnml == (0, 0, 0, 0, 1)


def test_without_pairs_the_matches_speak() -> None:
    matches = [MatchResult(n, is_first=True, score=n % 2, match_hash=str(n // 4)) for n in range(8)]
    counts = count_encounter(matches)
    assert (counts.num_pairs, counts.num_unique) == (0, 4)
    assert counts.statistics == statistics((4, 0, 4), unique=0.5)
    assert not counts.is_mostly_repeated
    assert EncounterCounts(wins=5, num_unique=2).is_mostly_repeated


@pytest.mark.parametrize("name", ["score", "draw_ratio", "drawn_pairs", "pairs_ratio"])
def test_without_matches_shares_are_undefined(name: str) -> None:
    empty = count_encounter([])
    assert getattr(empty, name) is None
    assert empty.statistics.elo == 0
    assert not empty.is_mostly_repeated
