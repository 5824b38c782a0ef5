"""Ratings of one tournament, corrected by replays if it was paired by its own results and has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.rating.replayed import Replayed, with_replays
from arena.results.remembered import fit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Ratings
    from arena.rating.sums import Encounters
    from arena_db.store import Store


def replayed_of(store: Store, tournament: int) -> Replayed | None:
    """Return the stored replay results of a tournament; None during play, or after its matches changed.

    Args:
        store: the store with the tournament.
        tournament: id of the tournament.
    """
    kept = store.ratings.replay_of(tournament)
    if kept is None:
        return None
    return Replayed(np.array(kept.strength), kept.slope, np.array(kept.away))


def rate_event(
    sums: Encounters,
    names: Sequence[str] | int,
    found: Replayed | None,
    anchors: Sequence[tuple[int, float]] = (),
) -> Ratings:
    """Rate the bots of one tournament by the fit, corrected by replays if there are any.

    Args:
        sums: sums of its rated matches, by seat.
        names: names of its bots, or their number.
        found: result of `replayed_of`.
        anchors: seats and their fixed Elo.

    Raises:
        ArenaError: the fit does not converge.
    """
    ratings = fit_of(sums, names, anchors)
    return ratings if found is None else with_replays(ratings, found, anchors)


def is_connected(ratings: Ratings) -> bool:
    """Return whether all bots that have matches are connected by matches."""
    played = {table for table, num in zip(ratings.table, ratings.num_matches, strict=True) if num}
    return len(played) == 1


def weight_of(ratings: Ratings, found: Replayed) -> float:
    """Return the weight of a match of the tournament: the ratio of fitted to true variance, at most 1."""
    own = [seat for seat, num in enumerate(ratings.num_matches) if num]
    fitted = sum(ratings.error[seat] ** 2 for seat in own)
    honest = float((found.error[own] ** 2).sum())
    return min(1.0, fitted / honest) if honest else 1.0
