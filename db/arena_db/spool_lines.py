"""One result as a line of text: the format of results that wait beside a store and of rescue files."""

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
    """A result, and the claim under which it is to be stored."""

    record: MatchRecord
    epoch: int | None
    """Epoch of the claim it was played under; None for a run of an older version, or outside a run."""
    uid: str
    """`uid` of its tournament; empty in a file beside the store that it was played for."""


def encode(record: MatchRecord, epoch: int | None = None, uid: str = "") -> bytes:
    """Return the line of a result, with its newline."""
    values: dict[str, Any] = {name: getattr(record, name) for name in _NAMES}
    values["remarks"] = b64encode(record.remarks).decode()
    if epoch is not None:
        values["epoch"] = epoch
    if uid:
        values["uid"] = uid
    return (json.dumps(values) + "\n").encode()


def decode(line: bytes) -> SpoolLine:
    """Decode a line written by `encode`.

    Raises:
        ValueError: it is not JSON.
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
    # The file may come from an older version of the arena, which had no remarks.
    lists["remarks"] = b64decode(values.get("remarks", ""), validate=True)
    return SpoolLine(MatchRecord(**(values | lists)), epoch, uid)


def uid_of(connection: Connection, tournament: int) -> str:
    """Return the uid of a tournament, unique among all stores; empty if there is no such tournament."""
    own = tournaments.c.id == tournament
    return connection.execute(select(tournaments.c.uid).where(own)).scalar() or ""
