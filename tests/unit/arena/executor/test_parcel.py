from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.executor.parcel import ParcelLostError, pack, unpack
from arena.executor.record import void_record
from arena_plugins import Termination
from tournaments import TRIO, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]

_LEAST_PIPE_BUF = 512
"""Bytes that every system writes to a pipe at once or not at all (POSIX)."""


@pytest.fixture
def records(jobs_of: JobsOf) -> list[MatchRecord]:
    (job, *_) = jobs_of(config(*TRIO))
    return [void_record(job, Termination.ARENA_ERROR, "a long story " * 1000)] * 50


def test_records_arrive_as_they_were(
    records: list[MatchRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "parcels"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    parcel = pack(records)
    assert len(pickle.dumps(parcel)) < _LEAST_PIPE_BUF / 2
    assert unpack(parcel) == records
    assert list(folder.iterdir()) == []


def test_without_room_for_a_file_nothing_is_lost(
    records: list[MatchRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert unpack(pack(records)) == records


def test_a_parcel_that_was_cleared_away(
    records: list[MatchRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    parcel = pack(records)
    assert isinstance(parcel, str)
    Path(parcel).unlink()
    with pytest.raises(ParcelLostError, match="was removed before its results were read"):
        unpack(parcel)
