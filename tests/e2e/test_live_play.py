"""A tournament in its own process, with viewers and commands in other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import strange_bots
from arena.coordinator.client import Launched, follow, start
from arena.live.reducer import reduce
from arena.watching.feed import Model, advance
from arena.watching.store_feed import StoreFeed
from arena_db.store import Store
from terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.live.views import LiveView

DEADLINE_S = 300.0
_BUSY = "strange:folder={folder},wait=on"
_OPTIONS = ("--game", "tic-tac-toe", "--isolation", "none", "--require-tier", "T0", "--concurrency", "1")
_MORE = ("--openings", "none", "--rounds", "6", "--srand", "5", "--st", "600")


def until(what: str, is_so: Callable[[], object]) -> None:
    """Poll until a condition is true."""
    end, pause = time.monotonic() + DEADLINE_S, threading.Event()
    while not is_so():
        assert time.monotonic() < end, f"in vain: {what}"
        pause.wait(0.02)


class Watcher:
    """A viewer in this process."""

    def __init__(self, db: Path) -> None:
        self.feed = StoreFeed(str(db), 1)
        self.model = Model()
        self.stalled: set[int] = set()
        """Numbers of the matches that were stalled at any moment."""

    def sees(self, is_so: Callable[[LiveView], object]) -> bool:
        """Apply new events, and return whether a condition is true of the view."""
        batch = self.feed.poll()
        if batch is not None:
            view = self.model.view if batch.view is None else batch.view
            for event in batch.events:
                view = reduce(view, event)
                self.stalled |= _stalled(view)
            self.model = advance(self.model, batch)
            self.stalled |= _stalled(self.model.view)
        return bool(is_so(self.model.view))

    def warning(self) -> str:
        """Return the header's warning about the coordinator."""
        self.sees(lambda _: True)
        return self.model.health.warning(time.time())


class Place(NamedTuple):
    """The files of a test."""

    folder: Path
    db: Path
    gate: Path
    """While this file exists, `strange` moves at once; otherwise it waits for it in every match."""

    def start(self, *words: str) -> Launched:
        """Start a tournament whose first match waits until the gate file exists."""
        bot = _BUSY.format(folder=self.folder)
        return start([*(words or ("match",)), *_OPTIONS, *_MORE, "--", bot, "random"])

    def plain(self, name: str) -> subprocess.Popen[bytes]:
        """Start a viewer that prints lines to a file."""
        with (self.folder / name).open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "arena", "watch", "--plain"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def lines(self, name: str) -> list[str]:
        """Return the lines that a viewer printed."""
        return (self.folder / name).read_text("utf-8").splitlines()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    made = Place(tmp_path, tmp_path / "arena.db", tmp_path / "gate")
    strange_bots.install(monkeypatch, tmp_path / "site")
    support = Path(strange_bots.__file__).parent
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), str(support)]))
    scripts = sysconfig.get_path("scripts")
    monkeypatch.setenv("PATH", os.pathsep.join([scripts, os.environ.get("PATH", "")]))
    for name, path in (("HOME", "home"), ("DB", "arena.db")):
        monkeypatch.setenv(f"ARENA_{name}", str(tmp_path / path))
    yield made
    made.gate.touch()


@pytest.fixture
def started(place: Place) -> Iterator[Launched]:
    """Start a match of 12 planned games, in which `strange` has not moved yet."""
    launched = place.start()
    assert follow(launched).name == "match-1"
    yield launched
    place.gate.touch()
    launched.end()
    until("it has ended", lambda: launched.poll() is not None)


def test_viewers_come_late_and_go_and_steer(place: Place, started: Launched) -> None:
    watcher = Watcher(place.db)
    until("a match is being played", lambda: watcher.sees(_is_played))
    with place.plain("stays") as stays, place.plain("goes") as goes:
        until("both see it", lambda: all(_has(place.lines(name), "begins") for name in ("stays", "goes")))
        goes.kill()
        assert watcher.warning() == ""
        with Store.open(place.db, read_only=True) as viewer:
            asked = viewer.commands.send(1, "pause")
            until("it is paused", lambda: watcher.sees(lambda view: view.progress.state == "paused"))
            place.gate.touch()
            until("the match has ended", lambda: watcher.sees(lambda view: view.progress.done == 1))
            answer = viewer.commands.find(asked)
            assert answer is not None
            assert answer.answer.startswith("no new match begins")
            late = Watcher(place.db)
            until("who comes late sees the same", lambda: late.sees(lambda view: view.progress.done == 1))
            assert late.model.view.progress.state == "paused"
            assert started.poll() is None
            viewer.commands.send(1, "resume")
        until("all is played", lambda: watcher.sees(lambda view: view.progress.done == 12))
        until("it has ended", lambda: watcher.sees(lambda view: view.progress.state == "ended"))
        assert stays.wait(DEADLINE_S) == 0
    until("the process has ended", lambda: started.poll() is not None)
    assert started.poll() == 0
    assert _has(place.lines("stays"), "12 of 12")
    with Store.open(place.db) as store:
        assert store.integrity.check() == []
        moves = [
            event
            for event in store.events.after(0, tournament=1).events
            if event.kind == "move" and event.number == 1
        ]
        match = store.matches.find_attempt(1, 1)
        assert match is not None
        assert [event.ply for event in moves] == list(range(1, len(match.actions) + 1))


