"""The part of a store that holds leases of tournaments, and the store as a run may write it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

from arena_db import coordination, planning, rescue
from arena_db.access import Access
from arena_db.checking import find_faults
from arena_db.cold.thawing import require_warm
from arena_db.errors import DamagedError, RefusedError
from arena_db.failures import translated
from arena_db.fence import LEASE_S, Fence, beat, loss_of, present_epoch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena_db.backend.sqlite.spool import Spool
    from arena_db.owner import LeaseRecord, Owner
    from arena_db.records import MatchRecord, TournamentRecord


class Leasing(Access):
    """A store whose tournaments can be claimed.

    A claim returns a *fenced* store: the same connections, but every transaction first checks that the
    tournament has not been claimed again, and compares the file with the one that was opened.
    """

    _unsaved: Sequence[MatchRecord] = ()
    """The records of the save that is in progress or has failed."""

    def claim(
        self, tournament: int, owner: Owner, *, expires_s: float = LEASE_S, take_over: bool = False
    ) -> Self | None:
        """Claim a tournament's lease; return a store to run it with, or None if another process keeps it.

        The lease is free if nobody holds it, if it has expired by the clock of the database, or if its holder
        is a process of this machine that has ended. A living process of this machine keeps it even after it
        expired, unless `take_over` is set and that process has not written for 30 s. After the claim, nothing
        that an earlier holder writes is stored, whatever it was doing; the results it left beside the store
        are.

        Raises:
            DamagedError: the last holder ended suddenly, and a quick check finds damage.
            RefusedError: its matches are in files.
            MovedError: the file was removed, moved or replaced since it was opened.
        """
        with self._read() as connection:
            is_left = coordination.is_left(connection, tournament, owner, take_over=take_over)
            # A holder that ended suddenly may have left damage; look before the run builds on it.
            faults = find_faults(connection, quick=True) if is_left else []
        if faults:
            raise DamagedError(
                f"{self.place} was left by a process that ended suddenly, and is damaged: {faults[0]}; "
                "`arena db check` shows more, `arena db restore` replaces it with a backup"
            )
        with self._write() as connection:
            require_warm(connection, tournament)
            # The look above was another transaction, so the claim decides anew, with the write lock held.
            epoch = coordination.claim(connection, tournament, owner, expires_s, take_over=take_over)
        if not epoch:
            return None
        # From here on each transaction also checks that the log is the one opened now.
        self._backend.hold_place()
        fenced = self._behind(Fence(tournament, epoch))
        # The last holder may have left results beside the store between the first look there and the claim.
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
        """Check that the files of the store are those that were opened; takes some microseconds.

        Raises:
            MovedError: one was removed, moved or replaced.
        """
        self._backend.check_place()

    def release(self) -> None:
        """Release the lease of a fenced store, unless another process has taken it over."""
        with self._write(alone=False) as connection:
            coordination.release(connection, self._held())

    def lease(self, tournament: int) -> LeaseRecord | None:
        """Return the lease of a tournament, whether its holder is alive or not; None if nobody holds it."""
        with self._read() as connection:
            return coordination.find(connection, tournament)

    def last_claim(self, owner: Owner) -> TournamentRecord | None:
        """Return the tournament that a process claimed last, whether or not it still holds it.

        Args:
            owner: the process; its `uuid` is ignored.
        """
        with self._read() as connection:
            found = coordination.last_claim(connection, owner)
            return None if found is None else planning.find_tournament(connection, found)

    def rescue(self, target: Path) -> int:
        """Write all matches of the tournament of a fenced store to a file, unsaved ones included.

        It reads the file that was opened, even if it has been moved or removed since. Each result is a line
        in the format of the files that wait beside a store, so a store with the plan of the tournament can
        import them.

        Returns:
            The number of matches written.

        Raises:
            DatabaseError: the store cannot be read, or the file cannot be written.
        """
        with translated(target), self._read() as connection:
            return rescue.write(connection, self._held(), self._unsaved, target)

    def rescue_unsaved(self, target: Path, uid: str) -> int:
        """Write the records of a fenced store's last save to a file if that save failed; nothing is read.

        Args:
            target: a new file in the format of `rescue`; not created if nothing is missing.
            uid: `uid` of the tournament.

        Returns:
            The number of results written.

        Raises:
            DatabaseError: the file cannot be written.
        """
        if not self._unsaved:
            return 0
        with translated(target):
            return rescue.write_unsaved(uid, self._held(), self._unsaved, target)

    def _keep_waiting(self, spool: Spool, records: Sequence[MatchRecord]) -> None:
        """Keep results in a file beside a locked store, unless their run has lost its lease.

        Raises:
            LeaseLostError: another process has taken over the tournament; the results are not kept.
        """
        fence = self._fence
        with translated(self.place):
            if fence is None:
                spool.keep(records)
                return
            self._backend.check_place()
            # With the epoch, because another process may have taken over before the file can be stored.
            file = spool.keep(records, fence.epoch)
            # Reading takes no lock. A claim made after this read finds the file; an earlier one is seen here.
            with self._read() as connection:
                epoch, _ = present_epoch(connection, fence.tournament)
                if epoch != fence.epoch:
                    spool.discard([(file, True)])
                    raise loss_of(connection, fence)
            self._backend.check_place()

    def _behind(self, fence: Fence) -> Self:
        """Return a store with the same connections that writes only while the claim is the last one."""
        fenced = copy(self)
        # Without the watcher, because closing the fenced store closes its watcher, and the other store stays
        # open.
        fenced.__dict__.update(_fence=fence, _watcher=None)
        return fenced

    def _held(self) -> Fence:
        if self._fence is None:
            raise RefusedError(f"{self.place} is open, but none of its tournaments is claimed")
        return self._fence
