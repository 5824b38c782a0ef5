"""Sums on arrays, compared with sums counted one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.rating.sums import MatchArrays, RatedMatch, encounters

if TYPE_CHECKING:
    from arena.rating.sums import ClusterSums, Encounters

POINTS = (0.0, 0.5, 1.0)
seats = st.sampled_from([(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)])
played = st.tuples(
    seats, st.sampled_from(POINTS), st.integers(0, 8), st.integers(0, 2), st.integers(0, 1)
).map(lambda match: RatedMatch(*match[0], *match[1:]))


class _Plain:
    """One encounter, counted by loops."""

    def __init__(self, low: int, matches: list[RatedMatch]) -> None:
        by_pair: dict[object, list[RatedMatch]] = defaultdict(list)
        for match in matches:
            by_pair[match.pair].append(match)
        self.points = {
            id(match): match.points if match.first == low else 1 - match.points for match in matches
        }
        self.low = low
        self.pairs = [pair for pair in by_pair.values() if self._is_pair(pair)]
        self.singles = [match for pair in by_pair.values() if not self._is_pair(pair) for match in pair]
        self.groups: dict[object, dict[int, list[RatedMatch]]] = defaultdict(lambda: {0: [], 1: []})
        for match in matches:
            self.groups[match.opening][int(match.first != low)].append(match)
        sides = [group for groups in self.groups.values() for group in groups.values() if group]
        self.replays = sum(len(group) - 1 for group in sides)
        self.alike = sum(max(Counter(match.moves for match in group).values()) - 1 for group in sides)
        self.num_different = sum(len({match.moves for match in group}) for group in sides)

    @staticmethod
    def _is_pair(matches: list[RatedMatch]) -> bool:
        return len(matches) == 2 and matches[0].first != matches[1].first

    def openings(self) -> list[tuple[float, float]]:
        """Matches and points by opening, of complete pairs."""
        found: dict[object, list[float]] = defaultdict(list)
        for pair in self.pairs:
            # The opening of a pair is that of the match in which the lower bot moved first.
            opening = next(match.opening for match in pair if match.first == self.low)
            found[opening] += [self.points[id(match)] for match in pair]
        return [(len(points), sum(points)) for points in found.values()]

    def collapsed(self) -> list[tuple[float, float]]:
        return [
            (2.0, sum(mean([self.points[id(match)] for match in group]) for group in groups.values()))
            for groups in self.groups.values()
            if all(groups.values())
        ]

    def alone(self, side: int) -> list[tuple[float, float]]:
        return [
            (1.0, mean([self.points[id(match)] for match in groups[side]]))
            for groups in self.groups.values()
            if groups[side] and not groups[1 - side]
        ]


def _same(sums: ClusterSums, place: int, clusters: list[tuple[float, float]]) -> None:
    m, s = np.array(clusters, dtype=np.float64).reshape(-1, 2).T
    expected = {"num": len(m), "m": m.sum(), "s": s.sum(), "mm": m @ m, "ms": m @ s, "ss": s @ s}
    for name, value in expected.items():
        assert getattr(sums, name)[place] == pytest.approx(value, abs=1e-9), name
    squares = sums.squares(np.full(len(sums.num), 0.37))[place]
    assert squares == pytest.approx(float(((s - m * 0.37) ** 2).sum()), abs=1e-9)


@given(st.lists(played, min_size=1, max_size=40))
def test_sums_are_those_of_the_clusters(matches: list[RatedMatch]) -> None:
    found = encounters(MatchArrays(matches))
    by_bots: dict[tuple[int, int], list[RatedMatch]] = defaultdict(list)
    for match in matches:
        by_bots[min(match[:2]), max(match[:2])].append(match)
    assert list(zip(found.low.tolist(), found.high.tolist(), strict=True)) == sorted(by_bots)
    for place, ((low, _), own) in enumerate(sorted(by_bots.items())):
        plain = _Plain(low, own)
        _same(found.openings, place, plain.openings())
        _same(found.collapsed, place, plain.collapsed())
        for side in (0, 1):
            _same(found.collapsed_singles[side], place, plain.alone(side))
            cells = Counter(
                plain.points[id(match)] for match in plain.singles if (match.first != low) == side
            )
            assert found.singles[place, side].tolist() == [cells[points] for points in POINTS]
        assert (found.replays[place], found.alike[place]) == (plain.replays, plain.alike)
        assert found.num_different[place] == plain.num_different
        assert found.num_openings[place] == len(plain.groups)
        ptnml = Counter(int(2 * sum(plain.points[id(match)] for match in pair)) for pair in plain.pairs)
        assert found.ptnml[place].tolist() == [ptnml[half] for half in range(5)]
        assert found.num_matches[place] == len(own)
        half = [match.points for pair in plain.pairs for match in pair]
        if not found.repeats[place]:
            assert [values[place] for values in found.first_points()] == [sum(half), len(half)]


def _copies(num_moves: int, num: int) -> Encounters:
    """Return `num` matches from one opening, of which `num_moves` have other moves than the rest."""
    return encounters(
        MatchArrays(
            RatedMatch(0, 1, 1.0, number, 0, number if number < num_moves else "same")
            for number in range(num)
        )
    )


def test_nine_of_ten_replays_must_be_alike_and_three_there() -> None:
    assert _copies(1, 11).repeats.tolist() == [True], "9 of 10"
    assert _copies(2, 12).repeats.tolist() == [False], "9 of 11"
    assert _copies(0, 4).repeats.tolist() == [True]
    assert _copies(0, 3).repeats.tolist() == [False], "two replays say too little"


@pytest.mark.parametrize("sides", list(product([(0, 1), (1, 0)], repeat=3)))
def test_of_three_matches_with_one_number_none_are_a_pair(sides: tuple[tuple[int, int], ...]) -> None:
    matches = [RatedMatch(*seats, 1.0, "pair", 0, number) for number, seats in enumerate(sides)]
    # Another pair before and after it, in the order of the hashes, changes nothing.
    others = [RatedMatch(*seats, 0.5, pair, 0, pair) for pair in range(8) for seats in ((0, 1), (1, 0))]
    found = encounters(MatchArrays(matches + others))
    assert found.ptnml.tolist() == [[0, 0, 8, 0, 0]]
    assert found.singles.sum() == 3


@pytest.mark.parametrize(("num", "clusters"), [(7, 14), (8, 8)])
def test_few_openings_leave_the_pairs_as_clusters(num: int, clusters: int) -> None:
    matches = [
        RatedMatch(*seats, 1.0, pair, pair % num, (pair, seats))
        for pair in range(2 * num)
        for seats in ((0, 1), (1, 0))
    ]
    found = encounters(MatchArrays(matches))
    assert found.cluster_sums().num.tolist() == [clusters if num == 7 else num]
    assert found.pair_sums().num.tolist() == [2 * num]


def test_matches_of_other_fields_and_of_a_bot_against_itself_are_left_out() -> None:
    matches = MatchArrays(
        [RatedMatch(0, 1, 1.0, 0, 0, 0), RatedMatch(1, 2, 0.5, 1, 0, 1), RatedMatch(2, 3, 0.0, 2, 0, 2)]
    )
    found = matches.renumbered(np.array([5, 4, 4, -1]))
    assert found.rows[:, :3].tolist() == [[5, 4, 2]]
    assert len(matches) == 3


@pytest.mark.parametrize("points", [0.7, 2.0, -0.5])
def test_points_are_those_of_a_match(points: float) -> None:
    with pytest.raises(ConfigError, match="the points of a match are 0, 0"):
        MatchArrays([RatedMatch(0, 1, points, 0, 0, 0)])


def test_nothing_has_no_encounters() -> None:
    assert len(encounters(MatchArrays())) == 0
