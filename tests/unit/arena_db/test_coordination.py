"""A tournament has one owner at a time; an owner whose process has ended loses it at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from arena_db import coordination
from arena_db import owner as owners
from arena_db.clock import now
from arena_db.errors import DamagedError, LeaseLostError, RefusedError
from arena_db.naming import metadata
from arena_db.owner import Owner, current_owner, is_alive
from arena_db.points import RatingPoint, SeatRating
from arena_db.records import LiveEvent
from arena_db.store import Store
from stores import add_cup, plan, rows, tamper

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stores import Cup

ELSEWHERE = Owner(uuid="one", host="elsewhere", boot_id="b", pid=1, pid_start=1)
OTHER = replace(ELSEWHERE, uuid="two")


def gone() -> Owner:
    """Return a process of this machine that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return replace(current_owner(), uuid="gone", pid=child.pid, pid_start=12)


def claim(store: Store, tournament: int, owner: Owner, *, expires_s: float = 60) -> Store:
    """Claim a tournament that is free."""
    held = store.claim(tournament, owner, expires_s=expires_s)
    assert held is not None
    return held


def silence(store: Store, seconds: float) -> None:
    """Move the last write of every owner back by a number of seconds."""
    tamper(store.place, f"UPDATE leases SET beat_at = beat_at - {seconds}")  # noqa: S608 - a number of this test


def test_a_lease_has_one_owner(store: Store) -> None:
    tournament = add_cup(store).record.id
    claim(store, tournament, ELSEWHERE)
    first = claim(store, tournament, ELSEWHERE)
    assert store.claim(tournament, OTHER) is None
    first.leases.beat()
    first.leases.release()
    second = claim(store, tournament, OTHER)
    for forbidden in (first.leases.beat, first.leases.release):
        with pytest.raises(
            LeaseLostError, match="rr-1 was taken over by pid 1 on elsewhere, which continues"
        ):
            forbidden()
    second.leases.beat()
    assert store.claim(99, OTHER) is None
    for impossible in (store.leases.beat, store.leases.release):
        with pytest.raises(RefusedError, match="none of its tournaments is claimed"):
            impossible()


def test_each_claim_raises_the_epoch(store: Store) -> None:
    tournament = add_cup(store).record.id
    for epoch in (1, 2, 3):
        held = claim(store, tournament, ELSEWHERE)
        lease = store.leases.find(tournament)
        assert lease is not None
        assert lease.epoch == epoch
    held.leases.release()
    claim(store, tournament, OTHER)
    lease = store.leases.find(tournament)
    assert lease is not None
    assert lease.epoch == 4, "a lease that was given back begins no new count"


