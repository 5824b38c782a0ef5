"""What an export says of itself: what was asked for, what is in it, and the digests of its files."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ExportError
from arena.export.schema import SCHEMA_VERSION
from arena_plugins.contract import Symmetry
from arena_plugins.regular import read_regular

if TYPE_CHECKING:
    from pathlib import Path

NAME: Final = "manifest.json"
KIND: Final = "arena-positions"


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """The game, as far as whoever reads the rows must know it."""

    spec: str
    rows: int
    columns: int
    num_actions: int
    symmetries: tuple[Symmetry, ...]
    """Permutations of cells and actions that map positions onto equal ones; identity first."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How matches were shared out: training gets those whose SHA-256(salt, match_hash) is in its share."""

    fraction: float
    """Share of the matches for training."""
    salt: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file of rows."""

    name: str
    num_rows: int
    num_bytes: int
    sha256: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The rows for training, or those for validation."""

    num_matches: int
    num_positions: int
    """Before rows were merged or left out."""
    num_distinct: int
    """Canonical positions among them."""
    num_rows: int
    rows_sha256: str
    """Over the rows themselves: equal in all formats."""
    terminations: dict[str, int]
    """Matches by why they ended."""
    files: tuple[File, ...]


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """What validation shares with training."""

    num_distinct: int
    """Canonical positions that are in both."""
    num_positions: int
    """Validation rows of such a position, before rows were merged or left out."""
    is_dropped: bool
    """Whether they were left out."""


class BotEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A bot in a pool."""

    identity: str
    name: str
    spec: str
    distribution: str
    version: str
    weights: str
    """SHA-256, or empty."""
    pool: str
    """The limit as written, and how bots were run."""
    elo: float | None
    """Its rating in the pool when it was exported."""


class TournamentEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament that matches are from."""

    name: str
    pool: str
    seed: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    kind: str
    schema_version: int
    format: str
    game: Board
    query: dict[str, str | int | float | bool]
    """The filters, by their names as options."""
    split: Cut | None
    dedup: bool
    disjoint: bool
    num_unique_matches: int
    """By match hash."""
    splits: dict[str, Part]
    overlap: Overlap
    bots: tuple[BotEntry, ...]
    tournaments: tuple[TournamentEntry, ...]
    versions: dict[str, str]
    """Of what wrote it."""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, the same bytes for the same content."""
    # Characters that steer a terminal are in ASCII escapes, and are read again as they were.
    text = json.dumps(msgspec.to_builtins(manifest), indent=2, allow_nan=False)
    (folder / NAME).write_text(text + "\n", encoding="ascii")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an export.

    Raises:
        ExportError: there is none, or it is damaged, of something else or of another version.
    """
    path = folder / NAME
    try:
        content = read_regular(path)
    except OSError as error:
        raise ExportError(
            f"{folder} is no folder of exported positions: {NAME} cannot be read ({error.strerror});"
            " arena export OUT writes one"
        ) from error
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.kind == KIND and head.schema_version == SCHEMA_VERSION:
            return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise ExportError(f"{path} is damaged or not of an export ({error}); export again") from error
    if head.kind != KIND:
        raise ExportError(f"{path} is of something else ({head.kind!r}), not of exported positions")
    raise ExportError(
        f"{folder} has schema version {head.schema_version}, this arena reads {SCHEMA_VERSION};"
        " export again, or read it with the arena that wrote it"
    )


def file_sha256(path: Path) -> str:
    """Give the SHA-256 of a file in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Head(msgspec.Struct):
    kind: str
    schema_version: int
