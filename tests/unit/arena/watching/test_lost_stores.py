"""A moved, replaced, locked or unreadable store is reported within two seconds, and found again."""

from __future__ import annotations

import os
import shutil
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from arena.cli.plain_watch import follow_plain
from arena.watching.feed import Poller
from arena.watching.query import StoreLost
from arena.watching.store_feed import StoreFeed
from arena_db.backend.sqlite.engine import find_driver
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

SOON_S = 2.0
"""Maximum number of seconds until a viewer reports that the store is gone."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store with a finished tournament, and beside it another store with another tournament."""
    for name in ("arena.db", "other.db"):
        with Store.open(tmp_path / name) as store:
            cup = add_cup(store, num=12, name="cup")
            store.matches.save([cup.match(number) for number in range(1, 13)])
            store.tournaments.set_state(1, "finished")
    return tmp_path / "arena.db"


@contextmanager
def moved(path: Path) -> Generator[str]:
    path.rename(path.with_suffix(".away"))
    yield "is gone (moved or deleted)"
    path.with_suffix(".away").rename(path)


@contextmanager
def replaced(path: Path) -> Generator[str]:
    path.rename(path.with_suffix(".away"))
    shutil.copy(path.with_name("other.db"), path)
    yield "was replaced by another file"
    path.unlink()
    path.with_suffix(".away").rename(path)


def refuse(*_: object) -> bool:
    return False


@contextmanager
def forbidden(_: Path) -> Generator[str]:
    # Root may read everything, whatever the mode: the test replaces the answer of the system.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", refuse)
        yield "cannot be read (Permission denied)"


@contextmanager
def locked(path: Path) -> Generator[str]:
    """Lock a store as a recovering process does, and let the feed reconnect: open connections see no lock."""
    library = find_driver().module
    with closing(library.connect(str(path), isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        yield "is locked by another process"


class Watched:
    """A feed that is polled with a clock that advances only during pauses."""

    def __init__(self, path: Path) -> None:
        self.now = 0.0
        self.feed = StoreFeed(str(path), 1, clock=lambda: self.now)
        self._poller = Poller(self.feed)

    def until(self, is_met: Callable[[str, bool], bool], within_s: float) -> str:
        """Poll until the error and whether data came meet a condition; return the error."""
        end = self.now + within_s
        while True:
            polled = self._poller.poll()
            trouble = "" if polled.error is None else str(polled.error)
            assert polled.error is None or isinstance(polled.error, StoreLost)
            if is_met(trouble, polled.batch is not None):
                return trouble
            self.now += polled.pause_s
            assert self.now <= end, "too late"


@pytest.mark.parametrize("lose", [moved, replaced, forbidden, locked])
def test_it_is_said_soon_and_found_again(
    path: Path, lose: Callable[[Path], AbstractContextManager[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.watching.query.BUSY_MS", 20)
    watched = Watched(path)
    watched.until(lambda trouble, has_come: not trouble and not has_come, 10.0)
    if lose is locked:
        watched.feed.close()
    with lose(path) as what:
        said = watched.until(lambda trouble, _: bool(trouble), SOON_S)
        assert said == f"store arena.db {what}; looking again"
        last = said
        for _ in range(6):
            last = watched.until(lambda trouble, _: bool(trouble), 0.0)
            assert last.endswith("; looking again")
            watched.now += 4.0
        if lose is replaced:
            assert last == "store arena.db no longer has this tournament; looking again"
    assert watched.until(lambda _, has_come: has_come, 4.0) == "", "it begins anew by itself"
    watched.feed.close()


def test_another_file_with_the_same_tournament_is_followed(path: Path) -> None:
    watched = Watched(path)
    watched.until(lambda trouble, has_come: not trouble and not has_come, 10.0)
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").rename(path)
    assert "replaced" in watched.until(lambda trouble, _: bool(trouble), SOON_S)
    assert watched.until(lambda _, has_come: has_come, SOON_S) == ""
    watched.feed.close()


def test_plain_lines_say_it_once_and_go_on(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(path) as store:
        store.tournaments.set_state(1, "running")
    away, waits = path.with_suffix(".away"), list[float]()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 4:
            path.rename(away)
        if len(waits) == 8:
            away.rename(path)
        if len(waits) == 12:
            with Store.open(path) as store:
                store.tournaments.set_state(1, "finished")
                store.commands.send(1, "pause")

    feed = StoreFeed(str(path), 1, clock=lambda: 10.0 * len(waits))
    follow_plain(feed, wait)
    feed.close()
    lines = capsys.readouterr().out.splitlines()
    gone = lines.index("store arena.db is gone (moved or deleted); looking again")
    assert lines[gone + 1] == "the store can be read again"
    assert sum("looking again" in line for line in lines) == 1
    assert waits[4:8] == [0.25, 0.5, 1.0, 2.0]
    assert lines[-1] == "the store can be read again", "what was told is not told again"


def test_what_will_not_pass_ends_plain_lines(path: Path) -> None:
    from arena.errors import ArenaError

    with pytest.raises(ArenaError, match="tournament 77 is no longer"):
        follow_plain(StoreFeed(str(path), 77), lambda _: None)