def test_viewers_see_who_has_a_lease_and_whether_it_lives(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.leases.find(tournament) is None
    for owner, is_alive_ in ((current_owner(), True), (gone(), False), (ELSEWHERE, True)):
        held = claim(store, tournament, owner)
        with Store.open(store.place, read_only=True) as viewer:
            lease = viewer.leases.find(tournament)
        assert lease is not None
        assert (lease.owner, lease.is_alive, lease.is_silent) == (owner, is_alive_, False)
        assert 50 < lease.expires_at - time.time() <= 60
        assert lease.expires_at == pytest.approx(lease.beat_at + 60)
        held.leases.release()
    assert store.leases.find(tournament) is None
    claim(store, tournament, ELSEWHERE, expires_s=0)
    lease = store.leases.find(tournament)
    assert lease is not None
    assert not lease.is_alive, "of another machine the lease alone tells"
    assert (lease.owner.called, lease.silent_s < 30) == ("pid 1 on elsewhere", True)
    silence(store, 700)
    lease = store.leases.find(tournament)
    assert lease is not None
    assert (lease.is_silent, round(lease.silent_s, -2)) == (True, 700)
    silence(store, -7000)
    lease = store.leases.find(tournament)
    assert lease is not None
    assert lease.silent_s == 0, "the clock was set back"
    assert store.leases.find(99) is None


def test_a_lease_expires(store: Store) -> None:
    tournament = add_cup(store).record.id
    late = claim(store, tournament, ELSEWHERE, expires_s=0)
    claim(store, tournament, OTHER)
    with pytest.raises(LeaseLostError):
        late.leases.beat()


def test_a_beat_of_the_holder_renews_its_lease(store: Store) -> None:
    cup = add_cup(store)
    held = claim(store, 1, ELSEWHERE, expires_s=0)
    silence(store, 700)
    # Saves check the lease but do not renew it: the renewals would be a tenth of what saves write to the log.
    for save in (store.matches.save, held.matches.save):
        save([cup.match(12 if save == store.matches.save else 1)])
        assert getattr(store.leases.find(1), "silent_s", 0) > 600
    held.leases.beat()
    lease = store.leases.find(1)
    assert lease is not None
    assert (lease.is_alive, lease.is_silent) == (True, False)
    assert lease.expires_at == pytest.approx(lease.beat_at + 60)
    assert store.claim(1, OTHER) is None


def test_a_fence_that_cannot_be_read_is_damage(store: Store) -> None:
    held = claim(store, add_cup(store).record.id, OTHER)
    tamper(store.place, "ALTER TABLE leases RENAME COLUMN epoch TO era")
    with pytest.raises(DamagedError, match=r"no such column|does not exist"):
        held.tournaments.set_state(1, "stopped")


writes: dict[str, Callable[[Store, Cup], object]] = {
    "beat": lambda store, _: store.leases.beat(),
    "save": lambda store, cup: store.matches.save([cup.match(1)]),
    "state": lambda store, _: store.tournaments.set_state(1, "running"),
    "events": lambda store, _: store.events.append(
        [LiveEvent(tournament=1, number=1, kind="started", t=1.0)]
    ),
    "commands": lambda store, _: (store.commands.send(1, "stop"), store.commands.take(1)),
    "plan": lambda store, cup: store.plans.extend(1, plan(3, 3, start=12), cup.record.config),
    "sums": lambda store, _: store.sums.sum_up(),
    "points": lambda store, _: store.ratings.add_point(
        1, RatingPoint(1, 1, (SeatRating(0, 0.0, 1.0, rests_on_prior=False),))
    ),
}
"""Kinds of writes of a run."""


@pytest.mark.parametrize("write", writes)
def test_nothing_is_written_once_another_has_taken_over(store: Store, write: str) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(2)])
    old = claim(store, 1, current_owner())
    assert store.claim(1, OTHER, take_over=True) is None, "it is not silent"
    silence(store, 30)
    assert store.claim(1, OTHER) is None, "nobody asked for a take-over"
    new = store.claim(1, OTHER, take_over=True)
    assert new is not None
    before = contents(store)
    with pytest.raises(LeaseLostError, match="rr-1 was taken over by pid 1 on elsewhere"):
        writes[write](old, cup)
    tamper(store.place, "DELETE FROM commands")
    assert contents(store) == before
    writes[write](new, cup)
    old.close()
    new.leases.beat()
    assert store.integrity.check() == []


