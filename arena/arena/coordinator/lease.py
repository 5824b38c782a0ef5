"""The lease of a tournament: held while it is run, so that no other process runs it, too."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena_db.errors import DatabaseError

if TYPE_CHECKING:
    from typing import Self

    from arena_db.owner import Owner
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_BEAT_S = 10.0
"""Seconds between two renewals; the lease expires after 60."""


class Lease:
    """Holds the lease within a `with` block; a thread renews it, whatever the process is busy with."""

    def __init__(
        self, store: Store, tournament: TournamentRecord, owner: Owner, *, beat_s: float = _BEAT_S
    ) -> None:
        self.is_lost = False
        """Whether another process has taken it over."""
        self._store = store
        self._tournament = tournament
        self._owner = owner
        self._beat_s = beat_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def __enter__(self) -> Self:
        """Take the lease.

        Raises:
            ConfigError: another process runs the tournament.
        """
        name = self._tournament.name
        if not self._store.claim(self._tournament.id, self._owner):
            raise ConfigError(f"{name} is being run by another process; arena stop {name} stops it")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lease back."""
        self._ended.set()
        self._thread.join()
        # Where the store cannot be written now, the end of this process frees it as well.
        with suppress(DatabaseError):
            self._store.release(self._tournament.id, self._owner)

    def _beat(self) -> None:
        while not self.is_lost and not self._ended.wait(self._beat_s):
            # A store that is locked now may do at the next beat; five may fail before the lease expires.
            with suppress(DatabaseError):
                self.is_lost = not self._store.heartbeat(self._tournament.id, self._owner)
