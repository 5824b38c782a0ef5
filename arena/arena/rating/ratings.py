"""Ratings with their errors: the result of a fit, and queries on it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ConfigError
from arena.rating import graph
from arena.rating.beta import student_quantile, student_share
from arena.rating.model import LEVEL, LOGITS_PER_ELO
from arena.rating.pairs import expected_score
from arena.rating.profile import MOST_BOTS, ROUGH_HALVINGS, Gaps, curves, follow, refine, variances
from arena.rating.sums import sum_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.newton import Solution
    from arena.rating.sums import Encounters, FloatArray

SPARE_DEGREES = 4.0
"""Degrees of freedom besides the informative clusters: the design effect is shrunk towards the field and
1."""
_Z95 = 1.96
"""Quantile 0.975 of the normal distribution."""
_AT_ONCE = 8192
"""Number of gaps times encounters of one field that are followed together. The neighbours of 40 bots all at
once take 3 MB for a moment, which a process often keeps."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The difference in rating of two bots."""

    elo: float
    """Elo of the bot named first, minus that of the other."""
    error: float
    """Half of the 95 % interval by the covariance, Elo: the figure after `+/-`; infinite without matches."""
    low: float
    """Lower end of the 95 % interval by the likelihood, Elo; minus infinity if no result bounds it."""
    high: float
    """Upper end, Elo; infinite if no result bounds it."""
    los: float
    """Likelihood of superiority, 0 … 1; above 0.975 exactly if the interval lies above 0."""
    level: float = LEVEL
    """Probability that the interval does not contain the true value."""

    @property
    def is_separated(self) -> bool:
        """Whether 0 lies outside the interval."""
        return self.low > 0 or self.high < 0

    @property
    def is_bounded(self) -> bool:
        """Whether results bound the gap on both sides; if not it is shown as `?`."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def score(self) -> tuple[float, float, float]:
        """Expected points per match against the other bot, sides swapped, with the ends of the interval."""
        return expected_score(self.elo), expected_score(self.low), expected_score(self.high)

    def reversed(self) -> Gap:
        """Return the gap from the view of the other bot."""
        # 0.0 - x, because minus 0.0 would be -0.0, which JSON and tables show.
        return Gap(0.0 - self.elo, self.error, -self.high, -self.low, 1 - self.los, self.level)


NO_MATCH = Gap(0.0, math.inf, -math.inf, math.inf, 0.5)
"""The gap of two bots that have not met."""


def gaps_of(
    solution: Solution, gaps: Gaps, degrees: FloatArray, unbounded: Sequence[tuple[bool, bool]], level: float
) -> list[Gap]:
    """Return gaps with their intervals.

    Args:
        solution: the ratings.
        gaps: which gaps.
        degrees: degrees of freedom, `[gaps]`.
        unbounded: whether results leave the lower and the upper side open, `[gaps]`.
        level: probability that an interval does not contain the true value.
    """
    if not len(gaps.group):
        return []
    num, rows = len(gaps.group), len(solution.rows.group)
    step = max(1, _AT_ONCE // max(rows, 1)) if rows <= _AT_ONCE and len(solution.strength) == 1 else num
    found: list[Gap] = []
    for start in range(0, num, step):
        some = slice(start, start + step)
        asked = Gaps(*(column[some] for column in gaps))
        found += _gaps_of(solution, asked, degrees[some], unbounded[some], level)
    return found


def _gaps_of(
    solution: Solution, gaps: Gaps, degrees: FloatArray, unbounded: Sequence[tuple[bool, bool]], level: float
) -> list[Gap]:
    elo = solution.strength[gaps.group, gaps.low] - solution.strength[gaps.group, gaps.high]
    curve, phi = curves(solution, gaps)
    # The spread of clusters is estimated itself, so the quantile is Student's; many clusters make it the
    # normal one.
    quantile = np.array([student_quantile(each, 1 - level / 2) for each in degrees.tolist()])
    if 2 < solution.strength.shape[1] <= MOST_BOTS and not solution.is_fitted:  # noqa: PLR2004 # of two it is exact
        rough = follow(curve, elo, phi, quantile, ROUGH_HALVINGS)
        profile = refine(solution, gaps, phi, quantile, rough)
    else:
        profile = follow(curve, elo, phi, quantile)
    error = quantile * np.sqrt(variances(solution, gaps)) / LOGITS_PER_ELO
    elo, low, high = elo / LOGITS_PER_ELO, profile.low / LOGITS_PER_ELO, profile.high / LOGITS_PER_ELO
    return [
        Gap(
            elo=float(elo[place]),
            error=float(error[place]),
            low=-math.inf if is_low_open else float(low[place]),
            high=math.inf if is_high_open else float(high[place]),
            # From the same likelihood ratio as the interval, so that both agree on which side of 0 the gap
            # is.
            los=student_share(float(degrees[place]), float(profile.root[place])),
            level=level,
        )
        for place, (is_low_open, is_high_open) in enumerate(unbounded)
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Bots on one scale per table; a table is a connected component of the graph of matches."""

    names: tuple[str, ...]
    elo: tuple[float, ...]
    """Shown rating: the mean of a table is 1500, or the anchor has its fixed value, `[num_bots]`."""
    error: tuple[float, ...]
    """Half of the 95 % interval, Elo, `[num_bots]`, relative to the mean of the table or to the anchor.

    Infinite for a bot without matches.
    """
    num_matches: tuple[float, ...]
    """Matches of each bot, `[num_bots]`."""
    table: tuple[int, ...]
    """Number of each bot's table, `[num_bots]`."""
    strong: tuple[int, ...]
    """Number of each bot's strongly connected component, `[num_bots]`."""
    encounters: Encounters
    """The rated results."""
    solution: Solution
    """The fit, in natural units; the field is its only group."""

    @property
    def strength(self) -> FloatArray:
        """Elo above the mean of the table, `[num_bots]`."""
        return self.solution.strength[0] / LOGITS_PER_ELO

    @property
    def covariance(self) -> FloatArray:
        """Covariance of `strength`, Elo squared, `[num_bots, num_bots]`."""
        return self.solution.covariance[0] / LOGITS_PER_ELO**2

    @property
    def advantage(self) -> float:
        """Value of the first move between nearly equal bots, Elo."""
        return float(self.solution.advantage[0]) / LOGITS_PER_ELO

    @property
    def advantage_error(self) -> float:
        """Half of its 95 % interval, Elo."""
        return _Z95 * math.sqrt(float(self.solution.advantage_variance[0])) / LOGITS_PER_ELO

    @cached_property
    def num_pairs(self) -> tuple[int, ...]:
        """Number of complete pairs of each bot, `[num_bots]`."""
        return self._by_bot(self.encounters.num_pairs)

    @cached_property
    def num_counted(self) -> tuple[int, ...]:
        """Number of complete pairs that count, `[num_bots]`."""
        return self._by_bot(self.encounters.num_counted)

    @cached_property
    def num_different(self) -> tuple[int, ...]:
        """Number of matches of each bot that differ in side, opening or moves, `[num_bots]`."""
        return self._by_bot(self.encounters.num_different)

    def _by_bot(self, values: FloatArray) -> tuple[int, ...]:
        num = len(self.names)
        own = sum_by(self.encounters.low, values, num) + sum_by(self.encounters.high, values, num)
        return tuple(round(value) for value in own.tolist())

    @cached_property
    def degrees(self) -> FloatArray:
        """Degrees of freedom: informative clusters of each bot's table, plus 4, `[num_bots]`."""
        table = np.array(self.table, dtype=np.int64)
        # Both bots of an encounter are in the same table.
        informative = sum_by(table[self.encounters.low], self.solution.informative, len(self.names))
        return informative[table] + SPARE_DEGREES

    @cached_property
    def rests_on_prior(self) -> tuple[bool, ...]:
        """Whether results leave a side of the rating open, so that it is marked `?`, `[num_bots]`.

        The largest strongly connected component of each table is not marked, if it has two bots and no rival
        of its size; between it and the others results bound the gap on one side at most.
        """
        return tuple(part not in self._cores.values() for part in self.strong)

    @cached_property
    def open_sides(self) -> tuple[tuple[bool, bool], ...]:
        """Whether results leave the rating open below and above, against the unmarked bots, `[num_bots]`.

        In a table without unmarked bots, against all others of the table.
        """
        found: list[tuple[bool, bool]] = []
        for bot, part in enumerate(self.strong):
            if not self.rests_on_prior[bot]:
                found.append((False, False))
                continue
            core = self._cores.get(self.table[bot])
            others = [other for other in self._parts[self.table[bot]] if other != part]
            against = others if core is None else [core]
            # Points taken from a bot, directly or along a chain, bound the rating from below; points given,
            # from above.
            is_below = any(other in self._reach[part] for other in against)
            is_above = any(part in self._reach[other] for other in against)
            found.append((not is_below, not is_above))
        return tuple(found)

    def gap(self, i: int, j: int, level: float = LEVEL) -> Gap:
        """Return how far bot `i` is above bot `j`.

        Raises:
            ConfigError: the bots are in different tables.
        """
        return self.gaps([(i, j)], level)[0]

    def gaps(self, pairs: Sequence[tuple[int, int]], level: float = LEVEL) -> list[Gap]:
        """Return how far the first bot of each pair is above the second.

        Raises:
            ConfigError: two bots are in different tables.
        """
        for i, j in pairs:
            self._check_comparable(i, j)
        low, high = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        # A bot has no gap to itself: its contrast would be 0, and the curve along it undefined.
        is_other = low != high
        asked = Gaps(np.zeros(int(is_other.sum()), dtype=np.int64), low[is_other], high[is_other])
        degrees = self.degrees[asked.low]
        unbounded = [self._open(i, j) for i, j in pairs if i != j]
        found = iter(gaps_of(self.solution, asked, degrees, unbounded, level))
        return [Gap(0.0, 0.0, 0.0, 0.0, 0.5, level) if i == j else next(found) for i, j in pairs]

    def next_gaps(self, bots: tuple[int, ...]) -> list[Gap]:
        """Return how far each bot is above the next one, which is computed once; one gap less than bots.

        Args:
            bots: bots of one table, in order.
        """
        if bots not in self._next_gaps:
            self._next_gaps[bots] = self.gaps(list(pairwise(bots)))
        return self._next_gaps[bots]

    @cached_property
    def _next_gaps(self) -> dict[tuple[int, ...], list[Gap]]:
        return {}

    def ranking(self) -> tuple[tuple[int, ...], ...]:
        """Return the bots of each table from the highest rating down, the table with most matches first."""
        # Equal ratings are ordered by name, so that the order does not depend on who was entered first.
        bots = sorted(range(len(self.names)), key=lambda bot: (-self.elo[bot], self.names[bot], bot))
        tables = [tuple(bot for bot in bots if self.table[bot] == table) for table in sorted(set(self.table))]
        return tuple(sorted(tables, key=lambda table: -sum(self.num_matches[bot] for bot in table)))

    @cached_property
    def _parts(self) -> dict[int, list[int]]:
        """Strongly connected components of each table."""
        found: dict[int, set[int]] = {}
        for part, table in zip(self.strong, self.table, strict=True):
            found.setdefault(table, set()).add(part)
        return {table: sorted(parts) for table, parts in found.items()}

    @cached_property
    def _cores(self) -> dict[int, int]:
        """The component of each table that is not marked."""
        sizes = Counter(self.strong)
        cores: dict[int, int] = {}
        for table, parts in self._parts.items():
            largest = max(sizes[part] for part in parts)
            # With a rival of its size, the choice of one would be arbitrary.
            found = [part for part in parts if sizes[part] == largest]
            if largest > 1 and len(found) == 1:
                cores[table] = found[0]
        return cores

    @cached_property
    def _reach(self) -> tuple[frozenset[int], ...]:
        """Components that chains of results lead to from each component."""
        links = {(self.strong[i], self.strong[j]) for i, j in took(self.encounters)}
        return graph.reachable(links, max(self.strong, default=-1) + 1)

    def _open(self, i: int, j: int) -> tuple[bool, bool]:
        """Return whether no chain of results bounds the gap of `i` above `j` from below, and from above."""
        one, other = self.strong[i], self.strong[j]
        # A chain of points taken from `j` bounds the gap from below, one of points given to `j` from above.
        if one == other:
            return False, False
        return other not in self._reach[one], one not in self._reach[other]

    def _check_comparable(self, i: int, j: int) -> None:
        """Refuse two bots without a chain of matches between them.

        Raises:
            ConfigError: the bots are in different tables.
        """
        if self.table[i] != self.table[j]:
            raise ConfigError(
                f"no chain of matches connects {self.names[i]} and {self.names[j]}; "
                "let them or their opponents play each other"
            )


def took(encounters: Encounters) -> list[tuple[int, int]]:
    """Return pairs of a bot, and one that it took a point or half a point from."""
    results = encounters.results.sum(axis=1)
    low, high = encounters.low.tolist(), encounters.high.tolist()
    edges: list[tuple[int, int]] = []
    for i, j, (losses, draws, wins) in zip(low, high, results.tolist(), strict=True):
        # A list times a bool: one edge or none.
        edges += [(i, j)] * (wins + draws > 0) + [(j, i)] * (losses + draws > 0)
    return edges
