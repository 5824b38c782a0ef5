"""A ladder: pairs without an end, each of the bot with the fewest against one near it in the ranking.

Pairing by results biases the ratings that are computed from the same results: two bots that drift apart by
chance would no longer meet, so the error would stay. Therefore pairs belong to two folds in turn, and the
opponent of a pair is drawn by the ranking that the *other* fold alone gives.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from arena.pairing.sampling import draw_number
from arena.pairing.schedule import stable_encounter
from arena.schedules.counts import SeatCounts, fold_of
from arena.schedules.protocol import Closed, PlannedBatch, Wait
from arena.schedules.ranking import strengths
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.schedules.protocol import Next, View

_FEWEST_PAIRS = 8
"""Pairs of a batch at least; a batch costs two rankings, and sees no result of its own."""
_BOTS_PER_PAIR = 8
_DRAWN = 1 << 64
"""What `draw_number` gives lies below this."""
_SETTLED_ELO = 60.0
"""A newcomer is one until its rating is that close, half of the 95 % interval,"""
_SETTLED_PAIRS = 100
"""or until it has so many pairs."""


_MOST_WAITING = 3
"""Of the pairs that a seat waits on average, how many times as many one waits at most."""


def is_settled(num_pairs: int, error: float) -> bool:
    """Return whether a bot that joined is no newcomer any more; `error` is half its 95 % interval, Elo.

    Below eight pairs none is, so that its first matches need not wait for a fit of all ratings.
    """
    return num_pairs >= _SETTLED_PAIRS or (num_pairs >= _FEWEST_PAIRS and error <= _SETTLED_ELO)


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderSchedule:
    """Plays until every rating is close enough, or as long as it is asked."""

    seed: int
    """Of the event; it decides all draws."""
    openings: Sequence[tuple[int, ...]]
    """Pair k of an encounter starts from opening k, counted around the list."""
    until: float | None = None
    """Half of the 95 % interval that every rating is to reach, Elo; None plays without an end."""

    def next(self, view: View, wanted: int) -> Next:
        """Return a batch of max(8, playing bots / 8) pairs, or fewer where fewer are wanted.

        While a newcomer has fewer than eight pairs, a batch has two pairs, or as many as it takes until each
        newcomer has one.

        It depends on the results in the view, so a ladder is planned again only from the same basis.
        """
        playing = [seat for seat, who in enumerate(view.seats) if who.state == "playing"]
        if len(playing) < 2:  # noqa: PLR2004 # two meet
            return Wait("fewer than two bots take part; the ladder goes on when another one joins")
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
    """The playing seats by one fold."""

    seats: list[int]
    """Best first."""
    places: dict[int, int]
    """Place by seat."""
    known: Mapping[int, float]
    """Strength by seat, Elo."""


class _Draft:
    """One batch in the making."""

    def __init__(
        self, seed: int, counts: SeatCounts, playing: Sequence[int], newcomers: Sequence[int]
    ) -> None:
        self._seed = seed
        self._playing = playing
        self._begin = counts.num_planned // 2
        self._num_pairs = counts.num_pairs.copy()
        self._last_pair = dict(counts.last_pair)
        self._unsettled = newcomers
        self._rankings = [self._rank(counts, fold) for fold in (0, 1)]

    def pairs(self, num: int) -> Iterator[tuple[int, int]]:
        """Yield the two seats of the next pairs."""
        for number in range(self._begin, self._begin + num):
            bot = self._bot(number)
            ranking = self._rankings[1 - fold_of(number)]
            find = self._nearest if self._is_newcomer(bot) else self._near
            other = find(ranking, bot, number)
            self._num_pairs.update((bot, other))
            self._last_pair[bot] = self._last_pair[other] = number
            yield bot, other

    def _bot(self, number: int) -> int:
        """Choose who plays: a seat that can wait no longer, else a newcomer, else one of all.

        Of newcomers, and of all, the fewest pairs decide.
        """
        overdue = self._overdue(number)
        if overdue is not None:
            return overdue
        newcomers = [seat for seat in self._unsettled if self._is_newcomer(seat)]
        return self._least(newcomers or self._playing, self._num_pairs.__getitem__, number)

    def _overdue(self, number: int) -> int | None:
        """Return the seat that has waited longest if it, or one behind it, could else not play in time.

        A seat waits playing / 2 pairs on average, and shall not wait longer than three times that. Each pair
        serves one of those who wait, so the k-th of them must have k pairs left. Whoever was never paired has
        waited longest, so a bot that just joined is next.
        """
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
        known = dict.fromkeys(self._playing, 0.0) | strengths(counts.fold(fold))
        seats = sorted(self._playing, key=lambda seat: (-known[seat], self._draw("rank", self._begin, seat)))
        return _Ranking(seats, {seat: place for place, seat in enumerate(seats)}, known)

    def _nearest(self, ranking: _Ranking, bot: int, number: int) -> int:
        """Return the opponent of a newcomer: against one of its strength a result says most.

        The others are known well enough, so that this ties no two unknown bots to each other.
        """
        others = [seat for seat in self._playing if seat != bot]
        gaps = {seat: abs(ranking.known[seat] - ranking.known[bot]) for seat in others}
        return min(others, key=lambda seat: (gaps[seat], self._draw("nearest", number, seat)))

    def _near(self, ranking: _Ranking, bot: int, number: int) -> int:
        """Draw an opponent with a chance that falls with the distance in the ranking, as 1 / distance."""
        place = ranking.places[bot]
        weights = [1 / abs(at - place) if at != place else 0.0 for at in range(len(ranking.seats))]
        left = self._draw("opponent", number, bot) / _DRAWN * sum(weights)
        for seat, weight in zip(ranking.seats, weights, strict=True):
            left -= weight
            if left < 0:
                return seat
        # Rounding alone gets here; the last seat is the bot itself where it is ranked last.
        return ranking.seats[-1] if ranking.seats[-1] != bot else ranking.seats[-2]

    def _draw(self, purpose: str, number: int, seat: int) -> int:
        return draw_number(f"{self._seed}/ladder-{purpose}/{number}/{seat}")
