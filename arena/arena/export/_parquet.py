"""Blocks as row groups of Parquet files."""

# pyarrow has no type information.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.errors import ExportError
from arena.export._blocks import Coded, Policies, RowBlock, code_type
from arena.export.schema import COLUMNS
from arena_plugins.extras import require_modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.export.schema import Column

_WORDS = "words"


def load_pyarrow() -> tuple[Any, Any]:
    """Import and return the modules `pyarrow` and `pyarrow.parquet`.

    Raises:
        PluginError: pyarrow is not installed.
    """
    require_modules("Parquet", "bot-arena[export]", "pyarrow")
    return import_module("pyarrow"), import_module("pyarrow.parquet")


class ParquetWriter:
    """Writes blocks to a new file, one row group per block."""

    max_blocks = 8
    suffix = "parquet"

    def __init__(self, path: Path) -> None:
        self._arrow, self._parquet = load_pyarrow()
        self._path = path
        self._file: Any = None

    def write(self, block: RowBlock) -> None:
        """Add a block."""
        arrow = self._arrow
        arrays = [self._array(column, block) for column in COLUMNS]
        fields = [
            arrow.field(column.name, array.type, nullable=column.nullable)
            for column, array in zip(COLUMNS, arrays, strict=True)
        ]
        table = arrow.Table.from_arrays(arrays, schema=arrow.schema(fields))
        if self._file is None:
            self._file = self._parquet.ParquetWriter(
                self._path,
                table.schema,
                compression="zstd",
                # Boards rarely repeat, so a dictionary for them would be wasted effort.
                use_dictionary=[column.name for column in COLUMNS if column.kind not in (_WORDS, "policy")],
            )
        self._file.write_table(table, row_group_size=max(block.num_rows, 1))

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _array(self, column: Column, block: RowBlock) -> Any:  # noqa: ANN401 # pyarrow has no type information
        arrow, name = self._arrow, column.name
        if column.kind == "text":
            codes, values = block.texts[name]
            # All row groups of a file must use the same type of codes.
            codes = codes.astype(np.int32)
            return arrow.DictionaryArray.from_arrays(codes, arrow.array(values, arrow.string()))
        if column.kind == "policy":
            return self._policies(block)
        array = block.arrays[name]
        if column.kind == _WORDS:
            flat = arrow.array(np.ascontiguousarray(array).ravel())
            return arrow.FixedSizeListArray.from_arrays(flat, array.shape[1])
        if name == "played_at":
            return arrow.array(array).cast(arrow.timestamp("ms", "UTC"))
        return arrow.array(array, from_pandas=column.nullable)

    def _policies(self, block: RowBlock) -> Any:  # noqa: ANN401 # pyarrow has no type information
        arrow = self._arrow
        rows, values = block.policies
        missing = np.ones(block.num_rows, np.bool_)
        missing[rows] = False
        whole = np.zeros((block.num_rows, values.shape[1]), np.float16)
        whole[rows] = values
        return arrow.FixedSizeListArray.from_arrays(
            arrow.array(whole.ravel()), values.shape[1], mask=arrow.array(missing)
        )


def read_parquet(path: Path) -> Iterator[RowBlock]:
    """Yield the blocks of a file.

    Raises:
        ExportError: the file was not written by an export.
        PluginError: pyarrow is not installed.
    """
    arrow, parquet = load_pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield _block(file.read_row_group(group))
    except (OSError, KeyError, ValueError, TypeError, AttributeError, arrow.ArrowException) as error:
        raise ExportError(f"{path} is not an exported file that can be read ({error})") from error


def _block(table: Any) -> RowBlock:  # noqa: ANN401 # pyarrow has no type information
    arrays: dict[str, NDArray[Any]] = {}
    texts: dict[str, Coded] = {}
    policies = Policies(np.zeros(0, np.int32), np.zeros((0, 0), np.float16))
    for column in COLUMNS:
        array = table[column.name].combine_chunks()
        if hasattr(array, "num_chunks"):  # an empty table has no chunks to combine
            array = array.chunk(0) if array.num_chunks else array.type.wrap_array([])
        if column.kind == "text":
            values = tuple(array.dictionary.to_pylist())
            codes = array.indices.to_numpy(zero_copy_only=False).astype(code_type(len(values)))
            texts[column.name] = Coded(codes, values)
        elif column.kind == "policy":
            rows = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)
            flat = array.flatten().to_numpy(zero_copy_only=False).reshape(-1, array.type.list_size)
            policies = Policies(rows, flat)
        elif column.kind == _WORDS:
            arrays[column.name] = array.flatten().to_numpy().reshape(-1, array.type.list_size)
        else:
            kind = "int64" if column.name == "played_at" else column.kind
            arrays[column.name] = array.to_numpy(zero_copy_only=False).astype(kind)
    return RowBlock(table.num_rows, arrays, texts, policies)
