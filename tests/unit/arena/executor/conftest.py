from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import strange_bots
from tournaments import Sitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job


@pytest.fixture(autouse=True)
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange_bots.install(monkeypatch, tmp_path / "site")


@pytest.fixture
def jobs_of(tmp_path: Path) -> Iterator[Callable[[TournamentConfig], list[Job]]]:
    """Yield a function that returns the jobs of a tournament."""
    sittings: list[Sitting] = []

    def jobs(settings: TournamentConfig) -> list[Job]:
        sittings.append(Sitting(tmp_path / f"{len(sittings)}.db", settings))
        return sittings[-1].jobs()

    yield jobs
    for sitting in sittings:
        sitting.store.close()
