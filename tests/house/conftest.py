"""Parses the sources once for each file of tests, and frees them after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source_tree import read

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module")
def _sources_of_this_file() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] # pytest calls it
    yield
    # Hundreds of syntax trees would slow the garbage collector of every later test.
    read.cache_clear()
