"""A folder that is published: whole files, only what differs, nothing of anybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.site.folder import MARK, Folder

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_there_as_it_is_stays_untouched(tmp_path: Path) -> None:
    first = Folder(tmp_path / "out")
    first.write("t/a.html", "one")
    first.write(MARK, "{}")
    first.sweep()
    before = (tmp_path / "out/t/a.html").stat().st_ino
    second = Folder(tmp_path / "out")
    second.write("t/a.html", "one")
    second.write("t/b.html", "two")
    assert (second.num_pages, second.num_changed, second.num_bytes) == (2, 1, 6)
    assert (tmp_path / "out/t/a.html").stat().st_ino == before


def test_what_differs_is_written_although_it_is_as_long(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("a.html", "one")
    folder.write("a.html", "two")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "two"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("a.html", "one")
    old = (tmp_path / "a.html").open(encoding="utf-8")
    folder.write("a.html", "a longer one")
    with old:
        assert old.read() == "one"
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "a longer one"


def test_what_belongs_to_no_page_goes(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for name in ("a.html", "t/old/1.html", "t/old/1.html.part", MARK):
        folder.write(name, "x")
    again = Folder(tmp_path)
    again.write("a.html", "x")
    again.write(MARK, "x")
    assert again.sweep() == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["a.html", MARK])


def test_files_of_others_are_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds other files"):
        Folder(tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        Folder(tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_run_that_was_killed_can_be_run_again(tmp_path: Path) -> None:
    Folder(tmp_path).write("a.html", "x")
    again = Folder(tmp_path)
    assert again.keep("a.html")
    assert not again.keep("b.html")
