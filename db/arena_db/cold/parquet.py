"""Rows of tables as Parquet files; the only module of the store that loads pyarrow, when it is needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, Integer, LargeBinary

from arena_db.errors import DamagedError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Column, Table

Row = tuple[Any, ...]
"""The values of a row, in the order of the columns of its table."""

GROUP: Final = 20_000
"""Rows of one row group: some megabytes in memory, and enough for its columns to compress well."""
_READ: Final = 4_096
"""Rows that are turned into Python's values at once."""


def write_rows(path: Path, table: Table, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows to a new file.

    Args:
        path: the file.
        table: its columns are those of the file, with their names.
        rows: lists of values of up to `GROUP` rows each make a row group.

    Raises:
        UnsupportedError: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    arrow, parquet = _load()
    schema = arrow.schema(
        [arrow.field(column.name, _type(arrow, column), nullable=bool(column.nullable)) for column in table.c]
    )
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for block in _blocks(rows):
            arrays = [
                arrow.array(values, field.type)
                for values, field in zip(zip(*block, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def read_rows(path: Path, table: Table) -> Iterator[Row]:
    """Yield the rows of a file, in their order.

    Raises:
        UnsupportedError: pyarrow is not installed.
        DamagedError: it is missing, cannot be read, or does not have the columns of the table.
    """
    arrow, parquet = _load()
    names = [column.name for column in table.c]
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_READ, columns=names):
                yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    except (OSError, KeyError, ValueError, arrow.ArrowException) as error:
        raise DamagedError(f"{path} cannot be read ({' '.join(str(error).split())})") from error


def read_numbers(path: Path, column: str) -> list[int]:
    """Return one column of integers of a file.

    Raises:
        UnsupportedError: pyarrow is not installed.
        DamagedError: see `read_rows`.
    """
    arrow, parquet = _load()
    try:
        with parquet.ParquetFile(path) as file:
            numbers: list[int] = file.read(columns=[column]).column(column).to_pylist()
    except (OSError, KeyError, ValueError, arrow.ArrowException) as error:
        raise DamagedError(f"{path} cannot be read ({' '.join(str(error).split())})") from error
    return numbers


def _blocks(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    block: list[Sequence[Any]] = []
    for row in rows:
        block.append(row)
        if len(block) == GROUP:
            yield block
            block = []
    if block:
        yield block


def _type(arrow: Any, column: Column[Any]) -> Any:  # noqa: ANN401 - pyarrow has no types
    kind = column.type
    if isinstance(kind, Integer):
        return arrow.int64()
    if isinstance(kind, Float):
        return arrow.float64()
    return arrow.binary() if isinstance(kind, LargeBinary) else arrow.string()


def _load() -> tuple[Any, Any]:
    """Import and return the modules `pyarrow` and `pyarrow.parquet`.

    Raises:
        UnsupportedError: pyarrow is not installed.
    """
    # Not by trying the import: an error within pyarrow must not be taken for its absence.
    if find_spec("pyarrow") is None:
        raise UnsupportedError(
            "archived matches are in Parquet files, which need pyarrow; install it: pip install "
            "'bot-arena[export]'"
        )
    return import_module("pyarrow"), import_module("pyarrow.parquet")
