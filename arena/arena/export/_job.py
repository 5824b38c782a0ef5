"""One export of positions while it is written."""

from __future__ import annotations

import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.export._canonical import canonical_of
from arena.export._columns import make_block
from arena.export._files import SplitFiles
from arena.export._merge import merged, taken, turned
from arena.export._source import Loaded
from arena.export._spill import KeySpill, RowSpill, num_partitions
from arena.export._tally import Cutter, OverlapTally, SplitTally
from arena.export.schema import TRAIN, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.export._manifest import Cut
    from arena.export._source import Rows, Source
    from arena.export.query import Count
    from arena_db.records import PackedMatch

    Progress = Callable[[int, int, int], None]

BLOCK = 1 << 17
"""Rows of a block, at least, but for the last one."""


class Wish(NamedTuple):
    """How rows are written."""

    form: str
    cut: Cut | None
    dedup: bool
    disjoint: bool


class Job:
    """One export while it is written."""

    def __init__(
        self, source: Source, folder: Path, wish: Wish, total: Count, progress: Progress | None
    ) -> None:
        """Write nothing yet.

        Args:
            source: the matches.
            folder: where files go.
            wish: how.
            total: how much there is.
            progress: called with the matches that are done, those there are, and the positions so far.
        """
        self.source = source
        self.cutter = Cutter(wish.cut)
        self.tallies = {split: SplitTally() for split in self.cutter.splits}
        self.overlap = OverlapTally()
        self.files = {split: SplitFiles(folder, split, wish.form) for split in self.cutter.splits}
        self._wish = wish
        self._total = total.num_matches
        self._progress = progress
        self._scratch = folder / ".scratch"
        self._num_partitions = num_partitions(total.num_positions)

    def run(self) -> None:
        """Write all rows."""
        self._scratch.mkdir()
        try:
            if self._wish.dedup or self._wish.disjoint:
                self._write_sorted()
            else:
                self._write_straight()
        finally:
            for files in self.files.values():
                files.close()
        shutil.rmtree(self._scratch)

    def _each(self, use: Callable[[str, Loaded], None]) -> None:
        """Load all matches, those of a split together, and use them as soon as they make a block."""
        waiting: defaultdict[str, list[PackedMatch]] = defaultdict(list)
        num_matches = num_positions = 0

        def load(split: str) -> None:
            matches = waiting.pop(split)
            loaded = self.source.load(matches)
            self.tallies[split].add(loaded.matches, len(loaded.rows))
            use(split, loaded)

        for page in self.source.pages():
            for split, matches in self.cutter.shares(page).items():
                waiting[split] += matches
                if self.source.num_rows(waiting[split]) >= BLOCK:
                    load(split)
            num_matches += len(page)
            num_positions += self.source.num_rows(page)
            if self._progress is not None:
                self._progress(num_matches, self._total, num_positions)
        for split in sorted(waiting):
            load(split)

    def _write_straight(self) -> None:
        """Write rows as they come; their keys tell afterwards what repeats."""
        spill = KeySpill(self._scratch, self._num_partitions)
        symmetries = self.source.game.symmetries

        def use(split: str, loaded: Loaded) -> None:
            spill.add(split, canonical_of(loaded.rows.positions, symmetries).keys)
            self._add(split, loaded)

        self._each(use)
        for partition in range(self._num_partitions):
            self._compare(spill, partition)
            spill.discard(partition)

    def _write_sorted(self) -> None:
        """Bring equal positions together on the disk, then merge them or leave them out."""
        symmetries = self.source.game.symmetries
        spill = RowSpill(self._scratch, self._num_partitions, self.source.game.num_actions)

        def use(split: str, loaded: Loaded) -> None:
            canonical = canonical_of(loaded.rows.positions, symmetries)
            rows = turned(loaded.rows, canonical, symmetries) if self._wish.dedup else loaded.rows
            spill.add_matches(loaded.matches)
            spill.add_rows(split, canonical.keys, rows, len(loaded.matches))

        self._each(use)
        for partition in range(self._num_partitions):
            shared = self._compare(spill, partition)
            for split in self.cutter.splits:
                rows = spill.read_rows(split, partition)
                if rows is not None:
                    keys = spill.read(split, partition)
                    if split == VALIDATION and self._wish.disjoint:
                        kept = np.flatnonzero(~shared)
                        rows, keys = taken(rows, kept), keys[kept]
                    self._add(split, self._with_matches(rows, keys, spill.matches()))
            spill.discard(partition)

    def _compare(self, spill: KeySpill, partition: int) -> NDArray[np.bool_]:
        keys = {split: spill.read(split, partition) for split in self.cutter.splits}
        validation = keys.get(VALIDATION, np.zeros(0, np.uint64))
        return self.overlap.add(keys[TRAIN], validation, self.tallies)

    def _with_matches(
        self,
        rows: Rows,
        keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
        matches: np.ndarray[tuple[int], np.dtype[np.void]],
    ) -> Loaded:
        if self._wish.dedup:
            rows = merged(rows, keys)
        used, place = np.unique(rows.match, return_inverse=True)
        rows.match = place.astype(np.int32)
        return Loaded(matches[used], rows)

    def _add(self, split: str, loaded: Loaded) -> None:
        self.files[split].add(make_block(loaded, self.source.names, self.source.spec, split))
