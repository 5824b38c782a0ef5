"""A server beside a tournament: pages follow it over broken connections and a store that is moved away."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

import pytest

from children import arena_environment
from streams import Reader, events_of
from wire_bots import wire_bot

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

DEADLINE_S = 120.0
_PAGE_FRAME = re.compile(r'data-frame="([^"]+)"')


class _Place(NamedTuple):
    """The address of a server, and its store."""

    port: int
    db: Path
    tournament: subprocess.Popen[bytes]
    streams: list[_Stream]
    """All opened streams, so that they can be closed."""

    def get(self, path: str) -> str:
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=DEADLINE_S) as answer:
            return answer.read().decode()

    def stream(self, of: str = "live", after: str = "", last: str = "") -> _Stream:
        self.streams.append(_Stream(self.port, f"/t/spring/stream?of={of}&after={after}", last))
        return self.streams[-1]


class _Stream:
    """A connection to a stream, read as raw bytes."""

    def __init__(self, port: int, path: str, last: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        again = f"Last-Event-ID: {last}\r\n" if last else ""
        # With HTTP/1.0 the stream is not chunked.
        self._socket.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n{again}\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._socket.recv(1)
        assert head.startswith(b"HTTP/1.1 200"), head
        self._unread = b""

    def more(self, num: int = 65_536, timeout: float | None = None) -> bytes:
        """Return whole events as they arrive; nothing after `timeout` seconds."""
        self._socket.settimeout(DEADLINE_S if timeout is None else timeout)
        try:
            self._unread += self._socket.recv(num)
        except TimeoutError:
            return b""
        whole, sep, self._unread = self._unread.rpartition(b"\n\n")
        return whole + sep

    def close(self) -> None:
        self._socket.close()


@contextmanager
def _child(words: list[str], folder: Path) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(  # noqa: S603 - our own commands
        [sys.executable, "-m", "arena", *words],
        env=arena_environment(folder),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE_S)


@pytest.fixture
def place(tmp_path: Path) -> Generator[_Place]:
    bots: list[str] = []
    for name, seconds in (("anna", 0.05), ("bob", 0.06)):
        *_, source = wire_bot(f"time.sleep({seconds})")
        (tmp_path / f"{name}.py").write_text(source)
        bots.append(f"exec:cmd={sys.executable} -I -S {tmp_path / name}.py,name={name}")
    held = ["tournament", *bots, "random", "--name", "spring", "--game", "tic-tac-toe", "--rounds", "3"]
    held += ["--isolation", "none", "--require-tier", "T0", "--st", "5", "--concurrency", "1"]
    db = tmp_path / "arena.db"
    with _child(held, tmp_path) as tournament:
        _until(lambda: db.exists() or tournament.poll() is not None)
        with _child(["serve", "--bind", "127.0.0.1:0", "--anonymous"], tmp_path) as server:
            assert server.stdout is not None
            line = server.stdout.readline().decode()
            found = re.search(r"127\.0\.0\.1:([0-9]+)", line)
            assert found, line
            found_place = _Place(int(found[1]), db, tournament, [])
            yield found_place
            for stream in found_place.streams:
                stream.close()


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_tournament_is_followed_over_connections_that_break(place: _Place) -> None:
    _until(lambda: "no tournament" not in place.get("/") and 'href="/t/spring/"' in place.get("/"))
    page = place.get("/t/spring/live")
    frame = _PAGE_FRAME.search(page)
    assert frame
    whole, broken = place.stream(), Reader(frame=frame[1])
    calm, numbers = Reader(), list[int]()
    num_cuts = 0
    while place.tournament.poll() is None:
        calm.hear(whole.more(timeout=0.05))
        # Read part of the stream, often half an event, and break the connection.
        cut = place.stream(after=frame[1], last=broken.frame)
        for _ in range(3):
            chunk = cut.more(300 + 97 * num_cuts % 4000, timeout=0.1)
            numbers += [int(event.id.rpartition(".")[2]) for event in events_of(chunk)]
            broken.hear(chunk)
        cut.close()
        num_cuts += 1
    assert num_cuts > 3
    assert place.tournament.returncode == 0
    done = re.compile(r"[>,] ?18/18 matches, 100 %")
    # Tables are rendered at most every two seconds, so the last ones may arrive after the end.
    while "ended" not in calm.elements["progress"] or calm.elements["ranking"].count("/12<") < 3:
        calm.hear(whole.more())
    assert done.search(calm.elements["progress"])
    rest = place.stream(after=frame[1], last=broken.frame)
    while "ended" not in broken.elements.get("progress", "") or broken.frame != calm.frame:
        chunk = rest.more(timeout=0.5)
        numbers += [int(event.id.rpartition(".")[2]) for event in events_of(chunk)]
        broken.hear(chunk)
        calm.hear(whole.more(timeout=0.5))
    # Each frame arrived exactly once, although every connection was short.
    assert numbers == list(range(int(frame[1].rpartition(".")[2]) + 1, numbers[-1] + 1))
    fresh = Reader()
    while not fresh.elements:
        fresh.hear(place.stream().more())
    assert calm.elements == fresh.elements
    assert fresh.elements == fresh.elements | broken.elements
    _store_moves(place, whole, calm)


def _store_moves(place: _Place, stream: _Stream, reader: Reader) -> None:
    """Move the store away and back: viewers keep their content and see a notice until the store is back."""
    before = dict(reader.elements)
    files = [place.db.with_name(place.db.name + end) for end in ("", "-wal", "-shm")]
    there = [(path, path.with_name(f"away-{path.name}")) for path in files if path.exists()]
    for path, away in there:
        path.rename(away)
    while "hidden" in reader.elements["trouble"]:
        reader.hear(stream.more())
    assert "is gone" in reader.elements["trouble"]
    assert reader.elements | {"trouble": ""} == before | {"trouble": ""}
    # A viewer that reconnects meanwhile gets the last content.
    again = Reader()
    while not again.elements:
        again.hear(place.stream().more())
    assert again.elements["ranking"] == before["ranking"]
    assert "no match" not in "".join(again.elements.values()).lower()
    for path, away in there:
        away.rename(path)
    while "hidden" not in reader.elements["trouble"]:
        reader.hear(stream.more())
    # The store is read again, so the wall shows the last finished matches, with the times of their rows.
    for name in ("progress", "waits", "ranking", "faults"):
        assert reader.elements[name] == before[name]