def contents(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables."""
    names = [table.name for table in metadata.sorted_tables]
    return {name: rows(store.place, f"SELECT * FROM {name} ORDER BY 1, 2") for name in names}  # noqa: S608 - names of our tables


def test_a_run_writes_to_no_other_tournament(store: Store) -> None:
    add_cup(store)
    two = add_cup(store)
    held = claim(store, 1, OTHER)
    with pytest.raises(RefusedError, match="a run of tournament 1 does not write to 2"):
        held.tournaments.set_state(two.record.id, "stopped")


def test_a_dead_owner_loses_its_lease_at_once(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, gone(), expires_s=3600)
    assert store.claim(tournament, OTHER)


def test_a_living_owner_keeps_its_lease(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, current_owner())
    assert not store.claim(tournament, OTHER)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_the_clock_is_set_while_a_lease_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    tournament = add_cup(store).record.id
    held = claim(store, tournament, current_owner())
    monkeypatch.setattr(coordination, "now", lambda: now() + jump_s)
    assert not store.claim(tournament, OTHER), "its holder lives here"
    held.leases.beat()
    assert not store.claim(tournament, OTHER)
    held.leases.release()
    assert store.claim(tournament, gone())
    monkeypatch.setattr(coordination, "now", now)
    assert store.claim(tournament, OTHER), "its holder is dead"


def test_the_clock_is_set_while_another_machine_holds_a_lease(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = add_cup(store).record.id
    held = claim(store, tournament, ELSEWHERE)
    monkeypatch.setattr(coordination, "now", lambda: now() + 3600)
    assert store.claim(tournament, OTHER), "nothing but the clock tells of another machine"
    with pytest.raises(LeaseLostError):
        held.leases.beat()


_CLAIMING = """
import sys
from dataclasses import replace
from arena_db.owner import current_owner
from arena_db.store import Store
with Store.open(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    print(store.claim(1, current_owner()) is not None, flush=True)
    sys.stdin.readline()
"""


def test_of_many_processes_one_has_the_lease(store: Store, place: str) -> None:
    add_cup(store)
    assert store.claim(1, gone(), expires_s=3600)
    command = [sys.executable, "-c", _CLAIMING, place]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 — see above
        for _ in range(3)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    answers = [child.stdout.readline() for child in children if child.stdout]
    for child in children:
        child.communicate("\n", timeout=60)
    assert sorted(answers) == ["False\n", "False\n", "True\n"]


@pytest.mark.parametrize("owner", ["dead", "late"])
def test_a_store_that_was_left_is_looked_at(store: Store, owner: str) -> None:
    tournament = add_cup(store).record.id
    holder, seconds = (gone(), 60) if owner == "dead" else (ELSEWHERE, 0)
    assert store.claim(tournament, holder, expires_s=seconds)
    tamper(store.place, "UPDATE tournaments SET num_done = 5")
    with pytest.raises(DamagedError, match=r"ended suddenly.*counts 5 planned.*arena db restore"):
        store.claim(tournament, OTHER)
    tamper(store.place, "UPDATE tournaments SET num_done = 0")
    assert store.claim(tournament, OTHER)


def test_a_store_that_is_taken_over_is_looked_at(store: Store) -> None:
    tournament = add_cup(store).record.id
    claim(store, tournament, current_owner())
    silence(store, 31)
    tamper(store.place, "UPDATE tournaments SET num_done = 5")
    assert store.claim(tournament, OTHER) is None
    with pytest.raises(DamagedError, match="counts 5 planned"):
        store.claim(tournament, OTHER, take_over=True)


def test_a_store_that_was_given_back_is_not(store: Store) -> None:
    tournament = add_cup(store).record.id
    claim(store, tournament, gone()).leases.release()
    tamper(store.place, "UPDATE tournaments SET num_done = 5")
    assert store.claim(tournament, current_owner())
    assert store.claim(tournament, current_owner())


def test_who_is_dead() -> None:
    me = current_owner()
    assert current_owner() is me
    assert me.pid == os.getpid()
    assert is_alive(me)
    assert is_alive(gone()) is False
    assert is_alive(replace(me, pid_start=me.pid_start + 1)) is False, "a later process of that id"
    assert is_alive(replace(me, boot_id="before the last start")) is False
    assert is_alive(replace(gone(), host="elsewhere")) is None


def test_a_process_whose_end_nobody_asked_for_is_dead() -> None:
    code = "from arena_db.owner import current_owner; print(current_owner().pid_start, flush=True); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as child:  # noqa: S603 - our own code
        assert child.stdout is not None
        owner = replace(current_owner(), pid=child.pid, pid_start=int(child.stdout.readline()))
        assert is_alive(owner)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_alive(owner) is False


def test_nothing_is_known_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "_PROC", tmp_path)
    current_owner.cache_clear()
    me = current_owner()
    current_owner.cache_clear()
    assert (me.boot_id, me.pid_start) == ("", 0)
    assert is_alive(replace(me, pid=1 << 22)) is None
