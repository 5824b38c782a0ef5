from __future__ import annotations

import dataclasses
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.holder import held_by, nobody_runs
from arena.coordinator.lease import Lease
from arena.coordinator.orders import Orders
from arena.coordinator.stop import StopSignals
from arena.errors import ConfigError
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import DatabaseError, LeaseLostError, LockedError, MovedError
from arena_db.owner import current_owner
from arena_db.runs import StoredLeases
from arena_db.store import Store
from stores import tamper
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig

    Begin = Callable[[TournamentConfig], Sitting]

OTHER = dataclasses.replace(current_owner(), uuid="other")
DEAD = dataclasses.replace(current_owner(), uuid="dead", pid_start=1)


@pytest.fixture
def sitting(begin: Begin) -> Sitting:
    return begin(config("random", "minimax"))


def silence(sitting: Sitting, seconds: float) -> None:
    """Date the last heartbeat of the holder back by `seconds`."""
    tamper(sitting.store.path, f"UPDATE leases SET beat_at = beat_at - {seconds}")  # noqa: S608 - a number of this test


def test_one_holds_it(sitting: Sitting) -> None:
    store, tournament = sitting.store, sitting.tournament
    with Lease(store, tournament, current_owner()) as lease:
        assert not lease.is_lost
        with pytest.raises(
            ConfigError, match=r"rr-1 is being run by pid \d+ on .*, heard \d+ s ago; arena stop rr-1"
        ):
            Lease(store, tournament, OTHER).__enter__()
        with pytest.raises(
            ConfigError, match=r"arena stop rr-1 stops it; --take-over replaces it after 30 s of"
        ):
            Lease(store, tournament, OTHER, take_over=True).__enter__()
    with Lease(store, tournament, OTHER):
        assert store.claim(tournament.id, current_owner()) is None


def test_what_a_person_is_told_of_a_match_of_theirs(sitting: Sitting) -> None:
    """A person's match cannot be taken over; `arena play --attach` resumes it."""
    store, tournament = sitting.store, sitting.tournament
    own = dataclasses.replace(tournament, type="play")
    assert nobody_runs(tournament) == "rr-1 is not being run; arena resume rr-1 continues it"
    assert nobody_runs(own) == "rr-1 is not being run; arena play --attach rr-1 continues it"
    assert store.claim(tournament.id, OTHER)
    silence(sitting, 31)
    lease = store.leases.find(tournament.id)
    assert lease is not None
    assert held_by(own, lease).endswith("; arena stop rr-1 stops it")
    assert held_by(tournament, lease).endswith("; arena resume rr-1 --take-over continues without it")


def test_a_dead_owner_loses_it_at_once(sitting: Sitting) -> None:
    assert sitting.store.claim(sitting.tournament.id, DEAD)
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        assert not lease.is_lost


# Far below the 30 s, because a busy machine may add seconds while the test runs.
@pytest.mark.parametrize(("seconds", "is_silent"), [(24.0, False), (31.0, True)])
def test_a_silent_owner_is_replaced_on_request(sitting: Sitting, seconds: float, *, is_silent: bool) -> None:
    held = sitting.store.claim(sitting.tournament.id, OTHER)
    assert held is not None
    silence(sitting, seconds)
    words = (
        r"rr-1 is held by pid \d+ on .*, silent for \d+ s; arena resume rr-1 --take-over continues without it"
    )
    with pytest.raises(ConfigError, match=words if is_silent else "arena stop rr-1 stops it"):
        Lease(sitting.store, sitting.tournament, current_owner()).__enter__()
    assert held.leases.find(sitting.tournament.id) is not None
    lease = Lease(sitting.store, sitting.tournament, current_owner(), take_over=True)
    if not is_silent:
        with pytest.raises(ConfigError, match="30 s of silence"):
            lease.__enter__()
        held.leases.beat()
        return
    with lease:
        with pytest.raises(LeaseLostError, match="was taken over by pid"):
            held.leases.beat()
        lease.check()


def test_who_is_stopped_in_the_middle_of_a_write(sitting: Sitting) -> None:
    assert sitting.store.claim(sitting.tournament.id, OTHER)
    silence(sitting, 60)
    with (
        closing(open_raw(FileSettings(place=sitting.store.path))) as stopped,
        Store.open(sitting.store.path, busy_ms=10) as store,
    ):
        stopped.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedError, match=rf"during a write: end it \(kill -9 {OTHER.pid}\)"):
            Lease(store, sitting.tournament, current_owner(), take_over=True).__enter__()


class Heart:
    """Counts the heartbeats of all stores and the failed ones; the first one fails on request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> None:
        self.beats, self.misses = threading.Semaphore(0), threading.Semaphore(0)
        self._fails = fails
        self._beat = StoredLeases.beat

        def beat(leases: StoredLeases) -> None:
            self._watch(leases)

        monkeypatch.setattr(StoredLeases, "beat", beat)

    def _watch(self, leases: StoredLeases) -> None:
        self.beats.release()
        if self._fails:
            self._fails = False
            raise DatabaseError("locked")
        try:
            self._beat(leases)
        except DatabaseError:
            self.misses.release()
            raise


@pytest.mark.parametrize("fails", [False, True])
def test_it_is_renewed_until_another_takes_it(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    heart = Heart(monkeypatch, fails=fails)
    with Store.open(sitting.store.path) as store:
        with Lease(store, sitting.tournament, current_owner(), beat_s=0.001) as lease:
            for _ in range(3):
                assert heart.beats.acquire(timeout=120)
            lease.check()
            lease.store.leases.release()
            assert store.claim(sitting.tournament.id, OTHER)
            assert heart.misses.acquire(timeout=120)
            assert not heart.misses.acquire(timeout=0.2), "who has lost it beats no more"
        assert lease.is_lost
        with pytest.raises(LeaseLostError):
            lease.check()
        found = store.leases.find(sitting.tournament.id)
        assert found is not None
        assert found.owner == OTHER, "what is another's was not given back"


def test_a_beat_hears_that_the_store_is_gone(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    heart = Heart(monkeypatch)
    with Store.open(sitting.store.path) as store:
        with Lease(store, sitting.tournament, current_owner(), beat_s=0.001) as lease:
            store.path.rename(store.path.with_name("elsewhere.db"))
            assert heart.misses.acquire(timeout=120)
            with pytest.raises(MovedError, match=r"0\.db was moved to .*elsewhere\.db"):
                lease.check()
        assert lease.is_lost


def test_a_store_that_is_gone_is_noticed_between_two_writes(sitting: Sitting) -> None:
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        orders = Orders(lease, StopSignals(), say=sitting.said.append)
        lease.check()
        sitting.store.path.rename(sitting.store.path.with_name("elsewhere.db"))
        with pytest.raises(MovedError):
            lease.check()
        with pytest.raises(MovedError):
            orders.poll()
