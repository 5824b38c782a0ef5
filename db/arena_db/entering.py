"""Who joins an event that is held already, and who leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from arena_db import planning, seals
from arena_db.access import Access
from arena_db.errors import RefusedError, TakenError
from arena_db.models import entrants, tournaments
from arena_db.voiding import add_change

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from arena_db.records import Entrant


class Entering(Access):
    """The part of a store that lets bots join and leave an event; every write is one transaction.

    Seats are only ever added. Whoever runs the event sees the change by `last_change`.
    """

    def join(self, tournament: int, entrant: Entrant, *, reason: str, who: str) -> Entrant:
        """Enter a bot in an event, or again at its seat; return it with its seat.

        A complete plan is open again, so that the event can go on.

        Args:
            tournament: its id.
            entrant: the bot; its seat does not matter.
            reason: why, or empty.
            who: user@host.

        Raises:
            TakenError: it takes part already, or another bot has its label.
            RefusedError: no such tournament, or a field breaks a rule of the tables.
        """
        with self._write() as connection, seals.amending(connection, tournament):
            return _join(connection, tournament, entrant, reason, who)

    def leave(self, tournament: int, seat: int, *, reason: str, who: str) -> None:
        """Withdraw a bot from an event; it keeps its seat, its matches and its rating.

        Args:
            tournament: its id.
            seat: of the bot.
            reason: why, or empty.
            who: user@host.

        Raises:
            RefusedError: no such bot takes part.
        """
        with self._write() as connection, seals.amending(connection, tournament):
            plays = entrants.c.state == "playing"
            label = connection.scalar(select(entrants.c.label).where(_at(tournament, seat), plays))
            if label is None:
                raise RefusedError(f"no bot takes part in tournament {tournament} at seat {seat}")
            change = add_change(connection, tournament, "leave", subject=label, reason=reason, who=who)
            left = update(entrants).where(_at(tournament, seat)).values(state="left", left_change=change)
            connection.execute(left)


def _join(connection: Connection, tournament: int, entrant: Entrant, reason: str, who: str) -> Entrant:
    if connection.scalar(select(tournaments.c.id).where(tournaments.c.id == tournament)) is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    listed = planning.list_entrants(connection, tournament)
    change = add_change(connection, tournament, "join", subject=entrant.label, reason=reason, who=who)
    known = next((other for other in listed if other.bot.identity == entrant.bot.identity), None)
    if known is None:
        if any(other.label == entrant.label for other in listed):
            raise TakenError(f"another bot is called {entrant.label} there")
        seat = 1 + max((other.seat for other in listed), default=-1)
        planning.add_entrant(connection, tournament, entrant, seat=seat, joined_change=change)
    elif known.state == "left":
        seat = known.seat
        back = update(entrants).where(_at(tournament, seat)).values(state="playing", left_change=None)
        connection.execute(back)
    else:
        raise TakenError(f"{known.label} takes part already")
    _open(connection, tournament)
    return next(one for one in planning.list_entrants(connection, tournament) if one.seat == seat)


def _open(connection: Connection, tournament: int) -> None:
    """Reopen the plan of an event that was complete."""
    if connection.scalar(select(tournaments.c.is_planned).where(tournaments.c.id == tournament)):
        seals.change(connection, tournament, is_planned=0, num_total=None, decision="")
    ended = (tournaments.c.id == tournament) & (tournaments.c.state == "finished")
    connection.execute(update(tournaments).where(ended).values(state="stopped"))


def _at(tournament: int, seat: int) -> ColumnElement[bool]:
    return (entrants.c.tournament_id == tournament) & (entrants.c.seat == seat)
