"""Files of rows: every format returns what was written, and refuses invalid data."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import ExportError, PluginError
from arena.export._blocks import Coded, Policies, RowBlock, RowsHash, code_type
from arena.export._boards import num_words
from arena.export._files import WRITERS, SplitFiles, read_blocks
from arena.export._text import ColumnWidths
from arena.export.schema import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.export.schema import Column

LAYOUT = ColumnWidths(num_cells=70, num_actions=9)
# An array of texts drops trailing NULs, and no text of the arena has one.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def _coded(draw: st.DrawFn, num: int) -> Coded:
    values = draw(st.lists(texts, min_size=1, max_size=2, unique=True))
    codes = draw(st.lists(st.integers(0, len(values) - 1), min_size=num, max_size=num))
    used = list(dict.fromkeys(codes))
    return Coded(
        np.array([used.index(code) for code in codes], code_type(len(used))),
        tuple(values[code] for code in used),
    )


def _numbers(draw: st.DrawFn, column: Column, num: int) -> NDArray[Any]:
    if column.kind == "words":
        words = num_words(LAYOUT.num_actions if column.name == "legal" else LAYOUT.num_cells)
        rows = st.lists(st.integers(0, 2**64 - 1), min_size=words, max_size=words)
        return np.array(draw(st.lists(rows, min_size=num, max_size=num)), np.uint64).reshape(num, words)
    if column.kind == "float32":
        given_values: st.SearchStrategy[float] = st.floats(width=32, allow_nan=False, allow_infinity=False)
        values = st.just(np.nan) | given_values if column.nullable else given_values
    elif column.name == "played_at":
        values = st.integers(0, 4_000_000_000_000)
    else:
        kind = np.iinfo(column.kind)
        values = st.integers(int(kind.min), int(kind.max))
    return np.array(draw(st.lists(values, min_size=num, max_size=num)), column.kind)


@st.composite
def blocks(draw: st.DrawFn) -> RowBlock:
    num = draw(st.integers(1, 3))
    rows = draw(st.lists(st.integers(0, num - 1), unique=True).map(sorted))
    shares = st.lists(st.floats(0, 1, width=16), min_size=9, max_size=9)
    policies = draw(st.lists(shares, min_size=len(rows), max_size=len(rows)))
    return RowBlock(
        num,
        {c.name: _numbers(draw, c, num) for c in COLUMNS if c.kind not in {"text", "policy"}},
        {c.name: _coded(draw, num) for c in COLUMNS if c.kind == "text"},
        Policies(np.array(rows, np.int32), np.array(policies, np.float16).reshape(-1, 9)),
    )


def _digest(*some: RowBlock) -> str:
    digest = RowsHash()
    for block in some:
        digest.add(block)
    return digest.hexdigest()


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=12)
@given(block=blocks())
def test_rows_are_read_as_they_are_written(form: str, block: RowBlock) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "rows")
        writer = WRITERS[form](path)
        writer.write(block)
        writer.close()
        assert _digest(*read_blocks(path, form, LAYOUT)) == _digest(block)


@pytest.mark.parametrize("form", WRITERS)
@given(block=blocks())
@settings(max_examples=2)
def test_full_files_are_followed_by_new_ones(form: str, block: RowBlock) -> None:
    with TemporaryDirectory() as folder:
        files = SplitFiles(Path(folder), "train", form)
        for _ in range(9):
            files.add(block)
        files.close()
        written = files.files()
        assert len(written) == -(-9 // WRITERS[form].max_blocks)
        assert sum(file.num_rows for file in written) == files.num_rows == 9 * block.num_rows
        names = [file.name for file in written]
        assert names == sorted(names)
        found = [each for name in names for each in read_blocks(Path(folder, name), form, LAYOUT)]
        assert sum(each.num_rows for each in found) == files.num_rows


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("content", [b"", b"PK\3\4 something else", b'{"a": 1}\n', b"a,b\n1,2\n"])
def test_other_files_are_refused(form: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    if form == "jsonl" and not content:
        assert list(read_blocks(path, form, LAYOUT)) == []
        return
    with pytest.raises(ExportError, match=r"rows is not an exported file that can be read"):
        list(read_blocks(path, form, LAYOUT))


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="'xls', which this version of the arena cannot read"):
        read_blocks(tmp_path, "xls", LAYOUT)


def test_parquet_without_pyarrow_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PluginError, match=r"^Parquet needs pyarrow: pip install 'bot-arena\[export\]'$"):
        WRITERS["parquet"](tmp_path / "rows")
