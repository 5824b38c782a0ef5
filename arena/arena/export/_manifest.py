"""The manifest of an export: its query, its content, and the digests of its files."""

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


class BoardSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a game that readers of the rows need."""

    spec: str
    rows: int
    columns: int
    num_actions: int
    symmetries: tuple[Symmetry, ...]
    """Permutations of cells and actions that map positions to equivalent ones; identity first."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How matches are split: a match is for training if SHA-256(salt, match_hash) is below the share."""

    fraction: float
    """Share of the matches for training."""
    salt: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file of rows."""

    name: str
    num_rows: int
    num_bytes: int
    sha256: str


class DatasetSplit(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one split, training or validation."""

    num_matches: int
    num_positions: int
    """Number of positions before rows were merged or dropped."""
    num_distinct: int
    """Number of canonical positions among them."""
    num_rows: int
    rows_sha256: str
    """Digest over the rows themselves, equal in all formats."""
    terminations: dict[str, int]
    """Number of matches by termination."""
    files: tuple[File, ...]


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """The positions that validation shares with training."""

    num_distinct: int
    """Number of canonical positions in both splits."""
    num_positions: int
    """Number of validation rows with such a position, before rows were merged or dropped."""
    is_dropped: bool
    """Whether these rows were dropped."""


class BotEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A bot in a rating pool."""

    identity: str
    name: str
    spec: str
    distribution: str
    version: str
    weights: str
    """SHA-256 of its weights, or empty."""
    pool: str
    """The rating pool: the limit as written, and how bots were run."""
    elo: float | None
    """Its rating in the pool at the time of the export."""


class TournamentEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament that contributed matches."""

    name: str
    pool: str
    seed: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The complete manifest."""

    kind: str
    schema_version: int
    format: str
    game: BoardSpec
    query: dict[str, str | int | float | bool]
    """The filters, by the names of their options."""
    split: Cut | None
    dedup: bool
    disjoint: bool
    num_unique_matches: int
    """Number of different matches by match hash."""
    splits: dict[str, DatasetSplit]
    overlap: Overlap
    bots: tuple[BotEntry, ...]
    tournaments: tuple[TournamentEntry, ...]
    versions: dict[str, str]
    """Versions of the software that wrote the export."""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest; equal content results in equal bytes."""
    # ASCII escapes keep control characters from reaching a terminal, and are decoded when read.
    text = json.dumps(msgspec.to_builtins(manifest), indent=2, allow_nan=False)
    (folder / NAME).write_text(text + "\n", encoding="ascii")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an export.

    Raises:
        ExportError: it is missing, damaged, of another kind, or of another schema version.
    """
    path = folder / NAME
    try:
        content = read_regular(path)
    except OSError as error:
        raise ExportError(
            f"{folder} is not a folder of exported positions: {NAME} cannot be read ({error.strerror});"
            " arena export OUT writes one"
        ) from error
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.kind == KIND and head.schema_version == SCHEMA_VERSION:
            return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise ExportError(f"{path} is damaged or not part of an export ({error}); export again") from error
    if head.kind != KIND:
        raise ExportError(f"{path} describes something else ({head.kind!r}), not exported positions")
    raise ExportError(
        f"{folder} has schema version {head.schema_version}, this arena reads {SCHEMA_VERSION};"
        " export again, or read it with the arena that wrote it"
    )


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Head(msgspec.Struct):
    kind: str
    schema_version: int
