"""Tournaments and their plans: the matches to be played, and their state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from arena_db import coordination, plan_rows, planning
from arena_db.access import patient
from arena_db.cold.thawing import require_warm
from arena_db.fence import LEASE_S
from arena_db.models import tournaments

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena_db.access import Access
    from arena_db.owner import Owner
    from arena_db.records import (
        BatchRecord,
        Entrant,
        NewBatch,
        NewTournament,
        OpenPlan,
        PairedResult,
        PlannedMatch,
        TournamentRecord,
    )


class StoredTournaments:
    """The tournaments of a store; every write is one transaction."""

    def __init__(self, access: Access) -> None:
        self._access = access

    @patient
    def find(self, key: int | str) -> TournamentRecord | None:
        """Return the tournament with this id (a number) or this name (a string); None if there is none."""
        with self._access.read() as connection:
            return planning.find_tournament(connection, key)

    def last(self, *, unfinished: bool) -> TournamentRecord | None:
        """Return the newest tournament, or the newest unfinished one; archived ones are skipped."""
        with self._access.read() as connection:
            return planning.last_tournament(connection, unfinished=unfinished)

    def newest(
        self, *, before: int | None = None, limit: int = 100, archived: bool = True
    ) -> list[TournamentRecord]:
        """Return tournaments with ids below `before`, newest first; `archived=False` omits archived ones."""
        with self._access.read() as connection:
            return planning.list_tournaments(connection, before, limit, archived=archived)

    def num_archived(self) -> int:
        """Return the number of archived tournaments."""
        own = tournaments.c.archived_at.is_not(None)
        with self._access.read() as connection:
            return connection.scalar(select(func.count()).select_from(tournaments).where(own)) or 0

    @patient
    def entrants(self, tournament: int) -> list[Entrant]:
        """Return the entrants of a tournament by seat."""
        with self._access.read() as connection:
            return planning.list_entrants(connection, tournament)

    def add(
        self,
        new: NewTournament,
        entrants: Sequence[Entrant],
        planned: Sequence[PlannedMatch] | NewBatch | OpenPlan,
    ) -> TournamentRecord:
        """Store a tournament with its bots and its plan; its state is `running`, its lease is free.

        Args:
            new: the tournament.
            entrants: the bots that take part.
            planned: the whole plan; or its first batch, or none, if `Store.plans.add_batch` adds the rest.

        Raises:
            TakenError: another tournament has this name.
            RefusedError: a field breaks a rule of the tables, or a match names a seat without entrant.
        """
        with self._access.write() as connection:
            return planning.add_tournament(connection, new, entrants, planned)

    def reserve(self, new: NewTournament, owner: Owner) -> TournamentRecord:
        """Store a tournament whose bots are still to be checked: it has a name and no entrants yet.

        It replaces a tournament of that name that was refused or whose preparation was killed. The owner
        holds the lease and calls `begin` or `refuse` next.

        Args:
            new: the tournament.
            owner: the process that prepares it.

        Raises:
            TakenError: another tournament has this name, or is being prepared under it.
            RefusedError: a field breaks a rule of the tables.
        """
        with self._access.write() as connection:
            record = planning.reserve(connection, new)
            # In the same transaction: otherwise a second start with this name could see the tournament as
            # abandoned.
            coordination.claim(connection, record.id, owner, LEASE_S)
            return record

    def begin(
        self,
        tournament: int,
        config: str,
        entrants: Sequence[Entrant],
        planned: Sequence[PlannedMatch] | NewBatch | OpenPlan,
    ) -> TournamentRecord:
        """Enter the bots of a reserved tournament and store its plan; its state becomes `running`.

        Args:
            tournament: its id.
            config: as TOML; the bots may differ from those it was reserved with.
            entrants: the bots that take part.
            planned: as in `add`.

        Raises:
            RefusedError: it is not being prepared, or a match names a seat without entrant.
        """
        with self._access.write_run(tournament) as connection:
            return planning.begin(connection, tournament, config, entrants, planned)

    def refuse(self, tournament: int, reason: str) -> None:
        """Refuse a tournament that was being prepared; the reason is stored as its `decision`.

        Raises:
            RefusedError: it is not being prepared, or the reason has over 4,096 characters.
        """
        with self._access.write_run(tournament) as connection:
            planning.refuse(connection, tournament, reason)

    @patient
    def set_state(self, tournament: int, state: str) -> None:
        """Set the state of a tournament: running, stopped, finished, preparing or refused."""
        with self._access.write_run(tournament) as connection:
            planning.set_state(connection, tournament, state)


class StoredPlans:
    """The plans of tournaments, and results as schedules read them; every write is one transaction."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def extend(self, tournament: int, planned: Sequence[PlannedMatch], config: str) -> None:
        """Append the last matches of a plan and replace the configuration; the plan is complete then.

        Raises:
            RefusedError: no such tournament, or a match breaks a rule of the tables.
        """
        with self._access.write_run(tournament) as connection:
            # Within the transaction: after a check before it, the matches could still be moved to files.
            require_warm(connection, tournament)
            plan_rows.append(connection, tournament, planned)
            planning.set_config(connection, tournament, config)

    def reopen(self, tournament: int, num_total: int | None, config: str) -> None:
        """Reopen a plan, so that it grows by batches again, and replace the configuration.

        Args:
            tournament: its id.
            num_total: number of matches of the complete plan; None while it cannot be known.
            config: as TOML.

        Raises:
            RefusedError: no such tournament.
        """
        with self._access.write_run(tournament) as connection:
            require_warm(connection, tournament)
            plan_rows.reopen(connection, tournament, num_total)
            planning.set_config(connection, tournament, config)

    def add_batch(self, tournament: int, batch: NewBatch) -> None:
        """Append the next matches to a plan, with the results they were planned from.

        It waits for the write lock for at most a second, because the calling run has other work to do.

        Raises:
            RefusedError: no such tournament, its plan is complete, the numbers do not continue the plan, or a
                match is planned already or names a seat without entrant.
            LockedError: another process keeps the store locked.
        """
        with self._access.write_run(tournament, self._access.in_a_hurry()) as connection:
            plan_rows.add_batch(connection, tournament, batch)

    def close(
        self, tournament: int, decision: str = "", *, drops: bool = False, running: Collection[int] = ()
    ) -> int:
        """Mark a plan as complete and store what was decided; return how many matches were dropped.

        It waits for the write lock for at most a second.

        Args:
            tournament: its id.
            decision: what the tournament decided; empty if it decides nothing.
            drops: whether the matches not played yet are no longer needed.
            running: numbers of running matches, which are not dropped.

        Raises:
            RefusedError: no such tournament, or a decision of over 4,096 characters.
            LockedError: another process keeps the store locked.
        """
        with self._access.write_run(tournament, self._access.in_a_hurry()) as connection:
            return plan_rows.close_plan(connection, tournament, decision, drops=drops, running=running)

    def decide(
        self,
        tournament: int,
        decision: str,
        *,
        num_more: int,
        encounter: int,
        running: Collection[int] = (),
    ) -> int:
        """Store the decision of an encounter in a plan that continues; return the number of dropped matches.

        The encounter's remaining matches are no longer needed. It waits for the write lock for at most a
        second.

        Args:
            tournament: its id.
            decision: the decision, as text.
            num_more: number of matches of the complete plan besides those of this encounter.
            encounter: its number.
            running: numbers of running matches, which are not dropped.

        Raises:
            RefusedError: no such tournament, or a decision of over 4,096 characters.
            LockedError: another process keeps the store locked.
        """
        with self._access.write_run(tournament, self._access.in_a_hurry()) as connection:
            decided = plan_rows.Decision(encounter, decision, num_more)
            return plan_rows.decide(connection, tournament, decided, running)

    @patient
    def planned(self, tournament: int, *, after: int = 0, limit: int | None = None) -> list[PlannedMatch]:
        """Return the plan of a tournament by number, dropped matches included.

        Args:
            tournament: its id.
            after: only matches with higher numbers.
            limit: maximum number of matches; None for all.
        """
        with self._access.read_of(tournament) as connection:
            return plan_rows.list_planned(connection, tournament, after=after, limit=limit)

    @patient
    def unplayed(self, tournament: int, *, after: int = 0, limit: int | None = None) -> list[PlannedMatch]:
        """Return the matches that are still to be played, by number; `attempt` counts their void attempts.

        Args:
            tournament: its id.
            after: only matches with higher numbers.
            limit: maximum number of matches; None for all.
        """
        with self._access.read_of(tournament) as connection:
            return plan_rows.list_planned(connection, tournament, after=after, limit=limit, unplayed=True)

    def sequential_tests(self) -> dict[int, str]:
        """Return the configurations, as TOML, of all tournaments that are sequential tests, by tournament."""
        with self._access.read() as connection:
            return plan_rows.list_tests(connection)

    def batches(self, tournament: int, *, since: int = 0) -> list[BatchRecord]:
        """Return the batches of a plan, by number.

        Args:
            tournament: its id.
            since: only batches that were planned with this change known; id of the change.
        """
        with self._access.read() as connection:
            return plan_rows.list_batches(connection, tournament, since)

    def lengths(self, tournament: int) -> list[tuple[int, int]]:
        """Return the length of a plan as of each change: pairs of change id and number of matches, by id."""
        with self._access.read() as connection:
            return plan_rows.list_lengths(connection, tournament)

    def play_time(self, tournament: int, encounter: int) -> float:
        """Return the total duration of an encounter's matches that need no further attempt, in seconds."""
        with self._access.read_of(tournament) as connection:
            return plan_rows.play_time(connection, tournament, encounter)

    def results(
        self, tournament: int, *, after: int, last: int, limit: int | None = None
    ) -> list[PairedResult]:
        """Return matches as schedules read them, by id: those with ids in `(after, last]` that are final.

        A match is final if it needs no further attempt. A stored match never changes, so a reader needs each
        id only once. With `limit`, at most that many are returned.
        """
        with self._access.read_of(tournament) as connection:
            return plan_rows.list_results(connection, tournament, (after, last), limit)
