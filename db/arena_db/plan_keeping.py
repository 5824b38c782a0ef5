"""The part of a store that keeps plans: what is to be played, as it grows, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_db import coordination, plan_rows, planning
from arena_db.access import Access
from arena_db.fence import LEASE_S

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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


class PlanKeeping(Access):
    """Stores tournaments and their plans, and reads them; every write is one transaction."""

    def add_tournament(
        self,
        new: NewTournament,
        entrants: Sequence[Entrant],
        planned: Sequence[PlannedMatch] | NewBatch | OpenPlan,
    ) -> TournamentRecord:
        """Store a tournament with its bots and its plan; it is `running` and nobody holds its lease.

        Args:
            new: the tournament.
            entrants: who takes part.
            planned: the whole plan; or its first batch, or none, where others follow through `add_batch`.

        Raises:
            TakenError: another tournament has this name.
            RefusedError: a field breaks a rule of the tables, a match names a seat without entrant.
        """
        with self._write() as connection:
            return planning.add_tournament(connection, new, entrants, planned)

    def reserve(self, new: NewTournament, owner: Owner) -> TournamentRecord:
        """Store a tournament whose bots are still to be checked: it has a name and nobody is entered.

        One of its name that was refused, or whose preparation was killed, gives way. The owner holds the
        lease and calls `begin` or `refuse`.

        Args:
            new: the tournament.
            owner: the process that prepares it.

        Raises:
            TakenError: another tournament has this name, or is being prepared under it.
            RefusedError: a field breaks a rule of the tables.
        """
        with self._write() as connection:
            record = planning.reserve(connection, new)
            # In the same transaction, or a second start of that name could take it for one that was left.
            coordination.claim(connection, record.id, owner, LEASE_S)
            return record

    def begin(
        self,
        tournament: int,
        config: str,
        entrants: Sequence[Entrant],
        planned: Sequence[PlannedMatch] | NewBatch | OpenPlan,
    ) -> TournamentRecord:
        """Enter the bots of a tournament that was reserved, and store its plan; it is `running`.

        Args:
            tournament: its id.
            config: as TOML; the bots may be others than those it was reserved with.
            entrants: who takes part.
            planned: as of `add_tournament`.

        Raises:
            RefusedError: it is not being prepared, a match names a seat without entrant.
        """
        with self._write_run(tournament) as connection:
            return planning.begin(connection, tournament, config, entrants, planned)

    def refuse(self, tournament: int, reason: str) -> None:
        """Note why a tournament that was being prepared is not held; `decision` is the reason.

        Raises:
            RefusedError: it is not being prepared; the reason has over 4,096 characters.
        """
        with self._write_run(tournament) as connection:
            planning.refuse(connection, tournament, reason)

    def extend_plan(self, tournament: int, planned: Sequence[PlannedMatch], config: str) -> None:
        """Add matches to a plan that is complete with them; put a new configuration in place of the old one.

        Raises:
            RefusedError: no such tournament, a match breaks a rule of the tables.
        """
        with self._write_run(tournament) as connection:
            plan_rows.append(connection, tournament, planned)
            planning.set_config(connection, tournament, config)

    def reopen_plan(self, tournament: int, num_total: int | None, config: str) -> None:
        """Reopen a plan, which grows by batches again; put a new configuration in place of the old one.

        Args:
            tournament: its id.
            num_total: matches the plan will have in all; None where nobody can know.
            config: as TOML.

        Raises:
            RefusedError: no such tournament.
        """
        with self._write_run(tournament) as connection:
            plan_rows.reopen(connection, tournament, num_total)
            planning.set_config(connection, tournament, config)

    def add_batch(self, tournament: int, batch: NewBatch) -> None:
        """Add the next matches to a plan, with what they were planned from; none of them was played yet.

        It waits for the write lock a second at most: the run that asks has other things to do.

        Raises:
            RefusedError: no such tournament, its plan is complete, numbers that do not go on where it ends, a
                match that is planned already or names a seat without entrant.
            LockedError: another process keeps the store locked.
        """
        with self._write_run(tournament, self._in_a_hurry()) as connection:
            plan_rows.add_batch(connection, tournament, batch)

    def close_plan(
        self, tournament: int, decision: str = "", *, drops: bool = False, running: Collection[int] = ()
    ) -> int:
        """Note that a plan is complete, and what was decided; return how many matches were dropped.

        It waits for the write lock a second at most.

        Args:
            tournament: its id.
            decision: what the event was held to decide; empty where it decides nothing.
            drops: whether matches that are still to be played are not needed any more.
            running: numbers of matches that are being played, which are not dropped.

        Raises:
            RefusedError: no such tournament, a decision of over 4,096 characters.
            LockedError: another process keeps the store locked.
        """
        with self._write_run(tournament, self._in_a_hurry()) as connection:
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
        """Note what an encounter decided while the plan goes on; return how many matches were dropped.

        What of the encounter is still to be played is not needed any more. It waits for the write lock a
        second at most.

        Args:
            tournament: its id.
            decision: what the event was held to decide.
            num_more: matches of the complete plan beyond those of this encounter.
            encounter: its number.
            running: numbers of matches that are being played, which are not dropped.

        Raises:
            RefusedError: no such tournament, a decision of over 4,096 characters.
            LockedError: another process keeps the store locked.
        """
        with self._write_run(tournament, self._in_a_hurry()) as connection:
            return plan_rows.decide(
                connection, tournament, decision, num_more=num_more, encounter=encounter, running=running
            )

    def planned(self, tournament: int, *, after: int = 0, limit: int | None = None) -> list[PlannedMatch]:
        """Return the plan of a tournament by number, dropped matches included.

        Args:
            tournament: its id.
            after: only matches with higher numbers.
            limit: at most so many; None for all.
        """
        with self._read() as connection:
            return plan_rows.list_planned(connection, tournament, after=after, limit=limit)

    def unplayed(self, tournament: int, *, after: int = 0, limit: int | None = None) -> list[PlannedMatch]:
        """Return the matches that are still to be played, by number; `attempt` counts their void attempts.

        Args:
            tournament: its id.
            after: only matches with higher numbers.
            limit: at most so many; None for all.
        """
        with self._read() as connection:
            return plan_rows.list_planned(connection, tournament, after=after, limit=limit, unplayed=True)

    def sequential_tests(self) -> dict[int, str]:
        """Return the configurations, as TOML, of the matches that are sequential tests, by tournament."""
        with self._read() as connection:
            return plan_rows.list_tests(connection)

    def batches(self, tournament: int, *, since: int = 0) -> list[BatchRecord]:
        """Return the batches a plan was made of, by number.

        Args:
            tournament: its id.
            since: only batches that were planned when this change was known; its id.
        """
        with self._read() as connection:
            return plan_rows.list_batches(connection, tournament, since)

    def plan_lengths(self, tournament: int) -> list[tuple[int, int]]:
        """Return how long a plan was while a change was the newest one: its id and the matches, by id."""
        with self._read() as connection:
            return plan_rows.list_lengths(connection, tournament)

    def last_match(self, tournament: int) -> int:
        """Return the highest id of a match of a tournament; 0 where it has none."""
        with self._read() as connection:
            return plan_rows.last_match(connection, tournament)

    def play_time(self, tournament: int, encounter: int) -> float:
        """Return what the final matches of an encounter took, added up, in seconds."""
        with self._read() as connection:
            return plan_rows.play_time(connection, tournament, encounter)

    def results(
        self, tournament: int, *, after: int, last: int, limit: int | None = None
    ) -> list[PairedResult]:
        """Return what schedules see of the final matches with ids above `after` and up to `last`, by id.

        A match is stored once and for all, so that a reader needs each id but once. With `limit` the first so
        many are returned.
        """
        with self._read() as connection:
            return plan_rows.list_results(connection, tournament, (after, last), limit)
