"""The house is read once for all of its tests in a process, and not kept beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source_tree import read

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="package")
def _sources_of_the_house() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] # pytest calls it
    yield
    # Hundreds of syntax trees would slow the garbage collector of every test that follows.
    read.cache_clear()
