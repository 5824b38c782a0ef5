"""Options and settings of the whole test suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# A busy machine is no failure of the code under test. Every run tries the same examples, so that a failure is
# due to the change that it comes with; `pytest --hypothesis-profile explore` draws new ones.
settings.register_profile("arena", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("arena")


@pytest.fixture(scope="session", autouse=True)
def home_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is entered in a folder of the tests, not in the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files, then fail")
    parser.addoption(
        "--base-url", default="", help="tests/browser: look at a running server in place of a folder"
    )
    parser.addoption(
        "--cold-loads", type=int, default=5, help="tests/browser: how often each page is loaded cold"
    )
