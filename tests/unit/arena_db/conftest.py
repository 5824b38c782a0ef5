"""A store in a folder with an awkward name."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a store without content, to be copied."""
    path = tmp_path_factory.mktemp("empty") / "arena.db"
    Store.open(path, fast=True).close()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a store that is not there yet."""
    folder = tmp_path / "100%41 über#?"
    folder.mkdir()
    return folder / "arena.db"


@pytest.fixture
def store(empty: Path, path: Path) -> Iterator[Store]:
    """Give an empty store."""
    shutil.copy(empty, path)
    with Store.open(path, fast=True, busy_ms=5000) as opened:
        yield opened
