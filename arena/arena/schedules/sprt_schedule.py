"""A sequential test of two bots: pairs from distinct openings, until the likelihood ratio decides."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from arena.errors import ConfigError
from arena.pairing.schedule import FixedPlan
from arena.rating.estimate import SprtEnd, expected_pairs
from arena.rating.pairs import NUM_PAIR_CELLS
from arena.rating.sprt import Hypotheses, bounds, decide, log_likelihood_ratio
from arena.schedules.protocol import (
    RATED_ENCOUNTER,
    TEST_ENCOUNTER,
    Closed,
    HasDecided,
    PlannedBatch,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.rating.estimate import SprtEstimate
    from arena.schedules.protocol import MatchKey, Next, View
    from arena_db.records import PlannedMatch

SprtDecision: TypeAlias = Literal["H0", "H1", "undecided"]

_EVERY = 4
"""Pairs from one look to the next, at first."""
_EVERY_UNTIL = 200
_GROWTH = 102
"""Pairs at each later look, in per cent of those at the look before."""
_MAX_RATIOS = 4096
"""Number of likelihood ratios that are kept; a test of 1,000 pairs has 127 looks."""
_OPEN: Final = -1.0
"""Stands for the points of a match without a result."""
_DECISION = re.compile(r"(H0|H1|undecided) after [0-9]+ pairs: ([0-9]+(?: [0-9]+){4})")


class SprtState(NamedTuple):
    """The state of a test."""

    decision: SprtDecision | None
    """Its decision; None while it continues."""
    num_pairs: int
    """Number of pairs that count: those up to the deciding look, otherwise all before the first open pair."""
    ratio: float
    """Log likelihood ratio of H1 against H0 after `num_pairs` pairs; 0 after none."""
    cells: tuple[int, ...]
    """Number of the pairs that count, by half points of the tested bot: LL, LD, DD + WL, WD, WW."""

    def __str__(self) -> str:
        """Return the decision as stored: `H1 after 340 pairs: 20 40 180 60 40`, the cells last."""
        return f"{self.decision} after {self.num_pairs} pairs: {' '.join(map(str, self.cells))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtTest(Hypotheses):
    """Judges pairs by the hypotheses of a test and its error rates."""

    def __post_init__(self) -> None:
        """Refuse hypotheses that no test can separate.

        Raises:
            ConfigError: elo0 is not below elo1, or the error rates are impossible.
        """
        if not self.elo0 < self.elo1:
            raise ConfigError(f"elo0={self.elo0:g} must be below elo1={self.elo1:g}")
        bounds(self.alpha, self.beta)

    def judge(self, half_points: Sequence[int], *, num_openings: int) -> SprtState:
        """Evaluate pairs in the order of the plan, and stop at the first look that decides.

        Args:
            half_points: half points of the tested bot in each pair that counts, 0 to 4, `[pairs]`.
            num_openings: number of pairs after which a test ends undecided, without void ones.
        """
        counts, last = [0] * NUM_PAIR_CELLS, 0
        for look in looks(num_openings):
            if look > len(half_points):
                break
            for half in half_points[last:look]:
                counts[half] += 1
            last, cells = look, tuple(counts)
            ratio = self.ratio(cells)
            decision = decide(ratio, self.alpha, self.beta)
            if decision is not None:
                return SprtState(decision, look, ratio, cells)
        # Pairs after the last look are shown in the state, but judged only at the next one.
        for half in half_points[last:]:
            counts[half] += 1
        cells = tuple(counts)
        is_over = len(half_points) >= num_openings
        return SprtState("undecided" if is_over else None, len(half_points), self.ratio(cells), cells)

    def read(self, decision: str) -> SprtState:
        """Return the state that was stored by `str`.

        Raises:
            ConfigError: it is not a decision of a test.
        """
        found = _DECISION.fullmatch(decision)
        if found is None:
            raise ConfigError(
                f'"{decision}" is not a decision of a sequential test; arena db check shows more'
            )
        cells = tuple(map(int, found[2].split()))
        kinds: dict[str, SprtDecision] = {"H0": "H0", "H1": "H1", "undecided": "undecided"}
        return SprtState(kinds[found[1]], sum(cells), self.ratio(cells), cells)

    def after(
        self, results: Mapping[MatchKey, float | None], *, num_openings: int, decision: str = ""
    ) -> SprtState:
        """Return the state of the test; seat 0 is the tested bot.

        Args:
            results: as in `View`.
            num_openings: number of pairs of the whole test.
            decision: the stored decision; it stands, whatever happens to the matches later. Empty before.

        Raises:
            ConfigError: `decision` cannot be parsed.
        """
        if decision:
            return self.read(decision)
        # Pairs count in the order of the plan, up to the first that is not complete. A pair with a void match
        # is left out, once both matches have ended.
        half_points: list[int] = []
        num_void = 0
        for first, second in _pairs_of(num_openings):
            one, other = results.get(first, _OPEN), results.get(second, _OPEN)
            if one is None or other is None:
                if _OPEN in (one, other):
                    break
                num_void += 1
            elif one < 0 or other < 0:
                break
            else:
                half_points.append(int(2 * (one + other)))
        return self.judge(half_points, num_openings=num_openings - num_void)

    def expected_pairs(self, elo: float, num_openings: int) -> float:
        """Return the mean number of pairs until it ends, for a true difference in Elo of `model`."""
        return expected_pairs(elo, looks(num_openings), self)

    def estimate(self, state: SprtState) -> SprtEstimate:
        """Return the estimated Elo of a test that ended in this state; a test stopped early is undecided.

        Raises:
            ConfigError: no pair was played.
        """
        # The ratio may overshoot its bound by more if the last step was longer.
        before = [look for look in looks(state.num_pairs) if look < state.num_pairs]
        return SprtEnd(
            cells=state.cells,
            decision=None if state.decision == "undecided" else state.decision,
            last_step=state.num_pairs - (before[-1] if before else 0),
            test=self,
        ).estimate()

    def ratio(self, cells: tuple[int, ...]) -> float:
        """Return the log likelihood ratio of H1 against H0, 0 after no pair; `cells` as in `SprtState`."""
        return _ratio(self, cells) if any(cells) else 0.0


@lru_cache(maxsize=4)
def _pairs_of(num_openings: int) -> list[tuple[MatchKey, MatchKey]]:
    """Return the keys of both matches of each pair of a test; a schedule needs them each time it is asked."""
    return [((TEST_ENCOUNTER, 2 * pair), (TEST_ENCOUNTER, 2 * pair + 1)) for pair in range(num_openings)]


@lru_cache(maxsize=_MAX_RATIOS)
def _ratio(test: SprtTest, cells: tuple[int, ...]) -> float:
    # Cached: a schedule is asked after every few results, and evaluates all looks each time; one costs 4 ms.
    return log_likelihood_ratio(cells, test.elo0, test.elo1, model=test.model)


def looks(num_openings: int) -> Iterator[int]:
    """Yield the numbers of pairs after which a test is evaluated: 4, 8, ... 200, 204, 209, ...

    The last one is `num_openings`, when every opening is played. They are fixed beforehand, so that a
    decision does not depend on when results arrive.
    """
    look = _EVERY
    while look < num_openings:
        yield look
        # Divided with rounding up, so that each look is later than the one before.
        look = look + _EVERY if look < _EVERY_UNTIL else -(-look * _GROWTH // 100)
    yield num_openings


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtSchedule:
    """Pair k of seats 0 and 1 has opening k, and none is used twice, so that each pair is new evidence.

    The test evaluates complete pairs in the order of the plan, up to the first incomplete pair. In the order
    of their ends, pairs that a bot wins quickly would count before those it loses slowly, which biases the
    test.
    """

    test: SprtTest
    openings: Sequence[tuple[int, ...]]
    """All different; their number is the maximum number of pairs."""
    then_rate: int = 0
    """Number of pairs played after the decision, from openings that the test did not use, as long as there
    are any."""
    reverse: bool = False
    """Whether seat 1 moves first in the first match of a pair."""

    def __post_init__(self) -> None:
        """Refuse repeated openings.

        Raises:
            ConfigError: an opening is repeated, or there is none.
        """
        if not self.openings or len(set(self.openings)) < len(self.openings):
            raise ConfigError("a sequential test needs distinct openings; choose another --openings")

    def next(self, view: View, wanted: int) -> Next:
        """Return the next pairs, or the decision."""
        state = self.state(view.results, view.decision)
        begin = len(view.plan)
        # Whole pairs: a single match would not count.
        num_matches = max(2, wanted - wanted % 2)
        if state.decision is not None and not view.decision and self.then_rate:
            return HasDecided(str(state))
        if state.decision is not None:
            return self._rated(view, str(state), num_matches)
        fixed = self._plan(self.openings, len(self.openings))
        if begin >= fixed.total:
            return Wait("every opening is planned; the last pairs are being played")
        return PlannedBatch(list(fixed.matches(begin, begin + num_matches)), fixed.total + 2 * self.then_rate)

    def state(self, results: Mapping[MatchKey, float | None], decision: str = "") -> SprtState:
        """Return the state of the test; see `SprtTest.after`."""
        return self.test.after(results, num_openings=len(self.openings), decision=decision)

    def _rated(self, view: View, decision: str, num_matches: int) -> Next:
        """Return the next rated pairs; the plan is closed once all are played."""
        # The matches of the test come first in the plan, which may be in the store: bisecting reads few of
        # them.
        num_tested = bisect_left(view.plan, RATED_ENCOUNTER, key=_encounter)
        begin, total = len(view.plan) - num_tested, 2 * self.then_rate
        if begin < total:
            # Rated pairs begin with the openings that the test has not used.
            used = num_tested // 2 % len(self.openings)
            fixed = self._plan([*self.openings[used:], *self.openings[:used]], self.then_rate)
            matches = [
                replace(match, number=match.number + num_tested, encounter=RATED_ENCOUNTER)
                for match in fixed.matches(begin, min(begin + num_matches, total))
            ]
            return PlannedBatch(matches, num_tested + total)
        if any((RATED_ENCOUNTER, match_no) not in view.results for match_no in range(total)):
            return Wait("the test is decided; its rated pairs are being played")
        return Closed(decision)

    def _plan(self, openings: Sequence[tuple[int, ...]], num_pairs: int) -> FixedPlan:
        return FixedPlan(
            kind="match",
            num_bots=2,
            rounds=num_pairs,
            games=2,
            openings=openings,
            reverse=self.reverse,
            version=2,
        )


def _encounter(match: PlannedMatch) -> int:
    return match.encounter
