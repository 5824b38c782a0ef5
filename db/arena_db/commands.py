"""What people ask of whoever runs a tournament, and what they are answered."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select, update

from arena_db.backend.lite.engine import Settings, open_raw, writer_lock
from arena_db.clock import now
from arena_db.errors import RefusedError
from arena_db.failures import explain
from arena_db.models import commands
from arena_db.records import CommandRecord

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row

_MOST_WAIT_MS: Final = 5000
"""Who asks sits before a screen."""
_ASK: Final = (
    "INSERT INTO commands (tournament_id, kind, payload, asked_at, answer) "
    "VALUES (?, ?, ?, (julianday('now') - 2440587.5) * 86400.0, '') RETURNING id"
)


def ask(settings: Settings, tournament: int, kind: str, payload: str) -> int:
    """Leave a command by a connection of its own that is open for this alone; return its id.

    It works beside a connection that may only read, which has to be open, so that this one is not the last
    and does not fold back the log of the writer. A command is of no use after a power cut: no sync.

    Raises:
        DatabaseError: no such tournament or kind, a long payload, the store is locked or not to be written.
    """
    writing = replace(settings, read_only=False, fast=True, busy_ms=min(settings.busy_ms, _MOST_WAIT_MS))
    try:
        with writer_lock(writing), closing(open_raw(writing)) as raw:
            raw.execute("PRAGMA wal_autocheckpoint=0").fetchall()
            raw.execute("BEGIN IMMEDIATE")
            ((command,),) = raw.execute(_ASK, (tournament, kind, payload)).fetchall()
            raw.execute("COMMIT")
    except (settings.driver.module.Error, UnicodeDecodeError) as error:
        raise explain(error, settings.path) from error
    return int(command)


def is_waiting(connection: Connection, tournament: int) -> bool:
    """Return whether a command waits to be taken."""
    return connection.execute(select(commands.c.id).where(_waiting(tournament)).limit(1)).first() is not None


def take(connection: Connection, tournament: int) -> list[CommandRecord]:
    """Return the commands that wait, oldest first, and mark them as taken."""
    taken = update(commands).where(_waiting(tournament)).values(taken_at=now()).returning(commands)
    return sorted(map(_command, connection.execute(taken)), key=lambda command: command.id)


def answer(connection: Connection, command: int, text: str) -> None:
    """Keep the answer to a command.

    Raises:
        RefusedError: there is no such command, or it was answered.
    """
    own = (commands.c.id == command) & commands.c.answered_at.is_(None)
    if not connection.execute(update(commands).where(own).values(answered_at=now(), answer=text)).rowcount:
        raise RefusedError(f"there is no command {command} that waits for an answer")


def find(connection: Connection, command: int) -> CommandRecord | None:
    """Return the command with this id."""
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
