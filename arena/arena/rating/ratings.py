"""Ratings with their errors: what a fit gives and what can be asked of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from arena.errors import ConfigError
from arena.rating.model import LOGITS_PER_ELO, FloatArray, IntArray, moments, probabilities

Z95 = NormalDist().inv_cdf(0.975)
"""Half width of a 95 % interval in standard errors."""


@dataclass(frozen=True, slots=True)
class Gap:
    """How far one bot is above another."""

    elo: float
    """Elo of the first named minus Elo of the second."""
    se: float
    """Standard error of it, Elo, from the covariance of both."""
    los: float
    """Likelihood of superiority: the chance that the first named is the stronger one."""
    rests_on_prior: bool
    """True where no chain of results bounds the gap on both sides; shown as `?`."""

    @property
    def error(self) -> float:
        """Half of the 95 % interval, Elo."""
        return Z95 * self.se


@dataclass(frozen=True, slots=True)
class ExpectedScore:
    """Points per match (win 1, draw one half) one bot is expected to take from another."""

    first: float
    """Moving first."""
    second: float
    """Moving second."""

    @property
    def average(self) -> float:
        """With sides swapped equally often."""
        return (self.first + self.second) / 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Bots on one scale per table; a table is a connected part of the graph of matches."""

    names: tuple[str, ...]
    elo: FloatArray
    """Shown rating: the mean of a table is 1500, or the anchor has the value it was given, `[num_bots]`."""
    error: FloatArray
    """Half of the 95 % interval, Elo, `[num_bots]`.

    It is relative to what the table hangs on, its mean or the anchor; of a bot without matches, to the prior.
    """
    num_matches: FloatArray
    """Matches of each bot, weighted, `[num_bots]`."""
    table: IntArray
    """Number of each bot's table, `[num_bots]`."""
    strong: IntArray
    """Number of each bot's strongly connected part, `[num_bots]`."""
    strength: FloatArray
    """Elo above the origin of the prior, `[num_bots]`."""
    covariance: FloatArray
    """Covariance of `strength`, Elo squared, `[num_bots, num_bots]`."""
    advantage: float
    """What moving first is worth, Elo."""
    advantage_error: float
    """Half of its 95 % interval, Elo."""
    log_draw: float
    """ln nu."""
    log_draw_error: float
    """Half of its 95 % interval."""

    @property
    def draw(self) -> float:
        """The draw parameter nu: equal bots draw nu / (nu + 2) of their matches, advantage aside."""
        return math.exp(self.log_draw)

    @cached_property
    def rests_on_prior(self) -> npt.NDArray[np.bool_]:
        """True where the rating is marked `?`, `[num_bots]`.

        Unmarked is the largest strongly connected part of each table, if it has two bots and no rival of its
        size; between it and the others only the prior bounds the gap.
        """
        marks = np.ones(len(self.names), dtype=np.bool_)
        # np.unique would load numpy.ma, 2 MB.
        for table in sorted(set(self.table.tolist())):
            parts, sizes = np.unique(self.strong[self.table == table], return_counts=True)
            largest = sizes.max()
            if largest > 1 and np.count_nonzero(sizes == largest) == 1:
                marks[self.strong == parts[sizes.argmax()]] = False
        return marks

    def gap(self, i: int, j: int) -> Gap:
        """How far bot `i` is above bot `j`, with the error of the gap itself.

        Raises:
            ConfigError: the bots are in different tables.
        """
        self._check_comparable(i, j)
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        elo, se = float(self.strength[i] - self.strength[j]), math.sqrt(max(float(variance), 0.0))
        los = NormalDist().cdf(elo / se) if se else 0.5
        return Gap(elo, se, los, rests_on_prior=bool(self.strong[i] != self.strong[j]))

    def expected_score(self, i: int, j: int) -> ExpectedScore:
        """Points per match bot `i` is expected to take from bot `j`.

        Raises:
            ConfigError: the bots are in different tables.
        """
        self._check_comparable(i, j)
        gap = float(self.strength[i] - self.strength[j])
        gaps = np.array([gap + self.advantage, -gap + self.advantage]) * LOGITS_PER_ELO
        as_first, of_opponent = moments(probabilities(gaps, self.log_draw))[0].tolist()
        return ExpectedScore(as_first, 1.0 - of_opponent)

    def score_against_table(self, i: int) -> float | None:
        """Points per match expected against the others of the table, each met equally often on both sides.

        None where bot `i` is alone in its table.
        """
        others = [j for j in np.flatnonzero(self.table == self.table[i]).tolist() if j != i]
        if not others:
            return None
        return sum(self.expected_score(i, j).average for j in others) / len(others)

    def ranking(self) -> tuple[tuple[int, ...], ...]:
        """Bots of each table from the highest rating down, the table with most matches first."""
        bots = sorted(range(len(self.names)), key=lambda bot: (-float(self.elo[bot]), self.names[bot], bot))
        tables = [
            tuple(bot for bot in bots if self.table[bot] == table)
            for table in sorted(set(self.table.tolist()))
        ]
        return tuple(sorted(tables, key=lambda table: -float(self.num_matches[list(table)].sum())))

    def _check_comparable(self, i: int, j: int) -> None:
        """Refuses two bots without a chain of matches between them."""
        if self.table[i] != self.table[j]:
            raise ConfigError(
                f"no chain of matches connects {self.names[i]} and {self.names[j]}; "
                "let them, or opponents of theirs, meet"
            )
