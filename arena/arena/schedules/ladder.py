"""A ladder: pairs without an end, each of the bot with the fewest against one near it in the ranking.

Pairing by results biases the ratings that are computed from the same results: two bots that drift apart by
chance would no longer meet, so the error would stay. Therefore pairs belong to two folds in turn, and the
opponent of a pair is drawn by the ranking that the *other* fold alone gives.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.pairing.sampling import draw_number
from arena.pairing.schedule import stable_encounter
from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.schedules.protocol import PlannedBatch, Wait
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.schedules.protocol import Next, View

_FEWEST_PAIRS = 8
"""Pairs of a batch at least; a batch costs two fits, and sees no result of its own."""
_BOTS_PER_PAIR = 8
_DRAWN = 1 << 64
"""What `draw_number` gives lies below this."""
_ROUNDING = 1 << 24
"""Parts of an Elo that tell two strengths apart; beyond them machines may differ, and chance decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderSchedule:
    """Plays as long as it is asked."""

    seed: int
    """Of the event; it decides all draws."""
    openings: Sequence[tuple[int, ...]]
    """Pair k of an encounter starts from opening k, counted around the list."""

    def next(self, view: View, wanted: int) -> Next:
        """Return a batch of max(8, playing bots / 8) pairs, or fewer where fewer are wanted.

        It depends on the results in the view, so a ladder is planned again only from the same basis.
        """
        playing = [seat for seat, who in enumerate(view.seats) if who.state == "playing"]
        if len(playing) < 2:  # noqa: PLR2004 # two meet
            return Wait("fewer than two bots take part; the ladder goes on when another one joins")
        num_pairs = min(max(1, wanted // 2), max(_FEWEST_PAIRS, len(playing) // _BOTS_PER_PAIR))
        # Its plan has whole pairs only, so the place of a match tells its pair.
        begin = len(view.plan) // 2
        pairs = list(self._pairs(view, playing, range(begin, begin + num_pairs)))
        return PlannedBatch(self._matches(view, pairs), None)

    def _pairs(self, view: View, playing: Sequence[int], numbers: range) -> Iterator[tuple[int, int]]:
        """Yield the seats of each pair, the one with the fewest pairs first."""
        strengths = [fold_strengths(view, fold) for fold in (0, 1)]
        counts = Counter(seat for match in view.plan[::2] for seat in (match.first, match.second))
        for number in numbers:
            bot = min(playing, key=lambda seat: (counts[seat], self._draw("bot", number, seat)))
            known = strengths[1 - number % 2]
            ranking = sorted(playing, key=lambda seat: (-known[seat], self._draw("rank", number, seat)))
            other = self._near(ranking, bot, number)
            counts.update((bot, other))
            yield bot, other

    def _near(self, ranking: Sequence[int], bot: int, number: int) -> int:
        """Draw an opponent with a chance that falls with the distance in the ranking, as 1 / distance."""
        place = ranking.index(bot)
        others = [(seat, 1 / abs(at - place)) for at, seat in enumerate(ranking) if at != place]
        left = self._draw("opponent", number, bot) / _DRAWN * sum(weight for _, weight in others)
        for seat, weight in others:
            left -= weight
            if left < 0:
                return seat
        return others[-1][0]

    def _draw(self, purpose: str, number: int, seat: int) -> int:
        return draw_number(f"{self.seed}/ladder-{purpose}/{number}/{seat}")

    def _matches(self, view: View, pairs: Sequence[tuple[int, int]]) -> list[PlannedMatch]:
        """Return the two matches of each pair; the lower seat moves first in the first one."""
        played = Counter(match.encounter for match in view.plan)
        found: list[PlannedMatch] = []
        for low, high in map(sorted, pairs):
            encounter = stable_encounter(low, high)
            for first, second in ((low, high), (high, low)):
                match_no = played[encounter]
                opening = self.openings[match_no // 2 % len(self.openings)]
                number = len(view.plan) + len(found) + 1
                found.append(
                    PlannedMatch(
                        number=number,
                        encounter=encounter,
                        match_no=match_no,
                        first=first,
                        second=second,
                        opening=opening,
                    )
                )
                played[encounter] += 1
        return found


def fold_strengths(view: View, fold: int) -> list[float]:
    """Return what the results of one fold say of each seat, Elo rounded to 24 binary digits, `[seats]`.

    Args:
        view: what was planned and played.
        fold: 0 or 1: pairs of even or odd number in the plan, from 0.
    """
    ratings = fit(encounters(MatchArrays(rated_matches(view, fold))), len(view.seats))
    return [round(elo * _ROUNDING) / _ROUNDING for elo in ratings.strength.tolist()]


def rated_matches(view: View, fold: int | None = None) -> Iterator[RatedMatch]:
    """Yield the final matches of one fold, or of both, as ratings see them; no two have equal moves."""
    for place, match in enumerate(view.plan):
        pair = place // 2
        points = view.results.get((match.encounter, match.match_no))
        if points is None or (fold is not None and pair % 2 != fold):
            continue
        is_low = match.first < match.second
        yield RatedMatch(
            match.first, match.second, points if is_low else 1 - points, pair, match.opening, place
        )
