"""The commands of README, tutorials, how-tos and references, run as written with the installed wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pages import LESSONS, PAGES, blocks, reader
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in LESSONS],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_is_true(page: Path, wheel_python: Path, tmp_path: Path) -> None:
    follows = reader(tmp_path, wheel_python)
    for block in blocks(page):
        if block.is_run:
            try:
                follows.follow(block)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error
