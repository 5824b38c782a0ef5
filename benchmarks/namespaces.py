"""Machines as network namespaces of an ordinary user, each connected by a wire that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Self

SCHEDULER = "10.99.0.1:8786"
"""Where the scheduler listens, as every machine names it."""
_LAB = SCHEDULER.partition(":")[0]
DEADLINE_S = 300.0
"""Seconds after which a trial gives up."""


class Lab:
    """A machine with a scheduler, and others that are each connected to it by a virtual wire."""

    def __init__(self, folder: Path) -> None:
        """Make the network and the keys; no process of the arena runs yet."""
        self.folder = folder
        self._stack = ExitStack()
        self.names = ("pc1", "pc2")
        self.spaces: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Connect the machines."""
        _ip("link", "set", "lo", "up")
        _ip("addr", "add", f"{_LAB}/32", "dev", "lo")
        for number, name in enumerate(self.names, 1):
            holder = self._stack.enter_context(_process(["unshare", "-n", "sleep", "inf"]))
            self.spaces[name] = holder.pid
            wait_for(lambda pid=holder.pid: _space(pid) != _space(os.getpid()), "no namespace")
            _ip("link", "add", name, "type", "veth", "peer", "name", "lab", "netns", str(holder.pid))
            _ip("addr", "add", f"10.99.{number}.1/30", "dev", name)
            _ip("link", "set", name, "up")
            for words in (
                ("link", "set", "lo", "up"),
                ("addr", "add", f"10.99.{number}.2/30", "dev", "lab"),
                ("link", "set", "lab", "up"),
                ("route", "add", _LAB, "via", f"10.99.{number}.1"),
            ):
                subprocess.run([*self._inside(name), "ip", *words], check=True)  # noqa: S603 - our own
        self.arena("cluster", "keys", "lab", *self.names).wait()
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes that hold the namespaces."""
        self._stack.close()

    def cut(self, name: str, *, is_up: bool) -> None:
        """Disconnect the wire of a machine, or connect it again."""
        _ip("link", "set", name, "up" if is_up else "down")
        if is_up:
            # Disconnecting the wire also removed its route.
            command = [*self._inside(name), "ip", "route", "replace", _LAB, "via", self._gate(name)]
            subprocess.run(command, check=False)  # noqa: S603 - our own

    def arena(self, *words: str, machine: str = "") -> subprocess.Popen[str]:
        """Start a command of the arena on a machine, by default on the scheduler's."""
        own = self.folder / (machine or "lab")
        (own / "tmp").mkdir(parents=True, exist_ok=True)
        own_environment = {"ARENA_HOME": str(own / "home"), "TMPDIR": str(own / "tmp")}
        cache = os.environ.get("ARENA_CACHE") or str(self.folder / "cache")
        return subprocess.Popen(  # noqa: S603 - our own code
            [*self._inside(machine), sys.executable, "-m", "arena", *words],
            cwd=self.folder,
            env=os.environ | own_environment | {"ARENA_CACHE": cache},
            stdout=subprocess.DEVNULL,
            stderr=(own / "errors.log").open("a"),
            text=True,
            start_new_session=True,
        )

    def start_scheduler(self) -> subprocess.Popen[str]:
        """Start the scheduler and wait until it listens."""
        process = self.arena("cluster", "start", "--bind", SCHEDULER, "--keys", "lab.key")
        wait_for(lambda: SCHEDULER in listeners(), "the scheduler does not listen")
        return process

    def start_worker(self, name: str) -> subprocess.Popen[str]:
        """Start the worker of a machine, with one slot."""
        return self.arena(
            "worker", f"tls://{SCHEDULER}", "--keys", f"{name}.key", "--slots", "1", machine=name
        )

    def _gate(self, name: str) -> str:
        return f"10.99.{self.names.index(name) + 1}.1"

    def _inside(self, name: str) -> list[str]:
        return ["nsenter", "-t", str(self.spaces[name]), "-n"] if name else []


def wait_for(is_true: Callable[[], object], what: str) -> None:
    """Wait until a condition holds; fail if it takes too long."""
    ends_at = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > ends_at:
            raise TimeoutError(what)
        time.sleep(0.05)


def listeners() -> list[str]:
    """Return the addresses on which processes of this machine listen."""
    said = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True, check=True).stdout  # noqa: S607
    return [line.split()[3] for line in said.splitlines()]


@contextmanager
def _process(command: Sequence[str]) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command) as process:  # noqa: S603 - our own
        yield process
        process.kill()


def _space(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def _ip(*words: str) -> None:
    subprocess.run([shutil.which("ip") or "ip", *words], check=True)  # noqa: S603 - our own
