"""README, tutorials, how-tos and references are followed word for word, from the wheel alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from children import arena_environment
from pages import PAGES, Reader, blocks
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NO_NETWORK = {
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # Build backends are those of the test environment.
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_NO_INDEX": "1",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_is_true(page: Path, wheel_python: Path, tmp_path: Path) -> None:
    env = {**arena_environment(tmp_path, scripts=wheel_python.parent), **NO_NETWORK}
    env.pop("PIP_FIND_LINKS", None)
    folder = tmp_path / "reader"
    folder.mkdir()
    reader = Reader(folder, wheel_python, env)
    for block in blocks(page):
        if block.is_run:
            try:
                reader.follow(block)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error
