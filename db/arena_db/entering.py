"""Records that bots join and leave a running tournament; seats are only ever added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sqlalchemy import case, exists, or_, select, update

from arena_db import coordination, planning, replays, seals
from arena_db.cold.thawing import require_warm
from arena_db.corrections import voids
from arena_db.counted import parts
from arena_db.errors import RefusedError, TakenError
from arena_db.models import entrants, matches, planned, tournaments
from arena_db.voiding import Why, add_change

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Connection, Select

    from arena_db.records import Entrant


Rest: TypeAlias = Literal["as planned", "again", "never"]
"""What happens to the unplayed matches of a bot that rejoins: `as planned` plays those still planned, `again`
also those that were dropped, and `never` none of them."""


def join(connection: Connection, tournament: int, entrant: Entrant, why: Why, rest: Rest) -> Entrant:
    """Enter a bot in a tournament, or again at its old seat; return it with its seat.

    Args:
        connection: holds the write lock; the tournament is being amended.
        tournament: its id.
        entrant: the bot; its seat is ignored.
        why: the author of the change, and the reason.
        rest: the fate of its unplayed matches, if it rejoins.

    Raises:
        TakenError: it takes part already, or another bot has its label.
        RefusedError: no such tournament, or an old match that must not be played is still running.
    """
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
    # Replayed ratings come from simulations with exactly the bots that took part.
    replays.forget(connection, tournament)
    return next(one for one in planning.list_entrants(connection, tournament) if one.seat == seat)


def _open(connection: Connection, tournament: int) -> None:
    """Reopen the complete plan of a tournament."""
    if connection.scalar(select(tournaments.c.is_planned).where(tournaments.c.id == tournament)):
        # The total is unknown until the schedule has planned with the new bot.
        seals.change(connection, tournament, is_planned=0, num_total=None, decision="")
    ended = (tournaments.c.id == tournament) & (tournaments.c.state == "finished")
    connection.execute(update(tournaments).where(ended).values(state="stopped"))


def _at(tournament: int, seat: int) -> ColumnElement[bool]:
    return (entrants.c.tournament_id == tournament) & (entrants.c.seat == seat)


PLAYS: Final = entrants.c.state == "playing"
"""Whether an entrant takes part."""


def withdraw(connection: Connection, tournament: int, seat: int, state: str, why: Why) -> None:
    """Store that a bot no longer takes part; drop its planned matches unless the tournament is being run."""
    require_warm(connection, tournament)
    kind, may = ("leave", PLAYS) if state == "left" else ("disqualify", entrants.c.state != "out")
    with seals.amending(connection, tournament):
        label = connection.scalar(select(entrants.c.label).where(_at(tournament, seat), may))
        if label is None:
            raise RefusedError(f"no bot takes part in tournament {tournament} at seat {seat}")
        change = add_change(connection, tournament, kind, label, why)
        left = {"state": state, "left_change": change}
        connection.execute(update(entrants).where(_at(tournament, seat)).values(left))
    replays.forget(connection, tournament)
    lease = coordination.find(connection, tournament)
    # A living run knows which of its matches are running, and drops the others itself.
    if lease is None or not lease.is_alive:
        drop(connection, tournament, ())


def drop(connection: Connection, tournament: int, running: Collection[int]) -> list[int]:
    """Mark the planned matches of bots that no longer take part as dropped; return their numbers."""
    gone = select(entrants.c.seat).where(entrants.c.tournament_id == tournament, ~PLAYS)
    found = [number for number in planned_for(connection, tournament, gone) if number not in set(running)]
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
    if not planned_for(connection, tournament, select(entrants.c.seat).where(_at(tournament, entrant.seat))):
        return
    lease = coordination.find(connection, tournament)
    if lease is not None and lease.is_alive:
        raise RefusedError(
            f"{entrant.label} has left, and its last match is being played; add it again once that is over"
        )
    drop(connection, tournament, ())


def _restore(connection: Connection, tournament: int, seat: int) -> None:
    """Plan the dropped matches of a bot again, except those against bots that no longer take part."""
    gone = select(entrants.c.seat).where(entrants.c.tournament_id == tournament, ~PLAYS)
    own = (planned.c.tournament_id == tournament) & (planned.c.state == "dropped") & _with_seats([seat])
    own &= planned.c.first_seat.not_in(gone) & planned.c.second_seat.not_in(gone)
    num = connection.execute(update(planned).where(own).values(state="planned")).rowcount
    seals.change(connection, tournament, num_dropped=tournaments.c.num_dropped - num)


def planned_for(connection: Connection, tournament: int, seats: Select[int]) -> list[int]:
    """Return the numbers of the unplayed matches of some seats."""
    own = (planned.c.tournament_id == tournament) & (planned.c.state == "planned")
    sides = or_(planned.c.first_seat.in_(seats), planned.c.second_seat.in_(seats))
    return list(connection.scalars(select(planned.c.number).where(own, sides).order_by(planned.c.number)))


def unjudged(connection: Connection, tournament: int) -> dict[int, list[int]]:
    """Return matches of disqualified bots that were never made void, by id of the disqualifying change."""
    side = or_(matches.c.first_seat == entrants.c.seat, matches.c.second_seat == entrants.c.seat)
    query = (
        select(matches.c.id, entrants.c.left_change)
        .join_from(matches, entrants, (entrants.c.tournament_id == matches.c.tournament_id) & side)
        .where(matches.c.tournament_id == tournament, entrants.c.state == "out")
        # A void, even an undone one, means that an operator has decided about this match before.
        .where(~exists().where(voids.c.match_id == matches.c.id))
    )
    found: dict[int, list[int]] = {}
    for match, change in connection.execute(query.order_by(matches.c.id)):
        found.setdefault(change, []).append(match)
    return found


def played_by(tournament: int, seats: list[int]) -> ColumnElement[bool]:
    """Return whether one of these seats played a match of a tournament."""
    sides = (matches.c.first_seat, matches.c.second_seat)
    return (matches.c.tournament_id == tournament) & or_(*(side.in_(seats) for side in sides))


def _with_seats(seats: list[int]) -> ColumnElement[bool]:
    return planned.c.first_seat.in_(seats) | planned.c.second_seat.in_(seats)
