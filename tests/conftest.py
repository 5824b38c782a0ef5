"""Options and settings of the whole test suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

# A busy machine is no failure of the code under test.
settings.register_profile("arena", deadline=None)
settings.load_profile("arena")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files, then fail")
