"""Asks the server within this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx
from msgspec.structs import replace

from arena.serve.app import make_app
from arena.serve.settings import ServeSettings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from starlette.applications import Starlette

BASE = "http://127.0.0.1:8642"


def served(
    db: Path,
    body: Callable[[httpx.AsyncClient, Starlette], Awaitable[None]],
    settings: ServeSettings | None = None,
) -> None:
    """Run a test against the server of a store; all its requests reach one application.

    Args:
        db: path of the store.
        body: asks, and asserts.
        settings: of the server, but for the store; anonymous where none are given.
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
    """Ask for one thing."""
    found: list[httpx.Response] = []

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        found.append(
            await client.get(path, headers={name.replace("_", "-"): v for name, v in headers.items()})
        )

    served(db, body)
    return found[0]
