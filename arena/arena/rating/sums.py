"""Sums per encounter: everything that ratings need from matches.

They are made of clusters; a cluster is all matches of two bots from one opening. Two matches with the same
pair number and sides swapped are a pair; every other match is a single.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

NUM_PAIR_CELLS = 5
FEWEST_OPENINGS = 8
"""With fewer openings the pairs are the clusters: the spread between so few openings is too uncertain."""
_FEWEST_REPLAYS = 3
_SHARE_ALIKE = 0.9
"""Minimum share of replays with the same moves; requiring all would miss bots that vary now and then."""
MASK = (1 << 63) - 1
"""Limits a hash to 63 bits, so that it fits a signed 64-bit integer."""


class RatedMatch(NamedTuple):
    """The part of a rated match that ratings use."""

    first: int
    """Index of the bot that moved first."""
    second: int
    """Index of the other bot."""
    points: float
    """Points of the first: 1, 0.5 or 0."""
    pair: Hashable
    """The MatchPair it belongs to, unique over all tournaments."""
    opening: Hashable
    """Equal for matches from the same opening."""
    moves: Hashable
    """Equal for matches with the same moves."""


class MatchArrays:
    """Rated matches as arrays, 48 bytes each."""

    def __init__(self, played: Iterable[RatedMatch] = ()) -> None:
        """Initialise with the first matches."""
        self._parts: list[IntArray] = []
        self.add(played)

    def add(self, played: Iterable[RatedMatch]) -> None:
        """Add matches.

        Raises:
            ConfigError: points that are not 0, 0.5 or 1.
        """
        rows = [
            # Only equality matters, so 63 bits stand for each key: of ten million, any two collide with a
            # chance of 5e-6. Python salts the hashes of texts in each process, so these must never be stored.
            (first, second, 2 * points, hash(pair) & MASK, hash(opening) & MASK, hash(moves) & MASK)
            for first, second, points, pair, opening, moves in played
        ]
        if not rows:
            return
        if not {half for _, _, half, *_ in rows} <= {0, 1, 2}:
            raise ConfigError("the points of a match are 0, 0.5 or 1")
        self._parts.append(np.array(rows, dtype=np.int64))

    def __len__(self) -> int:
        """Return the number of matches."""
        return sum(len(part) for part in self._parts)

    def renumbered(self, numbers: IntArray) -> MatchArrays:
        """Return the matches with other indices of the bots, without matches of a bot against itself.

        Args:
            numbers: new index by old one; negative for a bot whose matches are omitted.
        """
        rows = self.rows.copy()
        rows[:, :2] = numbers[rows[:, :2]]
        return MatchArrays.of(rows[(rows[:, :2] >= 0).all(axis=1) & (rows[:, 0] != rows[:, 1])])

    @classmethod
    def of(cls, rows: IntArray) -> MatchArrays:
        """Return the arrays of matches in the format of `rows`."""
        found = cls()
        found._parts.append(rows)
        return found

    @property
    def rows(self) -> IntArray:
        """First, second, half points of the first, pair, opening and moves, `[matches, 6]`."""
        # Joined at the first use and not by `add`, which would copy all earlier matches each time.
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.zeros((0, 6), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    """Sums over clusters of matches M and points S of the lower bot, per encounter, all `[encounters]`.

    They determine the sum of (S - M * mean)² for any mean.
    """

    num: FloatArray
    m: FloatArray
    s: FloatArray
    mm: FloatArray
    ms: FloatArray
    ss: FloatArray

    def squares(self, mean: FloatArray) -> FloatArray:
        """Return the sum of (S - M * mean)² over clusters, `[encounters]`."""
        # The square multiplied out, so that the clusters themselves need not be kept.
        return self.ss - 2 * mean * self.ms + mean * mean * self.mm

    @property
    def columns(self) -> tuple[FloatArray, ...]:
        """All sums in order."""
        return self.num, self.m, self.s, self.mm, self.ms, self.ss

    def take(self, places: IntArray) -> ClusterSums:
        """Return the sums of these encounters."""
        return ClusterSums(*(values[places] for values in self.columns))


@dataclass(frozen=True, slots=True, eq=False)
class Encounters:
    """Sums of all encounters of a field, from the view of the bot with the lower index."""

    low: IntArray
    """Index of the bot whose results these are, `[encounters]`; below `high`."""
    high: IntArray
    results: FloatArray
    """Losses, draws and wins by side (0: `low` moved first), `[encounters, 2, 3]`."""
    ptnml: FloatArray
    """Complete pairs by half points, `[encounters, 5]`."""
    singles: FloatArray
    """Losses, draws and wins without counterpart by side, `[encounters, 2, 3]`."""
    num_openings: FloatArray
    """Number of different openings, `[encounters]`."""
    openings: ClusterSums
    """Sums of complete pairs; an opening is a cluster."""
    collapsed: ClusterSums
    """Sums with each opening as one pair with its mean score."""
    collapsed_singles: tuple[ClusterSums, ClusterSums]
    """Sums of openings that were played from one side only, each as one match, by side."""
    num_different: FloatArray
    """Number of matches that differ in side, opening or moves, `[encounters]`."""
    replays: FloatArray
    """Number of matches with the bots, sides and opening of another one, `[encounters]`."""
    alike: FloatArray
    """Number of replays with the same moves, `[encounters]`."""

    def __len__(self) -> int:
        """Return the number of encounters."""
        return len(self.low)

    @property
    def repeats(self) -> npt.NDArray[np.bool_]:
        """Whether an encounter repeats the same matches, so that each opening counts once."""
        return (self.replays >= _FEWEST_REPLAYS) & (self.alike >= _SHARE_ALIKE * self.replays)

    @property
    def num_pairs(self) -> FloatArray:
        """Number of complete pairs, `[encounters]`."""
        return self.ptnml.sum(axis=1)

    @property
    def num_counted(self) -> FloatArray:
        """Number of pairs that count: all, or one per opening if the encounter repeats."""
        return np.where(self.repeats, self.collapsed.num, self.num_pairs)

    @property
    def num_matches(self) -> FloatArray:
        """Number of matches, `[encounters]`."""
        return self.results.sum(axis=(1, 2))

    def pair_sums(self) -> ClusterSums:
        """Return the sums with every counted pair as a cluster of its own."""
        half = np.arange(NUM_PAIR_CELLS) / 2
        pairs, points = self.num_pairs, self.ptnml @ half
        # Each pair is a cluster with M = 2, so M² is 4 and M S is 2 S.
        every = ClusterSums(pairs, 2 * pairs, points, 4 * pairs, 2 * points, self.ptnml @ half**2)
        return _choose(self.repeats, self.collapsed, every)

    def cluster_sums(self) -> ClusterSums:
        """Return the sums over the clusters of evidence: openings, or pairs if there are few openings."""
        are_enough = (self.openings.num >= FEWEST_OPENINGS) & ~self.repeats
        return _choose(are_enough, self.openings, self.pair_sums())

    def single_sums(self, side: int) -> ClusterSums:
        """Return the sums of singles in which `low` moved first (side 0) or second (1)."""
        points = np.array([0.0, 0.5, 1.0])
        cells = self.singles[:, side]
        num, taken = cells.sum(axis=1), cells @ points
        every = ClusterSums(num, num, taken, num, taken, cells @ points**2)
        return _choose(self.repeats, self.collapsed_singles[side], every)

    def take(self, places: IntArray) -> Encounters:
        """Return some of the encounters, in the order of `places`."""
        found: dict[str, FloatArray | IntArray] = {
            name: getattr(self, name)[places]
            for name in ("low", "high", "results", "ptnml", "singles", "num_openings", "num_different")
        }
        first, second = self.collapsed_singles
        return replace(
            self,
            **found,
            openings=self.openings.take(places),
            collapsed=self.collapsed.take(places),
            collapsed_singles=(first.take(places), second.take(places)),
            replays=self.replays[places],
            alike=self.alike[places],
        )

    def alone(self) -> Encounters:
        """Return the same encounters, each as that of bots 0 and 1 of a field of its own."""
        return replace(self, low=np.zeros_like(self.low), high=np.ones_like(self.high))

    def first_points(self) -> tuple[FloatArray, FloatArray]:
        """Return points of the first player in counted pairs, and matches of these, both `[encounters]`."""
        paired = self.results - self.singles
        # Where `low` moved second (side 1), its losses are the first player's points.
        first = paired[:, 0] @ [0.0, 0.5, 1.0] + paired[:, 1] @ [1.0, 0.5, 0.0]
        # Repeated openings count once, and so do the first movers in them.
        share = self.num_counted / np.maximum(self.num_pairs, 1)
        return first * share, paired.sum(axis=(1, 2)) * share


def sum_by(index: IntArray, values: FloatArray, num: int) -> FloatArray:
    """Return the sums of values by index, `[num]`."""
    return np.bincount(index, values, num).astype(np.float64)


def join(parts: Sequence[ClusterSums]) -> ClusterSums:
    """Concatenate sums."""
    return ClusterSums(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))


def _choose(where: npt.NDArray[np.bool_], one: ClusterSums, other: ClusterSums) -> ClusterSums:
    both = zip(one.columns, other.columns, strict=True)
    return ClusterSums(*(np.where(where, left, right) for left, right in both))


def encounters(matches: MatchArrays) -> Encounters:
    """Return the sums of matches; neither their order nor their tournament matters."""
    rows = matches.rows
    first, second, half = rows[:, 0], rows[:, 1], rows[:, 2]
    # From the view of the bot with the lower index: on side 1 it moved second, so half points are mirrored.
    side = (first > second).astype(np.int64)
    half = np.where(side, 2 - half, half)
    keys = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
    bots, of = np.unique(keys, axis=0, return_inverse=True)
    # NumPy 2.0.0 alone returns the inverse as a column if an axis is given.
    of = of.reshape(-1)
    num = len(bots)
    # Sort by encounter, then by pair, then by side.
    order = np.lexsort((side, rows[:, 3], of))
    one = _starts_of_pairs(of[order], rows[order, 3], side[order])
    lower, upper = order[one], order[one + 1]
    is_single = np.ones(len(rows), dtype=bool)
    is_single[lower] = is_single[upper] = False
    results = _count((of, side, half), (num, 2, 3))
    singles = _count((of[is_single], side[is_single], half[is_single]), (num, 2, 3))
    pair_half = half[lower] + half[upper]
    groups = _Groups(of, rows[:, 4], side, half, num)
    replays, alike, num_different = groups.replays(rows[:, 5])
    return Encounters(
        low=bots[:, 0],
        high=bots[:, 1],
        results=results,
        ptnml=_count((of[lower], pair_half), (num, NUM_PAIR_CELLS)),
        singles=singles,
        num_openings=groups.num_openings,
        # Both should begin from one opening. If they do not, the choice must not depend on which bot is
        # lower.
        openings=_opening_sums(of[lower], np.minimum(rows[lower, 4], rows[upper, 4]), pair_half / 2, num),
        collapsed=groups.pairs(),
        collapsed_singles=(groups.singles(0), groups.singles(1)),
        num_different=num_different,
        replays=replays,
        alike=alike,
    )


def _starts_of_pairs(of: IntArray, pair: IntArray, side: IntArray) -> IntArray:
    """Return where in the sorted matches a pair begins: two with one number, one from each side."""
    same = (of[1:] == of[:-1]) & (pair[1:] == pair[:-1])
    begins = same & (side[:-1] == 0) & (side[1:] == 1)
    # If three or more matches have one number, it is unknown which belong together.
    begins[1:] &= ~same[:-1]
    begins[:-1] &= ~same[1:]
    return np.flatnonzero(begins)


def _count(indices: tuple[IntArray, ...], shape: tuple[int, ...]) -> FloatArray:
    flat = np.ravel_multi_index(indices, shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def _number(*keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return one index of each distinct key, and the number of the key of every element."""
    # `lexsort` takes the most significant key last.
    order = np.lexsort(keys[::-1])
    is_new = np.zeros(len(order), dtype=bool)
    is_new[:1] = True
    for key in keys:
        is_new[1:] |= key[order[1:]] != key[order[:-1]]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return order[is_new], numbers


