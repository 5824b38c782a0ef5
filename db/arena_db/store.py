"""The public interface of the store: records in, records out, every write one transaction."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from arena_db import coordination, live, planning, queries, remarks, saving, tallying
from arena_db.access import patient
from arena_db.analyses import AnalysesKeeping
from arena_db.backend.choice import prepare, settings_of
from arena_db.backend.places import NO_COPY, find_place
from arena_db.backend.sqlite.engine import FileSettings
from arena_db.backend.sqlite.restoring import restore
from arena_db.checking import Soundness
from arena_db.entering import Entering
from arena_db.errors import LockedError, UnsupportedError
from arena_db.failures import translated
from arena_db.filters import needs_matches
from arena_db.finding import NameSearch, NamesReading
from arena_db.freezing import Freezing
from arena_db.leasing import Leasing
from arena_db.match_reading import Browsing, BulkReading
from arena_db.plan_keeping import PlanKeeping
from arena_db.plays import PlaysReading
from arena_db.points import PointsKeeping
from arena_db.pruning import Pruning
from arena_db.replays import ReplaysKeeping
from arena_db.tokens import TokensKeeping
from arena_db.transfers import Transferring
from arena_db.voiding import Correcting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from arena_db.backend.places import Place
    from arena_db.backend.settings import StoreSettings
    from arena_db.records import (
        BotRecord,
        CommandRecord,
        Entrant,
        EventPage,
        LiveEvent,
        MatchFilter,
        MatchRecord,
        PlayedMatch,
        PoolCounts,
        Remark,
        Snapshot,
        StoredMatch,
        Tally,
        TournamentRecord,
    )


def _find_match(connection: Connection, numbers: Sequence[int]) -> dict[int, StoredMatch]:
    return {match.id: match for match in queries.find_matches(connection, numbers)}


_ASK_MS: Final = 5000
"""Milliseconds to wait for the write lock when a command is left: a person is waiting at a screen."""


class Store(
    AnalysesKeeping,
    Browsing,
    BulkReading,
    Correcting,
    Entering,
    Freezing,
    NameSearch,
    Leasing,
    NamesReading,
    PlanKeeping,
    PlaysReading,
    PointsKeeping,
    Pruning,
    ReplaysKeeping,
    Soundness,
    TokensKeeping,
    Transferring,
):
    """An open store; a context manager that closes it.

    Every method may raise a `DatabaseError`; then nothing of its transaction was kept. One store may be used
    by several threads, and a file by several stores and processes.
    """

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
        store = cls(settings)
        if not read_only:
            with suppress(LockedError):
                store._store_waiting(store._in_a_hurry())
        return store

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

    @patient
    def tournament(self, key: int | str) -> TournamentRecord | None:
        """Return the tournament with this id (a number) or this name (a string); None if there is none."""
        with self._read() as connection:
            return planning.find_tournament(connection, key)

    def last_tournament(self, *, unfinished: bool) -> TournamentRecord | None:
        """Return the newest tournament, or the newest unfinished one; archived ones are skipped."""
        with self._read() as connection:
            return planning.last_tournament(connection, unfinished=unfinished)

    def tournaments(
        self, *, before: int | None = None, limit: int = 100, archived: bool = True
    ) -> list[TournamentRecord]:
        """Return tournaments with ids below `before`, newest first; `archived=False` omits archived ones."""
        with self._read() as connection:
            return planning.list_tournaments(connection, before, limit, archived=archived)

    @patient
    def entrants(self, tournament: int) -> list[Entrant]:
        """Return the entrants of a tournament by seat."""
        with self._read() as connection:
            return planning.list_entrants(connection, tournament)

    @patient
    def set_state(self, tournament: int, state: str) -> None:
        """Set the state of a tournament: running, stopped, finished, preparing or refused."""
        with self._write_run(tournament) as connection:
            planning.set_state(connection, tournament, state)

    def ask(self, tournament: int, kind: str, payload: str = "") -> int:
        """Leave a command for the process that runs a tournament; return the command's id.

        It uses a connection of its own, so that a store opened read-only can send commands, too, as long as
        the file itself is writable.

        Raises:
            RefusedError: no such tournament, no such kind of command, or a payload of over 4,096 characters.
            LockedError: the store stays locked for 5 s.
        """
        return self._beside(
            lambda raw: coordination.send_command(raw, self._dialect, tournament, kind, payload), _ASK_MS
        )

    def take_commands(self, tournament: int) -> list[CommandRecord]:
        """Return the commands left for a tournament, oldest first, each only once; call `answer` next."""
        with self._read() as connection:
            is_waiting = coordination.has_waiting_command(connection, tournament)
        # This is polled often and rarely finds anything: take the write lock only when there is a command.
        if not is_waiting:
            return []
        with self._write() as connection:
            return coordination.take_commands(connection, tournament)

    def answer(self, command: int, text: str) -> None:
        """Answer a command with a text for its sender.

        Raises:
            RefusedError: it does not exist or has an answer already; or the answer has over 4,096 characters.
        """
        with self._write() as connection:
            coordination.answer_command(connection, command, text)

    def command(self, command: int) -> CommandRecord | None:
        """Return the command with this id, with its answer if there is one.

        None if there is no such command.
        """
        with self._read() as connection:
            return coordination.find_command(connection, command)

    def append_events(self, events: Sequence[LiveEvent]) -> dict[int, int]:
        """Publish events of running matches, in one transaction.

        The events of a tournament are numbered from 1 in the order of their commits, so a reader that asks
        for later events misses none, even with several writers.

        A power cut may take the last events, but never a match. The same call removes old events of matches
        that have a result; a new owner of the lease starts without any events.

        Returns:
            The number of the newest event of each tournament in `events`.

        Raises:
            RefusedError: no such planned match or kind, or a payload of over 4,096 characters.
        """
        # Results that wait beside the store are not stored by this call: it commits without a sync and must
        # be short. On a server the commit is synced: viewers outlive a killed server, so a number that one of
        # them has seen must never be used again.
        fast = self._settings.fast or isinstance(self.place, Path)
        settings = replace(self._in_a_hurry(), fast=fast)
        with self._transaction(settings, alone=False) as connection:
            return live.append(connection, events)

    def events_after(self, seq: int, limit: int = 500, *, tournament: int) -> EventPage:
        """Return up to `limit` events of a tournament with a number above `seq`."""
        with self._looking() as raw, self._backend.looking(raw):
            return live.page(raw, self._dialect, tournament, seq, limit)

    def snapshot(self, tournament: int) -> Snapshot:
        """Return the running matches of a tournament, and the event number from which to follow them."""
        with self._read() as connection:
            return live.snapshot(connection, tournament)

    def newest_state(self, tournament: int) -> LiveEvent | None:
        """Return the last event about the whole run; None before the first."""
        with self._read() as connection:
            return live.newest_state(connection, tournament)

    def save(self, records: Sequence[MatchRecord]) -> int:
        """Store matches and the rows derived from them in one transaction; return how many were new.

        A match that is stored already (same tournament, number and attempt) is skipped, and so is a final one
        whose planned match is done. A final record marks its planned match as done, any other counts as a
        void attempt. The sums that ratings are fitted to are updated later, by `sum_up`.

        If another process keeps the store locked for too long, the matches are written just as durably to
        files beside it, and 0 is returned; the next write by any process stores them first. A server has no
        such files: the save is retried for a minute.

        Raises:
            RefusedError: no such planned match, other bots than planned, or a field breaks a rule of the
                tables.
            LeaseLostError: this is the store of a run, and another process has taken over the tournament.
            MovedError: this is the store of a run, and its file was removed, moved or replaced.
            LockedError: the server was away, or its store locked, for a minute.
        """
        self._unsaved, spool = records, self._spool
        try:
            is_waiting = spool is not None and bool(spool.waiting())
            settings = self._in_a_hurry() if is_waiting else self._settings
            num = self._save(records, settings)
        except LockedError:
            if spool is None:
                num = self._patiently(lambda: self._save(records, self._settings))
            else:
                num = 0
                if records:
                    self._keep_waiting(spool, records)
        self._unsaved = ()
        self._has_saved |= num > 0
        return num

    def _save(self, records: Sequence[MatchRecord], settings: StoreSettings) -> int:
        with self._write(settings, alone=False) as connection:
            return saving.save(connection, records, self._facts)

    @property
    def num_waiting(self) -> int:
        """Number of saved matches that wait in files beside the store because it is locked."""
        return 0 if self._spool is None else self._spool.num_waiting()

    def take_warnings(self) -> list[str]:
        """Return warnings about the store for the operator of this process, each text only once."""
        return self._backend.take_warnings()

    def matches(self, where: MatchFilter, *, before: int | None = None, limit: int = 50) -> list[StoredMatch]:
        """Return matches with an id below `before`, newest first."""
        with self._read_for(where) as connection:
            return queries.list_matches(connection, where, before, limit)

    def match(self, number: int) -> StoredMatch | None:
        """Return the match with this id; None if there is none."""
        return self._gather([number], _find_match).get(number)

    @patient
    def match_of(self, tournament: int, number: int, attempt: int = 0) -> StoredMatch | None:
        """Return the record of an attempt at a planned match; None if it has no result yet."""
        with self._read_of(tournament) as connection:
            return queries.find_attempt(connection, tournament, number, attempt)

    def tournament_matches(self, tournament: int) -> Iterator[StoredMatch]:
        """Yield all matches of a tournament by number and attempt, void and unrated ones included.

        They are read in pages, so no transaction stays open between two pages.
        """
        after = (0, -1)
        while True:
            with self._read_of(tournament) as connection:
                page = queries.list_tournament_matches(connection, tournament, after)
            if not page:
                return
            yield from page
            after = (page[-1].number, page[-1].attempt)

    @patient
    def tallies(self, where: MatchFilter) -> list[Tally]:
        """Return how often bots met with each result, by tournament, seats, outcome and termination.

        Conditions on time, tier and termination are counted match by match; all others use stored counts.
        """
        # Stored counts stay; only match by match are the matches themselves needed.
        with self._read_for(where) if needs_matches(where) else self._read() as connection:
            return tallying.list_tallies(connection, where)

    @patient
    def pool_counts(self, where: MatchFilter) -> PoolCounts:
        """Return how often bots met with each result, added up over the tournaments of each pool.

        Conditions are read as in `tallies`.
        """
        with self._read_for(where) if needs_matches(where) else self._read() as connection:
            return tallying.count_pools(connection, where)

    def played(self, where: MatchFilter, *, after: int = 0) -> list[PlayedMatch]:
        """Return the parts of rated matches that ratings are computed from, by id.

        Those of cold tournaments are read from their files if the stored counts answer the filter, as these
        include them: a table must not mix both.

        Args:
            where: which matches.
            after: only those with a higher id, so that a viewer reads each match once.
        """
        with self._read_for(where) as connection:
            found = queries.list_played(connection, where, after)
            others = [] if needs_matches(where) else queries.find_counted_cold(connection, where, after)
        for each in others:
            with self._read_cold(each) as connection:
                found += queries.list_played(connection, where, after)
        return sorted(found, key=attrgetter("id")) if others else found

    def remarks(self, numbers: Sequence[int]) -> dict[int, tuple[Remark | None, ...]]:
        """Return the remarks of matches, one per action; matches without any remark are absent.

        Args:
            numbers: ids of matches.

        Raises:
            DamagedError: the stored remarks cannot be decoded.
        """
        return self._gather(numbers, remarks.find)

    def bots(self) -> dict[str, BotRecord]:
        """Return all bots by identity."""
        with self._read() as connection:
            return planning.list_bots(connection)

    def labels(self) -> dict[str, str]:
        """Return the label of each bot in the newest tournament it was entered in, by identity."""
        with self._read() as connection:
            return planning.list_labels(connection)

    def backup(self, target: Path) -> None:
        """Copy the store to a new file; the store may be in use.

        Raises:
            TakenError: the target exists.
            DamagedError: the copy does not pass SQLite's check.
        """
        with translated(self.place):
            self._backend.backup(target)
