from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.lease import Lease
from arena.errors import ConfigError
from arena_db.errors import DatabaseError
from arena_db.owner import current_owner
from arena_db.store import Store
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena_db.owner import Owner

    Begin = Callable[[TournamentConfig], Sitting]

OTHER = dataclasses.replace(current_owner(), uuid="other")
DEAD = dataclasses.replace(current_owner(), uuid="dead", pid_start=1)


@pytest.fixture
def sitting(begin: Begin) -> Sitting:
    return begin(config("random", "minimax"))


def test_one_holds_it(sitting: Sitting) -> None:
    store, tournament = sitting.store, sitting.tournament
    with Lease(store, tournament, current_owner()) as lease:
        assert not lease.is_lost
        with pytest.raises(ConfigError, match="rr-1 is being run by another process; arena stop rr-1"):
            Lease(store, tournament, OTHER).__enter__()
    with Lease(store, tournament, OTHER):
        assert not store.claim(tournament.id, current_owner())


def test_a_dead_owner_loses_it_at_once(sitting: Sitting) -> None:
    assert sitting.store.claim(sitting.tournament.id, DEAD)
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        assert not lease.is_lost


class WatchedStore(Store):
    """Tells when the heart beats; the first beat fails where it is told to."""

    beats: threading.Semaphore
    misses: threading.Semaphore
    fails = False

    def heartbeat(self, tournament: int, owner: Owner, *, expires_s: float = 60) -> bool:
        self.beats.release()
        if self.fails:
            self.fails = False
            raise DatabaseError("locked")
        is_held = super().heartbeat(tournament, owner, expires_s=expires_s)
        if not is_held:
            self.misses.release()
        return is_held


@pytest.mark.parametrize("fails", [False, True])
def test_it_is_renewed_until_another_takes_it(sitting: Sitting, *, fails: bool) -> None:
    with WatchedStore.open(sitting.store.path) as store:
        store.beats, store.misses, store.fails = threading.Semaphore(0), threading.Semaphore(0), fails
        with Lease(store, sitting.tournament, current_owner(), beat_s=0.001) as lease:
            for _ in range(3):
                assert store.beats.acquire(timeout=20)
            assert not lease.is_lost
            store.release(sitting.tournament.id, current_owner())
            assert store.claim(sitting.tournament.id, OTHER)
            assert store.misses.acquire(timeout=20)
        assert lease.is_lost
        # What is another's was not given back.
        assert store.heartbeat(sitting.tournament.id, OTHER)
