"""Keeps the ratings of a running tournament now and then, so that viewers need not read its matches again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.events import Notice
from arena.errors import ArenaError
from arena_db.errors import LockedError, RefusedError
from arena_db.points import step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.events import Event
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class PointKeeper:
    """Refits a tournament each time a fortieth of its plan is done, and at the end of a run."""

    def __init__(self, store: Store, tournament: TournamentRecord, tell: Callable[[Event], None]) -> None:
        """Begin where the last run ended."""
        self._store = store
        self._tournament = tournament
        self._num_bots = len(store.entrants(tournament.id))
        self._tell = tell
        self._rated_at = tournament.num_done
        self._is_broken = False

    def note(self, num_done: int) -> None:
        """Keep a point if one is due; `num_done` planned matches have a result.

        Where nobody knows how many there will be, it is due whenever a fortieth more is done.
        """
        if num_done - self._rated_at >= step_of(self._tournament.num_total or num_done, self._num_bots):
            self._rated_at = num_done
            self.keep()

    def keep(self) -> None:
        """Keep a point of all that is stored now; a locked store keeps none, and play goes on.

        Where no ratings fit the results people hear of it once.
        """
        # It loads NumPy, which the first matches of a run need not wait for.
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
            self._tell(Notice(f"ratings over time are not stored for this tournament: {error}"))
        except (LockedError, RefusedError):
            # The next point says nearly the same.
            return
