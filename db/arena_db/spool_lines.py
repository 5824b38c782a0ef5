"""One result as a line of text: how results wait beside a store, and how they are rescued from a lost one."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sqlalchemy import select

from arena_db.models import tournaments
from arena_db.records import MatchRecord

if TYPE_CHECKING:
    from sqlalchemy import Connection

_NAMES: Final = tuple(field.name for field in fields(MatchRecord))


class SpoolLine(NamedTuple):
    """A result, and by what right it is to be stored."""

    record: MatchRecord
    epoch: int | None
    """Of the claim by which it was played; None of a run of an older version, and of no run."""
    uid: str
    """Of its tournament; empty where it waits beside the store that it was played for."""


def encode(record: MatchRecord, epoch: int | None = None, uid: str = "") -> bytes:
    """Return the line of a result, its end included."""
    values: dict[str, Any] = {name: getattr(record, name) for name in _NAMES}
    values["remarks"] = b64encode(record.remarks).decode()
    if epoch is not None:
        values["epoch"] = epoch
    if uid:
        values["uid"] = uid
    return (json.dumps(values) + "\n").encode()


def decode(line: bytes) -> SpoolLine:
    """Read what `encode` wrote.

    Raises:
        ValueError: it is no JSON.
        LookupError, TypeError: a field is missing, has another type or is unknown.
    """
    found: Any = json.loads(line)
    if not isinstance(found, dict):
        raise TypeError("a result must be an object")
    values = cast("dict[str, Any]", found)
    epoch, uid = values.pop("epoch", None), values.pop("uid", "")
    if not isinstance(epoch, int | None) or not isinstance(uid, str):
        raise TypeError("epoch must be a number, uid a string")
    if not all(isinstance(values[name], int) for name in ("tournament", "number", "attempt")):
        raise TypeError("tournament, number and attempt must be integers")
    lists: dict[str, Any] = {name: tuple(values[name]) for name in ("actions", "times_ms", "values")}
    # An older version of the arena may have left the file, and knew of no remarks.
    lists["remarks"] = b64decode(values.get("remarks", ""), validate=True)
    return SpoolLine(MatchRecord(**(values | lists)), epoch, uid)


def uid_of(connection: Connection, tournament: int) -> str:
    """Return the digits that no other tournament of any store has; empty where there is no tournament."""
    own = tournaments.c.id == tournament
    return connection.execute(select(tournaments.c.uid).where(own)).scalar() or ""
