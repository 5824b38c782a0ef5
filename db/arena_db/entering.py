"""Records that bots join and leave a running tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sqlalchemy import case, exists, or_, select, update

from arena_db import coordination, planning, replays, seals
from arena_db.access import Access, patient
from arena_db.cold.thawing import require_warm
from arena_db.corrections import changes, voids
from arena_db.counted import parts
from arena_db.errors import RefusedError, TakenError
from arena_db.models import entrants, matches, planned, tournaments
from arena_db.voiding import Why, add_change, judge

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Connection, Select

    from arena_db.records import Entrant


Rest: TypeAlias = Literal["as planned", "again", "never"]
"""Fate of the unplayed matches that a bot left behind, once it rejoins: planned ones are played; dropped ones
are played, too; or none is."""


class Entering(Access):
    """The part of a store that lets bots join and leave a tournament; every write is one transaction.

    Seats are only ever added. The run of the tournament notices a change by `last_change`.
    """

    def join(
        self, tournament: int, entrant: Entrant, *, reason: str, who: str, rest: Rest = "as planned"
    ) -> Entrant:
        """Enter a bot in a tournament, or again at its old seat; return it with its seat.

        A complete plan is reopened, so that the tournament can go on.

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
        with self._write() as connection, seals.amending(connection, tournament):
            return _join(connection, tournament, entrant, Why(who, reason), rest)

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
        with self._write() as connection:
            _go(connection, tournament, seat, "left", Why(who, reason))

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
        with self._write() as connection:
            _go(connection, tournament, seat, "out", Why(who, reason))
            played = select(matches.c.id).where(_played_by(tournament, [seat]))
            return judge(connection, connection.scalars(played).all(), reason, who, make_void=True)

    def drop_gone(self, tournament: int, running: Collection[int] = ()) -> list[int]:
        """Drop the planned matches of bots that no longer take part; return their numbers.

        Args:
            tournament: its id.
            running: numbers of running matches, which are not dropped.

        Raises:
            LockedError: another process keeps the store locked for more than a second.
        """
        gone = select(entrants.c.seat).where(entrants.c.tournament_id == tournament, ~_PLAYS)
        with self._read() as connection:
            if not _planned_for(connection, tournament, gone):
                return []
        with self._write_run(tournament, self._in_a_hurry()) as connection:
            return _drop(connection, tournament, running)

    @patient
    def void_out(self, tournament: int) -> int:
        """Declare void the matches that disqualified bots finished later; return how many.

        A match that `unvoid` lets count again is not voided once more.
        """
        with self._read() as connection:
            if not _unjudged(connection, tournament):
                return 0
        with self._write_run(tournament) as connection:
            found = _unjudged(connection, tournament)
            for change, numbers in found.items():
                row = connection.execute(select(changes).where(changes.c.id == change)).one()
                judge(connection, numbers, row.reason, row.who, make_void=True)
        return sum(map(len, found.values()))


def _join(connection: Connection, tournament: int, entrant: Entrant, why: Why, rest: Rest) -> Entrant:
    if connection.scalar(select(tournaments.c.id).where(tournaments.c.id == tournament)) is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    require_warm(connection, tournament)
    listed = planning.list_entrants(connection, tournament)
    change = add_change(connection, tournament, "join", entrant.label, why)
    known = next((other for other in listed if other.bot.identity == entrant.bot.identity), None)
    if known is None:
        if any(other.label == entrant.label for other in listed):
            raise TakenError(f"another bot is called {entrant.label} there")
        # The next seat, even if an earlier bot has left: seats are never reused.
        seat = 1 + max((other.seat for other in listed), default=-1)
        planning.add_entrant(connection, tournament, entrant, seat=seat, joined_change=change)
    elif known.state == "left":
        seat = known.seat
        if rest == "never":
            _end_rest(connection, tournament, known)
        back: dict[str, Any] = {"state": "playing", "left_change": None}
        if rest == "again":
            # Schedules treat it as a newcomer again.
            back["joined_change"] = change
        connection.execute(update(entrants).where(_at(tournament, seat)).values(back))
        if rest == "again":
            _restore(connection, tournament, seat)
    elif known.state == "out":
        raise RefusedError(f"{known.label} is disqualified")
    else:
        raise TakenError(f"{known.label} takes part already")
    _open(connection, tournament)
    replays.forget(connection, tournament)
    return next(one for one in planning.list_entrants(connection, tournament) if one.seat == seat)


def _open(connection: Connection, tournament: int) -> None:
    """Reopen the complete plan of a tournament."""
    if connection.scalar(select(tournaments.c.is_planned).where(tournaments.c.id == tournament)):
        seals.change(connection, tournament, is_planned=0, num_total=None, decision="")
    ended = (tournaments.c.id == tournament) & (tournaments.c.state == "finished")
    connection.execute(update(tournaments).where(ended).values(state="stopped"))


def _at(tournament: int, seat: int) -> ColumnElement[bool]:
    return (entrants.c.tournament_id == tournament) & (entrants.c.seat == seat)


_PLAYS: Final = entrants.c.state == "playing"


