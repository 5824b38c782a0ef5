"""One owner at a time; a dead one at once forgotten."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db import coordination
from arena_db import owner as owners
from arena_db.clock import now
from arena_db.errors import DamagedError
from arena_db.owner import Owner, current_owner, is_alive
from arena_db.store import Store
from stores import add_cup, tamper

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = Owner(uuid="one", host="elsewhere", boot_id="b", pid=1, pid_start=1)
OTHER = replace(ELSEWHERE, uuid="two")


def gone() -> Owner:
    """Give a process of this machine that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return replace(current_owner(), uuid="gone", pid=child.pid, pid_start=12)


def test_a_lease_has_one_owner(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, ELSEWHERE)
    assert store.claim(tournament, ELSEWHERE)
    assert not store.claim(tournament, OTHER)
    assert not store.heartbeat(tournament, OTHER)
    assert store.heartbeat(tournament, ELSEWHERE)
    store.release(tournament, OTHER)
    assert not store.claim(tournament, OTHER)
    store.release(tournament, ELSEWHERE)
    assert not store.heartbeat(tournament, ELSEWHERE)
    assert store.claim(tournament, OTHER)
    assert not store.claim(99, OTHER)


def test_viewers_see_who_has_a_lease_and_whether_it_lives(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.lease(tournament) is None
    for owner, is_alive_ in ((current_owner(), True), (gone(), False), (ELSEWHERE, True)):
        assert store.claim(tournament, owner)
        with Store.open(store.path, read_only=True) as viewer:
            lease = viewer.lease(tournament)
        assert lease is not None
        assert (lease.owner, lease.is_alive) == (owner, is_alive_)
        assert 50 < lease.expires_at - time.time() <= 60
        store.release(tournament, owner)
    assert store.lease(tournament) is None
    assert store.claim(tournament, ELSEWHERE, expires_s=0)
    lease = store.lease(tournament)
    assert lease is not None
    assert not lease.is_alive, "of another machine the lease alone tells"
    assert store.lease(99) is None


def test_a_lease_expires(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, ELSEWHERE, expires_s=0)
    assert store.claim(tournament, OTHER)
    assert not store.heartbeat(tournament, ELSEWHERE)


def test_a_heartbeat_renews(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, ELSEWHERE, expires_s=0)
    assert store.heartbeat(tournament, ELSEWHERE, expires_s=60)
    assert not store.claim(tournament, OTHER)


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
    assert store.claim(tournament, current_owner())
    monkeypatch.setattr(coordination, "now", lambda: now() + jump_s)
    assert not store.claim(tournament, OTHER), "its holder lives here"
    assert store.heartbeat(tournament, current_owner())
    assert not store.claim(tournament, OTHER)
    store.release(tournament, current_owner())
    assert store.claim(tournament, gone())
    monkeypatch.setattr(coordination, "now", now)
    assert store.claim(tournament, OTHER), "its holder is dead"


def test_the_clock_is_set_while_another_machine_holds_a_lease(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, ELSEWHERE)
    monkeypatch.setattr(coordination, "now", lambda: now() + 3600)
    assert store.claim(tournament, OTHER), "nothing but the clock tells of another machine"
    assert not store.heartbeat(tournament, ELSEWHERE), "and it hears so at its next beat"


_CLAIMING = """
import sys
from dataclasses import replace
from arena_db.owner import current_owner
from arena_db.store import Store
with Store.open(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    print(store.claim(1, current_owner()), flush=True)
    sys.stdin.readline()
"""


def test_of_many_processes_one_has_the_lease(store: Store) -> None:
    add_cup(store)
    assert store.claim(1, gone(), expires_s=3600)
    command = [sys.executable, "-c", _CLAIMING, str(store.path)]
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
    tamper(store.path, "UPDATE tournaments SET num_done = 5")
    with pytest.raises(DamagedError, match=r"ended suddenly.*counts 5 planned.*arena db restore"):
        store.claim(tournament, OTHER)
    tamper(store.path, "UPDATE tournaments SET num_done = 0")
    assert store.claim(tournament, OTHER)


def test_a_store_that_was_given_back_is_not(store: Store) -> None:
    tournament = add_cup(store).record.id
    assert store.claim(tournament, gone())
    store.release(tournament, gone())
    tamper(store.path, "UPDATE tournaments SET num_done = 5")
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
