"""Davidson's model of wins, draws and losses with a term for moving first, and its prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

Chances: TypeAlias = "tuple[float, float, float]"
"""Of win, draw and loss of the first player."""

LOGITS_PER_ELO = math.log(10) / 400
"""Natural log-odds in one Elo: 400 Elo are ten wins per loss."""
_LEAST = 1e-6
MEAN_ELO = 1500.0
"""The mean of a table is shown as this."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """Matches of two bots with one of them moving first, counted from that bot's side."""

    first: int
    """Index of the bot that moved first."""
    second: int
    """Index of the other one."""
    wins: float
    """Matches the first player won; need not be whole (see `arena.rating.weights`)."""
    draws: float
    losses: float

    @property
    def weight(self) -> float:
        """Matches in all."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is believed before the first match; it keeps every rating and error finite.

    Raises:
        ConfigError: a size below 1e-6 or infinite.
    """

    games: float = 2.0
    """Virtual matches of each bot, half won and half lost, against an opponent at the origin.

    At least 1e-6: with less, the ratings of a table could all move together and nothing would hold them.
    """
    advantage_sd: float = 350.0
    """Standard deviation of the first-player term, Elo; its mean is 0."""
    log_draw_mean: float = -1.0
    """Mean of ln nu."""
    log_draw_sd: float = 3.0

    def __post_init__(self) -> None:
        """Refuses sizes under which the maximum is not unique."""
        for name, value in (
            ("games", self.games),
            ("advantage_sd", self.advantage_sd),
            ("log_draw_sd", self.log_draw_sd),
        ):
            if not _LEAST <= value < math.inf:
                raise ConfigError(f"the prior's {name} is {value}; it must be finite and at least {_LEAST}")


@dataclass(frozen=True, slots=True)
class Row:
    """All results of an ordered pair of bots."""

    first: int
    """Index of the bot that moved first."""
    second: int
    """Index of the other one."""
    outcomes: tuple[float, float, float]
    """Won, drawn and lost by the first player."""

    @property
    def weight(self) -> float:
        """Matches in all."""
        return sum(self.outcomes)


def count(results: Iterable[PairResult], num_bots: int) -> tuple[Row, ...]:
    """Adds up results, one row per ordered pair that met, so that neither order nor splitting matters.

    Raises:
        ConfigError: an index outside the bots, a bot against itself, a negative or infinite count.
    """
    sums: dict[tuple[int, int], list[float]] = {}
    for result in results:
        _check(result, num_bots)
        row = sums.setdefault((result.first, result.second), [0.0, 0.0, 0.0])
        row[0] += result.wins
        row[1] += result.draws
        row[2] += result.losses
    return tuple(Row(*pair, (row[0], row[1], row[2])) for pair, row in sorted(sums.items()) if sum(row) > 0)


def _check(result: PairResult, num_bots: int) -> None:
    """Refuses a result that cannot be counted."""
    if not (0 <= result.first < num_bots and 0 <= result.second < num_bots):
        raise ConfigError(f"{result} names a bot outside 0 … {num_bots - 1}")
    if result.first == result.second:
        raise ConfigError(f"{result} is a bot against itself; only matches of two bots can be rated")
    if not (min(result.wins, result.draws, result.losses) >= 0 and math.isfinite(result.weight)):
        raise ConfigError(f"{result} has a count that is negative or not finite")


def chances(gap: float, log_draw: float) -> Chances:
    """Win, draw and loss of the first player.

    Weights exp(gap / 2), nu, exp(-gap / 2), normalised: Davidson 1970, "On extending the Bradley-Terry
    model to accommodate ties in paired comparison experiments".

    Args:
        gap: natural log-odds, first player's advantage included.
        log_draw: ln nu.
    """
    half = gap / 2
    top = max(abs(half), log_draw)
    win, draw, loss = math.exp(half - top), math.exp(log_draw - top), math.exp(-half - top)
    total = win + draw + loss
    return win / total, draw / total, loss / total


def moments(chances: Chances) -> tuple[float, float]:
    """Mean and variance of the first player's score (1, one half, 0) in one match."""
    win, draw, loss = chances
    mean = win + draw / 2
    # Around the mean: the difference of second moment and square would round to 0 at hopeless gaps.
    return mean, win * (1 - mean) ** 2 + draw * (0.5 - mean) ** 2 + loss * mean**2
