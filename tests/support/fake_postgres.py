"""A server with the part of PostgreSQL's protocol that is needed to refuse a client."""

from __future__ import annotations

import socket
import struct
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_ENCRYPTION: Final = (80877103, 80877104)
"""Codes of requests for TLS and GSSAPI (https://www.postgresql.org/docs/current/protocol-message-formats.html)."""


@contextmanager
def fake_server(answer: bytes) -> Generator[str]:
    """Yield the URL of a server that sends the same answer to each client that begins a session."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=_serve, args=(listening, answer), daemon=True)
        thread.start()
        yield f"postgresql://anna@127.0.0.1:{listening.getsockname()[1]}/league"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def silent_server() -> Generator[str]:
    """Yield the URL of a server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"postgresql://anna@127.0.0.1:{listening.getsockname()[1]}/league"


def refusal(state: str, text: str) -> bytes:
    """Return the answer of a server that refuses a session, with an SQLSTATE."""
    fields = b"".join(
        kind + value.encode() + b"\0" for kind, value in ((b"S", "FATAL"), (b"C", state), (b"M", text))
    )
    return _message(b"E", fields + b"\0")


def greeting(version: str) -> bytes:
    """Return the answer of a server that accepts a session and reports `version`."""
    settings = (("server_version", version), ("client_encoding", "UTF8"), ("server_encoding", "UTF8"))
    told = b"".join(_message(b"S", f"{name}\0{value}\0".encode()) for name, value in settings)
    return _message(b"R", struct.pack("!i", 0)) + told + _message(b"Z", b"I")


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", 4 + len(content)) + content


def _serve(listening: socket.socket, answer: bytes) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with client, client.makefile("rwb") as stream:
            while len(head := stream.read(8)) == 8:
                size, code = struct.unpack("!ii", head)
                if code in _ENCRYPTION:
                    stream.write(b"N")
                    stream.flush()
                    continue
                stream.read(size - 8)
                stream.write(answer)
                stream.flush()
                break
            # Until the client hangs up, so that it reads all of the answer.
            stream.read()
