"""A scheduler and worker machines on loopback, each with a home of its own, and a delay between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter, StoredMatch
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

DEADLINE_S: Final = 1800.0


class Cluster:
    """A scheduler and machines on loopback."""

    def __init__(self, folder: Path) -> None:
        """Make keys; nothing runs yet."""
        self.folder = folder
        self.address = ""
        self.scheduler_pid = 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self.wait_for("cluster", "keys", "lab")

    def start(self, *words: str, home: str = "lab") -> subprocess.Popen[bytes]:
        """Start a command of the arena on a machine."""
        own = {"ARENA_HOME": self.folder / home, "TMPDIR": self.folder / f"{home}.tmp"}
        own["TMPDIR"].mkdir(exist_ok=True)
        cache = os.environ.get("ARENA_CACHE") or self.folder / "cache"
        with (self.folder / f"{home}.err").open("ab") as errors:
            return subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "arena", *words],
                cwd=self.folder,
                env={
                    **os.environ,
                    **{key: str(path) for key, path in own.items()},
                    "ARENA_CACHE": str(cache),
                },
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def wait_for(self, *words: str) -> None:
        """Run a command to its end.

        Raises:
            RuntimeError: it fails; with its errors.
        """
        if self.start(*words).wait(DEADLINE_S):
            raise RuntimeError(f"{words}: {(self.folder / 'lab.err').read_text()[-2000:]}")

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        """Start the scheduler at a free port."""
        process = self.start("cluster", "start", "--bind", "127.0.0.1:0", "--keys", "lab.key")
        self._processes.append(process)
        self.scheduler_pid = process.pid
        known = self.folder / "lab" / "cluster.json"
        await_true(known.exists, "the scheduler does not listen")
        self.address = json.loads(known.read_text())["address"]
        return process

    def start_worker(self, name: str, address: str = "") -> subprocess.Popen[bytes]:
        """Start a machine with one slot."""
        words = ("worker", address or self.address, "--keys", "lab.key", "--slots", "1")
        process = self.start(*words, home=name)
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End all machines and the scheduler."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()

    @property
    def dask(self) -> tuple[str, ...]:
        """The options for a run on these machines."""
        return ("--executor", f"dask:{self.address}", "--keys", "lab.key", "--speed", "ignore")


@contextlib.contextmanager
def cluster() -> Generator[Cluster]:
    """Run a scheduler, at first without machines, for a `with` block."""
    with tempfile.TemporaryDirectory() as folder:
        found = Cluster(Path(folder))
        found.start_scheduler()
        try:
            yield found
        finally:
            found.close()


def await_true(is_true: Callable[[], object], what: str) -> None:
    """Wait until a condition is true; `what` describes it in the error.

    Raises:
        TimeoutError: it stays false.
    """
    ends_at = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > ends_at:
            raise TimeoutError(what)
        time.sleep(0.02)


def stored(store: Path) -> list[StoredMatch]:
    """Return all finished matches of a store, in the order in which they began."""
    with contextlib.suppress(DatabaseError), Store.open(store, read_only=True) as opened:
        found = opened.matches.newest(MatchFilter(rated_only=False), limit=1_000_000)
        return sorted((match for match in found if match.is_final), key=lambda match: match.started_at)
    return []


class Delay:
    """Forwards TCP connections with a delay of some milliseconds in both directions."""

    def __init__(self, port: int, delay_ms: float) -> None:
        """Listen at a free port of loopback, in a thread.

        Args:
            port: port of loopback to which connections are forwarded.
            delay_ms: delay in each direction, in milliseconds.
        """
        self._to, self._delay_s = port, delay_ms / 1000
        self.port = 0
        self._is_ready = threading.Event()
        self._open: set[asyncio.StreamWriter] = set()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._is_ready.wait()

    def cut(self) -> None:
        """Reset all connections; further ones are passed on."""
        self._loop.call_soon_threadsafe(lambda: [each.transport.abort() for each in self._open])

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._is_ready.set()
        async with server:
            await server.serve_forever()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._to)
        ends = {writer, there_writer}
        self._open |= ends
        await asyncio.gather(self._pump(reader, there_writer), self._pump(there_reader, writer))
        self._open -= ends

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def send() -> None:
            while True:
                at, data = await waiting.get()
                await asyncio.sleep(max(0.0, at - time.monotonic()))
                if not data:
                    writer.close()
                    return
                writer.write(data)

        sending = asyncio.create_task(send())
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await waiting.put((time.monotonic() + self._delay_s, data))
        await waiting.put((time.monotonic() + self._delay_s, b""))
        with contextlib.suppress(OSError):
            await sending
