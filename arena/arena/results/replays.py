"""Ratings of one event: where it was paired by its own results and has ended, as replays corrected them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.rating.fit import fit
from arena.rating.replayed import Replayed, with_replays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Ratings
    from arena.rating.sums import Encounters
    from arena_db.store import Store


def replayed_of(store: Store, tournament: int) -> Replayed | None:
    """Return what replays found of an event; None while it is played, or after a change of its matches.

    Args:
        store: where it is.
        tournament: its id.
    """
    kept = store.replay_of(tournament)
    if kept is None:
        return None
    return Replayed(np.array(kept.strength), kept.slope, np.array(kept.away))


def rate_event(
    sums: Encounters,
    names: Sequence[str] | int,
    found: Replayed | None,
    anchors: Sequence[tuple[int, float]] = (),
) -> Ratings:
    """Rate the bots of one tournament: by the fit, or where it was replayed by what the replays made of that.

    Args:
        sums: of its rated matches, by seat.
        names: of its bots, or how many there are.
        found: what `replayed_of` returned.
        anchors: seats and the Elo they are given.

    Raises:
        ArenaError: the fit does not converge.
    """
    ratings = fit(sums, names, anchors=anchors)
    return ratings if found is None else with_replays(ratings, found, anchors)
