"""Runs the server on a socket of its own, in a thread of the test."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import uvicorn

from arena.serve.server import configured, make_app

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from starlette.applications import Starlette

    from arena.serve.rows import Route
    from arena.serve.server_options import ServeSettings


class Running(NamedTuple):
    """A running server."""

    app: Starlette
    port: int
    host_token: str
    config: uvicorn.Config

    def connect(self, timeout: float = 120.0) -> socket.socket:
        """Return a connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def ask(self, path: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Return all bytes of the answer to one request of the host."""
        with self.connect() as connection:
            connection.sendall(self.head(path, *headers, method=method) + body)
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    def head(self, path: str, *headers: str, method: str = "GET") -> bytes:
        """Return the head of a request of the host, after whose answer the connection closes."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {self.host_token}",
            "Connection: close",
            *headers,
        ]
        return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


@contextmanager
def running(settings: ServeSettings, routes: Sequence[Route]) -> Generator[Running]:
    """Run a server for a `with` block; it must end by itself at the end of the block."""
    app = make_app(settings, routes)
    config = configured(app)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield Running(app, port, app.state.callers.host_token, config)
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server does not end"
