"""The changes to planned tournaments: void matches, bots that join or leave, archiving."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from arena_db import entering, seals, voiding
from arena_db.access import patient
from arena_db.corrections import changes, voids
from arena_db.models import entrants, matches

if TYPE_CHECKING:
    from collections.abc import Collection

    from arena_db.access import Access
    from arena_db.entering import Rest
    from arena_db.records import Entrant


class ChangeRecord(NamedTuple):
    """A change that was made to a tournament after it was planned."""

    id: int
    tournament: int
    """Id of the tournament."""
    kind: str
    """void, unvoid, join, leave, disqualify, archive or unarchive."""
    subject: str
    """Which matches, or which bot, as text."""
    reason: str
    who: str
    """user@host."""
    made_at: float
    """UTC seconds."""


class StoredChanges:
    """The changes of tournaments, each with its author and reason; every write is one transaction.

    The run of a tournament polls `last` to notice changes.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    def of(self, tournament: int, *, after: int = 0) -> list[ChangeRecord]:
        """Return the changes made to a tournament, oldest first; only those with ids above `after`."""
        own = select(changes).where(changes.c.tournament_id == tournament, changes.c.id > after)
        own = own.order_by(changes.c.id)
        with self._access.read() as connection:
            return [ChangeRecord._make(row) for row in connection.execute(own)]

    def void_change(self, match: int) -> ChangeRecord | None:
        """Return the change that made a match void; None if it is not void."""
        own = select(changes).join_from(voids, changes, changes.c.id == voids.c.change_id)
        own = own.where(voids.c.match_id == match, voids.c.undone_change.is_(None))
        with self._access.read() as connection:
            row = connection.execute(own).first()
        return None if row is None else ChangeRecord._make(row)

    @patient
    def last(self, tournament: int | None = None) -> int:
        """Return the id of the newest change of a tournament, or of any; 0 before the first.

        Data that was read match by match may be outdated once this id differs.
        """
        found = select(func.max(changes.c.id))
        if tournament is not None:
            found = found.where(changes.c.tournament_id == tournament)
        with self._access.read() as connection:
            return connection.scalar(found) or 0

    def void(self, numbers: Collection[int], *, reason: str, who: str) -> int:
        """Declare matches void, so that no table counts them; return how many were not void before.

        Tallies, stored sums and ratings over time change in the same transaction. The plan does not: a void
        match is not played again.

        Args:
            numbers: ids of matches.
            reason: the reason, shown to everybody.
            who: author of the change, user@host.

        Raises:
            RefusedError: no such match; no reason, or one of over 4,096 characters.
        """
        with self._access.write() as connection:
            return voiding.judge(connection, numbers, reason, who, make_void=True)

    def unvoid(self, numbers: Collection[int], *, reason: str, who: str) -> int:
        """Count void matches again; return how many were void. Otherwise like `void`."""
        with self._access.write() as connection:
            return voiding.judge(connection, numbers, reason, who, make_void=False)

    def archive(self, tournament: int, *, who: str, undo: bool = False) -> bool:
        """Hide a tournament from lists, or show it again; return whether that changed anything.

        Its matches count as before.

        Raises:
            RefusedError: no such tournament, or it is being run.
        """
        with self._access.write() as connection:
            return voiding.archive(connection, tournament, who, undo=undo)

    def join(
        self, tournament: int, entrant: Entrant, *, reason: str, who: str, rest: Rest = "as planned"
    ) -> Entrant:
        """Enter a bot in a tournament, or again at its old seat; return it with its seat.

        A complete plan is reopened, so that the tournament can continue.

        Args:
            tournament: its id.
            entrant: the bot; its seat is ignored.
            reason: the reason, or empty.
            who: author of the change, user@host.
            rest: the fate of its unplayed matches, if it rejoins.

        Raises:
            TakenError: it takes part already, or another bot has its label.
            RefusedError: no such tournament, a field breaks a rule of the tables, or an old match that must
                not be played is still running.
        """
        with self._access.write() as connection, seals.amending(connection, tournament):
            return entering.join(connection, tournament, entrant, voiding.Why(who, reason), rest)

    def leave(self, tournament: int, seat: int, *, reason: str, who: str) -> None:
        """Withdraw a bot from a tournament; it keeps its seat, its matches and its rating.

        Its planned matches are dropped. While the tournament is being run, the run does that, because only
        the run knows which matches are being played.

        Args:
            tournament: its id.
            seat: seat of the bot.
            reason: the reason, or empty.
            who: author of the change, user@host.

        Raises:
            RefusedError: no such bot takes part.
        """
        with self._access.write() as connection:
            entering.withdraw(connection, tournament, seat, "left", voiding.Why(who, reason))

    def disqualify(self, tournament: int, seat: int, *, reason: str, who: str) -> int:
        """Disqualify a bot: it plays no more, and its matches become void; return how many became void.

        A match of it that is running becomes void when it is stored (`void_out`). `unvoid` lets matches count
        again.

        Args:
            tournament: its id.
            seat: seat of the bot, which takes part or has left.
            reason: the reason, shown to everybody.
            who: author of the change, user@host.

        Raises:
            RefusedError: no such bot takes part or has left; no reason.
        """
        with self._access.write() as connection:
            entering.withdraw(connection, tournament, seat, "out", voiding.Why(who, reason))
            played = select(matches.c.id).where(entering.played_by(tournament, [seat]))
            return voiding.judge(connection, connection.scalars(played).all(), reason, who, make_void=True)

    def drop_gone(self, tournament: int, running: Collection[int] = ()) -> list[int]:
        """Drop the planned matches of bots that no longer take part; return their numbers.

        Args:
            tournament: its id.
            running: numbers of running matches, which are not dropped.

        Raises:
            LockedError: another process keeps the store locked for more than a second.
        """
        gone = select(entrants.c.seat).where(entrants.c.tournament_id == tournament, ~entering.PLAYS)
        with self._access.read() as connection:
            # Looked up without the write lock first: a run asks often, and there is seldom anything to drop.
            if not entering.planned_for(connection, tournament, gone):
                return []
        with self._access.write_run(tournament, self._access.in_a_hurry()) as connection:
            return entering.drop(connection, tournament, running)

    @patient
    def void_out(self, tournament: int) -> int:
        """Declare void the matches that disqualified bots finished later; return how many.

        A match that `unvoid` lets count again is not voided once more.
        """
        with self._access.read() as connection:
            if not entering.unjudged(connection, tournament):
                return 0
        with self._access.write_run(tournament) as connection:
            # Again under the write lock, because `unvoid` may have come in between.
            found = entering.unjudged(connection, tournament)
            for change, numbers in found.items():
                row = connection.execute(select(changes).where(changes.c.id == change)).one()
                voiding.judge(connection, numbers, row.reason, row.who, make_void=True)
        return sum(map(len, found.values()))
