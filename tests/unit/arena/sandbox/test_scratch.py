from __future__ import annotations

from typing import TYPE_CHECKING

from arena.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from pathlib import Path


def test_home_is_wiped_and_cache_is_kept(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("stays")
    scratch = Scratch()
    inode = scratch.home.stat().st_ino
    (scratch.home / "deep" / "down").mkdir(parents=True)
    (scratch.home / "deep" / "down" / "file").touch()
    (scratch.home / "deep" / "down").chmod(0)
    (scratch.home / "deep" / "link").symlink_to(tmp_path)
    (scratch.cache / "compiled").write_text("code")
    scratch.wipe()

    assert list(scratch.home.iterdir()) == []
    assert (scratch.cache / "compiled").exists()
    assert outside.read_text() == "stays"
    assert scratch.home.stat().st_ino == inode
    scratch.remove()
    scratch.remove()
    assert not scratch.root.exists()


def test_an_empty_home_is_left_alone() -> None:
    scratch = Scratch()
    before = scratch.home.stat()
    scratch.wipe()
    assert scratch.home.stat() == before
    (scratch.home / ".hidden").touch()
    scratch.wipe()
    assert list(scratch.home.iterdir()) == []
    scratch.remove()


def test_a_home_that_was_taken_away_comes_back(tmp_path: Path) -> None:
    (tmp_path / "stays").mkdir(mode=0o755)
    scratch = Scratch()
    for replace in (lambda: None, scratch.home.touch, lambda: scratch.home.symlink_to(tmp_path)):
        scratch.home.rmdir()
        replace()
        scratch.wipe()
        assert scratch.home.is_dir()
        assert not scratch.home.is_symlink()
    scratch.remove()
    assert (tmp_path / "stays").stat().st_mode & 0o777 == 0o755
