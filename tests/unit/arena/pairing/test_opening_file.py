"""Files of openings: allowed content, and errors that name file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.games.notation import format_moves
from arena.pairing.openings import enumerate_positions, read_openings
from arena_plugins import load_game

if TYPE_CHECKING:
    from pathlib import Path

CONNECT_FOUR = load_game("connect-four")
GOMOKU = load_game("gomoku")
CLASSES = [state.history for state in enumerate_positions(CONNECT_FOUR, 4)]


def test_reads_moves_and_skips_comments_and_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_text("\ufeff# my book\n\n44  # tower\n 3 4 5 \n\n", encoding="utf-8")
    assert read_openings(CONNECT_FOUR, str(file)) == [(3, 3), (2, 3, 4)]


def test_reads_cells(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_text("h8 g7\na15 o1", encoding="utf-8")
    assert read_openings(GOMOKU, str(file)) == [(112, 126), (0, 224)]


@settings(deadline=None)
@given(openings=st.lists(st.sampled_from(CLASSES), min_size=1, max_size=5))
def test_reads_what_notation_prints(
    tmp_path_factory: pytest.TempPathFactory, openings: list[tuple[int, ...]]
) -> None:
    file = tmp_path_factory.getbasetemp() / "printed.txt"
    file.write_text("\n".join(format_moves(CONNECT_FOUR, actions) for actions in openings), encoding="utf-8")
    assert read_openings(CONNECT_FOUR, str(file)) == openings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("44\n48\n", r"book\.txt, line 2: at ply 2: .*is not a move"),
        ("# long\n1111111", r"book\.txt, line 2: at ply 7: .*not allowed"),
        ("1212121", r"book\.txt, line 1: the match is over after 1212121"),
        ("# nothing\n", r"book\.txt has no opening; write one a line, as moves of connect-four"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "book.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_openings(CONNECT_FOUR, str(file))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the openings in .*none\.txt: .*No such file"):
        read_openings(CONNECT_FOUR, str(tmp_path / "none.txt"))
    for path in (str(tmp_path), "~no-such-user/book.txt"):
        with pytest.raises(ConfigError, match="cannot read the openings in"):
            read_openings(CONNECT_FOUR, path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "book.bin"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"book\.bin is not a text file"):
        read_openings(CONNECT_FOUR, str(file))
