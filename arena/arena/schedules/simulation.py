"""Simulates a tournament again from the model that its results were fitted with."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ArenaError
from arena.pairing.sampling import draw_number
from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.replayed import NUM_REPLAYS, correct
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.schedules.protocol import Closed, PlannedBatch, View, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.rating.ratings import Ratings
    from arena.rating.replayed import Replayed
    from arena.rating.sums import FloatArray
    from arena.schedules.protocol import MatchKey, Participant, Schedule
    from arena_db.records import PlannedMatch

_WINDOW = 1 << 20
"""Number of matches requested at once, more than any round has: replays are planned round by round."""
_DRAWN = 1 << 64
"""Upper bound of `draw_number`, exclusive."""
_ROOM = 0.98
"""Share of the distance to a certain result by which the first move may raise an expected score."""


@dataclass(frozen=True, slots=True)
class FieldModel:
    """The model from which results of a field are drawn."""

    strength: FloatArray
    """Elo, `[num_bots]`."""
    advantage: float
    """Value of the first move between nearly equal bots, Elo."""
    draws: float
    """Share of draws between equal bots, 0 … 1; between others it falls in proportion to the weaker bot's
    expected score."""

    def result(self, match: PlannedMatch, text: str) -> float:
        """Draw the points of the lower seat; `text` is the random seed."""
        low, high = sorted((match.first, match.second))
        gap = float(self.strength[low] - self.strength[high])
        mean, away = _law(gap, self.advantage)
        mean += away if match.first == low else -away
        # Draws take their points from both sides, so the mean stays as the strengths predict.
        draw = 2 * self.draws * min(mean, 1 - mean)
        drawn = draw_number(text) / _DRAWN
        if drawn < draw:
            return 0.5
        # Above `draw`, wins take mean - draw / 2 of the interval: with the half points that is the mean.
        return float(drawn < draw / 2 + mean)


def replayed(
    schedule: Schedule,
    seats: Sequence[Participant],
    ratings: Ratings,
    seed: int,
    num_replays: int = NUM_REPLAYS,
) -> Replayed:
    """Correct the ratings of a tournament that was paired by its own results.

    Args:
        schedule: the schedule that paired it.
        seats: participants by index in the ratings.
        ratings: the fit of its results.
        seed: seed of the tournament; it decides all draws.
        num_replays: number of replays in each of the two steps; one of 24 bots and 7 rounds takes 0.1 s of
            CPU.

    Raises:
        ArenaError: the schedule waits for something that no replay brings.
    """
    out = {seat for seat, who in enumerate(seats) if who.state == "out"}

    def replay(strength: FloatArray, number: int) -> FloatArray:
        model = FieldModel(strength, ratings.advantage, share_of_draws(ratings, strength))
        view = play_again(schedule, seats, model, f"{seed}/replay/{number}")
        # Matches of a disqualified bot are void, although others were paired by them.
        played = (match for match in rated_matches(view) if not out & {match.first, match.second})
        return fit(encounters(MatchArrays(played)), len(seats)).strength

    return correct(ratings.strength, replay, num_replays)


def play_again(schedule: Schedule, seats: Sequence[Participant], model: FieldModel, text: str) -> View:
    """Play a tournament to its end with results drawn from a model, and return the final view.

    Bots join or leave after the same number of planned matches as in the real tournament.

    Raises:
        ArenaError: the schedule waits, although all matches are played.
    """
    plan: list[PlannedMatch] = []
    results: dict[MatchKey, float | None] = {}
    while True:
        here = [_at(who, len(plan)) for who in seats]
        view = View(seats=here, plan=plan, results=results)
        found = schedule.next(view, _WINDOW)
        if isinstance(found, Closed):
            return view
        if not isinstance(found, PlannedBatch):
            why = found.why if isinstance(found, Wait) else f"it continues after {found.decision}"
            raise ArenaError(f"the tournament cannot be replayed: {why}")
        plan += found.matches
        for match in found.matches:
            key = (match.encounter, match.match_no)
            # Each match has a draw of its own, so its result does not depend on how a schedule orders or
            # splits a round.
            results[key] = model.result(match, f"{text}/{match.encounter}/{match.match_no}")


def rated_matches(view: View) -> Iterator[RatedMatch]:
    """Yield the final matches in the format of ratings; no two have equal moves."""
    for place, match in enumerate(view.plan):
        points = view.results.get((match.encounter, match.match_no))
        if points is not None:
            own = points if match.first < match.second else 1 - points
            # The place of a match stands for its moves, so that none counts as a repetition.
            yield RatedMatch(match.first, match.second, own, place // 2, match.opening, place)


def share_of_draws(ratings: Ratings, strength: FloatArray) -> float:
    """Return the share of draws between equal bots at which the observed number of draws is expected, 0 … 1.

    Args:
        ratings: results and their fit.
        strength: assumed strengths, Elo, `[num_bots]`.
    """
    found = ratings.encounters
    gaps = strength[found.low] - strength[found.high]
    expected = 0.0
    for gap, sides in zip(gaps.tolist(), found.results.sum(axis=2).tolist(), strict=True):
        mean, away = _law(gap, ratings.advantage)
        for share, num in zip((mean + away, mean - away), sides, strict=True):
            expected += 2 * num * min(share, 1 - share)
    num_draws = float(found.results[:, :, 1].sum())
    return float(np.clip(num_draws / expected, 0.0, 1.0)) if expected else 0.0


def _law(gap: float, advantage: float) -> tuple[float, float]:
    """Return the expected points of each match of a pair, and what the first move adds; arguments in Elo."""
    mean = _sigmoid(gap)
    # Otherwise one match of a pair could get an expected score outside 0 … 1.
    room = _ROOM * min(mean, 1 - mean)
    away = (_sigmoid(gap + advantage) - _sigmoid(gap - advantage)) / 2
    return mean, max(-room, min(room, away))


def _sigmoid(elo: float) -> float:
    return 1 / (1 + exp(-LOGITS_PER_ELO * elo))


def _at(who: Participant, num_planned: int) -> Participant:
    """Return a participant as it was when this number of matches was planned."""
    gone = num_planned < who.joined_at or (who.left_at is not None and num_planned >= who.left_at)
    was_away = any(away.gone <= num_planned < away.back for away in who.absences)
    # No match is left unplayed: every match planned here has its result at once.
    absences = tuple(away._replace(change=0) for away in who.absences)
    return who._replace(state="left" if gone or was_away else "playing", absences=absences)
