"""One owner at a time; a dead one at once forgotten; commands delivered once."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from arena_db import owner as owners
from arena_db.owner import current_owner, is_dead
from arena_db.records import Owner
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from arena_db.store import Store

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


def test_who_is_dead() -> None:
    me = current_owner()
    assert current_owner() is me
    assert me.pid == os.getpid()
    assert not is_dead(me)
    assert is_dead(gone())
    assert is_dead(replace(me, pid_start=me.pid_start + 1)), "a later process of that id"
    assert is_dead(replace(me, boot_id="before the last start"))
    assert not is_dead(replace(gone(), host="elsewhere"))


def test_nothing_is_known_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "_PROC", tmp_path)
    current_owner.cache_clear()
    me = current_owner()
    current_owner.cache_clear()
    assert (me.boot_id, me.pid_start) == ("", 0)
    assert not is_dead(replace(me, pid=1 << 22))


def test_requests_are_taken_once(store: Store) -> None:
    one, two = add_cup(store).record.id, add_cup(store).record.id
    assert store.take_requests(one) == []
    for kind in ("pause", "resume", "stop"):
        store.request(one, kind)
    store.request(two, "abort")
    assert store.take_requests(one) == ["pause", "resume", "stop"]
    assert store.take_requests(one) == []
    assert store.take_requests(two) == ["abort"]


def test_asking_for_requests_writes_nothing(store: Store) -> None:
    tournament = add_cup(store).record.id
    version = store.data_version()
    store.take_requests(tournament)
    assert store.data_version() == version
    store.request(tournament, "stop")
    assert store.data_version() != version
