"""Sends requests to the server within this process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx
from msgspec.structs import replace

from arena.serve.server import make_app
from arena.serve.server_options import ServeSettings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from starlette.applications import Starlette
    from starlette.types import Message

BASE = "http://127.0.0.1:8642"


def served(
    db: Path,
    body: Callable[[httpx.AsyncClient, Starlette], Awaitable[None]],
    settings: ServeSettings | None = None,
) -> None:
    """Run a test against the server of a store; all its requests reach one application.

    Args:
        db: path of the store.
        body: makes the requests and assertions.
        settings: settings of the server, except the store; anonymous access if omitted.
    """

    async def run() -> None:
        app = make_app(replace(settings or ServeSettings(anonymous=True), db=str(db)))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=BASE) as client,
        ):
            with anyio.fail_after(60):
                await body(client, app)

    anyio.run(run)


def ask(db: Path, path: str, **headers: str) -> httpx.Response:
    """Send one request."""
    found: list[httpx.Response] = []

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        found.append(
            await client.get(path, headers={name.replace("_", "-"): v for name, v in headers.items()})
        )

    served(db, body)
    return found[0]


class StreamReader:
    """One connection to a stream of the application; leaving the `with` block closes it."""

    def __init__(self, app: Starlette, path: str, **headers: str) -> None:
        self._app = app
        path, _, query = path.partition("?")
        sent = {"host": BASE.removeprefix("http://"), "accept": "text/event-stream", **headers}
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8642),
        }
        self._gone = anyio.Event()
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._text = ""

    async def __aenter__(self) -> Self:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._app, self._scope, self._receive, self._messages.put)
        self.start = await self._messages.get()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._gone.set()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def message(self) -> Message:
        """Return the next message as it was sent."""
        return await self._messages.get()

    async def frame(self) -> dict[str, str]:
        """Return the next frame with content, as its fields."""
        while True:
            while "\n\n" not in self._text:
                self._text += (await self.message()).get("body", b"").decode()
            text, _, self._text = self._text.partition("\n\n")
            fields = dict(line.split(": ", 1) for line in text.split("\n") if not line.startswith(":"))
            if "data" in fields:
                return fields

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}
