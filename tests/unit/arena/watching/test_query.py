"""Queries of the store can be cancelled, publish nothing afterwards, and report why they fail."""

from __future__ import annotations

import errno
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from arena.errors import ConfigError
from arena.watching.query import Queries, Query
from arena.watching.query_answers import Empty, Rows, Unavailable
from arena_db.backend.sqlite.engine import find_driver
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GRADED = MatchFilter(mistakes=((">=", 0),), rated_only=False)
"""A filter for which SQLite calls one of our functions for each graded match."""


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Return a store with 12 graded matches."""
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, num=12)
        store.matches.save([cup.match(number) for number in range(1, 13)])
        for match in store.matches.newest(MatchFilter(rated_only=False)):
            plies = tuple(JudgedPly(value=0.0, loss=0.0) for _ in match.actions)
            store.analyses.add(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=1.0))
    return tmp_path / "arena.db"


class Held:
    """A slow SQL function: its first call waits until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.num_calls = 0
        self.begun, self.go_on = threading.Event(), threading.Event()
        monkeypatch.setattr("arena_db.backend.sqlite.engine.num_mistakes", self)

    def __call__(self, content: object, num_opening: object) -> int:
        del content, num_opening
        self.num_calls += 1
        self.begun.set()
        self.go_on.wait(120)
        return 0


def count(query: Query) -> Rows[int]:
    with query.store() as store:
        return Rows(store.matches.count(GRADED))


def refuse(answer: object) -> None:
    """Fail: nothing may be published."""
    raise AssertionError(answer)


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_an_answer_is_published_in_parts_and_whole(graded: Path) -> None:
    queries = Queries(str(graded))
    heard: list[object] = []

    def source(query: Query) -> Rows[int]:
        query.publish("some")
        assert queries.num_running == 1
        return count(query)

    queries.ask(queries.new(), source, heard.append)
    assert heard == [Rows("some"), Rows(12)]
    assert queries.num_running == 0


@pytest.mark.parametrize("is_one", [True, False])
def test_a_query_that_sqlite_is_held_in_ends_at_once_and_says_nothing(
    graded: Path, monkeypatch: pytest.MonkeyPatch, *, is_one: bool
) -> None:
    held, queries = Held(monkeypatch), Queries(str(graded))
    heard: list[object] = []
    query = queries.new()
    thread = in_thread(lambda: queries.ask(query, count, heard.append))
    assert held.begun.wait(120)
    if is_one:
        query.cancel()
    else:
        queries.close()
    held.go_on.set()
    thread.join(30)
    assert not thread.is_alive()
    # For the match at which it is blocked, the condition calls the function twice: for the judge and the
    # count.
    assert held.num_calls <= 2, "the statement did not go on to the other matches"
    assert heard == []
    assert queries.num_running == 0


def test_what_sees_the_end_and_still_answers_is_not_published(graded: Path) -> None:
    queries = Queries(str(graded))
    heard: list[object] = []

    def source(query: Query) -> Rows[int]:
        query.cancel()
        return Rows(1)

    queries.ask(queries.new(), source, heard.append)
    assert heard == []


def test_after_the_end_nothing_is_asked(graded: Path) -> None:
    queries = Queries(str(graded))
    queries.close()
    queries.ask(queries.new(), count, refuse)
    query = Query(str(graded))
    query.cancel()
    assert not query.is_wanted()
    Queries(str(graded)).ask(query, count, refuse)


def test_a_cancelled_query_starts_no_further_statement(graded: Path) -> None:
    queries = Queries(str(graded))
    reached: list[str] = []

    def source(query: Query) -> Rows[int]:
        with query.store() as store:
            reached.append("open")
            query.cancel()
            store.names.bots()
            reached.append("read")
        return Rows(0)

    queries.ask(queries.new(), source, refuse)
    assert reached == ["open"]


def answer(path: Path, source: Callable[[Query], Any] = count) -> object:
    """Return the answer for a store that was read before."""
    heard: list[object] = []
    Queries(str(path)).ask(Query(str(path)), source, heard.append)
    (only,) = heard
    return only


def test_a_store_that_was_there_is_gone_and_one_that_never_was_is_not_there_yet(graded: Path) -> None:
    queries = Queries(str(graded))
    heard: list[object] = []
    queries.ask(queries.new(), count, heard.append)
    graded.rename(graded.with_suffix(".away"))
    queries.ask(queries.new(), count, heard.append)
    gone = Unavailable("store arena.db is gone (moved or deleted); looking again", is_passing=True)
    assert heard == [Rows(12), gone]
    never = Queries(str(graded))
    never.ask(never.new(), count, heard.append)
    assert isinstance(heard[-1], Empty)
    assert "nothing has been played yet" in heard[-1].why
    graded.with_suffix(".away").rename(graded)
    queries.ask(queries.new(), count, heard.append)
    assert heard[-1] == Rows(12)


def test_a_lock_is_said_within_a_second(graded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.watching.query.BUSY_MS", 20)
    # The SQLite library of the store: a second library in this process would not see the lock.
    library = find_driver().module
    with closing(library.connect(str(graded), isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        locked = Unavailable("store arena.db is locked by another process; looking again", is_passing=True)
        assert answer(graded) == locked
        other.execute("ROLLBACK")
    assert answer(graded) == Rows(12)


def test_what_may_not_be_read_is_said(graded: Path) -> None:
    # Root may read everything, whatever the mode; a loop of symbolic links is unreadable for every user.
    graded.rename(graded.with_suffix(".away"))
    graded.symlink_to(graded)
    found = answer(graded)
    assert isinstance(found, Unavailable)
    assert found.is_passing
    assert found.reason.startswith("store arena.db ")
    assert found.reason.endswith("; looking again")


def test_what_will_not_pass_is_not_asked_again(graded: Path) -> None:
    def source(_: Query) -> Rows[int]:
        raise ConfigError("no such filter")

    assert answer(graded, source) == Unavailable("no such filter", is_passing=False)
    graded.write_bytes(b"not a store" * 1000)
    found = answer(graded)
    assert isinstance(found, Unavailable)
    assert not found.is_passing
    assert "is not a store of arena" in found.reason


def test_a_store_that_is_written_to_is_never_interrupted(graded: Path) -> None:
    from arena_db.errors import RefusedError

    with Store.open(graded) as store:
        with pytest.raises(RefusedError, match="open for writing"):
            store.interrupt()
        assert store.matches.count(MatchFilter()) == 12


def test_a_store_that_could_not_be_looked_for_is_missed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str | None) -> bool:
        raise PermissionError(errno.EACCES, "no permission")

    with monkeypatch.context() as patch:
        patch.setattr("arena.watching.query.has_store", refuse)
        queries = Queries(str(tmp_path / "arena.db"))
    heard: list[object] = []
    queries.ask(queries.new(), count, heard.append)
    assert isinstance(heard[-1], Unavailable), "not: nothing has been played yet"
