"""Connections that load cold tournaments: none is left with temporary tables that hide the stored ones."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select

from arena_db.cold.thawing import load
from arena_db.cold_connections import OpenedTournaments
from arena_db.models import matches
from arena_db.store import Store
from cold_cups import WHO, cup_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from sqlalchemy import Connection

    from arena_db.cold.thawing import ColdTournament

pytestmark = pytest.mark.sqlite("the connections of a server are kept in the same way")


class LockAfter:
    """A lock that calls a function before its first use, as if its thread had had to wait."""

    def __init__(self, lock: AbstractContextManager[object], first: Callable[[], None]) -> None:
        self._lock = lock
        self._first: Callable[[], None] | None = first

    def __enter__(self) -> None:
        first, self._first = self._first, None
        if first is not None:
            first()
        self._lock.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)


def num_in(opened: OpenedTournaments, cold: ColdTournament) -> int:
    with opened.reading(cold, None) as connection:
        return connection.scalar(select(func.count()).select_from(matches)) or 0


def five_cold(store: Store, path: Path) -> list[ColdTournament]:
    """Return five tournaments whose matches were moved to files, one more than a process keeps loaded."""
    for number in range(5):
        cup = cup_of(store, "round-robin", 4 + number)
        assert store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO) is not None
    return store.cold.tournaments()


def test_a_tournament_displaced_while_its_reader_waits_is_loaded_anew(store: Store, path: Path) -> None:
    colds = five_cold(store, path)
    with Store.open(path, read_only=True) as viewer:
        backend = viewer._access.backend  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its pool is looked at below
        opened = OpenedTournaments(backend)
        assert num_in(opened, colds[0]) == colds[0].num_matches
        (entry,) = opened._loaded.values()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - two threads cannot be made to meet there

        def displace() -> None:
            for other in colds[1:]:
                assert num_in(opened, other) == other.num_matches

        entry.lock = LockAfter(entry.lock, displace)  # pyright: ignore[reportAttributeAccessIssue] - it is used as a lock
        assert num_in(opened, colds[0]) == colds[0].num_matches
        opened.close()
        del entry
        gc.collect()
        # All connections of the pool at the same time: in none of them do temporary tables hide the stored
        # ones.
        connections = [backend.engine.connect() for _ in range(8)]
        found = [each.scalar(select(func.count()).select_from(matches)) for each in connections]
        for each in connections:
            each.close()
    assert found == [0] * 8


def test_those_read_last_stay_loaded(store: Store, path: Path) -> None:
    colds = five_cold(store, path)
    with Store.open(path, read_only=True) as viewer:
        opened = OpenedTournaments(viewer._access.backend)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its connections
        for cold in (*colds[:4], colds[0], colds[4]):
            assert num_in(opened, cold) == cold.num_matches
        assert [opened.is_loaded(cold) for cold in colds] == [True, False, True, True, True]
        opened.close()


def test_an_interrupted_load_leaves_no_tables_that_hide_stored_matches(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = cup_of(store, "round-robin", 4)
    assert store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO) is not None
    (cold,) = store.cold.tournaments()

    def interrupted(connection: Connection, cold: ColdTournament) -> None:
        load(connection, cold)
        # The pool would roll back uncommitted changes, but an interrupt may come just after the commit.
        connection.commit()
        raise KeyboardInterrupt

    monkeypatch.setattr("arena_db.cold_connections.load", interrupted)
    with Store.open(path, read_only=True) as viewer:
        backend = viewer._access.backend  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its pool is looked at below
        opened = OpenedTournaments(backend)
        with pytest.raises(KeyboardInterrupt):
            num_in(opened, cold)
        gc.collect()
        with backend.engine.connect() as connection:
            assert connection.scalar(select(func.count()).select_from(matches)) == 0
        monkeypatch.undo()
        assert num_in(opened, cold) == cold.num_matches, "the next reader loads it"
        opened.close()
