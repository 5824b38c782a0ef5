from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import strange_bots
from tournaments import Sitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig


@pytest.fixture(autouse=True)
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange_bots.install(monkeypatch, tmp_path / "site")


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[TournamentConfig], Sitting]]:
    """Yield a function that stores a tournament, each in its own store."""
    begun: list[Sitting] = []

    def begin_one(settings: TournamentConfig) -> Sitting:
        begun.append(Sitting(tmp_path / f"{len(begun)}.db", settings))
        return begun[-1]

    yield begin_one
    for sitting in begun:
        sitting.store.close()
