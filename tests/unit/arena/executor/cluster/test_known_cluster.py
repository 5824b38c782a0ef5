"""The address of the last scheduler of this machine: a reader sees all of it or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.executor.cluster.certificates import make_keys
from arena.executor.cluster.key_files import KnownCluster, find_place, known_cluster, note_cluster

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


def test_the_scheduler_that_was_started_here_needs_no_key_again(tmp_path: Path) -> None:
    (key,) = make_keys(tmp_path, ["lab"]).files
    note_cluster("tls://127.0.0.1:1", key)
    found = find_place("tls://127.0.0.1:1", None).key
    assert found is not None
    assert found.path == key
    with pytest.raises(ConfigError, match="needs --keys FILE"):
        find_place("tls://127.0.0.1:2", None)
