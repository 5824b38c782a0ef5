"""Loads a server of live pages with many viewers, stalled readers, and a tournament beside it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_PAGES: Final = ("/", "/leaderboard", "/bots", "/t/load", "/t/load/table", "/t/load/matches", "/t/load/1")
"""Pages that a reader requests while viewers follow the tournament."""
_PAGE_EVERY_S: Final = 0.2
_PER_ADDRESS: Final = 60
"""Viewers from one address of the loopback network; the server accepts 64."""
_DEADLINE_S: Final = 120.0
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_CATCH_UP_S: Final = 10.0
_IDLE_S: Final = 20.0
_LINGER_S: Final = 40.0
"""Seconds after which a hub without viewers must have ended."""
_THINK: Final = """
import json, sys, time
name, seconds = sys.argv[1], float(sys.argv[2])
for line in sys.stdin:
    heard = json.loads(line)
    if heard["type"] == "hello":
        said = dict(type="hello", protocol=1, nonce=heard["nonce"], name=name, version="1", games=[])
    elif heard["type"] == "new_match":
        said = dict(type="ready", match=heard["match"])
    elif heard["type"] == "go":
        time.sleep(seconds)
        legal = heard["legal"]
        said = dict(type="action", id=heard["id"], action=legal[len(legal) // 2], value=0.1)
    else:
        break
    print(json.dumps(said), flush=True)
"""
"""A bot that waits, so that matches last and leave the CPU to what is measured."""
BOUNDS: Final = {
    "num_failed": 0,
    "num_wrong": 0,
    "server_mb": 150.0,
    "us_per_frame_and_viewer": 150.0,
    "pages_p95_ms": 250.0,
    "fresh_mb": 80.0,
    "idle_cpu_percent": 0.5,
}
"""Upper bounds of the figures."""
LEAST_RATE: Final = 0.97
"""Lower bound of the matches per minute beside a server with ten viewers, as a share of those without."""


class Usage(NamedTuple):
    """Resources that a process has used so far."""

    cpu_s: float
    mb: float
    """Resident memory now."""


def main() -> None:
    """Run the trials, print their figures as one line of JSON, and fail if one is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--viewers", type=int, default=990, help="viewers that read; the server accepts 1,000 streams"
    )
    parser.add_argument("--stalled", type=int, default=10, help="viewers that connect and never read")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--matches", type=int, default=8, help="at once")
    parser.add_argument("--repeats", type=int, default=3, help="trials of the rate of matches; 0 skips it")
    parser.add_argument(
        "--rounds", type=int, default=600, help="matches of the tournaments whose rate is measured"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = crowd(folder, arguments)
        if arguments.repeats:
            figures["rate_share"] = rate_share(folder, arguments.repeats, arguments.rounds)
    print(json.dumps(figures))
    failed = [key for key, most in BOUNDS.items() if figures[key] > most]
    sys.exit(bool(failed) or figures.get("rate_share", 1.0) < LEAST_RATE)


def crowd(folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Return the cost of a crowd of viewers of a running tournament, and whether all saw it to its end."""
    bot = folder / "bot.py"
    bot.write_text(_THINK)
    bots = [f"exec:cmd={sys.executable} -I -S {bot} {name} 0.3,name={name}" for name in ("anna", "bob")]
    held = f"--concurrency {arguments.matches} --force-concurrency --rounds 5000 --tc 60+1".split()
    with (
        child(folder, ["tournament", *bots, "--name", "load", *_IN_PROCESS, *held]) as tournament,
        server(folder, "load") as (process, port),
    ):
        return asyncio.run(_watched(Crowd(port), process, tournament, arguments))


async def _watched(
    viewers: Crowd,
    process: subprocess.Popen[bytes],
    tournament: subprocess.Popen[bytes],
    arguments: argparse.Namespace,
) -> dict[str, float]:
    fresh = usage(process.pid)
    await viewers.join(arguments.viewers, arguments.stalled)
    before, began, first = usage(process.pid), time.monotonic(), viewers.num_frames()
    page_ms = await viewers.read_pages(arguments.seconds)
    after, took = usage(process.pid), time.monotonic() - began
    num_frames = viewers.num_frames() - first
    tournament.terminate()
    num_wrong = await viewers.num_wrong()
    num_failed = viewers.num_failed
    viewers.close()
    await asyncio.sleep(_LINGER_S)
    idle = usage(process.pid)
    await asyncio.sleep(_IDLE_S)
    calm = usage(process.pid)
    shared = max(1, num_frames)
    return {
        "num_viewers": arguments.viewers,
        "num_stalled": arguments.stalled,
        "seconds": round(took, 1),
        "num_failed": num_failed,
        "num_wrong": num_wrong,
        "frames_per_viewer": round(num_frames / max(1, arguments.viewers), 1),
        "kb_per_frame": round(viewers.num_bytes / max(1, viewers.num_frames()) / 1000, 2),
        "cpu_percent": round(100 * (after.cpu_s - before.cpu_s) / took, 1),
        "us_per_frame_and_viewer": round(1e6 * (after.cpu_s - before.cpu_s) / shared, 1),
        "num_pages": len(page_ms),
        "pages_median_ms": round(statistics.median(page_ms), 1),
        "pages_p95_ms": round(statistics.quantiles(page_ms, n=20)[-1], 1),
        "server_mb": round(after.mb, 1),
        "fresh_mb": round(fresh.mb, 1),
        "idle_mb": round(calm.mb, 1),
        "idle_cpu_percent": round(100 * (calm.cpu_s - idle.cpu_s) / _IDLE_S, 2),
    }


class Crowd:
    """All viewers. Each keeps only the names of its frames; their contents are kept once for all."""

    def __init__(self, port: int) -> None:
        """Follow the wall of the tournament `load`."""
        self._port = port
        self.frames: dict[tuple[bytes, int], bytes] = {}
        """Contents by name and length: a whole state has the name of its newest frame."""
        self.viewers: list[Viewer] = []
        self._stalled: list[asyncio.BaseTransport] = []
        self.num_failed = 0
        self.is_closed = False
        self.num_bytes = 0

    async def join(self, num: int, num_stalled: int) -> None:
        """Connect all viewers, in groups, from so many addresses that each stays below the server's limit."""
        loop = asyncio.get_running_loop()
        for number in range(num + num_stalled):
            source = (f"127.0.1.{1 + number // _PER_ADDRESS}", 0)
            transport, viewer = await loop.create_connection(
                lambda: Viewer(self), "127.0.0.1", self._port, local_addr=source
            )
            if number < num_stalled:
                transport.pause_reading()
                self._stalled.append(transport)
            else:
                self.viewers.append(viewer)
            transport.write(_request(self._port))
        for viewer in self.viewers:
            await asyncio.wait_for(viewer.has_begun.wait(), _DEADLINE_S)

    async def read_pages(self, seconds: float) -> list[float]:
        """Request one page after another; return the time of each in milliseconds."""
        took: list[float] = []
        ends = time.monotonic() + seconds
        while (began := time.monotonic()) < ends:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(_request(self._port, _PAGES[len(took) % len(_PAGES)], "Connection: close\r\n"))
            answer = await reader.read(-1)
            writer.close()
            took.append(1000 * (time.monotonic() - began))
            self.num_failed += not answer.startswith(b"HTTP/1.1 200")
            await asyncio.sleep(_PAGE_EVERY_S)
        return took

    def num_frames(self) -> int:
        """Return how many frames all viewers have received."""
        return sum(len(viewer.names) for viewer in self.viewers)

    async def num_wrong(self) -> int:
        """Return how many viewers end in a state that is not a new viewer's, after all had time to read."""
        for transport in self._stalled:
            # The new viewer needs a free stream, and the server is full.
            transport.close()
        await asyncio.sleep(_CATCH_UP_S)
        before = list(self.viewers)
        await self.join(1, 0)
        newest = self.viewers[-1].elements()
        await asyncio.sleep(_CATCH_UP_S / 5)
        newest = self.viewers.pop().elements() or newest
        wrong = [viewer for viewer in before if viewer.elements() != newest]
        return len(wrong)

    def close(self) -> None:
        """Close all connections."""
        self.is_closed = True
        for transport in (*self._stalled, *(viewer.transport for viewer in self.viewers)):
            if transport is not None:
                transport.close()


class Viewer(asyncio.Protocol):
    """A connection to the stream that parses its events as a browser does."""

    def __init__(self, crowd: Crowd) -> None:
        """Wait for the connection."""
        self._crowd = crowd
        self._raw = b""
        self._text = b""
        self._has_head = False
        self.transport: asyncio.BaseTransport | None = None
        self.names: list[tuple[bytes, int]] = []
        self.has_begun = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - of the protocol
        """Count the loss, unless this viewer never reads: such a connection is abandoned by the server."""
        if self in self._crowd.viewers and not self._crowd.is_closed:
            self._crowd.num_failed += 1
            self.has_begun.set()

    def data_received(self, data: bytes) -> None:
        """Keep the received bytes."""
        self._raw += data
        if not self._has_head:
            head, end, rest = self._raw.partition(b"\r\n\r\n")
            if not end:
                return
            self._has_head, self._raw = True, rest
            self._crowd.num_failed += not head.startswith(b"HTTP/1.1 200")
        while True:
            length, end, rest = self._raw.partition(b"\r\n")
            num = int(length, 16) if end else 0
            if not end or len(rest) < num + 2:
                break
            self._text += rest[:num]
            self._raw = rest[num + 2 :]
        *events, self._text = self._text.split(b"\n\n")
        for event in events:
            if event.startswith(b"id:"):
                key = (event.partition(b"\n")[0], len(event))
                self.names.append(key)
                self._crowd.num_bytes += len(event)
                self._crowd.num_failed += self._crowd.frames.setdefault(key, event) != event
                self.has_begun.set()

    def elements(self) -> dict[bytes, bytes]:
        """Return the elements of the page by their ids, after all frames."""
        found: dict[bytes, bytes] = {}
        for name in self.names:
            for line in self._crowd.frames[name].split(b"\n")[2:]:
                key = _ID.search(line)
                if key is not None:
                    found[key[1]] = line
        return found


_ID: Final = re.compile(rb'id="([^"]+)"')
_IN_PROCESS: Final = ("--isolation", "none", "--require-tier", "T0")


def _request(port: int, path: str = "/t/load/stream?of=live", more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{more}\r\n".encode()


def rate_share(folder: Path, num_repeats: int, rounds: int) -> float:
    """Return the rate of matches beside a server with ten viewers as a share of the rate without one."""
    alone, beside = list[float](), list[float]()
    for number in range(num_repeats):
        alone.append(_seconds_of(folder, f"alone-{number}", rounds))
        with server(folder, f"alone-{number}") as (_, port):
            beside.append(asyncio.run(_seconds_beside(folder, port, number, rounds)))
    return round(statistics.median(alone) / statistics.median(beside), 3)


async def _seconds_beside(folder: Path, port: int, number: int, rounds: int) -> float:
    """Return how long a tournament takes while ten viewers follow it from its beginning."""
    name = f"beside-{number}"
    playing = asyncio.create_task(asyncio.to_thread(_seconds_of, folder, name, rounds))
    readers: list[asyncio.StreamWriter] = []
    tasks: list[asyncio.Task[None]] = []
    while not playing.done() and len(readers) < 10:  # noqa: PLR2004 - viewers
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_request(port, f"/t/{name}/stream?of=live"))
        if b"200" in await reader.readline():
            readers.append(writer)
            tasks.append(asyncio.create_task(_drain(reader)))
        else:
            writer.close()
            await asyncio.sleep(0.1)
    took = await playing
    for task, writer in zip(tasks, readers, strict=True):
        task.cancel()
        writer.close()
    return took


async def _drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(65_536):
        pass


def _seconds_of(folder: Path, name: str, rounds: int) -> float:
    """Return the seconds from the first to the last match of a tournament."""
    words = ["tournament", "minimax:depth=4", "minimax:depth=3", "--name", name, "--rounds", str(rounds)]
    with child(folder, [*words, *_IN_PROCESS, "--concurrency", "1", "--srand", "7"]) as process:
        if process.wait(_DEADLINE_S * 10):
            raise RuntimeError(f"the tournament {name} failed")
    from arena_db.records import MatchFilter
    from arena_db.store import Store

    with Store.open(folder / "arena.db", read_only=True) as store:
        matches = store.matches.newest(MatchFilter(tournament=name, rated_only=False), limit=10_000)
    ends = [match.started_at + match.duration_ms / 1000 for match in matches]
    return max(ends) - min(match.started_at for match in matches)


@contextmanager
def server(folder: Path, tournament: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """Run a server, and wait until it shows a tournament."""
    _until((folder / "arena.db").exists)
    with child(folder, ["serve", "--bind", "127.0.0.1:0", "--anonymous"]) as process:
        line = b"" if process.stdout is None else process.stdout.readline()
        found = re.search(rb"127\.0\.0\.1:([0-9]+)", line)
        if found is None:
            raise RuntimeError(f"the server did not begin: {line.decode()}")
        port = int(found[1])
        _until(lambda: _answers(f"http://127.0.0.1:{port}/t/{tournament}/live"))
        yield process, port


@contextmanager
def child(folder: Path, words: list[str]) -> Generator[subprocess.Popen[bytes]]:
    """Run a command of the arena with a store of its own; it is terminated after the block."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
    own = {"ARENA_HOME": str(folder / "home"), "ARENA_DB": str(folder / "arena.db")}
    command = [sys.executable, "-m", "arena", *words]
    log = subprocess.PIPE if words[0] == "serve" else subprocess.DEVNULL
    process = subprocess.Popen(  # noqa: S603 - our own commands
        command, env=inherited | own, cwd=folder, stdout=log
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_DEADLINE_S)
        if process.stdout is not None:
            process.stdout.close()


def usage(pid: int) -> Usage:
    """Return the resources that a process has used, as Linux counts them."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    rss_kb = re.search(r"VmRSS:\s+([0-9]+)", Path(f"/proc/{pid}/status").read_text())
    return Usage((int(stat[11]) + int(stat[12])) * _TICK_S, int(rss_kb[1]) / 1000 if rss_kb else 0.0)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=_DEADLINE_S) as answer:  # noqa: S310 - our own server
            return b"card plays" in answer.read() or "alone" in url
    except OSError:
        return False


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("the trial did not begin in time")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
