"""Events by HTTP: complete, each once, over broken connections; read once for all waiting clients."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest

import arena_db.live
from api_clients import StreamReader, served
from arena.live.events import Fault, Move, RunState, Started, pack
from arena.serve.api import event_rows
from arena.serve.server_options import ServeSettings
from arena_db.records import LiveEvent
from arena_db.runs import StoredEvents
from arena_db.store import Store
from stores import START, add_cup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from starlette.applications import Starlette

EVENTS = "/api/v1/tournaments/spring/events"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as store:
        add_cup(store, name="spring")
        add_cup(store, name="other")
        yield store


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(event_rows, "POLL_S", 0.01)


def _event(number: int | None, kind: str = "fault", ply: int = 0, tournament: int = 1) -> LiveEvent:
    body = {
        "started": Started(bots=("a", "b"), game="connect-four"),
        "move": Move(action=3),
        "info": Move(action=3),
        "fault": Fault(text=f"no {number} \u202e\n\ndata: x"),
        "state": RunState(state="running", planned=12, done=0),
    }[kind]
    return LiveEvent(tournament=tournament, number=number, ply=ply, kind=kind, payload=pack(body), t=START)


def _seqs(store: Store) -> list[int]:
    return [event.seq for event in store.events.after(0, 10_000, tournament=1).events]


def test_json_has_every_event_once_in_pieces(store: Store) -> None:
    for number in range(1, 8):
        store.events.append([_event(number), _event(number, tournament=2)])

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        whole = (await client.get(EVENTS)).json()
        assert [event["seq"] for event in whole["events"]] == _seqs(store)
        assert whole["gap"] is False
        assert whole["seq"] == 7
        first = whole["events"][0]
        assert (first["kind"], first["match"], first["t"]) == ("fault", 1, START)
        assert first["payload"]["text"] == "no 1 \u202e\n\ndata: x"
        rest = (await client.get(f"{EVENTS}?after={whole['events'][3]['seq']}")).json()
        assert rest["events"] == whole["events"][4:]
        none = (await client.get(f"{EVENTS}?after=7")).json()
        assert none == {"events": [], "seq": 7, "gap": False}

    served(store.path, body)


def test_a_poll_waits_for_the_first_event(store: Store) -> None:
    store.events.append([_event(1)])

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        found: list[Any] = []

        async def poll() -> None:
            found.append((await client.get(f"{EVENTS}?after=1&wait=30")).json())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(poll)
            await anyio.sleep(0.1)
            await anyio.to_thread.run_sync(store.events.append, [_event(2, tournament=2)])
            await anyio.sleep(0.1)
            assert found == []
            await anyio.to_thread.run_sync(store.events.append, [_event(3)])
        assert [event["seq"] for event in found[0]["events"]] == [2]
        over = (await client.get(f"{EVENTS}?after=2&wait=0.05")).json()
        assert over == {"events": [], "seq": 2, "gap": False}

    served(store.path, body)


def test_a_stream_that_breaks_again_and_again_loses_and_repeats_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A small buffer, so that reconnecting clients also read from the store.
    monkeypatch.setattr(event_rows, "_KEPT", 3)
    store.events.append([_event(1)] * 4)

    num = 4 + sum(1 + number % 4 for number in range(40) if number % 3 < 2)

    async def write() -> None:
        for number in range(40):
            event = _event(1 + number % 12, tournament=1 if number % 3 < 2 else 2)
            await anyio.to_thread.run_sync(store.events.append, [event] * (1 + number % 4))
            await anyio.sleep(0.005 * (number % 3))

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del client
        got: list[int] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            length = 1
            while len(got) < num:
                headers = {"last_event_id": str(got[-1])} if got else {}
                async with StreamReader(app, EVENTS, **headers) as reader:
                    assert reader.start["status"] == 200
                    for _ in range(min(length, num - len(got))):
                        frame = await reader.frame()
                        assert frame["event"] == "fault"
                        assert json.loads(frame["data"])["seq"] == int(frame["id"])
                        got.append(int(frame["id"]))
                length = length % 7 + 1
        assert got == _seqs(store)

    served(store.path, body)


def test_many_who_wait_cost_one_reader_and_no_thread(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.events.append([_event(1)])
    asked: list[int] = []
    real = StoredEvents.after

    def counted(self: StoredEvents, seq: int, limit: int = 500, *, tournament: int) -> Any:  # noqa: ANN401
        asked.append(seq)
        return real(self, seq, limit, tournament=tournament)

    monkeypatch.setattr(StoredEvents, "after", counted)

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del client
        got: list[str] = []
        all_there = anyio.Event()
        num_before: list[int] = []
        num_threads: list[int] = []

        async def follow() -> None:
            async with StreamReader(app, f"{EVENTS}?after=1") as reader:
                got.append((await reader.frame())["id"])
                if len(got) == 40:
                    all_there.set()
                got.append((await reader.frame())["id"])

        async with anyio.create_task_group() as tasks:
            for _ in range(40):
                tasks.start_soon(follow)
            await anyio.to_thread.run_sync(store.events.append, [_event(2)])
            await all_there.wait()
            # From now on all of them wait, or find the requested events in memory.
            num_before.append(len(asked))
            num_threads.append(threading.active_count())
            await anyio.to_thread.run_sync(store.events.append, [_event(3)])
        assert sorted(got) == ["2"] * 40 + ["3"] * 40
        assert len(asked) - num_before[0] <= 3
        assert num_threads[0] < 25

    served(store.path, body)


def test_who_follows_goes_on_after_an_unforeseen_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.events.append([_event(1)])
    store.events.append([_event(2)])
    real, fails = StoredEvents.after, [False]

    def failing(self: StoredEvents, seq: int, limit: int = 500, *, tournament: int) -> Any:  # noqa: ANN401
        if fails[0]:
            fails[0] = False
            raise RuntimeError("nobody thought of this")
        return real(self, seq, limit, tournament=tournament)

    monkeypatch.setattr(StoredEvents, "after", failing)

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del client
        async with StreamReader(app, f"{EVENTS}?after=1") as reader:
            assert (await reader.frame())["id"] == "2"
            fails[0] = True
            await anyio.to_thread.run_sync(store.events.append, [_event(3)])
            with anyio.fail_after(300):
                assert (await reader.frame())["id"] == "3"
        assert not fails[0]

    served(store.path, body)


def test_events_that_were_cleaned_away_are_a_gap_with_the_state(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arena_db.live, "KEPT", 5)
    monkeypatch.setattr(arena_db.live, "_PRUNED_EVERY", 1)
    store.events.append([_event(4, "started"), _event(4, "move", 1)])
    for _ in range(20):
        store.events.append([_event(None, "state")])

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        found = (await client.get(f"{EVENTS}?after=1")).json()
        assert found["gap"] is True
        assert found["seq"] == 22
        # The running match from its beginning, and the newest state.
        assert [event["kind"] for event in found["events"]] == ["started", "move", "state"]
        async with StreamReader(app, f"{EVENTS}?after=1") as reader:
            frame = await reader.frame()
            assert (frame["event"], frame["id"]) == ("gap", "22")
            assert json.loads(frame["data"]) == found
            await anyio.to_thread.run_sync(store.events.append, [_event(5)])
            assert (await reader.frame())["id"] == "23"
        near = (await client.get(f"{EVENTS}?after=21")).json()
        assert (near["gap"], [event["seq"] for event in near["events"]]) == (False, [22, 23])

    served(store.path, body)


def test_a_number_that_was_never_given_is_a_gap(store: Store) -> None:
    store.events.append([_event(1)])

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        found = (await client.get(f"{EVENTS}?after=99")).json()
        assert (found["gap"], found["seq"]) == (True, 1)

    served(store.path, body)


def test_delay_holds_moves_back_from_viewers(store: Store) -> None:
    store.events.append([_event(1, "started"), _event(1, "move", 1), _event(1, "info", 1), _event(1)])

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        found = (await client.get(EVENTS)).json()
        assert [event["kind"] for event in found["events"]] == ["started", "fault"]
        host = {"authorization": f"Bearer {app.state.callers.host_token}"}
        whole = (await client.get(EVENTS, headers=host)).json()
        assert len(whole["events"]) == 4

    served(store.path, body, ServeSettings(anonymous=True, delay=2))


def test_a_stream_says_that_it_is_alive_and_where_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_rows, "BEAT_S", 0.05)
    store.events.append([_event(1), _event(2, tournament=2)])

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del client
        async with StreamReader(app, f"{EVENTS}?after=1") as reader:
            text = ""
            while "id: 1\n: nothing new\n\n" not in text:
                message = await reader.message()
                text += message["body"].decode()

    served(store.path, body)


def test_a_stream_outlives_a_store_that_is_away(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_rows, "LOST_S", 0.02)
    monkeypatch.setattr(event_rows, "LOST_S", 0.02)
    monkeypatch.setattr(event_rows, "BEAT_S", 0.05)
    store.events.append([_event(1)])
    path, away = store.path, store.path.with_name("away.db")
    store.close()

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del client
        async with StreamReader(app, EVENTS) as reader:
            assert (await reader.frame())["id"] == "1"
            path.rename(away)
            await anyio.sleep(0.2)
            away.rename(path)
            with Store.open(path) as again:
                again.events.append([_event(2)])
            assert (await reader.frame())["id"] == "2"

    served(path, body)
