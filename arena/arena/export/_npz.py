"""Blocks as compressed NumPy archives, one block per file; NumPy alone can read them, without pickle."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.errors import ExportError
from arena.export._blocks import Coded, Policies, RowBlock
from arena.export.schema import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_LEVEL = 4
"""zlib compression level; on Connect Four positions, level 6 saves 9 % for three times the time."""
_VALUES = ".values"
_ROWS = ".rows"


class NpzWriter:
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


def read_npz(path: Path) -> Iterator[RowBlock]:
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
