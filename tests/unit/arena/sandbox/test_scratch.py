from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from arena.sandbox.scratch import ScratchBounds, ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMITS = ScratchBounds(10_000, 20, 3)


@pytest.fixture
def scratch() -> Iterator[ScratchFolder]:
    made = ScratchFolder()
    yield made
    made.remove()


def test_it_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("stays")
    tmp_path.chmod(0o755)
    scratch = ScratchFolder()
    (scratch.home / "deep" / "down").mkdir(parents=True)
    (scratch.home / "deep" / "down" / "file").touch()
    (scratch.home / "deep" / "down").chmod(0)
    (scratch.home / "deep" / "link").symlink_to(tmp_path)
    (scratch.cache / "compiled").write_text("code")
    scratch.remove()
    scratch.remove()
    assert not scratch.root.exists()
    assert (tmp_path / "outside").read_text() == "stays"
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_what_keeps_to_the_bounds_is_no_excess(scratch: ScratchFolder) -> None:
    assert scratch.excess(LIMITS) == ""
    (scratch.home / "1" / "2" / "3").mkdir(parents=True)
    (scratch.home / "1" / "2" / "3" / "file").write_bytes(bytes(2_000))
    assert scratch.excess(LIMITS) == ""
    assert scratch.excess(ScratchBounds(10_000, 100, 3), 0.15) == "more than 1500 bytes"


def test_bytes(scratch: ScratchFolder) -> None:
    for number in range(5):
        (scratch.home / str(number)).write_bytes(bytes(2_100))
    assert scratch.excess(LIMITS) == "more than 10000 bytes"


def test_a_hole_takes_nothing(scratch: ScratchFolder) -> None:
    with (scratch.home / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    assert scratch.excess(ScratchBounds(1 << 20, 20, 3)) == ""


def test_entries_of_home_and_cache_together(scratch: ScratchFolder) -> None:
    # The two folders themselves are entries too.
    for number in range(9):
        (scratch.home / f"{number}").symlink_to("nowhere")
        os.mkfifo(scratch.cache / f"{number}")
    limits = LIMITS
    assert scratch.excess(limits) == ""
    assert scratch.excess(limits, 0.5) == "more than 10 files and folders"
    (scratch.home / "one-more").touch()
    assert scratch.excess(limits) == "more than 20 files and folders"


def test_depth(scratch: ScratchFolder) -> None:
    (scratch.home / "1" / "2" / "3").mkdir(parents=True)
    assert scratch.excess(LIMITS) == ""
    # Half of the bytes or entries is too much for the next match; depth does not grow between matches.
    assert scratch.excess(LIMITS, 0.5) == ""
    (scratch.home / "1" / "2" / "3" / "4").mkdir()
    assert scratch.excess(LIMITS) == "folders 4 deep, 3 are allowed"


def test_links_are_not_followed(scratch: ScratchFolder, tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).touch()
    (scratch.home / "link").symlink_to(tmp_path)
    (scratch.home / "loop").symlink_to(".")
    assert scratch.excess(LIMITS) == ""
    scratch.home.rename(scratch.root / "away")
    scratch.home.symlink_to(tmp_path)
    assert scratch.excess(LIMITS) == ""
    away = scratch.root.rename(tmp_path / "away")
    scratch.root.symlink_to(tmp_path)
    assert scratch.excess(LIMITS) == ""
    scratch.root.unlink()
    away.rename(scratch.root)


def test_looking_keeps_nothing_open(scratch: ScratchFolder) -> None:
    (scratch.home / "1" / "2" / "3" / "4").mkdir(parents=True)
    before = os.listdir("/proc/self/fd")  # noqa: PTH208 - names
    assert scratch.excess(LIMITS)
    assert scratch.excess(LIMITS._replace(depth=4)) == ""
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208 - names


def test_a_scratch_folder_that_is_gone_is_empty(scratch: ScratchFolder) -> None:
    scratch.remove()
    assert scratch.excess(LIMITS) == ""


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_folders_that_cannot_be_opened(
    error: type[OSError], scratch: ScratchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "closed":
            raise error
        return real(name, flags, mode, dir_fd=dir_fd)

    (scratch.home / "closed").mkdir()
    monkeypatch.setattr(os, "open", refuse)
    hides = error is PermissionError
    assert scratch.excess(LIMITS) == ("a folder that denies the arena access" if hides else "")
