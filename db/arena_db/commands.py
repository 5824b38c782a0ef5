"""Commands that are sent to the process that runs a tournament, and their answers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from arena_db.clock import now
from arena_db.dialects import driver_query, values_in_order
from arena_db.errors import RefusedError
from arena_db.models import commands
from arena_db.records import CommandRecord

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row


def send_command(raw: Any, dialect: str, tournament: int, kind: str, payload: str) -> int:  # noqa: ANN401 - a driver's connection
    """Insert a command through a driver's connection, in a transaction of its own; return its id."""
    text, usual = _ask_text(dialect)
    values = values_in_order(usual, tournament_id=tournament, kind=kind, payload=payload)
    ((command,),) = raw.execute(text, values).fetchall()
    return int(command)


@cache
def _ask_text(dialect: str) -> tuple[str, dict[str, Any]]:
    new = insert(commands).values(tournament_id=0, kind="", payload="", asked_at=now(), answer="")
    return driver_query(new.returning(commands.c.id), dialect)


def has_waiting_command(connection: Connection, tournament: int) -> bool:
    """Return whether a command of the tournament has not been taken yet."""
    return connection.execute(select(commands.c.id).where(_waiting(tournament)).limit(1)).first() is not None


def take_commands(connection: Connection, tournament: int) -> list[CommandRecord]:
    """Return the commands that have not been taken yet, oldest first, and mark them as taken."""
    taken = update(commands).where(_waiting(tournament)).values(taken_at=now()).returning(commands)
    return sorted(map(_command, connection.execute(taken)), key=lambda command: command.id)


def answer_command(connection: Connection, command: int, text: str) -> None:
    """Store the answer to a command.

    Raises:
        RefusedError: there is no such command, or it has an answer already.
    """
    own = (commands.c.id == command) & commands.c.answered_at.is_(None)
    if not connection.execute(update(commands).where(own).values(answered_at=now(), answer=text)).rowcount:
        raise RefusedError(f"command {command} does not exist or has been answered already")


def find_command(connection: Connection, command: int) -> CommandRecord | None:
    """Return the command with this id; None if there is none."""
    row = connection.execute(select(commands).where(commands.c.id == command)).first()
    return None if row is None else _command(row)


def _waiting(tournament: int) -> ColumnElement[bool]:
    return (commands.c.tournament_id == tournament) & commands.c.taken_at.is_(None)


def _command(row: Row[*tuple[Any, ...]]) -> CommandRecord:
    return CommandRecord(
        id=row.id,
        tournament=row.tournament_id,
        kind=row.kind,
        payload=row.payload,
        asked_at=row.asked_at,
        taken_at=row.taken_at,
        answered_at=row.answered_at,
        answer=row.answer,
    )
