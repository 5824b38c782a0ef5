"""Trials of stores on a server with many processes: small in the tests, in full in `make postgres-trials`."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arena_db import live, saving, server_rows
from arena_db.errors import LeaseLostError, LockedError
from arena_db.owner import current_owner
from arena_db.records import LiveEvent, MatchFilter
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from postgres_servers import PostgresServer
    from stores import Cup

_SPAWN: Final = multiprocessing.get_context("spawn")
_BATCH: Final = 100
_WAIT_MS: Final = 120_000
_DEADLINE_S: Final = 120.0
ALL: Final = MatchFilter(rated_only=False)


def run_all(work: Callable[..., None], *calls: tuple[Any, ...]) -> None:
    """Run a function in a process of its own for each call, all at once.

    Raises:
        AssertionError: one of them failed.
    """
    processes = [_begin(work, *call) for call in calls]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(calls)


def _begin(work: Callable[..., None], *args: object) -> BaseProcess:
    process = _SPAWN.Process(target=work, args=args, daemon=True)
    process.start()
    return process


def hold_events(url: str, num_coordinators: int, num_matches: int) -> float:
    """Start coordinators together, each with a tournament of the same bots, and save each batch twice.

    Returns:
        Elapsed seconds.

    Raises:
        AssertionError: one failed; a match is missing or stored twice; a count is wrong.
    """
    with Store.open(url):
        pass
    start = time.perf_counter()
    run_all(_hold_event, *[(url, index, num_matches) for index in range(num_coordinators)])
    took = time.perf_counter() - start
    with Store.open(url) as store:
        records = store.tournaments.newest()
        assert len(records) == num_coordinators
        for record in records:
            found = [match.number for match in store.matches.of_tournament(record.id)]
            assert found == list(range(1, num_matches + 1)), record.name
            assert record.num_done == num_matches
        assert sum(tally.num_matches for tally in store.sums.tallies(ALL)) == num_coordinators * num_matches
        assert len(store.names.bots()) == 3
        assert not (faults := store.integrity.check()), faults[:3]
    return took


def _hold_event(url: str, index: int, num_matches: int) -> None:
    # All begin together, and one after the other writes its plan.
    with Store.open(url, fast=True, busy_ms=_WAIT_MS) as store:
        cup = add_cup(store, num=num_matches, name=f"cup-{index}")
        held = store.claim(cup.record.id, current_owner())
        assert held is not None
        for first in range(1, num_matches + 1, _BATCH):
            numbers = range(first, min(first + _BATCH, num_matches + 1))
            records = [cup.match(number) for number in numbers]
            assert held.matches.save(records) == len(records)
            assert held.matches.save(records) == 0
            held.sums.sum_up(batches=1)
        held.leases.release()


class Followed(NamedTuple):
    """Figures of publishing and following events."""

    num_events: int
    num_kills: int


def follow_events(server: PostgresServer, url: str, num: int, seconds: float, kills: int) -> Followed:
    """Write events from several processes and follow them while the server is killed.

    Raises:
        AssertionError: a follower has not seen each stored event once, in order.
    """
    with Store.open(url) as store:
        cups = [add_cup(store, name=f"told-{index}") for index in range(num)]
    seen = [_SPAWN.Queue() for _ in cups]
    end, opened = _SPAWN.Event(), _SPAWN.Semaphore(0)
    followers = [
        _begin(_follow, url, cup.record.id, opened, end, queue) for cup, queue in zip(cups, seen, strict=True)
    ]
    writers = [_begin(_tell, url, cup.record.id, opened, seconds) for cup in cups]
    for _ in (*followers, *writers):
        assert opened.acquire(timeout=_DEADLINE_S)
    for _ in range(kills):
        time.sleep(seconds / (kills + 1))
        server.kill()
        server.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    end.set()
    followed = [queue.get(timeout=_DEADLINE_S) for queue in seen]
    for follower in followers:
        follower.join()
    total = 0
    with Store.open(url) as store:
        for cup, found in zip(cups, followed, strict=True):
            stored: list[tuple[int, str]] = []
            seq = 0
            while (page := store.events.after(seq, 1000, tournament=cup.record.id)).events:
                stored += [(event.seq, event.payload) for event in page.events]
                seq = page.seq
            assert [one[0] for one in stored] == list(range(1, len(stored) + 1))
            assert found == stored
            total += len(stored)
    return Followed(total, kills)


def _tell(url: str, tournament: int, opened: Any, seconds: float) -> None:  # noqa: ANN401 - of multiprocessing
    live.KEPT, num = 1 << 40, 0
    with Store.open(url) as store:
        opened.release()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            events = [
                LiveEvent(
                    tournament=tournament, number=1, kind="move", payload=f'{{"n": {num + index}}}', t=1.0
                )
                for index in range(20)
            ]
            try:
                store.events.append(events)
            except LockedError:
                time.sleep(0.05)
            else:
                num += len(events)


def _follow(url: str, tournament: int, opened: Any, end: Any, seen: Any) -> None:  # noqa: ANN401 - of multiprocessing
    found: list[tuple[int, str]] = []
    seq = 0
    with Store.open(url, read_only=True) as store:
        opened.release()
        while True:
            is_last = end.is_set()
            try:
                page = store.events.after(seq, 500, tournament=tournament)
            except LockedError:
                time.sleep(0.05)
                continue
            assert not page.has_gap
            found += [(event.seq, event.payload) for event in page.events]
            seq = page.seq
            if not page.events:
                if is_last:
                    break
                time.sleep(0.01)
    seen.put(found)


def take_over(url: str, index: int, num_matches: int) -> None:
    """Stop a process that plays a tournament, take over and continue the tournament, and wake the process.

    Raises:
        AssertionError: a match is missing or stored twice; the first process did not end with status 3.
    """
    with Store.open(url) as store:
        cup = add_cup(store, num=num_matches, name=f"held-{index}")
        first = _begin(_play_on, url, cup, "first")
        while store.leases.find(cup.record.id) is None or not store.matches.find_attempt(
            cup.record.id, 1 + index % 7
        ):
            assert first.is_alive()
        assert first.pid is not None
        os.kill(first.pid, signal.SIGSTOP)
        try:
            _make_silent(url, cup)
            second = _begin(_play_on, url, cup, "second")
            second.join()
            assert second.exitcode == 0
        finally:
            os.kill(first.pid, signal.SIGCONT)
        first.join()
        assert first.exitcode == _LOST
        found = [match.number for match in store.matches.of_tournament(cup.record.id)]
        assert found == list(range(1, num_matches + 1))
        record = store.tournaments.find(cup.record.id)
        assert record is not None
        assert record.num_done == num_matches


_LOST: Final = 3


def _play_on(url: str, cup: Cup, who: str) -> None:
    owner = replace(current_owner(), uuid=f"{who}-{os.getpid()}")
    with Store.open(url, fast=True) as store:
        held = store.claim(cup.record.id, owner, take_over=who == "second")
        assert held is not None
        for planned in held.plans.unplayed(cup.record.id):
            try:
                held.matches.save([cup.match(planned.number)])
            except LeaseLostError:
                raise SystemExit(_LOST) from None


def _make_silent(url: str, cup: Cup) -> None:
    """Age the lease as if its holder had been silent for a minute; a stopped holder may lock its row."""
    with Store.open(url) as store, store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        connection.exec_driver_sql(
            f"UPDATE leases SET beat_at = beat_at - 60 WHERE tournament_id = {cup.record.id}"  # noqa: S608
        )


def compare_copy(url: str, num_rows: int, rounds: int = 3) -> float:
    """Return how many times faster COPY is than inserting rows one by one; best times of alternating runs."""
    best = {"copy": float("inf"), "rows": float("inf")}
    least = server_rows.LEAST
    with Store.open(url, fast=True) as store:
        for index in range(2 * rounds):
            way = "copy" if index % 2 else "rows"
            cup = add_cup(store, num=num_rows, name=f"{way}-{index}")
            records = [cup.match(number) for number in range(1, num_rows + 1)]
            server_rows.LEAST = least if way == "copy" else 1 << 60
            clock = _InsertClock()
            with clock:
                assert store.matches.save(records) == num_rows
            best[way] = min(best[way], clock.seconds)
    server_rows.LEAST = least
    return best["rows"] / best["copy"]


class _InsertClock:
    """Measures how long inserting rows of matches takes within a save."""

    seconds = 0.0

    def __enter__(self) -> None:
        self._real = saving._insert  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

        def timed(*args: Any) -> None:  # noqa: ANN401 - what the real one takes
            start = time.perf_counter()
            self._real(*args)
            self.seconds += time.perf_counter() - start

        saving._insert = timed  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def __exit__(self, *_: object) -> None:
        saving._insert = self._real  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def move_there_and_back(url: str, folder: Path, num_matches: int) -> None:
    """Merge a store in a file into one on a server, and that one into another file.

    Raises:
        AssertionError: a sum or a match of the copies differs, or a check finds a fault.
    """
    with Store.open(folder / "here.db", fast=True) as here, Store.open(url, fast=True) as there:
        for index in range(3):
            cup = add_cup(here, num=num_matches, name=f"moved-{index}")
            here.matches.save(
                [cup.match(number) for number in range(1, num_matches)] + [cup.void(num_matches)]
            )
        here.changes.void([2], reason="it was helped", who="anna@lab")
        there.transfers.merge(folder / "here.db")
        with Store.open(folder / "back.db", fast=True) as back:
            back.transfers.merge(url)
            told = [
                (store.sums.of_pools(), store.sums.tallies(ALL), _hashes(store))
                for store in (here, there, back)
            ]
            assert told[0] == told[1] == told[2]
            assert here.integrity.check() == there.integrity.check() == back.integrity.check() == []
            assert [each.num_rows for each in there.transfers.merge(folder / "here.db")] == [0, 0, 0]


def _hashes(store: Store) -> list[tuple[str, int, str]]:
    return sorted(
        (record.uid, match.number, match.match_hash)
        for record in store.tournaments.newest()
        for match in store.matches.of_tournament(record.id)
    )
