from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from arena.errors import ArenaError
from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.schedules.knockout import KnockoutSchedule
from arena.schedules.ladder import LadderSchedule
from arena.schedules.protocol import Participant
from arena.schedules.simulation import FieldModel, play_again, rated_matches, replayed, share_of_draws
from arena.schedules.swiss import SwissSchedule
from arena_db.records import PlannedMatch
from rating_worlds import World, chances
from schedules import SimulatedEvent

OPENINGS = [(place,) for place in range(40)]
SWISS = SwissSchedule(rounds=4, pairs=1, seed=5, openings=OPENINGS)
SEATS = tuple(Participant(f"bot-{seat}") for seat in range(8))
TRUTH = np.array([350.0, 250.0, 150.0, 50.0, -50.0, -150.0, -250.0, -350.0])


def _match(first: int, second: int) -> PlannedMatch:
    return PlannedMatch(number=1, encounter=0, match_no=0, first=first, second=second, opening=())


@pytest.mark.parametrize(("gap", "draws", "advantage"), [(0, 0.3, 40), (180, 0.6, 90), (-600, 0.1, 300)])
@pytest.mark.parametrize("side", [0, 1])
def test_results_follow_the_law_of_the_model(gap: float, draws: float, advantage: float, side: int) -> None:
    world = World(draws=draws, advantage=advantage)
    # The simulated worlds compute the same law: loss, draw and win of a bot moving first, and second.
    both = chances(np.array([gap * LOGITS_PER_ELO]), np.array([advantage * LOGITS_PER_ELO]), world)
    law = both[side][0]
    model = FieldModel(np.array([gap, 0.0]), advantage, draws)
    match = _match(1, 0) if side else _match(0, 1)
    num = 3000
    found = Counter(model.result(match, f"{gap}/{number}") for number in range(num))
    for points, share in zip((0.0, 0.5, 1.0), law.tolist(), strict=True):
        assert found[points] / num == pytest.approx(share, abs=4 * (share * (1 - share) / num) ** 0.5 + 1e-9)


def test_the_share_of_draws_is_found_again() -> None:
    rng = np.random.default_rng(3)
    strength = np.array([120.0, 0.0, -120.0])
    model = FieldModel(strength, 40.0, 0.35)
    played: list[RatedMatch] = []
    for pair in range(1200):
        i, j = sorted(rng.choice(3, 2, replace=False).tolist())
        for first, second in ((i, j), (j, i)):
            points = model.result(_match(first, second), f"{pair}/{first}")
            played.append(
                RatedMatch(first, second, points if first == i else 1 - points, pair, pair, len(played))
            )
    ratings = fit(encounters(MatchArrays(played)), 3)
    assert share_of_draws(ratings, strength) == pytest.approx(0.35, abs=0.04)
    assert ratings.advantage == pytest.approx(40, abs=20)
    assert share_of_draws(fit(encounters(MatchArrays([])), 3), strength) == 0


def test_an_event_is_paired_again_by_the_drawn_results() -> None:
    model = FieldModel(TRUTH, 40.0, 0.3)
    views = [play_again(SWISS, SEATS, model, text) for text in ("a", "a", "b")]
    assert views[0].plan == views[1].plan
    assert views[0].results == views[1].results
    assert views[0].results != views[2].results
    assert len(views[0].plan) == 4 * 4 * 2
    # With these results it plays the tournament itself.
    event = SimulatedEvent(SWISS, 8)
    while batch := event.ask(256):
        for match in batch:
            key = (match.encounter, match.match_no)
            event.results[key] = views[0].results[key]
    assert event.plan == views[0].plan


def test_who_left_leaves_again_and_who_joined_joins_again() -> None:
    seats = [who._replace(state="left", left_at=6) if seat == 0 else who for seat, who in enumerate(SEATS)]
    seats[1] = seats[1]._replace(joined_at=6)
    view = play_again(SWISS, seats, FieldModel(TRUTH, 40.0, 0.3), "a")
    first = {seat for match in view.plan[:6] for seat in (match.first, match.second)}
    later = {seat for match in view.plan[6:] for seat in (match.first, match.second)}
    assert 0 in first
    assert 1 not in first
    assert 0 not in later
    assert 1 in later


def test_each_match_is_drawn_by_itself() -> None:
    final = KnockoutSchedule(num_bots=2, pairs=20, openings=OPENINGS)
    view = play_again(final, SEATS[:2], FieldModel(np.zeros(2), 0.0, 0.0), "a")
    assert 10 <= sum(points or 0 for points in view.results.values()) <= 30


def test_a_knockout_can_be_replayed_and_a_ladder_that_waits_cannot() -> None:
    model = FieldModel(TRUTH, 40.0, 0.3)
    knockout = KnockoutSchedule(num_bots=8, pairs=2, openings=OPENINGS)
    assert len(play_again(knockout, SEATS, model, "a").plan) >= 28
    with pytest.raises(ArenaError, match="cannot be replayed: fewer than two bots"):
        play_again(LadderSchedule(seed=1, openings=OPENINGS), SEATS[:1], model, "a")


def test_ratings_are_corrected_by_replays_of_their_own_event() -> None:
    view = play_again(SWISS, SEATS, FieldModel(TRUTH, 40.0, 0.3), "a")
    ratings = fit(encounters(MatchArrays(rated_matches(view))), 8)
    found = replayed(SWISS, SEATS, ratings, 1, 5)
    again = replayed(SWISS, SEATS, ratings, 1, 5)
    assert found.away.shape == (5, 8)
    assert (found.slope, found.away.tolist()) == (again.slope, again.away.tolist())
    assert found.strength == pytest.approx(ratings.strength / found.slope)
    assert (replayed(SWISS, SEATS, ratings, 2, 5).away != found.away).any()
    # Computed by hand: the slope after five replays of the fit, then after five more.
    fits, model = [ratings.strength] * 10, ratings.strength
    for number in range(10):
        if number == 5:
            slope = float(np.mean(fits[:5], axis=0) @ model / (model @ model))
            errors = np.var(np.array(fits[:5]) / slope, axis=0, ddof=1)
            model = ratings.strength / slope
            true = max(0.1 * np.var(model), np.var(model) - errors.mean())
            model = model / (1 + errors / true)
            model = (model - model.mean()) * np.sqrt(true) / np.std(model)
        field = FieldModel(model, ratings.advantage, share_of_draws(ratings, model))
        played = rated_matches(play_again(SWISS, SEATS, field, f"1/replay/{number}"))
        fits[number] = fit(encounters(MatchArrays(played)), 8).strength
    slope = float(np.mean(fits[5:], axis=0) @ model / (model @ model))
    assert found.slope == pytest.approx(slope)
    slopes = np.full((5, 1), slope)
    errors = np.var(np.array(fits[5:]) / slope, axis=0, ddof=1)
    for _ in range(2):
        widths = np.var(np.array(fits[5:]) / slopes, axis=1, keepdims=True)
        widths = np.sqrt(np.maximum(0.1 * widths, widths - errors.mean()))
        slopes = np.clip(slope * (widths / np.std(model)) ** -(max(np.log(slope), 0) + 0.1), 0.5, 2)
    assert found.away == pytest.approx(np.array(fits[5:]) / slopes - model)
