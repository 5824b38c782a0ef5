"""One export of positions in progress: selects rows and assembles their blocks."""

from __future__ import annotations

import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.export._blocks import Coded, RowBlock, code_type
from arena.export._canonical import canonical_of
from arena.export._files import SplitFiles
from arena.export._manifest import Cutter, OverlapTally, SplitTally
from arena.export._names import weights_of
from arena.export._source import Loaded
from arena.export._spill import (
    KeyFiles,
    MatchFile,
    RowFiles,
    halved,
    merged,
    num_parts,
    parts_by_key,
    taken,
    turned,
)
from arena.export.schema import SCHEMA_VERSION, TRAIN, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.export._manifest import Cut
    from arena.export._names import Names
    from arena.export._source import ExportRows, Source
    from arena.export.match_selection import Count
    from arena_db.records import PackedMatch

    Progress = Callable[[int, int, int], None]

BLOCK = 1 << 17
"""Minimum number of rows in every block but the last."""


class WriteOptions(NamedTuple):
    """How rows are written."""

    form: str
    cut: Cut | None
    dedup: bool
    disjoint: bool


class ExportJob:
    """One export in progress."""

    def __init__(
        self, source: Source, folder: Path, wish: WriteOptions, total: Count, progress: Progress | None
    ) -> None:
        """Prepare an export without writing anything.

        Args:
            source: the matches.
            folder: the folder for the files.
            wish: how rows are written.
            total: the number of matches and positions.
            progress: called with the finished matches, all matches, and the positions so far.
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
        self._num_parts = num_parts(total.num_positions)

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
        """Load all matches, each split separately, and call `use` whenever the loaded rows fill a block."""
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
        """Write rows in order of loading; their keys are compared afterwards to count repetitions."""
        files, num = KeyFiles(self._scratch / "keys"), self._num_parts
        symmetries = self.source.game.symmetries

        def use(split: str, loaded: Loaded) -> None:
            keys = canonical_of(loaded.rows.positions, symmetries).keys
            files.add(split, keys, parts_by_key(keys, num))
            self._add(split, loaded)

        self._each(use)
        for part in range(num):
            self._compare(self._keys(files, part))

    def _write_sorted(self) -> None:
        """Sort rows by position to merge or drop equal positions, then back into the order of their matches.

        Rows in the order of matches share the columns of their match, which makes a file a third as large.
        """
        symmetries, num_actions = self.source.game.symmetries, self.source.game.num_actions
        files, num = KeyFiles(self._scratch / "keys"), self._num_parts
        by_key = RowFiles(self._scratch / "by-key", num_actions)
        row_keys = KeyFiles(self._scratch / "row-keys")
        by_match = RowFiles(self._scratch / "by-match", num_actions)
        matches = MatchFile(self._scratch / "matches")

        def use(split: str, loaded: Loaded) -> None:
            rows = loaded.rows
            # Converts the index within the block to the index among all matches.
            rows.match += np.int32(matches.add(loaded.matches))
            canonical = canonical_of(rows.positions, symmetries)
            keys = canonical.keys
            files.add(split, keys, parts_by_key(keys, num))
            if self._wish.dedup:
                # Opening positions occur in every match. Merging them here keeps any single part from
                # becoming huge.
                rows, keys = merged(turned(rows, canonical, symmetries), keys)
            row_keys.add(split, keys, parts_by_key(keys, num))
            by_key.add(split, rows, parts_by_key(keys, num))

        self._each(use)
        for part in range(num):
            keys = self._keys(files, part)
            self._compare(keys)
            for split in self.cutter.splits:
                rows = by_key.take(split, range(part, part + 1))
                if rows is not None:
                    rows = self._chosen(split, rows, row_keys.take(split, part), keys[TRAIN])
                    by_match.add(split, rows, matches.parts(rows.match, num))
        for split in self.cutter.splits:
            for parts in self._ranges(split, by_match):
                rows = by_match.take(split, parts)
                if rows is not None:
                    self._add(split, _with_matches(rows, matches))

    def _keys(self, files: KeyFiles, part: int) -> dict[str, NDArray[np.uint64]]:
        return {split: files.take(split, part) for split in self.cutter.splits}

    def _compare(self, keys: Mapping[str, NDArray[np.uint64]]) -> None:
        self.overlap.add(keys[TRAIN], keys.get(VALIDATION), self.tallies)

    def _chosen(
        self, split: str, rows: ExportRows, keys: NDArray[np.uint64], train: NDArray[np.uint64]
    ) -> ExportRows:
        """Return the rows of a part that are to be written; `train` are the keys of the training split."""
        if split == VALIDATION and self._wish.disjoint:
            kept = np.flatnonzero(~np.isin(keys, train))
            rows, keys = taken(rows, kept), keys[kept]
        if self._wish.dedup:
            rows, _ = merged(rows, keys)
            rows.policies = halved(rows.policies)
        return rows

    def _ranges(self, split: str, files: RowFiles) -> Iterator[range]:
        """Yield ranges of neighbouring parts that together fill a block."""
        first = num_rows = 0
        for part in range(self._num_parts):
            num_rows += files.num_rows(split, part)
            if num_rows >= BLOCK or part == self._num_parts - 1:
                yield range(first, part + 1)
                first, num_rows = part + 1, 0

    def _add(self, split: str, loaded: Loaded) -> None:
        self.files[split].add(_make_block(loaded, self.source.names, self.source.spec, split))


def _with_matches(rows: ExportRows, matches: MatchFile) -> Loaded:
    """Return rows sorted by their matches, together with these matches."""
    # By match, then by ply: `lexsort` takes the main key last.
    rows = taken(rows, np.lexsort((rows.ply, rows.match)))
    used, place = np.unique(rows.match, return_inverse=True)
    first = int(used[0])
    rows.match = place.astype(np.int32)
    return Loaded(matches.read(first, int(used[-1]))[used - first], rows)


def _make_block(loaded: Loaded, names: Names, game: str, split: str) -> RowBlock:
    """Return loaded rows as a block with all columns."""
    table, rows = loaded
    num = len(rows)
    return RowBlock(
        num,
        {
            "schema_version": np.full(num, SCHEMA_VERSION, np.uint8),
            "match_id": table["match_id"][rows.match],
            "ply": rows.ply,
            "player": rows.positions.player,
            "own": rows.positions.own,
            "opp": rows.positions.opp,
            "legal": rows.positions.legal,
            "action": rows.action,
            "value": rows.value,
            "root_value": rows.root_value,
            "solver_value": rows.solver_value,
            "plies_to_end": rows.plies_to_end,
            "played_at": table["played_at"][rows.match],
            "count": rows.count,
            **_elos(table, rows, names),
        },
        {
            "match_hash": _hashes(table, rows),
            "game": _constant(game, num),
            **_bots(table, rows, names),
            "tournament": _of_match(table["tournament"], [each.name for each in names.tournaments], rows),
            "termination": _of_match(table["termination"], names.terminations, rows),
            "opening": _of_match(table["opening"], names.openings, rows),
            "split": _constant(split, num),
        },
        rows.policies,
    )


def _constant(text: str, num: int) -> Coded:
    return Coded(np.zeros(num, np.uint8), (text,))


def _hashes(table: NDArray[np.void], rows: ExportRows) -> Coded:
    whole = table["match_hash"].tobytes().hex()
    codes = rows.match.astype(code_type(len(table)))
    return Coded(codes, tuple(whole[at : at + 64] for at in range(0, len(whole), 64)))


def _of_match(codes: NDArray[np.int32], values: Sequence[str], rows: ExportRows) -> Coded:
    """Return a column of texts that are the same for all rows of a match."""
    compact, used = _compact(codes, values)
    return Coded(compact[rows.match], used)


def _bots(table: NDArray[np.void], rows: ExportRows, names: Names) -> dict[str, Coded]:
    records = [competitor.record for competitor in names.competitors]
    texts = {
        "": [record.identity for record in records],
        "_version": [record.version for record in records],
        "_weights": [weights_of(record) for record in records],
    }
    columns: dict[str, Coded] = {}
    for suffix, values in texts.items():
        codes, used = _compact(table["competitors"], values)
        for who, side in _sides(rows).items():
            columns[f"{who}{suffix}"] = Coded(codes[rows.match, side], used)
    return columns


def _elos(table: NDArray[np.void], rows: ExportRows, names: Names) -> dict[str, NDArray[np.float32]]:
    elos = np.array([competitor.elo for competitor in names.competitors], np.float32)[table["competitors"]]
    return {f"{who}_elo": elos[rows.match, side] for who, side in _sides(rows).items()}


def _sides(rows: ExportRows) -> dict[str, NDArray[np.int8]]:
    player = rows.positions.player
    return {"bot": player, "opponent": 1 - player}


def _compact(
    codes: NDArray[np.int32], values: Sequence[str]
) -> tuple[NDArray[np.unsignedinteger], tuple[str, ...]]:
    """Renumber codes so that only occurring values remain, each once, in the order of the codes."""
    used, inverse = np.unique(codes, return_inverse=True)
    texts = [values[int(code)] for code in used]
    index: dict[str, int] = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    again = np.array([index[text] for text in texts], code_type(len(index)))
    return again[inverse].reshape(codes.shape), tuple(index)
