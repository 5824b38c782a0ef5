"""Pages are cached until the store changes, built once for all requests, and never delay streams."""

from __future__ import annotations

from collections import Counter
from threading import Event
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from msgspec.structs import replace

from api_clients import BASE, served
from arena.serve import answer_cache
from arena.serve.live_rows import Hubs
from arena.serve.request_context import Serving
from arena.serve.rows import DataRoute, PageRoute
from arena.serve.server import ROUTES, make_app
from arena.serve.server_options import ServeSettings
from arena_db.checking import StoreIntegrity
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena.serve.rows import Route


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, name="spring")
        store.matches.save([cup.match(number) for number in range(1, 4)])
        yield store


class _Counting:
    """The table of routes with handlers that are counted, and can be delayed or made to fail."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.handled: Counter[str] = Counter()
        self.gates: dict[str, Event] = {}
        self.late: dict[str, Event] = {}
        """Events that a handler waits for before and after it reads the store."""
        self.errors: dict[str, Exception] = {}

    def routes(self) -> list[Route]:
        return [
            replace(route, handle=self._counted(route.path, route.handle))
            if isinstance(route, PageRoute | DataRoute)
            else route
            for route in ROUTES
        ]

    def _counted(self, path: str, handle: Callable[[Reading, RequestContext], Any]) -> Any:  # noqa: ANN401
        def counted(reading: Reading, context: RequestContext) -> Any:  # noqa: ANN401
            self.calls[path] += 1
            if path in self.gates:
                assert self.gates[path].wait(120)
            if path in self.errors:
                raise self.errors[path]
            found = handle(reading, context)
            self.handled[path] += 1
            if path in self.late:
                assert self.late[path].wait(120)
            return found

        return counted


def _served(
    store: Store,
    counting: _Counting,
    body: Callable[[httpx.AsyncClient], Awaitable[None]],
    *,
    anonymous: bool = True,
) -> None:
    async def run() -> None:
        app = make_app(ServeSettings(db=str(store.path), anonymous=anonymous), counting.routes())
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=BASE) as client,
        ):
            client.headers["authorization"] = f"Bearer {app.state.callers.host_token}"
            with anyio.fail_after(60):
                await body(client)

    anyio.run(run)


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - a thread makes it so
        await anyio.sleep(0.01)


def test_a_page_is_made_once_until_the_store_changes(store: Store) -> None:
    counting = _Counting()

    async def body(client: httpx.AsyncClient) -> None:
        first = await client.get("/leaderboard")
        again = await client.get("/leaderboard", headers={"accept-encoding": "identity"})
        assert again.text == first.text
        assert counting.calls["/leaderboard"] == 1
        # The JSON of a page, and a page with another filter, are separate answers.
        await client.get("/leaderboard.json")
        for query in ("", "?q=ply<9", "?q=ply<9", ""):
            assert (await client.get(f"/t/spring/matches{query}")).status_code == 200
        assert counting.calls == {"/leaderboard": 2, "/t/{tournament}/matches": 2}
        add_cup(store, name="autumn")
        await client.get("/leaderboard")
        assert counting.calls["/leaderboard"] == 3

    _served(store, counting, body)


def test_what_is_kept_has_a_most_and_the_oldest_goes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _Counting()
    monkeypatch.setattr(answer_cache, "_MOST_BYTES", 3_000)

    async def body(client: httpx.AsyncClient) -> None:
        for path in (
            "/leaderboard",
            "/bots",
            "/bots",
            "/t/spring/matches",
            "/t/spring/table",
            "/leaderboard",
        ):
            assert (await client.get(path)).status_code == 200
        # Each answer takes between one and two thousand bytes, so at most two fit.
        assert counting.calls["/bots"] == 1
        assert counting.calls["/leaderboard"] == 2

    _served(store, counting, body)


def test_a_store_that_was_replaced_is_another_version(store: Store, tmp_path: Path) -> None:
    version = answer_cache.StoreVersion(Serving(ServeSettings(db=str(store.path)), ROUTES))
    first = version.now()
    assert first == version.now() is not None
    other = tmp_path / "other.db"
    with Store.open(other):
        pass
    store.close()
    other.replace(store.path)
    assert version.now() not in {None, first}
    store.path.unlink()
    assert version.now() is None
    version.close()


def test_many_who_ask_for_a_page_wait_for_the_first(store: Store) -> None:
    counting = _Counting()
    gate = counting.gates["/bots"] = Event()

    async def body(client: httpx.AsyncClient) -> None:
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await client.get("/bots"))

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask)
            await _until(lambda: bool(counting.calls["/bots"]))
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert counting.calls["/bots"] == 1

    _served(store, counting, body)


def test_a_page_begun_before_a_commit_is_not_shown_to_who_asks_after_it(store: Store) -> None:
    counting = _Counting()
    gate = counting.late["/bots"] = Event()

    async def body(client: httpx.AsyncClient) -> None:
        seen: list[str] = []

        async def ask() -> None:
            seen.append((await client.get("/bots.json")).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await _until(lambda: bool(counting.handled["/bots"]))
            with Store.open(store.path) as other:
                other.matches.save([add_cup(other, "newcomer", "b", name="autumn").match(1)])
            for _ in range(3):
                tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert counting.calls["/bots"] <= 3
        assert sum("newcomer" in text for text in seen) == 3

    _served(store, counting, body)


def test_all_who_wait_hear_of_an_error_and_nothing_of_it_is_kept(store: Store) -> None:
    counting = _Counting()
    counting.errors["/bots"] = ValueError("a fault of the page")

    async def body(client: httpx.AsyncClient) -> None:
        for number in range(1, 3):
            assert (await client.get("/bots")).status_code == 500
            assert counting.calls["/bots"] == number
        del counting.errors["/bots"]
        assert (await client.get("/bots")).status_code == 200

    _served(store, counting, body)


def test_a_fault_of_a_page_has_the_store_checked_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _Counting()
    counting.errors["/bots"] = LookupError("a fault of the page")
    checked: list[bool] = []
    check = StoreIntegrity.check

    def counted(integrity: StoreIntegrity) -> list[str]:
        checked.append(True)
        return check(integrity)

    monkeypatch.setattr(StoreIntegrity, "check", counted)

    async def body(client: httpx.AsyncClient) -> None:
        for number in range(5):
            assert (await client.get("/bots")).status_code == 500
            # Nor does each commit of a running tournament cause another check of the store.
            add_cup(store, name=f"cup{number}")
        assert len(checked) == 1

    _served(store, counting, body)


def test_slow_pages_hold_up_neither_tokens_nor_streams(store: Store) -> None:
    counting = _Counting()
    slow = ("/bots", "/leaderboard", "/", "/t/{tournament}/matches", "/b/{identity}")
    gate = Event()
    counting.gates |= dict.fromkeys(slow, gate)

    async def body(client: httpx.AsyncClient) -> None:
        async with anyio.create_task_group() as tasks:
            for path in ("/bots", "/leaderboard", "/", "/t/spring/matches", "/b/0123456789ab"):
                tasks.start_soon(client.get, path)
            await _until(lambda: counting.calls.total() == 4)
            # Tokens of the store, and the beginning of a stream, are read in threads of their own.
            events = "/api/v1/tournaments/spring/events?after=0"
            answer = await client.get(events, headers={"authorization": "Bearer arena_v_unknown"})
            assert answer.status_code == 401
            assert (await client.get(events)).json()["seq"] >= 0
            assert counting.calls.total() == 4
            gate.set()

    _served(store, counting, body, anonymous=False)


def test_the_sign_of_life_waits_for_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _Counting()
    gate = Event()
    pages = {
        "/bots": "/bots",
        "/leaderboard": "/leaderboard",
        "/": "/",
        "/t/{tournament}/matches": "/t/spring/matches",
    }
    counting.gates |= dict.fromkeys(pages, gate)
    num_waiting = 0

    def waiting(hubs: Hubs, *_: object) -> None:
        del hubs
        nonlocal num_waiting
        num_waiting += 1
        assert gate.wait(120)

    # Streams read in threads of their own, and wait there for the first data of their tournament.
    monkeypatch.setattr(Hubs, "hub", waiting)

    async def body(client: httpx.AsyncClient) -> None:
        answered: list[str] = []

        async def ask(path: str) -> None:
            await client.get(path)
            answered.append(path)

        async with anyio.create_task_group() as tasks:
            for path in (*pages.values(), *["/t/spring/stream"] * 8):
                tasks.start_soon(ask, path)
            await _until(lambda: counting.calls.total() == len(pages) and num_waiting >= 4)
            assert (await client.get("/healthz")).json() == {"status": "ok"}
            assert not answered
            gate.set()

    _served(store, counting, body)


def test_rows_that_a_stream_goes_on_from_are_not_kept(store: Store) -> None:
    async def body(client: httpx.AsyncClient, app: Any) -> None:  # noqa: ANN401
        del app
        frames = set[str]()
        for _ in range(2):
            page = (await client.get("/t/spring/9", headers={"accept": "text/html"})).text
            assert "has not begun" in page or "data-frame" in page
            frames.add(page.partition('data-now="')[2].partition('"')[0])
            await anyio.sleep(0.01)
        assert len(frames) == 2

    served(store.path, body)


def test_every_page_is_kept_or_follows_a_run() -> None:
    moving = {route.path for route in ROUTES if isinstance(route, PageRoute) and not route.kept_s}
    assert moving == {"/t/{tournament}/live"}
