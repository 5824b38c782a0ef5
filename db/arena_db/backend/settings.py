"""The settings with which a store is opened, on any backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena_db.backend.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How a store is opened."""

    place: Place
    """A file, by its absolute path, or a server."""
    read_only: bool = False
    fast: bool = False
    """Whether a power cut may take the last commits; they always survive the end of the process."""
    busy_ms: int = 30_000
    """How long to wait for another writer, in milliseconds."""
