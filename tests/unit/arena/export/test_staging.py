"""Output files are complete or do not exist."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError, ExportError
from arena.export._staging import replaced, staged
from children import run_child

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


def test_a_folder_appears_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with staged(out, is_folder=True) as part:
        (part / "a").write_text("1")
        assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "a").read_text() == "1"


def test_an_empty_folder_is_a_place(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with staged(out, is_folder=True) as part:
        (part / "a").write_text("1")
    assert (out / "a").read_text() == "1"


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_there_stays(tmp_path: Path, *, is_folder: bool) -> None:
    full, file, link = tmp_path / "full", tmp_path / "file", tmp_path / "link"
    full.mkdir()
    (full / "a").write_text("1")
    file.write_text("2")
    link.symlink_to(tmp_path / "nowhere")
    for out in (full, file, link):
        with pytest.raises(ConfigError, match=f"{out.name} exists"), staged(out, is_folder=is_folder):
            pytest.fail("it must not be written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "link"]


def test_there_must_be_a_folder_for_it(tmp_path: Path) -> None:
    out = tmp_path / "no" / "out"
    with pytest.raises(ConfigError, match=r"there is no folder .*no; make it first"):
        staged(out, is_folder=True).__enter__()


def _fail(place: AbstractContextManager[Path], error: BaseException, name: str = "") -> None:
    with place as part:
        (part / name).write_text("half")
        raise error


@pytest.mark.parametrize("is_folder", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("x")])
def test_an_end_in_the_middle_leaves_nothing(
    tmp_path: Path, error: BaseException, *, is_folder: bool
) -> None:
    with pytest.raises(type(error)):
        _fail(staged(tmp_path / "out", is_folder=is_folder), error, "a" if is_folder else "")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(ExportError, match=r"cannot write .*out: No space left on device; nothing was kept"):
        _fail(staged(tmp_path / "out", is_folder=True), full, "a")
    assert list(tmp_path.iterdir()) == []


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    ended = run_child(["sh", "-c", "echo $$"], cwd=tmp_path).stdout.strip()
    left = tmp_path / f".out.{ended}.part"
    left.mkdir()
    running = tmp_path / f".out.{os.getppid()}.part"
    others = tmp_path / f".other.{ended}.part"
    for path in (running, others):
        path.write_text("1")
    with staged(tmp_path / "out", is_folder=False) as part:
        part.write_text("2")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([running.name, others.name, "out"])


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("old")
    with pytest.raises(ValueError, match="x"):
        _fail(replaced(out), ValueError("x"))
    assert out.read_text() == "old"
    with replaced(out) as part:
        part.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert out.read_text() == "new"
