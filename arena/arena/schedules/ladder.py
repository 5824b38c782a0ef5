"""A ladder: endless pairs, each of the bot with the fewest pairs against one near it in the ranking.

Pairing by results biases the ratings that are computed from the same results: two bots that drift apart by
chance would no longer meet, so the error would stay. Therefore pairs belong alternately to two folds, and the
opponent of a pair is drawn by a ranking from the *other* fold alone.

These rankings are never displayed. A prior keeps them finite for any results, so that a ladder always finds
the next pair; displayed ratings come from `arena.rating.fit`, whose prior shrinks less.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.pairing.sampling import draw_number
from arena.pairing.schedule import stable_encounter
from arena.rating.model import LOGITS_PER_ELO
from arena.schedules.protocol import Closed, PlannedBatch, Wait
from arena.schedules.seat_counts import SeatCounts, fold_of
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.schedules.protocol import Next, View
    from arena.schedules.seat_counts import FloatArray, FoldSums, IntArray

_FEWEST_PAIRS = 8
"""Minimum number of pairs of a batch; a batch costs two rankings, and does not use its own results."""
_BOTS_PER_PAIR = 8
"""Playing bots per pair of a batch: larger fields have larger batches, because the cost of two rankings grows
with the field."""
_DRAWN = 1 << 64
"""Upper bound of `draw_number`, exclusive."""
_SETTLED_ELO = 60.0
"""Error below which a bot is no longer a newcomer: half of the 95 % interval, Elo."""
_SETTLED_PAIRS = 100
"""Number of pairs from which a bot is no longer a newcomer, whatever its error."""


_MOST_WAITING = 3
"""Ratio of a seat's longest permitted wait to its average wait, in pairs."""


