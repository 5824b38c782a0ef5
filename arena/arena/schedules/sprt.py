"""A sequential test of two bots: pairs from openings that differ, until the likelihood ratio decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from arena.errors import ConfigError
from arena.pairing.schedule import FixedPlan
from arena.rating.estimate import SprtEnd
from arena.rating.pairs import NUM_PAIR_CELLS
from arena.rating.sprt import EloModel, bounds, decide, log_likelihood_ratio
from arena.schedules.protocol import Closed, PlannedBatch, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.rating.estimate import SprtEstimate
    from arena.schedules.protocol import MatchKey, Next, View

SprtDecision: TypeAlias = Literal["H0", "H1", "undecided"]

_EVERY = 4
"""Pairs from one look to the next, at first."""
_EVERY_UNTIL = 200
_GROWTH = 102
"""After that each look has 2 % more pairs than the one before, in per cent."""


class SprtState(NamedTuple):
    """What a test has found so far."""

    decision: SprtDecision | None
    """What it decides; None while it goes on."""
    num_pairs: int
    """Pairs that count: those up to the look that decided, else all before the first open pair."""
    ratio: float
    """Log likelihood ratio of H1 against H0 after these pairs; 0 after none."""
    cells: tuple[int, ...]
    """These pairs by half points of the tested bot: LL, LD, DD + WL, WD, WW."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtTest:
    """The hypotheses of a test and the errors it may make."""

    elo0: float = 0.0
    """Difference under H0, Elo of `model`."""
    elo1: float = 30.0
    """Difference under H1."""
    alpha: float = 0.05
    """Chance of accepting H1 where H0 is true."""
    beta: float = 0.05
    """Chance of accepting H0 where H1 is true."""
    model: EloModel = "normalized"
    """Logistic or normalized Elo; the length of a normalized test hardly depends on draws and openings."""

    def __post_init__(self) -> None:
        """Refuse hypotheses that no test can tell apart.

        Raises:
            ConfigError: elo0 not below elo1, or impossible error rates.
        """
        if not self.elo0 < self.elo1:
            raise ConfigError(f"elo0={self.elo0:g} must be below elo1={self.elo1:g}")
        bounds(self.alpha, self.beta)

    def judge(self, half_points: Sequence[int], *, num_openings: int) -> SprtState:
        """Look at pairs in the order of the plan, and stop at the first look that decides.

        Args:
            half_points: of the tested bot in each pair that counts, 0 to 4, `[pairs]`.
            num_openings: pairs after which a test ends undecided, void ones left out.
        """
        counts = [0] * NUM_PAIR_CELLS
        due = looks(num_openings)
        look = next(due, 0)
        for num, half in enumerate(half_points, 1):
            counts[half] += 1
            if num == look:
                look = next(due, 0)
                ratio = self.ratio(tuple(counts))
                decision = decide(ratio, self.alpha, self.beta)
                if decision is not None:
                    return SprtState(decision, num, ratio, tuple(counts))
        cells = tuple(counts)
        is_over = len(half_points) >= num_openings
        return SprtState("undecided" if is_over else None, len(half_points), self.ratio(cells), cells)

    def estimate(self, state: SprtState) -> SprtEstimate:
        """Return the Elo that a test which stopped in this state speaks for; one stopped early is undecided.

        Raises:
            ConfigError: no pair was played.
        """
        before = [look for look in looks(state.num_pairs) if look < state.num_pairs]
        return SprtEnd(
            cells=state.cells,
            decision=None if state.decision == "undecided" else state.decision,
            last_step=state.num_pairs - (before[-1] if before else 0),
            elo0=self.elo0,
            elo1=self.elo1,
            alpha=self.alpha,
            beta=self.beta,
            model=self.model,
        ).estimate()

    def ratio(self, cells: tuple[int, ...]) -> float:
        """Return the log likelihood ratio of H1 against H0, 0 after no pair; `cells` as in `SprtState`."""
        return _ratio(self, cells) if any(cells) else 0.0


@lru_cache(maxsize=4096)
def _ratio(test: SprtTest, cells: tuple[int, ...]) -> float:
    # A schedule is asked again after every few results, and goes through all looks each time: one costs 4 ms.
    return log_likelihood_ratio(cells, test.elo0, test.elo1, model=test.model)


def looks(num_openings: int) -> Iterator[int]:
    """Yield the numbers of pairs after which a test is looked at: 4, 8, ... 200, 204, 209, ...

    The last one is `num_openings`, when every opening is played. They are fixed beforehand, so that a
    decision does not depend on when results arrive.
    """
    look = _EVERY
    while look < num_openings:
        yield look
        look = look + _EVERY if look < _EVERY_UNTIL else -(-look * _GROWTH // 100)
    yield num_openings


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtSchedule:
    """Pair k of seats 0 and 1 has opening k, and none is used twice, so that each pair is new evidence.

    The test looks at complete pairs in the order of the plan, up to the first pair that is not complete.
    Taken in the order of their ends, pairs that a bot wins quickly would count before those it loses slowly.
    """

    test: SprtTest
    openings: Sequence[tuple[int, ...]]
    """All different; their number is the most pairs that are played."""

    def __post_init__(self) -> None:
        """Refuse openings that come twice.

        Raises:
            ConfigError: there are such, or there are none.
        """
        if not self.openings or len(set(self.openings)) < len(self.openings):
            raise ConfigError("a sequential test needs openings that all differ; take another --openings")

    def next(self, view: View, wanted: int) -> Next:
        """Return the next pairs, or the decision."""
        state = self.state(view.results)
        if state.decision is not None:
            return Closed(state.decision)
        fixed = self._plan()
        begin = len(view.plan)
        if begin >= fixed.total:
            return Wait("every opening is planned; the last pairs are being played")
        return PlannedBatch(list(fixed.matches(begin, begin + max(2, wanted - wanted % 2))), fixed.total)

    def state(self, results: Mapping[MatchKey, float | None]) -> SprtState:
        """Return what the test has found; seat 0 is the tested bot.

        Args:
            results: as in `View`.
        """
        half_points: list[int] = []
        num_void = 0
        for pair in range(len(self.openings)):
            keys = ((0, 2 * pair), (0, 2 * pair + 1))
            if not all(key in results for key in keys):
                break
            points = [results[key] for key in keys]
            if None in points:
                num_void += 1
            else:
                half_points.append(round(2 * sum(each for each in points if each is not None)))
        return self.test.judge(half_points, num_openings=len(self.openings) - num_void)

    def _plan(self) -> FixedPlan:
        """Return the plan of a test that is never decided."""
        return FixedPlan(
            kind="match", num_bots=2, rounds=len(self.openings), games=2, openings=self.openings, version=2
        )
