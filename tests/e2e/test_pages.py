"""README, tutorials, how-tos and references are followed word for word, from the wheel alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from children import arena_environment
from pages import LESSONS, PAGES, blocks, reader
from preloaded import Preloaded, preloading
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
