"""Stores ratings of a running tournament now and then, so that viewers need not read its matches again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.run_events import RunNotice
from arena.errors import ArenaError
from arena_db.errors import LockedError, RefusedError
from arena_db.points import step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.run_events import Event
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class PointKeeper:
    """Fits the ratings each time a fortieth of the plan is done, and at the end of a run."""

    def __init__(self, store: Store, tournament: TournamentRecord, tell: Callable[[Event], None]) -> None:
        """Continue after the matches of earlier runs."""
        self._store = store
        self._tournament = tournament
        self._num_bots = len(store.entrants(tournament.id))
        self._tell = tell
        self._rated_at = tournament.num_done
        self._is_broken = False

    def note(self, num_done: int) -> None:
        """Store a point if one is due; `num_done` planned matches have a result.

        If the total is unknown, a point is due whenever the number of matches has grown by a fortieth.
        """
        if num_done - self._rated_at >= step_of(self._tournament.num_total or num_done, self._num_bots):
            self._rated_at = num_done
            self.keep()

    def keep(self) -> None:
        """Store a point of all matches stored now; if the store is locked, none is stored, and play goes on.

        If no ratings fit the results, this is reported once.
        """
        # Imported here, because it imports NumPy, which would delay the first matches of a run.
        from arena.results.history import rate_now

        if self._is_broken:
            return
        try:
            # Bots may have joined since.
            self._num_bots = len(self._store.entrants(self._tournament.id))
            point = rate_now(self._store, self._tournament.id, self._num_bots)
            if point is not None:
                self._store.add_rating_point(self._tournament.id, point)
        except ArenaError as error:
            self._is_broken = True
            self._tell(RunNotice(f"ratings over time are not stored for this tournament: {error}"))
        except (LockedError, RefusedError):
            # The next point will be nearly the same.
            return
