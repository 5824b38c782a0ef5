"""Measures a network by matches during training, and selects the best one by a statistical test."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from arena_bots.alphazero.train.plan import Measuring
    from arena_plugins.training import Score, TrainingContext

_Z = 1.96
"""Quantile of the normal distribution for an interval of 95 %."""
_LATEST = "latest.onnx"
_BEST = "best.onnx"


class Interval(NamedTuple):
    """A 95 % confidence interval of a share."""

    low: float
    high: float


def wilson(points: float, matches: int) -> Interval:
    """Return the Wilson (1927) score interval for `points` out of `matches`."""
    share = points / matches
    centre = share + _Z**2 / (2 * matches)
    half = _Z * sqrt(share * (1 - share) / matches + _Z**2 / (4 * matches**2))
    scale = 1 + _Z**2 / matches
    return Interval((centre - half) / scale, (centre + half) / scale)


class Judge:
    """Plays a run's networks against a fixed opponent and against the best of them so far."""

    def __init__(self, tests: Measuring, context: TrainingContext, best: bytes | None) -> None:
        """Start with the best network so far, if there is one."""
        self._tests = tests
        self._context = context
        self.best = best

    def measure(self, model: bytes, step: int) -> None:
        """Measure a network; it becomes the best one unless the previous best beats it significantly.

        A network that has learnt longer is usually stronger, and a hundred matches rarely show by how little.
        Therefore the burden of proof is on the older network.
        """
        tests, context = self._tests, self._context
        latest = self._spec(_LATEST, model)
        score = context.play(latest, tests.opponent, tests.matches)
        self._tell(step, f"score vs {tests.opponent}", score)
        if self.best is None or not tests.rival_matches:
            self.best = model
            return
        rival = context.play(latest, self._spec(_BEST, self.best), tests.rival_matches)
        context.metric(step, "score vs best so far", rival.percent)
        low, high = _interval(rival)
        if high < 1 / 2:
            context.say(f"the net of an earlier step stays the best: {_said(rival)} for the last one")
            return
        if low > 1 / 2:
            context.say(f"better than the best so far: {_said(rival)}")
        self.best = model

    def _spec(self, name: str, model: bytes) -> str:
        path = self._context.write(name, model)
        return str(Spec("alphazero", {"weights": str(path), "simulations": str(self._tests.simulations)}))

    def _tell(self, step: int, name: str, score: Score) -> None:
        metric = self._context.metric
        metric(step, name, score.percent)
        for side, (wins, draws, losses) in (("first", score.first), ("second", score.second)):
            metric(step, f"{name}, {side}", 100 * (wins + draws / 2) / max(wins + draws + losses, 1))


def _interval(score: Score) -> Interval:
    matches = sum(score.first) + sum(score.second)
    return wilson(score.percent / 100 * matches, matches)


def _said(score: Score) -> str:
    low, high = _interval(score)
    return f"{score.percent:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f})"
