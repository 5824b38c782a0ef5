from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.sandbox import launch_recipe


@pytest.fixture
def open_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder.is_relative_to("/tmp") and folder != Path("/tmp"):  # noqa: S108 - where pytest puts it
            folder.chmod(0o755)
    launch_recipe._is_open.cache_clear()  # noqa: SLF001 - modes change here, and in a run they do not  # pyright: ignore[reportPrivateUsage]
    launch_recipe._may_pass.cache_clear()  # noqa: SLF001 - the same  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def test_root_gives_each_bot_a_user_of_its_own(open_folder: Path) -> None:
    first, second = (launch_recipe.unused_user(["/"], str(open_folder)) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first != second
    assert min(first, second) > 60_000


DRAWS = """
import os, sys
from arena.sandbox import launch_recipe
os.geteuid = lambda: 0
print(*(launch_recipe.unused_user([], "/") for _ in range(50)))
"""


def test_arenas_that_run_at_the_same_time_have_different_users() -> None:
    """Their process ids follow each other, and each starts many bots."""
    arenas = [
        subprocess.Popen([sys.executable, "-c", DRAWS], stdout=subprocess.PIPE, text=True)  # noqa: S603 - our script
        for _ in range(3)
    ]
    users = [user for arena in arenas for user in arena.communicate()[0].split()]
    assert len(users) == 150
    # Or none may be chosen here.
    assert len(set(users)) == 150 or set(users) == {"None"}


def test_of_few_ids_those_in_use_are_not_chosen(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = range(os.getuid(), 9_000_000, 3_000_001)
    monkeypatch.setattr(launch_recipe, "_is_mapped", bool)
    monkeypatch.setattr(launch_recipe, "_RANGES", (ids,))
    drawn = [launch_recipe.unused_user([], str(open_folder)) for _ in range(6)]
    assert set(drawn) == set(ids[1:])


def test_if_all_ids_are_in_use_bots_share_one(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getuid()
    monkeypatch.setattr(launch_recipe, "_is_mapped", bool)
    monkeypatch.setattr(launch_recipe, "_RANGES", (range(own, own + 1),))
    assert launch_recipe.unused_user([], str(open_folder)) == own


def test_root_stays_where_others_cannot_go(open_folder: Path) -> None:
    private = open_folder / "private"
    private.mkdir(mode=0o700)
    (private / "interpreter").touch()
    (open_folder / "link").symlink_to(private / "interpreter")
    (open_folder / "secret").touch(mode=0o600)
    for needed in (
        private,
        private / "interpreter",
        open_folder / "link",
        open_folder / "secret",
        private / "no",
    ):
        assert launch_recipe.unused_user([str(needed)], str(open_folder)) is None, needed
    assert launch_recipe.unused_user([], str(private)) is None
    assert launch_recipe.unused_user([], str(open_folder / "missing")) is None


def test_others_cannot_become_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert launch_recipe.unused_user([], "/") is None
    monkeypatch.delattr(os, "geteuid")
    assert launch_recipe.unused_user([], "/") is None


def test_a_namespace_without_such_numbers_has_no_user_to_spare(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_recipe, "_RANGES", (range(1 << 33, 1 << 34),))
    assert launch_recipe.unused_user([], str(open_folder)) is None
