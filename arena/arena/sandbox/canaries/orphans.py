"""Kills an arena that runs an attacker, and finds which of its processes survive."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.canaries.attackers import INTERPRETER, attacker, read_reports, send_order
from arena.sandbox.family import members
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Generator

WAIT_S = 1.0
"""Seconds after the arena's death in which remaining processes may still be ending."""
_BEAT_S = 0.01
_ATTACKS = [("31", "outliving.attack_outlive"), ("32", "outliving.attack_daemon")]
_ARENA = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from arena.sandbox.canaries import orphans
orphans.have_attacker(sys.argv[2], sys.argv[3])
"""


class Orphans:
    """An arena in another process, with an attacker that tries to outlive it."""

    def __init__(self, process: subprocess.Popen[bytes], token: str) -> None:
        self._process = process
        self._token = token
        self._members: set[int] = set()
        self._attacked: set[int] = set()
        self._killed_at = 0.0

    def kill_arena(self) -> None:
        """Wait until the attacks have been made, then kill the arena."""
        line = self._process.stdout.readline() if self._process.stdout else b""
        with suppress(ValueError):
            told = json.loads(line)
            self._members, self._attacked = set(told["members"]), set(told["attacked"])
        self._process.kill()
        self._process.wait()
        self._killed_at = time.monotonic()

    def worked(self) -> set[int]:
        """Return the attacks that worked or were not made; wait at most `WAIT_S` for the processes to end."""
        while alive := self._alive():
            if time.monotonic() > self._killed_at + WAIT_S:
                break
            time.sleep(_BEAT_S)
        found = {31, 32} - self._attacked
        found |= {31} if alive & self._members else set()
        found |= {32} if alive - self._members else set()
        for pid in alive:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return found

    def _alive(self) -> set[int]:
        """Return the living processes that have the attacker's command line or were in its container."""
        if sys.platform != "linux":
            return self._members  # the attacks were never made, so nothing can be concluded from this
        own = {pid for pid in self._members if _is_alive(pid)}
        mark = self._token.encode()
        names = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
        return own | {int(name) for name in names if mark in _command_line(name)}


@contextmanager
def orphans(tier: Tier) -> Generator[Orphans]:
    """Start an arena with an attacker; kill it at the end of the block, and remove the files it leaves."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-orphans-")))
        folder.chmod(0o711)  # a bot with another user must be able to pass through
        process = stack.enter_context(
            subprocess.Popen(  # noqa: S603 - runs this interpreter with our own script
                [*INTERPRETER, "-c", _ARENA, json.dumps(sys.path), tier.value, token],
                env={**os.environ, "TMPDIR": str(folder)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        stack.callback(process.kill)
        yield Orphans(process, token)


def have_attacker(tier: str, token: str) -> None:
    """Start an attacker, have it attack, print its process ids and wait; runs in the arena that is killed."""
    with attacker(Tier(tier), token=token) as process:
        send_order(process, {}, _ATTACKS)
        reports = read_reports(process)
        told = {"members": list(members(process.pid)), "attacked": [int(key) for key in reports]}
        print(json.dumps(told), flush=True)  # noqa: T201 - read by the other arena
        sys.stdin.read()


def _is_alive(pid: int) -> bool:
    try:
        # The state follows the name in parentheses, which may contain any characters.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except (OSError, IndexError):
        return False


def _command_line(name: str) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{name}/cmdline").read_bytes()
    except OSError:
        return b""
