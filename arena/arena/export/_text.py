"""Blocks as lines of JSON or CSV, one line per row, for other languages and for people."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arena.errors import ExportError
from arena.export._blocks import Coded, Policies, RowBlock, code_type
from arena.export._boards import WORD, num_words
from arena.export.schema import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.export.schema import Column

    Row = Mapping[str, Any]

_ROWS = 1 << 16
"""Number of rows that are read at once."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_TIME = "played_at"
_QUOTE = '"'
"""First character of a text that is written as a JSON string."""
# Significant digits needed to restore a number of 2 or 4 bytes exactly (IEEE 754).
_DIGITS_2, _DIGITS_4 = 5, 9


class ColumnWidths(NamedTuple):
    """The number of bits of columns, which files of text do not contain."""

    num_cells: int
    num_actions: int


class _TextWriter:
    """Writes rows to a new file."""

    max_blocks = 8

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class JsonlWriter(_TextWriter):
    """Writes one JSON object per line; missing values are null."""

    suffix = "jsonl"

    def write(self, block: RowBlock) -> None:
        """Add rows."""
        names = [column.name for column in COLUMNS]
        for row in _rows(block):
            line = json.dumps(dict(zip(names, row, strict=True)), separators=(",", ":"), allow_nan=False)
            self._file.write(line + "\n")


class CsvWriter(_TextWriter):
    """Writes a header and one line per row; missing values are empty, a policy is a JSON list.

    A text with unprintable characters is written as a JSON string in ASCII.
    """

    suffix = "csv"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        # Line ends as in RFC 4180: with other line ends, a lone carriage return in a text would not be
        # quoted.
        self._writer = csv.writer(self._file, lineterminator="\r\n")
        self._writer.writerow(column.name for column in COLUMNS)

    def write(self, block: RowBlock) -> None:
        """Add rows."""
        self._writer.writerows([_cell(value) for value in row] for row in _rows(block))


def _cell(value: object) -> object:
    if isinstance(value, list):
        return json.dumps(value)
    if isinstance(value, str) and (value.startswith(_QUOTE) or not value.isprintable()):
        # A JSON string is safe to display on a terminal and restores the text exactly.
        return json.dumps(value)
    return value


def read_jsonl(path: Path, layout: ColumnWidths) -> Iterator[RowBlock]:
    """Yield the rows of a file in blocks.

    Raises:
        ExportError: the file was not written by an export; the message names the row.
    """
    with path.open(encoding="utf-8") as file:
        yield from _blocks(path, (json.loads(line) for line in file), layout)


def read_csv(path: Path, layout: ColumnWidths) -> Iterator[RowBlock]:
    """Yield the rows of a file in blocks.

    Raises:
        ExportError: the file was not written by an export; the message names the row.
    """
    with path.open(encoding="utf-8", newline="") as file:
        yield from _blocks(path, _rows_of_csv(csv.reader(file)), layout)


def _rows(block: RowBlock) -> Iterator[tuple[Any, ...]]:
    return zip(*(_values(column, block) for column in COLUMNS), strict=True)


def _values(column: Column, block: RowBlock) -> Iterable[Any]:
    """Return the values of a column as JSON values."""
    name, kind = column.name, column.kind
    if kind == "text":
        codes, values = block.texts[name]
        return [values[code] for code in codes.tolist()]
    if kind == "policy":
        return _policies(block)
    array = block.arrays[name]
    if kind == "words":
        return [_hex(words) for words in array.tolist()]
    if kind == "float32":
        return _numbers(array, _DIGITS_4)
    if name == _TIME:
        return [_time_text(value) for value in array.tolist()]
    return array.tolist()


def _policies(block: RowBlock) -> list[list[float | None] | None]:
    policies: list[list[float | None] | None] = [None] * block.num_rows
    for row, values in zip(block.policies.rows.tolist(), block.policies.values, strict=True):
        policies[row] = _numbers(values, _DIGITS_2)
    return policies


def _numbers(array: NDArray[Any], digits: int) -> list[float | None]:
    """Return numbers with `digits` digits, or two fewer if that is exact as well; None for NaN."""
    whole = array.tolist()
    short = [float(f"{value:.{digits - 2}g}") for value in whole]
    is_same = np.array(short, array.dtype) == array
    return [
        None if value != value else few if same else float(f"{value:.{digits}g}")  # noqa: PLR0124 # NaN is what differs from itself
        for value, few, same in zip(whole, short, is_same.tolist(), strict=True)
    ]


def _hex(words: list[int]) -> str:
    return f"{sum(word << WORD * index for index, word in enumerate(words)):x}"


def _time_text(milliseconds: int) -> str:
    time = _EPOCH + milliseconds * _MILLISECOND
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rows_of_csv(lines: Iterator[list[str]]) -> Iterator[Row]:
    """Yield the rows of a CSV file in the form of JSON rows."""
    head = next(lines, None)
    if head != [column.name for column in COLUMNS]:
        raise ValueError("its first line does not name the columns")
    for line in lines:
        yield {column.name: _value_of_csv(column, text) for column, text in zip(COLUMNS, line, strict=True)}


def _value_of_csv(column: Column, text: str) -> object:
    if column.kind in {"text", "words"} or column.name == _TIME:
        return json.loads(text) if text.startswith(_QUOTE) else text
    return json.loads(text) if text else None


def _blocks(path: Path, rows: Iterator[Row], layout: ColumnWidths) -> Iterator[RowBlock]:
    line = 0
    try:
        while some := list(islice(rows, _ROWS)):
            yield _block(some, layout)
            line += len(some)
    except (ValueError, KeyError, TypeError, OverflowError, csv.Error) as error:
        raise ExportError(
            f"{path} is not an exported file that can be read, from row {line + 1} on ({error!r})"
        ) from error


def _block(rows: list[Row], layout: ColumnWidths) -> RowBlock:
    arrays: dict[str, NDArray[Any]] = {}
    texts: dict[str, Coded] = {}
    for column in COLUMNS:
        values = [row[column.name] for row in rows]
        if column.kind == "text":
            texts[column.name] = _coded(values)
        elif column.kind == "words":
            bits = layout.num_actions if column.name == "legal" else layout.num_cells
            arrays[column.name] = _words(values, bits)
        elif column.kind != "policy":
            arrays[column.name] = np.array([_PARSERS[column.name](value) for value in values], column.kind)
    return RowBlock(len(rows), arrays, texts, _read_policies([row["policy"] for row in rows], layout))


def _coded(values: list[str]) -> Coded:
    index = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return Coded(np.array([index[value] for value in values], code_type(len(index))), tuple(index))


def _words(values: list[str], bits: int) -> NDArray[np.uint64]:
    size = 8 * num_words(bits)
    packed = b"".join(int(value, 16).to_bytes(size, "little") for value in values)
    return np.frombuffer(packed, "<u8").reshape(len(values), -1).astype(np.uint64)


def _read_policies(values: list[list[float] | None], layout: ColumnWidths) -> Policies:
    rows = [row for row, value in enumerate(values) if value is not None]
    shape = (len(rows), layout.num_actions)
    given = np.array([values[row] for row in rows], np.float16).reshape(shape)
    return Policies(np.array(rows, np.int32), given)


def _parser(column: Column) -> Callable[[Any], Any]:
    if column.name == _TIME:
        return lambda text: (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
    if column.nullable:
        return lambda value: np.nan if value is None else value
    return lambda value: value


_PARSERS = {column.name: _parser(column) for column in COLUMNS}