def test_a_coordinator_that_was_killed_is_missed_and_replaced(place: Place, started: Launched) -> None:
    watcher = Watcher(place.db)
    until("a match is being played", lambda: watcher.sees(_is_played))
    with Terminal(place.db, "watch", "--ascii", "--reduce-motion") as terminal:
        terminal.wait_for(b"LIVE")
        assert b"stalled" not in terminal.output
        os.kill(started.pid, signal.SIGKILL)
        until("it is missed", lambda: watcher.warning() == "no coordinator")
        assert _stalled(watcher.model.view) == {1}
        terminal.wait_for(b" stalled")
    assert started.poll() == -signal.SIGKILL
    place.gate.touch()
    again = start(["resume"], db=str(place.db))
    until("all is played", lambda: watcher.sees(lambda view: view.progress.done == 12))
    assert _stalled(watcher.model.view) == set()
    until("it has ended", lambda: again.poll() is not None)
    assert again.poll() == 0, again.complaint()
    until("nobody is expected", lambda: watcher.warning() == "")
    with Store.open(place.db) as store:
        assert store.integrity.check() == []


def test_the_board_of_a_worker_that_was_killed_stands_still_and_goes_on(
    place: Place, started: Launched
) -> None:
    watcher = Watcher(place.db)
    until("a match is being played", lambda: watcher.sees(_is_played))
    assert watcher.stalled == set()
    for worker in _workers(started.pid):
        os.kill(worker, signal.SIGKILL)
    until("its board stands still", lambda: watcher.sees(lambda _: watcher.stalled))
    assert watcher.stalled == {1}
    until("it begins again", lambda: watcher.sees(lambda view: _is_played(view) and not _stalled(view)))
    assert watcher.warning() == ""
    assert "worker" in watcher.model.view.notices[0].text
    place.gate.touch()
    until("all is played", lambda: watcher.sees(lambda view: view.progress.done == 12))
    until("the process has ended", lambda: started.poll() is not None)
    assert started.poll() == 0, started.complaint()
    with Store.open(place.db) as store:
        assert store.integrity.check() == []


def test_a_pause_from_another_process(place: Place, started: Launched) -> None:
    def arena(*words: str) -> str:
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "arena", *words], capture_output=True, timeout=DEADLINE_S, check=True
        )
        return (done.stdout + done.stderr).decode()

    watcher = Watcher(place.db)
    until("a match is being played", lambda: watcher.sees(_is_played))
    said = arena("pause", "match-1")
    assert said.startswith("asked match-1 to pause: no new match begins"), said
    assert said.endswith("to continue: arena resume match-1\n"), said
    until("it is paused", lambda: watcher.sees(lambda view: view.progress.state == "paused"))
    place.gate.touch()
    until("the match has ended", lambda: watcher.sees(lambda view: view.progress.done == 1))
    assert arena("resume", "match-1").startswith("asked match-1 to continue: ")
    until("all is played", lambda: watcher.sees(lambda view: view.progress.done == 12))
    until("the process has ended", lambda: started.poll() is not None)
    assert started.poll() == 0, started.complaint()
    assert arena("pause", "match-1") == "match-1 is finished; nothing is running\n"


def test_a_stop_from_another_process(place: Place, started: Launched) -> None:
    watcher = Watcher(place.db)
    until("a match is being played", lambda: watcher.sees(_is_played))
    stopped = subprocess.run(
        [sys.executable, "-m", "arena", "stop", "match-1"],
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )
    assert b"asked match-1 to stop" in stopped.stdout
    until("it stops", lambda: watcher.sees(lambda view: view.progress.state == "stopping"))
    place.gate.touch()
    until("it has ended", lambda: started.poll() is not None)
    assert started.poll() == 3
    until("viewers know", lambda: watcher.sees(lambda view: view.progress.state == "ended"))
    assert watcher.model.view.progress.reason == "a stop was requested"


def test_what_cannot_be_held_says_why(place: Place) -> None:
    launched = start(["tournament", "mtcs", "random"], db=str(place.db))
    until("it has ended", lambda: launched.poll() is not None)
    assert launched.poll() == 2
    assert launched.event() is None
    assert 'no bot "mtcs"' in launched.complaint()


def _workers(coordinator: int) -> list[int]:
    """Return the worker processes of a coordinator."""
    children = Path(f"/proc/{coordinator}/task/{coordinator}/children").read_text("ascii").split()
    found: list[int] = []
    for child in children:
        # A child of another kind may have been reaped just before.
        with suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    assert found, "no worker"
    return found


def _stalled(view: LiveView) -> set[int]:
    return {number for number, match in view.matches.items() if match.is_stalled}


def _is_played(view: LiveView) -> bool:
    return any(not match.is_over for match in view.matches.values())


def _has(lines: list[str], text: str) -> bool:
    return any(text in line for line in lines)


def test_a_tournament_outlives_its_dashboard(place: Place) -> None:
    bot = _BUSY.format(folder=place.folder)
    with Terminal(place.db, "match", *_OPTIONS, *_MORE, "--tui", "--name", "cup", bot, "random") as terminal:
        terminal.wait_for(b"LIVE")
        terminal.press(b"q")
        assert terminal.ended() == 0
        assert terminal.is_restored()
        assert b"arena watch cup" in terminal.output
        place.gate.touch()
    watcher = Watcher(place.db)
    until("it went on to its end", lambda: watcher.sees(lambda view: view.progress.state == "ended"))
    assert watcher.model.view.progress.done == 12


def test_a_dashboard_needs_a_terminal(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arena", "match", "random", "random", "--tui"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, place.db.exists()) == (2, False)
    assert b"--tui needs a terminal" in done.stderr
