"""The part of a store that says who runs a tournament, and the store as a run may write it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

from arena_db import coordination, planning, rescue
from arena_db.access import Access
from arena_db.checking import find_faults
from arena_db.errors import DamagedError, RefusedError
from arena_db.failures import translated
from arena_db.fence import LEASE_S, Fence, beat, loss_of, present_epoch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena_db.backend.lite.spool import Spool
    from arena_db.owner import LeaseRecord, Owner
    from arena_db.records import MatchRecord, TournamentRecord


class Leasing(Access):
    """A store whose tournaments are claimed.

    A claim gives a *fenced* store: the same connections, but every transaction begins with a look whether the
    tournament was claimed again, and the file is compared with the one that was opened.
    """

    _unsaved: Sequence[MatchRecord] = ()
    """What the save is about that is going on, or failed."""

    def claim(
        self, tournament: int, owner: Owner, *, expires_s: float = LEASE_S, take_over: bool = False
    ) -> Self | None:
        """Claim the lease of a tournament; return the store to run it with, None where another keeps it.

        It is to be had when nobody holds it, it has expired by the clock of the database, or its holder is a
        process of this machine that has ended. A process of this machine that lives keeps it, whatever the
        clock says, unless `take_over` asks for it and it has not written for 30 s. From then on nothing that
        an earlier holder writes is stored, wherever it was in its work; what it left beside the store is.

        Raises:
            DamagedError: the last holder ended suddenly, and a quick check finds damage.
            MovedError: the file was removed, moved or replaced since it was opened.
        """
        with self._read() as connection:
            is_left = coordination.is_left(connection, tournament, owner, take_over=take_over)
            faults = find_faults(connection, quick=True) if is_left else []
        if faults:
            raise DamagedError(
                f"{self.place} was left by a process that ended suddenly, and is damaged: {faults[0]}; "
                "`arena db check` shows more, `arena db restore` replaces it with a backup"
            )
        with self._write() as connection:
            epoch = coordination.claim(connection, tournament, owner, expires_s, take_over=take_over)
        if not epoch:
            return None
        self._backend.hold_place()
        fenced = self._behind(Fence(tournament, epoch))
        # Between the look beside the store and the claim the last holder may have left results there.
        fenced._store_waiting(self._settings, claimed=tournament)  # noqa: SLF001 - a copy of this very store
        return fenced

    def beat(self) -> None:
        """Renew the lease of a fenced store.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file was removed, moved or replaced.
        """
        with self._write(alone=False) as connection:
            beat(connection, self._held())

    def check_place(self) -> None:
        """Return if the files of the store are those that were opened; takes some microseconds.

        Raises:
            MovedError: one was removed, moved or replaced.
        """
        self._backend.check_place()

    def release(self) -> None:
        """Release the lease of a fenced store, unless another process has taken it over."""
        with self._write(alone=False) as connection:
            coordination.release(connection, self._held())

    def lease(self, tournament: int) -> LeaseRecord | None:
        """Return who holds the lease of a tournament, alive or not; None where nobody does."""
        with self._read() as connection:
            return coordination.find(connection, tournament)

    def last_claim(self, owner: Owner) -> TournamentRecord | None:
        """Return the tournament that a process claimed last, whether or not it still holds it.

        Args:
            owner: the process; its `uuid` does not matter.
        """
        with self._read() as connection:
            found = coordination.last_claim(connection, owner)
            return None if found is None else planning.find_tournament(connection, found)

    def rescue(self, target: Path) -> int:
        """Write all matches of the tournament of a fenced store to a file, with those that were not saved.

        It reads the file that was opened, whatever has become of its name. Each result is a line, as in the
        files that wait beside a store, so a store that has the plan of the tournament takes them back.

        Returns:
            How many there are.

        Raises:
            DatabaseError: the store cannot be read, or the file cannot be written.
        """
        with translated(target), self._read() as connection:
            return rescue.write(connection, self._held(), self._unsaved, target)

    def rescue_unsaved(self, target: Path, uid: str) -> int:
        """Write to a file what the last save of a fenced store was about, if that failed; nothing is read.

        Args:
            target: a new file, as `rescue` writes it; none is made where nothing is missing.
            uid: of the tournament.

        Returns:
            How many results there are.

        Raises:
            DatabaseError: the file cannot be written.
        """
        if not self._unsaved:
            return 0
        with translated(target):
            return rescue.write_unsaved(uid, self._held(), self._unsaved, target)

    def _keep_waiting(self, spool: Spool, records: Sequence[MatchRecord]) -> None:
        """Keep results beside a file that is locked, unless they are those of a run that lost its lease.

        Raises:
            LeaseLostError: another process has taken over the tournament; the results are not kept.
        """
        fence = self._fence
        with translated(self.place):
            if fence is None:
                spool.keep(records)
                return
            self._backend.check_place()
            file = spool.keep(records, fence.epoch)
            # Reading takes no lock. A later claim finds the file; of an earlier one we hear now.
            with self._read() as connection:
                epoch, _ = present_epoch(connection, fence.tournament)
                if epoch != fence.epoch:
                    spool.discard([(file, True)])
                    raise loss_of(connection, fence)
            self._backend.check_place()

    def _behind(self, fence: Fence) -> Self:
        """Return a store with the connections of this one, which writes while that claim is the last."""
        fenced = copy(self)
        fenced.__dict__.update(_fence=fence, _watcher=None)
        return fenced

    def _held(self) -> Fence:
        if self._fence is None:
            raise RefusedError(f"{self.place} is open, but none of its tournaments is claimed")
        return self._fence
