"""The public interface of the store: records in, records out, every write one transaction."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from arena_db import runs
from arena_db.access import Access
from arena_db.analyses import StoredAnalyses
from arena_db.backend.choice import prepare, settings_of
from arena_db.backend.places import NO_COPY, find_place
from arena_db.backend.sqlite.engine import FileSettings
from arena_db.backend.sqlite.restoring import restore
from arena_db.changes import StoredChanges
from arena_db.checking import StoreIntegrity
from arena_db.errors import DatabaseError, LockedError, UnsupportedError
from arena_db.failures import translated
from arena_db.fence import LEASE_S
from arena_db.finding import StoredNames
from arena_db.freezing import ColdTournaments
from arena_db.match_keeping import BulkReading, StoredMatches
from arena_db.plan_keeping import StoredPlans, StoredTournaments
from arena_db.plays import StoredPlays
from arena_db.replays import StoredRatings
from arena_db.runs import StoredCommands, StoredEvents, StoredLeases
from arena_db.summed import StoredSums
from arena_db.tokens import StoredTokens
from arena_db.transfers import StoreTransfers

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from arena_db.backend.places import Place
    from arena_db.owner import Owner


class Store:
    """An open store; a context manager that closes it. Its methods are in parts, one for each subject.

    Every method may raise a `DatabaseError`; then nothing of its transaction was kept. One store may be used
    by several threads, and a file by several stores and processes.
    """

    tournaments: StoredTournaments
    """Tournaments, their entrants and states."""
    plans: StoredPlans
    """The matches to be played, and the results from which more are planned."""
    matches: StoredMatches
    """Saving results; reading matches one by one and page by page."""
    bulk: BulkReading
    """Reading many matches by ranges of ids."""
    plays: StoredPlays
    """Openings and lines that bots played, for pages about them."""
    analyses: StoredAnalyses
    """Analyses of matches by judges."""
    sums: StoredSums
    """Tallies and sums of encounters."""
    ratings: StoredRatings
    """Ratings over time, and replayed ratings."""
    names: StoredNames
    """Bots, their labels, and the search for names."""
    changes: StoredChanges
    """Changes after the plan: void matches, bots that join or leave, archiving."""
    leases: StoredLeases
    """The processes that run tournaments."""
    commands: StoredCommands
    """Commands to the processes that run tournaments, and their answers."""
    events: StoredEvents
    """Live events, which viewers follow."""
    tokens: StoredTokens
    """Access tokens."""
    transfers: StoreTransfers
    """Moving tournaments and results from and to other files."""
    cold: ColdTournaments
    """Tournaments whose matches are in files."""
    integrity: StoreIntegrity
    """Checks and repairs."""

    shared: object = None
    """What callers computed from the store and share; the store itself does not use it."""

    def __init__(self, access: Access) -> None:
        """Compose a store of its parts, which share its connections; callers use `Store.open`."""
        self._access = access
        self.tournaments = StoredTournaments(access)
        self.plans = StoredPlans(access)
        self.matches = StoredMatches(access)
        self.bulk = BulkReading(access)
        self.plays = StoredPlays(access)
        self.analyses = StoredAnalyses(access)
        self.sums = StoredSums(access)
        self.ratings = StoredRatings(access)
        self.names = StoredNames(access)
        self.changes = StoredChanges(access)
        self.leases = StoredLeases(access)
        self.commands = StoredCommands(access)
        self.events = StoredEvents(access)
        self.tokens = StoredTokens(access)
        self.transfers = StoreTransfers(access)
        self.cold = ColdTournaments(access)
        self.integrity = StoreIntegrity(access)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @classmethod
    def open(
        cls,
        location: str | Place,
        *,
        read_only: bool = False,
        fast: bool = False,
        create: bool = True,
        busy_ms: int = 30_000,
    ) -> Self:
        """Open a store; create or upgrade its tables unless it is opened read-only.

        Args:
            location: a path, `sqlite:///path` or `postgresql://USER@HOST/DB`.
            read_only: never write; an older store is then refused.
            fast: commits survive the end of the process, but a power cut may take the last ones.
            create: create the store if there is none.
            busy_ms: how long to wait for another writer, in milliseconds.

        Raises:
            DatabaseError: missing, unsupported, foreign, newer, older, damaged, locked or not accessible.
        """
        settings = settings_of(find_place(location), read_only=read_only, fast=fast, busy_ms=busy_ms)
        with translated(settings.place):
            prepare(settings, create=create)
        access = Access(settings)
        if not read_only:
            with suppress(LockedError):
                access.store_waiting(access.in_a_hurry())
        return cls(access)

    @staticmethod
    def restore(backup: Path, location: str | Place) -> Path | None:
        """Replace a store with a copy of a backup; no tournament may be running in it.

        Returns:
            The new place of the old store, with its log and its waiting results beside it; None if there was
                no old store.

        Raises:
            DatabaseError: the backup is missing, foreign, newer, damaged or the store itself, or the store is
                in use, foreign or newer; nothing is changed then.
        """
        place = find_place(location)
        if not isinstance(place, Path):
            raise UnsupportedError(NO_COPY)
        with translated(place):
            return restore(backup, FileSettings(place=place))

    def backup(self, target: Path) -> None:
        """Copy the store to a new file; the store may be in use.

        Raises:
            TakenError: the target exists.
            DamagedError: the copy does not pass SQLite's check.
        """
        with translated(self.place):
            self._access.backend.backup(target)

    def claim(
        self, tournament: int, owner: Owner, *, expires_s: float = LEASE_S, take_over: bool = False
    ) -> Self | None:
        """Claim a tournament's lease; return a store to run it with, or None if another process keeps it.

        The lease is free if nobody holds it, if it has expired by the clock of the database, or if its holder
        is a process of this machine that has ended. A living process of this machine keeps it even after it
        expired, unless `take_over` is set and that process has not written for 30 s. After the claim, nothing
        that an earlier holder writes is stored, whatever it was doing; the results that it left beside the
        store are stored.

        The returned store is *fenced*: it has the same connections, but every transaction first checks that
        the tournament has not been claimed again, and compares the file with the one that was opened.

        Raises:
            DamagedError: the last holder ended suddenly, and a quick check finds damage.
            RefusedError: its matches are in files.
            MovedError: the file was removed, moved or replaced since it was opened.
        """
        access = runs.claim(self._access, tournament, owner, expires_s=expires_s, take_over=take_over)
        if access is None:
            return None
        fenced = type(self)(access)
        fenced.shared = self.shared
        return fenced

    def close(self) -> None:
        """Add the matches that this store saved to the sums, and close all connections.

        Closing the last one on a file checkpoints its write-ahead log. A fenced store shares its connections
        with the store it came from, which closes them.
        """
        if self._access.has_saved:
            # Nothing is lost: the next `sum_up` of any process adds them.
            with suppress(DatabaseError):
                self.sums.sum_up()
        self._access.close()

    def interrupt(self) -> None:
        """Interrupt the running query and all later queries of this store; callable from any thread.

        They raise a StoppedError, and the store can only be closed then. It must be open read-only, so that
        no write is interrupted halfway.

        Raises:
            RefusedError: the store is open for writing.
        """
        self._access.interrupt()

    def while_wanted(self, is_wanted: Callable[[], bool]) -> AbstractContextManager[None]:
        """Interrupt queries of this thread within a `with` block as soon as their answer is no longer wanted.

        Such a query raises a StoppedError; other threads and later blocks are not affected. The store must be
        open read-only.

        Args:
            is_wanted: called now and then while a query runs, from this thread or another.
        """
        return self._access.while_wanted(is_wanted)

    def at_one_moment(self) -> AbstractContextManager[None]:
        """Run all queries of a `with` block on one snapshot: the store as it is at the first query.

        Counts and sums shown side by side would otherwise differ by the matches stored in between. Other
        threads and writes of this thread are not part of the snapshot. The block cannot see later writes of
        others, so it should not wait for anything.
        """
        return self._access.at_one_moment()

    def check_readable(self) -> None:
        """Check that the file of this store still has its name and is readable; takes some microseconds.

        An open connection can read a file that was moved or deleted without noticing.

        Raises:
            MovedError: it was removed, moved or replaced.
            AccessError: it is not readable any more.
        """
        self._access.backend.check_readable()

    def check_place(self) -> None:
        """Check that the files of the store are those that were opened; takes some microseconds.

        Raises:
            MovedError: one was removed, moved or replaced.
        """
        self._access.backend.check_place()

    @property
    def place(self) -> Place:
        """Location of the store: a file or a server."""
        return self._access.place

    @property
    def path(self) -> Path:
        """The file of the store.

        Raises:
            UnsupportedError: the store is on a server.
        """
        if isinstance(self.place, Path):
            return self.place
        raise UnsupportedError(f"{self.place} is not a file, and this needs a file; name one with --db FILE")

    def data_version(self) -> int:
        """Return a number that changes with every commit by any process, this one included; cheap to poll."""
        return self._access.data_version()

    def take_warnings(self) -> list[str]:
        """Return warnings about the store for the operator of this process, each text only once."""
        return self._access.backend.take_warnings()
