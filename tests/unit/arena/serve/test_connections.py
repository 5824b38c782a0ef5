"""Slow, greedy and vanishing clients, on real connections."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
import msgspec
import pytest

from arena.secret_tokens import digest_of
from arena.serve import endpoints, limits, server
from arena.serve.rows import DataRoute, FileRoute, Raw, StreamAnswer, StreamRoute
from arena.serve.server_options import ServeSettings
from arena_db.store import Store
from servers import running

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from servers import Running

CHUNK: Final = b"x" * 65_536


class Streams:
    """Streams that count their readers."""

    def __init__(self) -> None:
        self.num_open = 0
        self.changed = threading.Condition()

    def count(self, by: int) -> None:
        with self.changed:
            self.num_open += by
            self.changed.notify_all()

    def wait_for(self, num: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.num_open == num, timeout=120), self.num_open

    async def handle(self, context: RequestContext) -> StreamAnswer:
        return StreamAnswer(content=self._chunks(context.parameters["kind"]))

    async def _chunks(self, kind: str) -> AsyncGenerator[bytes]:
        self.count(1)
        try:
            yield b"first\n"
            while True:
                if kind == "quiet":
                    await anyio.sleep_forever()
                yield CHUNK
        finally:
            self.count(-1)


class Told(msgspec.Struct, frozen=True):
    """A request body for tests."""

    words: str


def _echo(_: Reading, context: RequestContext) -> dict[str, int]:
    return {"length": len(context.body(Told).words)}


def _file(_: RequestContext) -> Raw:
    return Raw(content=b"here", media_type="text/plain")


@pytest.fixture
def streams() -> Streams:
    return Streams()


@pytest.fixture
def served(tmp_path: Path, streams: Streams) -> Generator[Running]:
    Store.open(tmp_path / "arena.db").close()
    table = (
        StreamRoute(path="/stream/{kind}", handle=streams.handle),
        DataRoute(path="/echo", method="POST", role="host", handle=_echo, body=Told, max_body=1000),
        FileRoute(path="/file", role="none", handle=_file),
        FileRoute(path="/healthz", role="none", handle=_file),
    )
    with running(ServeSettings(db=str(tmp_path / "arena.db")), table) as found:
        yield found


def test_a_stream_ends_when_its_reader_goes(served: Running, streams: Streams) -> None:
    with served.connect() as connection:
        connection.sendall(served.head("/stream/quiet"))
        assert b"200 OK" in connection.recv(1000)
        streams.wait_for(1)
    streams.wait_for(0)


def test_streams_end_with_the_server(served: Running, streams: Streams) -> None:
    with served.connect() as connection:
        connection.sendall(served.head("/stream/quiet"))
        streams.wait_for(1)
        served.app.state.serving.ending.set()
        streams.wait_for(0)


def test_a_reader_that_reads_nothing_is_given_up(
    served: Running, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STALLED_S", 0.2)
    monkeypatch.setattr(server, "_LOOK_S", 0.05)
    with served.connect() as connection:
        connection.sendall(served.head("/stream/loud"))
        streams.wait_for(1)
        # The client reads nothing, so the buffers of both sides fill; its place is released all the same.
        streams.wait_for(0)


def test_little_waits_for_a_slow_reader_before_its_answer_is_held_back(
    served: Running, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[int, int]] = []
    made = server.PatientProtocol.connection_made

    def seen(protocol: server.PatientProtocol, transport: asyncio.Transport) -> None:
        made(protocol, transport)
        limits.append(transport.get_write_buffer_limits())

    monkeypatch.setattr(server.PatientProtocol, "connection_made", seen)
    with served.connect() as connection:
        connection.sendall(served.head("/stream/quiet"))
        streams.wait_for(1)
    assert [high for _, high in limits] == [server.WAITING_BYTES]


def test_a_head_that_does_not_come_is_not_waited_for(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.2)
    monkeypatch.setattr(server, "_LOOK_S", 0.05)
    with served.connect() as silent, served.connect() as slow:
        slow.sendall(b"GET /file HTTP/1.1\r\nHost: ")
        for connection in (silent, slow):
            with suppress(ConnectionResetError):
                assert connection.recv(1000) == b""


def test_a_stream_outlives_the_patience_for_heads(
    served: Running, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LOOK_S", 0.02)
    with served.connect() as connection:
        connection.sendall(served.head("/stream/quiet"))
        streams.wait_for(1)
        seen = connection.recv(1000)
        # Not earlier: on a busy machine the head itself may be as late.
        monkeypatch.setattr(server, "HEAD_S", 0.1)
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            list(iter(lambda: connection.recv(1000), b""))
        assert b"200 OK" in seen
        assert streams.num_open == 1


def test_a_head_that_is_too_long_is_refused(served: Running) -> None:
    with served.connect() as connection:
        connection.sendall(b"GET /file HTTP/1.1\r\nX-Long: " + b"x" * 70_000)
        assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")


def test_a_long_head_is_refused_where_it_comes_whole_too(served: Running) -> None:
    assert served.ask("/file", "X-Long: " + "x" * 15_000).startswith(b"HTTP/1.1 200 ")
    for path, header in (
        ("/file", "X-Long: " + "x" * 16_500),
        ("/file", "\r\n".join(f"X{number}: {number:04}" for number in range(2_000))),
        ("/file?" + "x" * 16_500, "X: y"),
        ("/" + "x" * 16_500, "X: y"),
    ):
        refused = served.ask(path, header)
        assert refused.startswith(b"HTTP/1.1 400 ")
        assert _has_headers_of_security(refused)
        assert b"its head may be too long" in refused


JSON: Final = "Content-Type: application/json"


def test_a_body_is_counted_as_it_comes(served: Running) -> None:
    def echo(*headers: str, body: bytes) -> bytes:
        return served.ask("/echo", *headers, method="POST", body=body)

    small, large = b'{"words":"abc"}', b'{"words":"%s"}' % (b"x" * 2000)
    assert b'{"length":3}' in echo(JSON, f"Content-Length: {len(small)}", body=small)
    assert b" 413 " in echo(JSON, f"Content-Length: {len(large)}", body=large)
    # Chunked bodies do not declare their length.
    chunked = b"".join(b"5\r\nxxxxx\r\n" for _ in range(500))
    assert b" 413 " in echo(JSON, "Transfer-Encoding: chunked", body=chunked)
    assert b" 415 " in echo("Content-Type: text/plain", f"Content-Length: {len(small)}", body=small)
    assert b" 400 " in echo(JSON, "Content-Length: 2", body=b"[]")


def test_a_body_that_does_not_come_is_not_waited_for(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "BODY_S", 0.1)
    answer = served.ask("/echo", JSON, "Content-Length: 100", method="POST", body=b"{")
    assert b" 408 " in answer


def test_one_address_has_so_many_streams(
    served: Running, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAMS", 2)
    with served.connect() as first, served.connect() as second:
        for connection in (first, second):
            connection.sendall(served.head("/stream/quiet"))
        streams.wait_for(2)
        answer = served.ask("/stream/quiet")
        assert b" 429 " in answer
        assert b"retry-after: " in answer
    streams.wait_for(0)
    monkeypatch.setattr(limits, "ALL_STREAMS", 0)
    assert b" 503 " in served.ask("/stream/quiet")


def test_a_stream_ends_when_its_token_is_revoked(
    tmp_path: Path, served: Running, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "AGAIN_S", 0.05)
    with Store.open(tmp_path / "arena.db") as store:
        store.tokens.add("anna", digest_of("arena_v_anna"), "viewer")
        with served.connect() as connection:
            head = served.head("/stream/quiet").replace(served.host_token.encode(), b"arena_v_anna")
            connection.sendall(head)
            streams.wait_for(1)
            store.tokens.revoke("anna")
            streams.wait_for(0)


def _has_headers_of_security(answer: bytes) -> bool:
    wanted = (b"content-security-policy: default-src 'none'", b"x-content-type-options: nosniff")
    return all(header in answer.lower() for header in wanted)


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"x" * 70_000]
)
def test_what_is_no_request_is_answered_in_a_sentence(served: Running, sent: bytes) -> None:
    with served.connect() as connection:
        connection.sendall(sent)
        answer = b""
        with suppress(ConnectionResetError):
            while chunk := connection.recv(65_536):
                answer += chunk
    if sent[:1] != b"x":
        assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer == b"" or (
        _has_headers_of_security(answer) and b"cannot read this as an HTTP/1.1 request" in answer
    )


def test_too_many_connections_are_answered_in_a_sentence(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The permissions of a connection are determined when it begins.
    monkeypatch.setattr(served.config, "limit_concurrency", 3)
    idle = [served.connect() for _ in range(3)]
    refused = served.ask("/file")
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert _has_headers_of_security(refused)
    assert b"retry-after: 5" in refused
    assert b"as many connections as it can serve" in refused
    for connection in idle:
        connection.close()
    while not served.ask("/file").startswith(b"HTTP/1.1 200 "):
        pass


def test_a_health_check_is_answered_when_there_are_too_many_connections(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.config, "limit_concurrency", 3)
    monkeypatch.setattr(server, "SPARE", 5)
    # Connections that send nothing or half a head; each one beyond 3 + 5 replaces another one.
    flood = [served.connect() for _ in range(30)]
    for connection in flood[::2]:
        with suppress(ConnectionError):
            connection.sendall(b"GET /file HTTP/1.1\r\nHost: ")
    for _ in range(5):
        assert served.ask("/healthz").startswith(b"HTTP/1.1 200 ")
        assert served.ask("/file").startswith(b"HTTP/1.1 503 ")
    assert sum(map(_is_closed, flood)) >= len(flood) - 8


def _is_closed(connection: socket.socket) -> bool:
    """Return whether the server has closed a connection; close it."""
    connection.settimeout(0)
    with connection:
        try:
            return connection.recv(10) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True


def test_a_request_that_is_being_answered_is_not_closed_for_others(
    served: Running, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.config, "limit_concurrency", 2)
    monkeypatch.setattr(server, "SPARE", -1)
    with served.connect() as viewer:
        viewer.sendall(served.head("/stream/quiet"))
        streams.wait_for(1)
        # The only other connection, the viewer's, must not be closed.
        for _ in range(3):
            assert served.ask("/healthz").startswith(b"HTTP/1.1 200 ")
        assert streams.num_open == 1
    streams.wait_for(0)


def test_a_health_check_has_a_budget_of_its_own(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BURST", 3.0)
    monkeypatch.setattr(limits, "RATE", 1e-6)
    while b" 429 " not in served.ask("/file"):
        pass
    assert served.ask("/healthz").startswith(b"HTTP/1.1 200 ")
    assert served.ask("/file").startswith(b"HTTP/1.1 429 ")
