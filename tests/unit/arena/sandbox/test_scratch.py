from __future__ import annotations

from typing import TYPE_CHECKING

from arena.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from pathlib import Path


def test_home_is_wiped_and_cache_is_kept(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("stays")
    scratch = Scratch()
    (scratch.home / "deep" / "down").mkdir(parents=True)
    (scratch.home / "deep" / "link").symlink_to(tmp_path)
    (scratch.cache / "compiled").write_text("code")
    scratch.wipe()

    assert list(scratch.home.iterdir()) == []
    assert (scratch.cache / "compiled").exists()
    assert outside.read_text() == "stays"
    inode = scratch.home.stat().st_ino
    scratch.wipe()
    assert scratch.home.stat().st_ino == inode
    scratch.remove()
    scratch.remove()
    assert not scratch.root.exists()


def test_a_home_that_was_taken_away_comes_back() -> None:
    scratch = Scratch()
    scratch.home.rmdir()
    scratch.wipe()
    assert scratch.home.is_dir()
    scratch.remove()
