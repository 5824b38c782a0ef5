"""Ratings with their errors: what a fit gives and what can be asked of it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from arena.errors import ConfigError
from arena.rating.model import LOGITS_PER_ELO, chances, moments

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
    elo: tuple[float, ...]
    """Shown rating: the mean of a table is 1500, or the anchor has the value it was given, `[num_bots]`."""
    error: tuple[float, ...]
    """Half of the 95 % interval, Elo, `[num_bots]`.

    It is relative to what the table hangs on, its mean or the anchor; of a bot without matches, to the prior.
    """
    num_matches: tuple[float, ...]
    """Matches of each bot, weighted, `[num_bots]`."""
    table: tuple[int, ...]
    """Number of each bot's table, `[num_bots]`."""
    strong: tuple[int, ...]
    """Number of each bot's strongly connected part, `[num_bots]`."""
    strength: tuple[float, ...]
    """Elo above the origin of the prior, `[num_bots]`."""
    covariance: tuple[tuple[float, ...], ...]
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
    def rests_on_prior(self) -> tuple[bool, ...]:
        """True where the rating is marked `?`, `[num_bots]`.

        Unmarked is the largest strongly connected part of each table, if it has two bots and no rival of its
        size; between it and the others only the prior bounds the gap.
        """
        sizes = Counter(self.strong)
        bounded: set[int] = set()
        for table in set(self.table):
            parts = {part for part, number in zip(self.strong, self.table, strict=True) if number == table}
            largest = max(sizes[part] for part in parts)
            found = [part for part in parts if sizes[part] == largest]
            if largest > 1 and len(found) == 1:
                bounded.update(found)
        return tuple(part not in bounded for part in self.strong)

    def gap(self, i: int, j: int) -> Gap:
        """How far bot `i` is above bot `j`, with the error of the gap itself.

        Raises:
            ConfigError: the bots are in different tables.
        """
        self._check_comparable(i, j)
        variance = self.covariance[i][i] + self.covariance[j][j] - 2 * self.covariance[i][j]
        elo, se = self.strength[i] - self.strength[j], math.sqrt(max(variance, 0.0))
        los = NormalDist().cdf(elo / se) if se else 0.5
        return Gap(elo, se, los, rests_on_prior=self.strong[i] != self.strong[j])

    def expected_score(self, i: int, j: int) -> ExpectedScore:
        """Points per match bot `i` is expected to take from bot `j`.

        Raises:
            ConfigError: the bots are in different tables.
        """
        self._check_comparable(i, j)
        gap = self.strength[i] - self.strength[j]
        as_first, of_opponent = (
            moments(chances((away + self.advantage) * LOGITS_PER_ELO, self.log_draw))[0]
            for away in (gap, -gap)
        )
        return ExpectedScore(as_first, 1.0 - of_opponent)

    def score_against_table(self, i: int) -> float | None:
        """Points per match expected against the others of the table, each met equally often on both sides.

        None where bot `i` is alone in its table.
        """
        others = [j for j, table in enumerate(self.table) if table == self.table[i] and j != i]
        if not others:
            return None
        return sum(self.expected_score(i, j).average for j in others) / len(others)

    def ranking(self) -> tuple[tuple[int, ...], ...]:
        """Bots of each table from the highest rating down, the table with most matches first."""
        bots = sorted(range(len(self.names)), key=lambda bot: (-self.elo[bot], self.names[bot], bot))
        tables = [tuple(bot for bot in bots if self.table[bot] == table) for table in sorted(set(self.table))]
        return tuple(sorted(tables, key=lambda table: -sum(self.num_matches[bot] for bot in table)))

    def _check_comparable(self, i: int, j: int) -> None:
        """Refuses two bots without a chain of matches between them."""
        if self.table[i] != self.table[j]:
            raise ConfigError(
                f"no chain of matches connects {self.names[i]} and {self.names[j]}; "
                "let them, or opponents of theirs, meet"
            )
