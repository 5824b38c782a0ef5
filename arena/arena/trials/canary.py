"""The environment of trials: seats for hostile bots, and canaries: files, sockets, a process as bait."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import arena_plugins
from arena.own_python import own_python
from arena.referee.hosted import HostedSeat
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena.trials.claims import installed_seat
from arena.trials.rogues import has_weights, rogue_seat

if TYPE_CHECKING:
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_plugins.contract import Game
    from arena_plugins.hostile.table import Misbehaviour

_LISTENER = """
import os, signal, sys
signal.signal(signal.SIGURG, lambda *_: os.write(1, b"hit"))
os.write(1, b"ready\\n")
sys.stdin.read()
"""


_PRIVATE = 0o511
"""Mode of the bait folder, which differs from those of all folders that the arena gives to bots."""


class Canary:
    """Bait in a folder; `close` removes all of it."""

    def __init__(self, folder: Path) -> None:
        self._store, self._weights = folder / "store.db", folder / "weights.onnx"
        self._folder = folder / "private"
        self._folder.mkdir()
        self._folder.chmod(_PRIVATE)
        for file in (self._store, self._weights):
            file.write_text("precious", encoding="utf-8")
        self._tcp, self._udp = socket.create_server(("127.0.0.1", 0)), socket.socket(type=socket.SOCK_DGRAM)
        self._port: int = self._tcp.getsockname()[1]
        self._udp.bind(("127.0.0.1", self._port))
        self._sockets = [self._tcp, self._udp]
        self._name = f"arena-canary-{secrets.token_hex(8)}"
        if sys.platform == "linux":
            self._sockets.append(socket.socket(socket.AF_UNIX))
            self._sockets[-1].bind("\0" + self._name)
            self._sockets[-1].listen()
        for each in self._sockets:
            each.settimeout(0)
        self._process = subprocess.Popen(  # noqa: S603 - our own code
            own_python("-I", "-S", "-c", _LISTENER),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"ARENA_SECRET": "precious"},
        )
        output = self._process.stdout
        if output is not None:
            output.readline()
            os.set_blocking(output.fileno(), False)

    @property
    def store(self) -> str:
        """The file that stands for the store."""
        return str(self._store)

    @property
    def argument(self) -> str:
        """Argument that describes the bait to a hostile bot."""
        places = {
            "store": self._store,
            "weights": self._weights,
            "folder": self._folder,
            "port": self._port,
            "abstract": self._name,
            "pid": self._process.pid,
        }
        return "canaries=" + ",".join(f"{key}:{value}" for key, value in places.items())

    def find_harm(self) -> str:
        """Return what harm was done to the bait; empty if none."""
        for file in (self._store, self._weights):
            if file.read_text(encoding="utf-8") != "precious":
                return f"{file.name} was changed"
        if not self._folder.is_dir() or stat.S_IMODE(self._folder.stat().st_mode) != _PRIVATE:
            return f"the folder {self._folder.name} was changed"
        for each in self._sockets:
            with suppress(BlockingIOError):
                if each.type is socket.SOCK_DGRAM:
                    each.recv(16)
                else:
                    each.accept()[0].close()
                return "a socket was reached"
        if self._process.poll() is not None:
            return "the process was ended"
        output = self._process.stdout
        return "the process got a signal" if output is not None and output.read() else ""

    def close(self) -> None:
        """Remove the bait."""
        for each in self._sockets:
            each.close()
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


_PROGRAM = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")


class TrialEnvironment(NamedTuple):
    """The tier, the game, the bait and the folder of some trials."""

    tier: Tier
    """Isolation tier of the bots."""
    game: Game
    canary: Canary
    """Bait for the bots."""
    folder: Path
    """Folder for all files."""

    def seat(self, row: Misbehaviour, token: str) -> Seat:
        """Return the seat of a bot.

        Args:
            row: the misbehaviour.
            token: unique to the trial; it is among the arguments of the bot's processes.
        """
        if row.is_plugin:
            folder = self.folder / f"{row.name}-{token}"
            make = rogue_seat if has_weights(row) else installed_seat
            return make(row, self.tier, self.game, folder, self.canary.store)
        options = [row.name, str(row.move), token, f"{self.canary.argument},mark:{token}"]
        return HostedSeat(
            ProcessSettings(
                own_python("-I", "-S", "-B", _PROGRAM, *options),
                tier=self.tier,
                resources=Resources(memory_bytes=row.memory_bytes),
            ),
            name="hostile",
            version="1",
        )
