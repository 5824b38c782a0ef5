"""The manifest of an export: its query, its files, and the counts of its content."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from arena.errors import ExportError
from arena.export.schema import SCHEMA_VERSION, TRAIN, VALIDATION
from arena_plugins.contract import Symmetry
from arena_plugins.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_db.records import PackedMatch

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
    """The split of matches: a match is for training if SHA-256(salt, match_hash) is below the share."""

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
    """SHA-256 of the bot's weights, or empty."""
    pool: str
    """The rating pool: the limit as written, and how bots were run."""
    elo: float | None
    """The bot's rating in the pool at the time of the export."""


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
        ExportError: the manifest is missing, damaged, of another kind, or of another schema version.
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
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Head(msgspec.Struct):
    kind: str
    schema_version: int


_HASH_BYTES = 8


class Cutter:
    """Splits matches into training and validation by their hashes alone."""

    def __init__(self, cut: Cut | None) -> None:
        self._salt = b"" if cut is None else cut.salt.encode()
        self._bound = None if cut is None else round(cut.fraction * 2**64)
        self.splits = (TRAIN,) if cut is None else (TRAIN, VALIDATION)

    def shares(self, matches: Sequence[PackedMatch]) -> dict[str, list[PackedMatch]]:
        """Return the matches of each split, in their original order."""
        if self._bound is None:
            return {TRAIN: list(matches)}
        shares: dict[str, list[PackedMatch]] = {split: [] for split in self.splits}
        for match in matches:
            shares[self.split(match.match_hash)].append(match)
        return {split: share for split, share in shares.items() if share}

    def split(self, match_hash: bytes) -> str:
        """Return the split of a match, determined by the first 64 bits of SHA-256(salt, match_hash)."""
        if self._bound is None:
            return TRAIN
        digest = hashlib.sha256(self._salt + match_hash).digest()
        return TRAIN if int.from_bytes(digest[:_HASH_BYTES], "big") < self._bound else VALIDATION


class SplitTally:
    """The counts of one split."""

    def __init__(self) -> None:
        self.num_matches = 0
        self.num_positions = 0
        self.num_distinct = 0
        self.terminations: Counter[int] = Counter()
        self._hashes: list[NDArray[np.uint64]] = []

    def add(self, matches: NDArray[np.void], num_positions: int) -> None:
        """Count matches, given as an array of dtype `MATCH`."""
        self.num_matches += len(matches)
        self.num_positions += num_positions
        codes, nums = np.unique(matches["termination"], return_counts=True)
        self.terminations.update(dict(zip(codes.tolist(), nums.tolist(), strict=True)))
        # Equal matches are in the same split, and 64 bits suffice to tell all matches apart.
        self._hashes.append(
            np.ascontiguousarray(matches["match_hash"][:, :_HASH_BYTES]).view(np.uint64)[:, 0]
        )

    def num_unique(self) -> int:
        """Return the number of different matches."""
        return len(_distinct(np.concatenate(self._hashes))) if self._hashes else 0


class OverlapTally:
    """Counts the positions that validation shares with training, part by part."""

    def __init__(self) -> None:
        self.num_distinct = 0
        self.num_positions = 0

    def add(
        self, train: NDArray[np.uint64], validation: NDArray[np.uint64] | None, tallies: dict[str, SplitTally]
    ) -> None:
        """Count the keys of all positions in a part; `validation` is None without a validation split."""
        distinct = _distinct(train)
        tallies[TRAIN].num_distinct += len(distinct)
        if validation is None:
            return
        tallies[VALIDATION].num_distinct += len(_distinct(validation))
        if len(distinct):
            # For a key above all others, `searchsorted` returns the index after the last one.
            place = np.minimum(np.searchsorted(distinct, validation), len(distinct) - 1)
            shared = validation[distinct[place] == validation]
            self.num_distinct += len(_distinct(shared))
            self.num_positions += len(shared)


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the different keys, ascending; sorting takes a tenth of the time of `np.unique`."""
    ordered = np.sort(keys)
    return ordered[np.append(np.ones(len(keys[:1]), np.bool_), ordered[1:] != ordered[:-1])]