def _go(connection: Connection, tournament: int, seat: int, state: str, why: Why) -> None:
    """Store that a bot no longer takes part; drop its planned matches unless the tournament is being run."""
    require_warm(connection, tournament)
    kind, may = ("leave", _PLAYS) if state == "left" else ("disqualify", entrants.c.state != "out")
    with seals.amending(connection, tournament):
        label = connection.scalar(select(entrants.c.label).where(_at(tournament, seat), may))
        if label is None:
            raise RefusedError(f"no bot takes part in tournament {tournament} at seat {seat}")
        change = add_change(connection, tournament, kind, label, why)
        left = {"state": state, "left_change": change}
        connection.execute(update(entrants).where(_at(tournament, seat)).values(left))
    replays.forget(connection, tournament)
    lease = coordination.find(connection, tournament)
    if lease is None or not lease.is_alive:
        _drop(connection, tournament, ())


def _drop(connection: Connection, tournament: int, running: Collection[int]) -> list[int]:
    """Mark the planned matches of bots that no longer take part as dropped; return their numbers."""
    gone = select(entrants.c.seat).where(entrants.c.tournament_id == tournament, ~_PLAYS)
    found = [number for number in _planned_for(connection, tournament, gone) if number not in set(running)]
    for some in parts(found):
        own = (planned.c.tournament_id == tournament) & planned.c.number.in_(some)
        connection.execute(update(planned).where(own).values(state="dropped"))
    if found:
        dropped = tournaments.c.num_dropped + len(found)
        # A complete plan has an exact total; the expected total of an open one shrinks by the dropped
        # matches.
        total = case(
            (tournaments.c.is_planned == 1, tournaments.c.num_planned - dropped),
            else_=tournaments.c.num_total - len(found),
        )
        seals.change(connection, tournament, num_dropped=dropped, num_total=total)
        _end(connection, tournament)
    return found


def _end(connection: Connection, tournament: int) -> None:
    """Mark a stopped tournament as finished if it is not being run and nothing is left to play."""
    lease = coordination.find(connection, tournament)
    own = tournaments.c.id == tournament
    row = connection.execute(select(tournaments).where(own)).one()
    is_complete = row.is_planned and row.num_done + row.num_dropped == row.num_planned
    if is_complete and row.state == "stopped" and (lease is None or not lease.is_alive):
        connection.execute(update(tournaments).where(own).values(state="finished"))


def _end_rest(connection: Connection, tournament: int, entrant: Entrant) -> None:
    """Drop the unplayed matches of a bot that is about to rejoin.

    Raises:
        RefusedError: the tournament is being run, so a match of the bot may be running.
    """
    if not _planned_for(connection, tournament, select(entrants.c.seat).where(_at(tournament, entrant.seat))):
        return
    lease = coordination.find(connection, tournament)
    if lease is not None and lease.is_alive:
        raise RefusedError(
            f"{entrant.label} has left, and its last match is being played; add it again once that is over"
        )
    _drop(connection, tournament, ())


def _restore(connection: Connection, tournament: int, seat: int) -> None:
    """Plan the dropped matches of a bot again, except those against bots that no longer take part."""
    gone = select(entrants.c.seat).where(entrants.c.tournament_id == tournament, ~_PLAYS)
    own = (planned.c.tournament_id == tournament) & (planned.c.state == "dropped") & _with_seats([seat])
    own &= planned.c.first_seat.not_in(gone) & planned.c.second_seat.not_in(gone)
    num = connection.execute(update(planned).where(own).values(state="planned")).rowcount
    seals.change(connection, tournament, num_dropped=tournaments.c.num_dropped - num)


def _planned_for(connection: Connection, tournament: int, seats: Select[int]) -> list[int]:
    """Return the numbers of the unplayed matches of some seats."""
    own = (planned.c.tournament_id == tournament) & (planned.c.state == "planned")
    sides = or_(planned.c.first_seat.in_(seats), planned.c.second_seat.in_(seats))
    return list(connection.scalars(select(planned.c.number).where(own, sides).order_by(planned.c.number)))


def _unjudged(connection: Connection, tournament: int) -> dict[int, list[int]]:
    """Return the never voided matches of disqualified bots, by the change that disqualified the bot."""
    side = or_(matches.c.first_seat == entrants.c.seat, matches.c.second_seat == entrants.c.seat)
    query = (
        select(matches.c.id, entrants.c.left_change)
        .join_from(matches, entrants, (entrants.c.tournament_id == matches.c.tournament_id) & side)
        .where(matches.c.tournament_id == tournament, entrants.c.state == "out")
        # A match with any void, even an undone one, was decided on before.
        .where(~exists().where(voids.c.match_id == matches.c.id))
    )
    found: dict[int, list[int]] = {}
    for match, change in connection.execute(query.order_by(matches.c.id)):
        found.setdefault(change, []).append(match)
    return found


def _played_by(tournament: int, seats: list[int]) -> ColumnElement[bool]:
    sides = (matches.c.first_seat, matches.c.second_seat)
    return (matches.c.tournament_id == tournament) & or_(*(side.in_(seats) for side in sides))


def _with_seats(seats: list[int]) -> ColumnElement[bool]:
    return planned.c.first_seat.in_(seats) | planned.c.second_seat.in_(seats)
