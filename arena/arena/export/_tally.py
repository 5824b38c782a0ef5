"""Counts the content of an export: matches, positions, distinct ones, and what the splits share."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from arena.export.schema import TRAIN, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.export._manifest import Cut
    from arena_db.records import PackedMatch

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
    """Counts what validation shares with training, part by part."""

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
            place = np.minimum(np.searchsorted(distinct, validation), len(distinct) - 1)
            shared = validation[distinct[place] == validation]
            self.num_distinct += len(_distinct(shared))
            self.num_positions += len(shared)


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the different keys, ascending; sorting takes a tenth of the time of `np.unique`."""
    ordered = np.sort(keys)
    return ordered[np.append(np.ones(len(keys[:1]), np.bool_), ordered[1:] != ordered[:-1])]
