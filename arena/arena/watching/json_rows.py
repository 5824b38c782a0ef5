"""Rows as JSON objects: with type and schema, and without numbers that JSON cannot represent."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA: Final = "arena/1"
"""Schema of all objects: existing keys are stable, and keys may be added."""


def named_object(kind: str, row: Mapping[str, object]) -> dict[str, object]:
    """Return a row as an object with its type and schema."""
    return {"type": kind, "schema": SCHEMA, **{key: _defined(value) for key, value in row.items()}}


def _defined(value: object) -> object:
    """Replace NaN and infinite numbers by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _defined(part) for key, part in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_defined(part) for part in cast("Sequence[object]", value)]
    return value


def utc(seconds: float, timespec: str = "milliseconds") -> str:
    """Return seconds since 1970 (UTC) as text in ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
