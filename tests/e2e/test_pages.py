"""The commands of README, tutorials, how-tos and references, run as written with the installed wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from children import arena_environment, run_child
from pages import LESSONS, PAGES, blocks, reader
from preloaded import Preloaded, Wish, preloading
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def preloaded(wheel_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preloaded]:
    """Yield a server that runs commands with libraries already loaded, which halves the CPU of a short one.

    Whole starts are tested with the wheel (test_install), its commands (test_cli), and what they import.
    """
    folder = tmp_path_factory.mktemp("preloaded")
    with preloading(wheel_python, folder, arena_environment(folder, wheel_python.parent)) as server:
        yield server


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in LESSONS],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_is_true(page: Path, wheel_python: Path, preloaded: Preloaded, tmp_path: Path) -> None:
    follows = reader(tmp_path, wheel_python, preloaded)
    for block in blocks(page):
        if block.is_run:
            try:
                follows.follow(block)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error


@pytest.mark.parametrize(("command", "code"), [("arena --version", 0), ("arena bots check 'no such:bot'", 2)])
def test_a_preloaded_command_says_and_ends_as_one_in_a_shell(
    command: str, code: int, wheel_python: Path, preloaded: Preloaded, tmp_path: Path
) -> None:
    env = arena_environment(tmp_path, wheel_python.parent)
    shell = run_child(["sh", "-ec", command], cwd=tmp_path, env=env, check=False)
    done = preloaded.run(Wish(command, tmp_path, env, 60.0))
    assert done is not None
    assert (done.returncode, done.stdout, done.stderr) == (shell.returncode, shell.stdout, shell.stderr)
    assert done.returncode == code


@pytest.mark.parametrize("command", ["ls", "arena leaderboard > table", "arena show $MATCH", "arena show *"])
def test_what_a_shell_must_read_is_left_to_it(
    command: str, wheel_python: Path, preloaded: Preloaded, tmp_path: Path
) -> None:
    env = arena_environment(tmp_path, wheel_python.parent)
    assert preloaded.run(Wish(command, tmp_path, env, 60.0)) is None
