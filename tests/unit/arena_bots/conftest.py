"""Fixtures for the tests of bots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pile_game import Pile

if TYPE_CHECKING:
    from arena_plugins.contract import Game


@pytest.fixture
def pile() -> Game:
    return Pile()
