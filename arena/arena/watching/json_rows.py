"""Rows as JSON objects: their type and schema first, and no number that JSON does not have."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA: Final = "arena/1"
"""What every object says of its keys: they stay, and more may come."""


def named_object(kind: str, row: Mapping[str, object]) -> dict[str, object]:
    """Return a row as an object that says what it is."""
    return {"type": kind, "schema": SCHEMA, **{key: _defined(value) for key, value in row.items()}}


def _defined(value: object) -> object:
    """Put null in the place of every number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _defined(part) for key, part in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_defined(part) for part in cast("Sequence[object]", value)]
    return value


def utc(seconds: float, timespec: str = "milliseconds") -> str:
    """Return UTC seconds as text, ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
