"""Errors of a server that refuses a store, their messages, and behaviour that only a server has."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from arena_db import access, filters, saving
from arena_db.backend import choice, postgres
from arena_db.dialects import stream
from arena_db.errors import AwayError, MissingError, UnsupportedError
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.owner import current_owner
from arena_db.records import MatchFilter
from arena_db.server_rows import copy_new
from arena_db.store import Store
from fake_postgres import fake_server, greeting, refusal, silent_server
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from postgres_servers import Databases


@pytest.mark.parametrize(
    ("state", "said", "step"),
    [
        ("28P01", 'password authentication failed for user "anna"', r"into ~/\.pgpass .mode 0600"),
        ("28000", 'role "anna" does not exist', r"GRANT the user access"),
        ("28000", 'no pg_hba.conf entry for host "10.0.0.1"', r"into ~/\.pgpass"),
        ("3D000", 'database "league" does not exist', r"create it: createdb -E UTF8 -T template0 league"),
        ("57P03", "the database system is starting up", "check that the server runs"),
    ],
)
def test_who_is_refused_is_told_the_next_step(state: str, said: str, step: str) -> None:
    with fake_server(refusal(state, said)) as url:
        for open_it in (lambda: Store.open(url), lambda: Store.open(url, read_only=True)):
            with pytest.raises(MissingError, match=rf"{said}.*{step}.*or name another store with --db"):
                open_it()


def test_an_old_server_is_refused() -> None:
    with (
        fake_server(greeting("14.13")) as url,
        pytest.raises(UnsupportedError, match="is PostgreSQL 14; a store needs version 15 or later"),
    ):
        Store.open(url)


def test_a_server_that_does_not_answer_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert postgres.CONNECT_S <= 4, "with the start of the command that is less than 6 s"
    # libpq waits at least 2 s.
    monkeypatch.setattr(postgres, "CONNECT_S", 2)
    start = time.monotonic()
    with silent_server() as url, pytest.raises(MissingError, match=r"timeout expired.*check that the server"):
        Store.open(url)
    assert time.monotonic() - start >= 2, "it had its time"


def test_without_the_driver_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "arena_db.backend.postgres", raising=False)
    monkeypatch.delattr("arena_db.backend.postgres", raising=False)
    assert choice
    with pytest.raises(
        UnsupportedError, match=r"needs psycopg; install it: pip install 'bot-arena\[postgres\]'"
    ):
        Store.open("postgresql://anna@127.0.0.1/league")


def test_rows_are_read_piece_by_piece(url: str) -> None:
    with Store.open(url) as store, store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - to look at it
        pieces = stream(connection, "SELECT generate_series(1, 5)", 2)
        assert next(pieces) == [(1,), (2,)]
        cursors = "SELECT count(*) FROM pg_cursors WHERE name <> ''"
        assert connection.exec_driver_sql(cursors).scalar() == 1
        assert list(pieces) == [[(3,), (4,)], [(5,)]]
        assert connection.exec_driver_sql(cursors).scalar() == 0


def test_a_connection_that_ends_within_a_save_is_made_again(
    url: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []

    def copy_later(connection: Connection, *arguments: Any) -> int:  # noqa: ANN401 - of the real one
        raw: Any = connection.connection.driver_connection
        if not ended:
            ended.append(raw.info.backend_pid)
            databases.end(raw.info.backend_pid)
        return copy_new(connection, *arguments)

    monkeypatch.setattr(saving, "copy_new", copy_later)
    with Store.open(url) as store:
        cup = add_cup(store, num=30)
        assert store.matches.save([cup.match(number) for number in range(1, 31)]) == 30
        assert len(ended) == 1
        assert store.integrity.check() == []


CALLS: dict[str, Callable[[Store], object]] = {
    "tournament": lambda held: held.tournaments.find(1),
    "unplayed": lambda held: held.plans.unplayed(1),
    "match_of": lambda held: held.matches.find_attempt(1, 1),
    "last_change": lambda held: held.changes.last(1),
    "sum_up": lambda held: held.sums.sum_up(),
    "save": lambda held: held.matches.save([]),
    "set_state": lambda held: held.tournaments.set_state(1, "stopped"),
}
"""Calls that a run makes between two matches."""


class Pauses:
    """Replaces the pause between two attempts: the server restarts meanwhile."""

    def __init__(self, come_back: Callable[[], None]) -> None:
        self.num = 0
        self._come_back = come_back

    def __call__(self, seconds: float) -> None:
        assert seconds > 0
        self.num += 1
        self._come_back()


def test_a_run_waits_for_a_server_that_restarts(
    databases: Databases, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = databases.make(template)
    url = databases.url(name)
    with Store.open(url) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1)])
        held = store.claim(cup.record.id, current_owner())
        assert held is not None
        for what, call in CALLS.items():
            wanted = call(held)
            with databases.away(url) as come_back:
                with pytest.raises(AwayError, match="not currently accepting connections"):
                    store.tournaments.find(1)
                pauses = Pauses(come_back)
                monkeypatch.setattr(access, "sleep", pauses)
                assert call(held) == wanted, what
            assert what == "sum_up" or pauses.num > 0, what
        assert store.integrity.check() == []
    databases.drop(name)


def test_a_store_closes_the_connections_of_its_run(databases: Databases, template: str) -> None:
    name = databases.make(template)
    url = databases.url(name)
    with Store.open(url) as store:
        held = store.claim(add_cup(store).record.id, current_owner())
        assert held is not None
        assert held.data_version()
    assert databases.num_clients(url) == 0
    databases.drop(name)


def test_sums_are_integers(url: str) -> None:
    with Store.open(url) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1), cup.match(2)])
        assert type(store.matches.count(MatchFilter())) is int
        assert type(store.plans.play_time(cup.record.id, cup.plan[0].encounter)) is float
        with store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as a query could
            total = connection.exec_driver_sql("SELECT sum(duration_ms) FROM matches").scalar()
        assert (total, type(total)) == (2 * 70_012, int)


def test_an_analysis_is_read_once_to_count_its_mistakes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(url) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(number) for number in range(1, 4)])
        for number in (1, 2):
            add_grade(store, number, loss=2.0)
        graded = MatchFilter(mistakes=((">", 0),))
        assert [match.id for match in store.matches.newest(graded)] == [2, 1]
        monkeypatch.setattr(filters, "num_mistakes", _fail)
        assert [match.id for match in store.matches.newest(graded)] == [2, 1]
        monkeypatch.undo()
        add_grade(store, 2, loss=0.0)
        assert [match.id for match in store.matches.newest(graded)] == [1]
        monkeypatch.setattr(filters, "_MOST_KNOWN", 1)
        assert [match.id for match in store.matches.newest(graded)] == [1]
        assert store.matches.count(graded) == 1


def test_another_thread_may_forget_analyses_meanwhile(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = filters.num_mistakes

    def forgetful(content: bytes, num_opening: int) -> int | None:
        filters._known.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as a query in another thread
        return count(content, num_opening)

    monkeypatch.setattr(filters, "num_mistakes", forgetful)
    with Store.open(url) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(number) for number in range(1, 4)])
        for number in (1, 2, 3):
            add_grade(store, number, loss=float(number - 1))
        graded = MatchFilter(mistakes=((">", 0),))
        assert [match.id for match in store.matches.newest(graded)] == [3, 2]


def add_grade(store: Store, number: int, loss: float) -> None:
    plies = (JudgedPly(value=0.0, loss=loss),) * 4
    store.analyses.add(JudgedMatch(match=number, name="solver", plies=plies, made_at=1.0))


def _fail(content: bytes, num_opening: int) -> int | None:
    raise AssertionError((content, num_opening))


def test_queries_are_watched_although_one_cannot_be_cancelled() -> None:
    class Connection:
        def __init__(self, error: Exception | None) -> None:
            self.error = error
            self.cancelled = threading.Event()

        def cancel(self) -> None:
            self.cancelled.set()
            if self.error is not None:
                raise self.error

    watch = postgres._Watch()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - a server would be slow to break
    lost, sound = Connection(psycopg.OperationalError("connection refused")), Connection(None)
    with watch.over(lost, lambda: False):
        assert lost.cancelled.wait(300)
    with watch.over(sound, lambda: False):
        assert sound.cancelled.wait(300)
    watch.close()
