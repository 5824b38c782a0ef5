"""Stores on a server, with many processes and a server that is killed; `make postgres-trials` does more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import server_trials
from arena_db.store import Store
from postgres_servers import Databases, PostgresServer

if TYPE_CHECKING:
    from pathlib import Path


def test_coordinators_that_begin_together(databases: Databases, template: str) -> None:
    name = databases.make(template)
    server_trials.hold_events(databases.url(name), 3, 150)
    databases.drop(name)


def test_a_store_moves_to_a_server_and_back(url: str, tmp_path: Path) -> None:
    server_trials.move_there_and_back(url, tmp_path, 12)


def test_a_copy_stores_what_rows_store(url: str) -> None:
    assert server_trials.compare_copy(url, 60, rounds=1) > 0
    with Store.open(url) as store:
        assert store.integrity.check() == []


def test_every_event_is_followed_though_the_server_is_killed() -> None:
    server = PostgresServer(durable=True)
    try:
        databases = Databases(server.url("postgres"))
        name = databases.make()
        databases.close()
        found = server_trials.follow_events(server, server.url(name), 2, 3.0, 1)
        assert found.num_events > 0
    finally:
        server.close()
