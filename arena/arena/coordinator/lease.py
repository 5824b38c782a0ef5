"""The lease of a tournament: held during a run, so that no other process runs it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.coordinator.holder import check_free
from arena.errors import ConfigError
from arena_db.errors import DatabaseError, LeaseLostError, LockedError, MovedError

if TYPE_CHECKING:
    from typing import Self

    from arena_db.owner import Owner
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_BEAT_S = 10.0
"""Seconds between two renewals; the lease expires after 60 s, so five renewals may fail."""


class Lease:
    """Holds the lease within a `with` block; a thread renews it, however busy the process is."""

    def __init__(
        self,
        store: Store,
        tournament: TournamentRecord,
        owner: Owner,
        *,
        take_over: bool = False,
        beat_s: float = _BEAT_S,
    ) -> None:
        """Prepare the lease; `with` claims it.

        Args:
            store: the store that contains the tournament.
            tournament: the tournament to run.
            owner: this process.
            take_over: whether to replace a living holder that has been silent for 30 s.
            beat_s: seconds between two renewals.
        """
        self._base = store
        self._fenced: Store | None = None
        self.tournament = tournament
        """The tournament, as it was before the lease was claimed."""
        self._owner = owner
        self._take_over = take_over
        self._beat_s = beat_s
        # Written by the thread and read by the run. A reference is replaced at once, so this needs no lock.
        self._trouble: DatabaseError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def __enter__(self) -> Self:
        """Claim the lease.

        Raises:
            ConfigError: another process runs the tournament; the text says which, and what to do.
            LockedError: another process keeps the store locked.
        """
        name = self.tournament.name
        try:
            self._fenced = self._base.claim(self.tournament.id, self._owner, take_over=self._take_over)
        except LockedError as error:
            lease = self._base.leases.find(self.tournament.id)
            if lease is None or not lease.is_silent:
                raise
            # A process suspended in the middle of a write keeps SQLite's lock, which cannot be taken from it.
            raise LockedError(
                f"{error}; {lease.owner.called}, which holds {name}, may have been suspended during "
                f"a write: end it (kill -9 {lease.owner.pid}), nothing that was stored is lost"
            ) from error
        if self._fenced is None:
            check_free(self._base, self.tournament, take_over=self._take_over)
            raise ConfigError(f"{name} has just been claimed by another process")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lease."""
        self._ended.set()
        # In this order, so that no renewal follows the release.
        self._thread.join()
        # If the store is not writable now, the end of this process releases the lease as well.
        with suppress(DatabaseError):
            # The fenced store leaves its connections to the store that it came from, so it can still release
            # the lease.
            self.store.close()
            self.store.leases.release()

    @property
    def store(self) -> Store:
        """The fenced store: every write fails once another process has taken over."""
        if self._fenced is None:
            raise ValueError("the lease has not been claimed yet")
        return self._fenced

    @property
    def is_lost(self) -> bool:
        """Whether this process must end its run: it has lost the tournament, or the store is gone."""
        return self._trouble is not None

    def check(self) -> None:
        """Check that the run may continue; cheap enough for every poll of orders.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file of the store was removed, moved or replaced.
        """
        # Raised here, in the thread of the run: an exception in the other thread would end only that one.
        if self._trouble is not None:
            raise self._trouble
        self.store.check_place()

    def _beat(self) -> None:
        while self._trouble is None and not self._ended.wait(self._beat_s):
            # A store that is locked now may be free at the next beat; five may fail before the lease expires.
            with suppress(DatabaseError):
                try:
                    self.store.leases.beat()
                except (LeaseLostError, MovedError) as error:
                    self._trouble = error
