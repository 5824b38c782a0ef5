"""Parses the sources once for all tests of this folder in a process, and frees them after the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source_tree import read

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="package")
def _sources_of_the_house() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] # pytest calls it
    yield
    # Hundreds of syntax trees would slow the garbage collector of every later test.
    read.cache_clear()
