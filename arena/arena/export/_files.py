"""The files of one split; a new file is begun when the last one is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from arena.errors import ExportError
from arena.export._blocks import RowsHash
from arena.export._manifest import File, file_sha256
from arena.export._npz import NpzWriter, read_npz
from arena.export._parquet import ParquetWriter, read_parquet
from arena.export._text import ColumnWidths, CsvWriter, JsonlWriter, read_csv, read_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from arena.export._blocks import RowBlock


class Writer(Protocol):
    """Writes blocks to one new file."""

    max_blocks: int
    """Maximum number of blocks per file."""
    suffix: str

    def __init__(self, path: Path) -> None: ...

    def write(self, block: RowBlock) -> None:
        """Add a block."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


WRITERS: Mapping[str, type[Writer]] = {
    "parquet": ParquetWriter,
    "npz": NpzWriter,
    "jsonl": JsonlWriter,
    "csv": CsvWriter,
}


def read_blocks(path: Path, form: str, layout: ColumnWidths) -> Iterator[RowBlock]:
    """Yield the blocks of a file.

    Raises:
        ExportError: the file does not have this format, or the format is unknown.
    """
    if form == "parquet":
        return read_parquet(path)
    if form == "npz":
        return read_npz(path)
    if form == "jsonl":
        return read_jsonl(path, layout)
    if form == "csv":
        return read_csv(path, layout)
    raise ExportError(f"{path} is in the format {form!r}, which this version of the arena cannot read")


class SplitFiles:
    """Writes the rows of one split to files."""

    def __init__(self, folder: Path, split: str, form: str) -> None:
        self._folder = folder
        self._split = split
        self._make = WRITERS[form]
        self._hash = RowsHash()
        self._writer: Writer | None = None
        self._num_blocks = 0
        self._names: list[str] = []
        self._rows: list[int] = []

    @property
    def num_rows(self) -> int:
        """Number of rows written so far."""
        return sum(self._rows)

    @property
    def rows_sha256(self) -> str:
        """The digest over all rows."""
        return self._hash.hexdigest()

    def add(self, block: RowBlock) -> None:
        """Write rows."""
        if not block.num_rows:
            return
        if self._writer is None:
            self._names.append(f"{self._split}-{len(self._names):05}.{self._make.suffix}")
            self._rows.append(0)
            self._writer = self._make(self._folder / self._names[-1])
        self._hash.add(block)
        self._writer.write(block)
        self._rows[-1] += block.num_rows
        self._num_blocks += 1
        if self._num_blocks % self._writer.max_blocks == 0:
            self.close()

    def close(self) -> None:
        """Finish the last file."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def files(self) -> tuple[File, ...]:
        """Return the list of the written files."""
        return tuple(
            File(
                name=name,
                num_rows=rows,
                num_bytes=(self._folder / name).stat().st_size,
                sha256=file_sha256(self._folder / name),
            )
            for name, rows in zip(self._names, self._rows, strict=True)
        )