def _sum(of: IntArray, num: int, m: FloatArray, s: FloatArray) -> ClusterSums:
    """Return the sums over clusters of the encounters `of`."""
    weights = (np.ones_like(m), m, s, m * m, m * s, s * s)
    return ClusterSums(*(sum_by(of, weight, num) for weight in weights))


def _opening_sums(of: IntArray, opening: IntArray, points: FloatArray, num: int) -> ClusterSums:
    """Sum complete pairs by opening, then the openings by encounter."""
    example, cluster = _number(of, opening)
    pairs = np.bincount(cluster, minlength=len(example)).astype(np.float64)
    return _sum(of[example], num, 2 * pairs, sum_by(cluster, points, len(example)))


class _Groups:
    """Matches grouped by encounter and opening, and counted by side."""

    def __init__(self, of: IntArray, opening: IntArray, side: IntArray, half: IntArray, num: int) -> None:
        example, cluster = _number(of, opening)
        self._of = of
        self._num = num
        self._cluster = cluster
        self._side = side
        self._encounter = of[example]
        shape = (len(example), 2)
        self._played = _count((cluster, side), shape)
        flat = cluster * 2 + side
        points = sum_by(flat, half / 2, 2 * len(example)).reshape(shape)
        self._mean = points / np.maximum(self._played, 1)
        self.num_openings = np.bincount(self._encounter, minlength=num).astype(np.float64)

    def replays(self, moves: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return replays, replays with the moves that most of their group have, and distinct matches.

        All `[encounters]`.
        """
        example, kind = _number(self._cluster, self._side, moves)
        times = np.bincount(kind, minlength=len(example))
        most = np.zeros(self._played.shape, dtype=np.int64)
        np.maximum.at(most, (self._cluster[example], self._side[example]), times)
        different = np.bincount(self._encounter[self._cluster[example]], minlength=self._num)
        return self._by_encounter(self._played), self._by_encounter(most), different.astype(np.float64)

    def _by_encounter(self, played: npt.NDArray[np.generic]) -> FloatArray:
        # The first match of a group is not a replay.
        more = np.maximum(played.astype(np.float64) - 1, 0).sum(axis=1)
        return sum_by(self._encounter, more, self._num)

    def pairs(self) -> ClusterSums:
        """Return the sums of openings played from both sides, each as one pair with its mean score."""
        both = (self._played > 0).all(axis=1)
        points = self._mean[both].sum(axis=1)
        return _sum(self._encounter[both], self._num, np.full_like(points, 2.0), points)

    def singles(self, side: int) -> ClusterSums:
        """Return the sums of openings played from this side only, each as one match with its mean score."""
        alone = (self._played[:, side] > 0) & (self._played[:, 1 - side] == 0)
        points = self._mean[alone, side]
        return _sum(self._encounter[alone], self._num, np.ones_like(points), points)