def is_settled(num_pairs: int, error: float) -> bool:
    """Return whether a joined bot is no longer a newcomer; `error` is half its 95 % interval, Elo.

    With less than eight pairs no bot is settled, so that its first matches need not wait for a fit of all
    ratings.
    """
    return num_pairs >= _SETTLED_PAIRS or (num_pairs >= _FEWEST_PAIRS and error <= _SETTLED_ELO)


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderSchedule:
    """Plays until every rating is precise enough, or without end."""

    seed: int
    """Seed of the tournament; it decides all draws."""
    openings: Sequence[tuple[int, ...]]
    """Pair k of an encounter starts from opening k, modulo their number."""
    until: float | None = None
    """Half of the 95 % interval that every rating must reach, Elo; None plays without end."""

    def next(self, view: View, wanted: int) -> Next:
        """Return a batch of max(8, playing bots / 8) pairs, or fewer if fewer are wanted.

        While a newcomer has fewer than eight pairs, a batch has two pairs, or as many as it takes until each
        newcomer has one.

        It depends on the results in the view, so a ladder is planned again only from the same basis.
        """
        playing = [seat for seat, who in enumerate(view.seats) if who.state == "playing"]
        if len(playing) < 2:  # noqa: PLR2004 # two meet
            return Wait("fewer than two bots take part; the ladder continues when another one joins")
        counts = SeatCounts.of(view.plan, view.results) if view.counts is None else view.counts
        newcomers = [
            seat for seat in playing if view.seats[seat].joined and counts.num_pairs[seat] < _SETTLED_PAIRS
        ]
        may_settle = any(counts.num_pairs[seat] >= _FEWEST_PAIRS for seat in newcomers)
        if view.errors is not None and (may_settle or self.until is not None):
            errors = view.errors()
            if self.until is not None and max(errors[seat] for seat in playing) <= self.until:
                return Closed(f"every rating is within {self.until:g} Elo")
            newcomers = [seat for seat in newcomers if not is_settled(counts.num_pairs[seat], errors[seat])]
        num_pairs = max(_FEWEST_PAIRS, len(playing) // _BOTS_PER_PAIR)
        new: set[int] = set()
        is_short = any(counts.num_pairs[seat] < _FEWEST_PAIRS for seat in newcomers)
        if is_short:
            # Each result of an unknown bot says whom it should meet next, so few pairs are planned, one in
            # each fold. The first pairs of all newcomers are planned at once: no result could improve them.
            new = {seat for seat in newcomers if not counts.num_pairs[seat]}
            num_pairs = max(2, len(new))
        # Whole pairs: half a pair would let the side that moved first decide a rating.
        num_pairs = min(max(1, wanted // 2), num_pairs)
        pairs: list[tuple[int, int]] = []
        for pair in _Draft(self.seed, counts, playing, newcomers).pairs(num_pairs):
            pairs.append(pair)
            new -= set(pair)
            if is_short and not new and len(pairs) > 1:
                break
        return PlannedBatch(self._matches(counts, pairs), None)

    def _matches(self, counts: SeatCounts, pairs: Sequence[tuple[int, int]]) -> list[PlannedMatch]:
        """Return the two matches of each pair; the lower seat moves first in the first one."""
        planned: Counter[int] = Counter()
        found: list[PlannedMatch] = []
        # The same order of sides for each pair of bots, whichever of them was chosen first.
        for low, high in map(sorted, pairs):
            encounter = stable_encounter(low, high)
            for first, second in ((low, high), (high, low)):
                match_no = counts.next_match_no[encounter] + planned[encounter]
                found.append(
                    PlannedMatch(
                        number=counts.num_planned + len(found) + 1,
                        encounter=encounter,
                        match_no=match_no,
                        first=first,
                        second=second,
                        opening=self.openings[match_no // 2 % len(self.openings)],
                    )
                )
                planned[encounter] += 1
        return found


class _Ranking(NamedTuple):
    """The playing seats ranked by the results of one fold (half of the pairs)."""

    seats: list[int]
    """Best first."""
    places: dict[int, int]
    """Place by seat."""
    known: Mapping[int, float]
    """Strength by seat, Elo."""


class _Draft:
    """Chooses the pairs of one batch."""

    def __init__(
        self, seed: int, counts: SeatCounts, playing: Sequence[int], newcomers: Sequence[int]
    ) -> None:
        self._seed = seed
        self._playing = playing
        self._begin = counts.num_planned // 2
        self._num_pairs = counts.num_pairs.copy()
        self._last_pair = dict(counts.last_pair)
        # A dict keeps their order and finds one of a thousand at once.
        self._unsettled = dict.fromkeys(newcomers)
        self._rankings = [self._rank(counts, fold) for fold in (0, 1)]

    def pairs(self, num: int) -> Iterator[tuple[int, int]]:
        """Yield the two seats of the next pairs."""
        for number in range(self._begin, self._begin + num):
            bot = self._bot(number)
            # The ranking of the other fold, so that the pair's own results never influence the pairing.
            ranking = self._rankings[1 - fold_of(number)]
            find = self._nearest if self._is_newcomer(bot) else self._near
            other = find(ranking, bot, number)
            self._num_pairs.update((bot, other))
            self._last_pair[bot] = self._last_pair[other] = number
            yield bot, other

    def _bot(self, number: int) -> int:
        """Choose a bot: a seat that can wait no longer, otherwise a newcomer, otherwise any.

        Among newcomers, and among all, the one with the fewest pairs is chosen.
        """
        overdue = self._overdue(number)
        if overdue is not None:
            return overdue
        newcomers = [seat for seat in self._unsettled if self._is_newcomer(seat)]
        return self._least(newcomers or self._playing, self._num_pairs.__getitem__, number)

    def _overdue(self, number: int) -> int | None:
        """Return the seat that has waited longest if it, or a later one, would otherwise miss its deadline.

        A seat waits playing / 2 pairs on average, and must not wait longer than three times that. Each pair
        serves one of the waiting seats, so the k-th of them must have k pairs left. A seat without any pair
        has waited longest, so a bot that just joined is next.
        """
        # A pair serves two seats, so the average wait is playing / 2 pairs.
        longest = _MOST_WAITING * len(self._playing) // 2
        waiting = sorted(self._playing, key=lambda seat: (self._last_pair.get(seat, -1), seat))
        for place, seat in enumerate(waiting):
            if self._last_pair.get(seat, -1) + longest - number <= place:
                return waiting[0]
        return None

    def _is_newcomer(self, seat: int) -> bool:
        return seat in self._unsettled and self._num_pairs[seat] < _SETTLED_PAIRS

    def _least(self, seats: Sequence[int], value: Callable[[int], int], number: int) -> int:
        """Return the seat with the least value; chance decides between equal ones."""
        values = [value(seat) for seat in seats]
        least = min(values)
        tied = [seat for seat, each in zip(seats, values, strict=True) if each == least]
        return tied[0] if len(tied) == 1 else min(tied, key=lambda seat: self._draw("bot", number, seat))

    def _rank(self, counts: SeatCounts, fold: int) -> _Ranking:
        # Equal strengths are ordered by chance; by seat, a lower seat would always meet the same neighbours.
        known = dict.fromkeys(self._playing, 0.0) | strengths(counts.fold(fold))
        seats = sorted(self._playing, key=lambda seat: (-known[seat], self._draw("rank", self._begin, seat)))
        return _Ranking(seats, {seat: place for place, seat in enumerate(seats)}, known)

    def _nearest(self, ranking: _Ranking, bot: int, number: int) -> int:
        """Return a newcomer's opponent: one of equal strength, against which a result is most informative.

        The others are well known, so this does not tie two unknown bots to each other.
        """
        others = [seat for seat in self._playing if seat != bot]
        gaps = {seat: abs(ranking.known[seat] - ranking.known[bot]) for seat in others}
        return min(others, key=lambda seat: (gaps[seat], self._draw("nearest", number, seat)))

    def _near(self, ranking: _Ranking, bot: int, number: int) -> int:
        """Draw an opponent with a probability proportional to 1 / distance in the ranking."""
        place = ranking.places[bot]
        # Near opponents are likely, but none is impossible, so that chains of matches connect the whole
        # field.
        weights = [1 / abs(at - place) if at != place else 0.0 for at in range(len(ranking.seats))]
        left = self._draw("opponent", number, bot) / _DRAWN * sum(weights)
        for seat, weight in zip(ranking.seats, weights, strict=True):
            left -= weight
            if left < 0:
                return seat
        # Only rounding errors get here; the last seat is the bot itself if it is ranked last.
        return ranking.seats[-1] if ranking.seats[-1] != bot else ranking.seats[-2]

    def _draw(self, purpose: str, number: int, seat: int) -> int:
        # The purpose is part of the text, so that the draws of one pair are independent of each other.
        return draw_number(f"{self._seed}/ladder-{purpose}/{number}/{seat}")


_PRIOR_SD = 400 * LOGITS_PER_ELO
"""Prior standard deviation of strengths. It hardly matters, because only the order is used."""
_TOLERANCE = 1e-6
"""Largest step, natural log-odds, after which Newton's method ends: its error is then about the square of
that step."""
_MAX_STEPS = 100
"""Maximum number of steps; fields take 4 to 7. A step is halved until it improves, so this bound only matters
for rounding errors."""
_ROUNDING = 1 << 24
"""Fractions of an Elo down to which strengths are distinguished; below, machines may round differently, and
chance decides."""


def strengths(sums: FoldSums) -> dict[int, float]:
    """Return the posterior mode of the strength of each seat with a match, Elo rounded to 24 binary digits.

    The expected score of a match is the logistic function of the gap (Bradley and Terry 1952), and strengths
    are independent normal variables with mean 0. The posterior is log-concave, so Newton's method with
    improving steps finds its only mode. A seat without a match has strength 0.
    """
    seats, places = np.unique(np.concatenate([sums.low, sums.high]), return_inverse=True)
    low, high = places.reshape(2, -1)
    found = _mode(low, high, sums, len(seats)) / LOGITS_PER_ELO
    rounded = [round(elo * _ROUNDING) / _ROUNDING for elo in found.tolist()]
    return dict(zip(seats.tolist(), rounded, strict=True))


def _mode(low: IntArray, high: IntArray, sums: FoldSums, num: int) -> FloatArray:
    strength = np.zeros(num)
    value = _log_posterior(strength, low, high, sums)
    for _ in range(_MAX_STEPS):
        # The logistic function, without an overflow at any gap.
        mean = np.exp(-np.logaddexp(0.0, strength[high] - strength[low]))
        score = sums.points - sums.matches * mean
        gradient = np.bincount(low, score, num) - np.bincount(high, score, num) - strength / _PRIOR_SD**2
        # The prior on the diagonal keeps the matrix invertible, whatever the results are.
        step = np.linalg.solve(_information(sums.matches * mean * (1 - mean), low, high, num), gradient)
        longest = float(np.abs(step).max(initial=0.0))
        if longest < _TOLERANCE:
            return strength + step
        after = _log_posterior(strength + step, low, high, sums)
        while after < value and longest >= _TOLERANCE:
            step, longest = step / 2, longest / 2
            after = _log_posterior(strength + step, low, high, sums)
        strength, value = strength + step, after
    return strength


def _information(weight: FloatArray, low: IntArray, high: IntArray, num: int) -> FloatArray:
    """Return the negative Hessian of the log posterior, `[num, num]`."""
    matrix = np.zeros((num, num))
    matrix[low, high] = matrix[high, low] = -weight
    matrix[np.diag_indices(num)] = (
        np.bincount(low, weight, num) + np.bincount(high, weight, num) + 1 / _PRIOR_SD**2
    )
    return matrix


def _log_posterior(strength: FloatArray, low: IntArray, high: IntArray, sums: FoldSums) -> float:
    gap = strength[low] - strength[high]
    likelihood = sums.points * gap - sums.matches * np.logaddexp(0.0, gap)
    return float(likelihood.sum() - (strength**2).sum() / (2 * _PRIOR_SD**2))
