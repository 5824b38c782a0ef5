"""Starting and finding a coordinator: a process that outlives its starter and is found by its lease."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import client
from arena.coordinator.client import Link, NotStartedError, ask, attach, follow, start
from arena.coordinator.commands import AskHint, PauseRun, StopRun
from arena.errors import ArenaError
from arena.own_python import own_python
from arena_db.errors import DatabaseError
from arena_db.owner import current_owner, process
from arena_db.store import Store
from command_line import FAST
from stores import add_cup, tamper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena_db.owner import Owner

DEADLINE_S = 120.0
MATCH = ("match", *FAST, "--st", "5", "--openings", "none", "--rounds", "1", "--games", "2")
_STARTER = """
import sys, time
from arena.coordinator.client import start
start({words!r}, db={db!r})
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with files that must not be run; return the store's path."""
    for name in ("HOME", "CACHE"):
        monkeypatch.setenv(f"ARENA_{name}", str(tmp_path / name.lower()))
    folder = tmp_path / "place"
    folder.mkdir()
    for name in ("random", "arena"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(folder)
    return tmp_path / "arena.db"


def ended(launched: client.Launched) -> int:
    """Wait until a process has ended; return its exit status."""
    end = time.monotonic() + DEADLINE_S
    while (status := launched.poll()) is None:
        assert time.monotonic() < end, launched.log.read_text()
        time.sleep(0.02)
    return status


def test_an_event_is_found_by_its_process_and_runs_no_file_of_the_folder(place: Path) -> None:
    launched = start([*MATCH, "--name", "cup", "--", "random", "random"], db=str(place))
    assert launched.command[1] == "-P"
    record = follow(launched)
    assert (record.name, record.type) == ("cup", "match")
    assert ended(launched) == 0, launched.complaint()
    # Even after its lease was released.
    assert follow(launched).state == "finished"
    assert attach(str(place), "cup") is None
    assert not (place.parent / "ran").exists()


def test_an_event_outlives_a_starter_that_is_killed(place: Path) -> None:
    words = [*MATCH, "--name", "cup", "--", "random", "random"]
    text = _STARTER.format(words=words, db=str(place))
    with subprocess.Popen(own_python("-c", text), stdout=subprocess.PIPE) as starter:  # noqa: S603 - our own script
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        starter.send_signal(signal.SIGKILL)
    end = time.monotonic() + DEADLINE_S
    while not _is_finished(place):
        assert time.monotonic() < end
        time.sleep(0.05)


def _is_finished(place: Path) -> bool:
    if not place.exists():
        return False
    try:
        with Store.open(place, read_only=True) as store:
            record = store.tournaments.find("cup")
            return record is not None and record.state == "finished"
    except DatabaseError:  # its tables are being made
        return False


def test_what_cannot_be_started_is_told_with_its_status(place: Path) -> None:
    launched = start(["match", "--", "mtcs", "random"], db=str(place))
    with pytest.raises(NotStartedError, match='no bot "mtcs"') as caught:
        follow(launched)
    assert caught.value.status == 2
    assert not str(caught.value).startswith("arena: ")


def test_nobody_needs_to_wait(place: Path) -> None:
    launched = start(["match", "--", "mtcs", "random"], db=str(place))
    with pytest.raises(NotStartedError, match="the wait was cancelled"):
        follow(launched, lambda: False)
    assert ended(launched) == 2


def others_like(own: Owner) -> tuple[Owner, ...]:
    """Return processes that differ from `own` in one field each."""
    return (
        replace(own, pid=1),
        replace(own, pid_start=own.pid_start + 1),
        replace(own, boot_id="x"),
        replace(own, host="x"),
    )


def test_a_play_whose_screen_is_left_before_it_has_begun_is_ended(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[client.Launched] = []

    def noted(words: Sequence[str], *, db: str | None = None) -> client.Launched:
        begun.append(start(words, db=db))
        return begun[-1]

    monkeypatch.setattr(client, "start", noted)
    link = Link(str(place), ["play", "--headless", "--game", "tic-tac-toe", "--", "random"])
    with pytest.raises(NotStartedError, match="cancelled"):
        link.begin(lambda: False)
    assert ended(begun[0]) != 0
    assert not link.is_alive


def test_the_claim_of_another_process_is_no_claim_of_this_one(place: Path) -> None:
    with Store.open(place) as store:
        old, new = add_cup(store).record.id, add_cup(store).record.id
        own = process(os.getpid())
        assert store.leases.last_claim(own) is None
        assert store.claim(old, current_owner())
        held = store.claim(new, current_owner())
        assert held is not None
        tamper(place, "UPDATE leases SET beat_at = beat_at - 5 WHERE tournament_id = 1")
        assert all(store.leases.last_claim(other) is None for other in others_like(own))
        found = store.leases.last_claim(own)
        assert found is not None
        assert found.id == new
        held.leases.release()
        again = store.leases.last_claim(own)
        assert again is not None
        assert again.id == new


def test_nobody_is_asked_where_nobody_would_answer(place: Path) -> None:
    with Store.open(place) as store:
        cup = add_cup(store, name="cup").record.id
        with pytest.raises(ArenaError, match="cup is not being run; arena resume cup continues it"):
            ask(str(place), "cup", StopRun())
        assert store.commands.take(cup) == []
        with pytest.raises(ArenaError, match="7 is no longer in"):
            ask(str(place), 7, StopRun())


def test_the_end_of_the_holder_ends_the_wait(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_HOLDER_S", 0.0)
    with Store.open(place) as store:
        cup = add_cup(store, name="cup").record.id
        held = store.claim(cup, current_owner())
        assert held is not None
        assert attach(str(place), "cup") == store.tournaments.find(cup)
        told: list[str] = []

        def let_go(text: str) -> None:
            told.append(text)
            held.leases.release()

        began = time.monotonic()
        with pytest.raises(ArenaError, match="cup is not being run"):
            ask(str(place), cup, AskHint(number=1, ply=0), tell=let_go)
        assert told == ["asked to hint"]
        assert time.monotonic() - began < client.HINT_S / 2


def test_who_waits_no_longer_hears_who_was_asked(place: Path) -> None:
    with Store.open(place) as store:
        cup = add_cup(store, name="cup").record.id
        assert store.claim(cup, current_owner())
        said = ask(str(place), cup, PauseRun(), is_wanted=lambda: False)
        assert said.startswith(f"no answer yet from pid {os.getpid()} on ")
        assert [row.kind for row in store.commands.take(cup)] == ["pause"]
