"""The files of one split, and their simplest form: compressed NumPy archives, one block per file."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from arena.errors import ExportError
from arena.export._blocks import Coded, Policies, RowBlock, RowsHash
from arena.export._manifest import File, file_sha256
from arena.export._parquet import ParquetWriter, read_parquet
from arena.export._text import ColumnWidths, CsvWriter, JsonlWriter, read_csv, read_jsonl
from arena.export.schema import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_LEVEL = 4
"""zlib compression level; on Connect Four positions, level 6 saves 9 % for three times the time."""
_VALUES = ".values"
_ROWS = ".rows"


class _NpzWriter:
    """Writes one block to a new file."""

    max_blocks = 1
    suffix = "npz"

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, block: RowBlock) -> None:
        """Write all columns; a text column becomes an array of codes and an array of values."""
        with zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            for column in COLUMNS:
                name = column.name
                if column.kind == "text":
                    codes, values = block.texts[name]
                    _put(archive, name, codes)
                    _put(archive, name + _VALUES, np.array(values, np.str_))
                elif column.kind == "policy":
                    _put(archive, name, block.policies.values)
                    _put(archive, name + _ROWS, block.policies.rows)
                else:
                    _put(archive, name, block.arrays[name])

    def close(self) -> None:
        """Do nothing; the block has already been written."""


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[np.generic]) -> None:
    # Opened by name, a member gets a fixed date in 1980, so equal rows result in equal bytes.
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def _read_npz(path: Path) -> Iterator[RowBlock]:
    """Yield the block of a file.

    Raises:
        ExportError: the file was not written by an export.
    """
    try:
        # Opened here, because NumPy leaves a file open if it is not an archive.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            yield _block({name: archive[name] for name in archive.files})
    except (OSError, EOFError, ValueError, LookupError, TypeError, zlib.error, zipfile.BadZipFile) as error:
        raise ExportError(f"{path} is not an exported file that can be read ({error})") from error


def _block(parts: dict[str, NDArray[Any]]) -> RowBlock:
    arrays: dict[str, NDArray[Any]] = {}
    texts: dict[str, Coded] = {}
    for column in COLUMNS:
        name = column.name
        if column.kind == "text":
            texts[name] = Coded(parts[name], tuple(parts[name + _VALUES].tolist()))
        elif column.kind != "policy":
            arrays[name] = parts[name]
    policies = Policies(parts["policy" + _ROWS].astype(np.int32), parts["policy"].astype(np.float16))
    return RowBlock(len(arrays["match_id"]), arrays, texts, policies)


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
    "npz": _NpzWriter,
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
        return _read_npz(path)
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
