"""The address of the last scheduler of this machine: a reader sees all of it or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.executor.cluster.coordinator_link import KnownCluster, known_cluster, note_cluster

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_last_scheduler_is_known(place: Path) -> None:
    assert known_cluster() is None
    note_cluster("tls://127.0.0.1:1", None)
    assert known_cluster() == KnownCluster(address="tls://127.0.0.1:1", keys=None)
    note_cluster("tls://127.0.0.1:2", place / "lab.key")
    assert known_cluster() == KnownCluster(address="tls://127.0.0.1:2", keys=place / "lab.key")


def test_the_file_of_a_scheduler_is_replaced_in_one_step(place: Path) -> None:
    note_cluster("tls://127.0.0.1:1", None)
    # A reader that opened the file earlier reads its old content to the end.
    with (place / "cluster.json").open("rb") as old:
        note_cluster("tls://127.0.0.1:2", None)
        assert b"127.0.0.1:1" in old.read()
    assert [path.name for path in place.iterdir()] == ["cluster.json"]
