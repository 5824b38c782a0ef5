"""Parses the sources once for all tests of this folder in a process, and frees them after the last one."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from source_tree import read

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="package")
def _sources_of_the_house() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] # pytest calls it
    # Syntax trees have millions of objects and no cycles: collecting took two thirds of the time of parsing.
    gc.disable()
    yield
    # Hundreds of syntax trees would slow the garbage collector in every later test. They are freed before it
    # is turned on, or it would look through all of them at once.
    read.cache_clear()
    gc.enable()
