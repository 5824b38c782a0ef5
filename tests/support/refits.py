"""Ratings of a tournament after its first matches, by one full fit of matches read one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_db.points import RatingPoint
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def refit(store: Store, tournament: TournamentRecord, num_matches: int) -> dict[int, tuple[float, float]]:
    """Return Elo and error by seat."""
    played = store.matches.played(MatchFilter(tournament=tournament.name))[:num_matches]
    assert len(played) == num_matches
    rated = MatchArrays(
        RatedMatch(
            *(match.first_seat, match.second_seat, POINTS[Outcome(match.outcome)]),
            (match.encounter, match.match_no // 2),
            *(match.opening_hash, match.match_hash),
        )
        for match in played
    )
    num_bots = len(store.tournaments.entrants(tournament.id))
    ratings = fit(encounters(rated), num_bots)
    return {
        seat: (ratings.elo[seat], ratings.error[seat])
        for seat in range(num_bots)
        if ratings.num_matches[seat]
    }


def assert_true(store: Store, tournament: TournamentRecord, points: Sequence[RatingPoint]) -> None:
    """Assert that points equal a full fit of their matches."""
    ids = [match.id for match in store.matches.played(MatchFilter(tournament=tournament.name))]
    for point in points:
        found = {rating.seat: (rating.elo, rating.error) for rating in point.ratings}
        wanted = refit(store, tournament, point.num_matches)
        assert found.keys() == wanted.keys()
        for seat, values in found.items():
            assert values == pytest.approx(wanted[seat], abs=1e-6)
        assert point.last_match == ids[point.num_matches - 1]
        match = store.matches.find(point.last_match)
        assert match is not None
        assert point.ended_at in {0.0, match.started_at + match.duration_ms / 1000}
