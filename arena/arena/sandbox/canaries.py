"""Canaries: things like those a bot must not touch, attacked by a real child, then looked at."""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.own import own_python
from arena.sandbox import attacks
from arena.sandbox.process import spawn
from arena.sandbox.readable import python_readable
from arena.sandbox.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Generator

    from arena.sandbox.process import Process
    from arena.sandbox.tier import Tier

RESOURCES = Resources(address_bytes=1 << 29, scratch_bytes=1 << 20)
"""Small limits, which are quick to reach."""
_ATTACKS = str(Path(attacks.__file__))
_PASSWORDS = "/etc/passwd"
_DEADLINE_S = 20.0
_VICTIM = """
import os, sys
secret = os.environ["SECRET"].encode()
print(id(secret) + bytes.__basicsize__ - 1, flush=True)
sys.stdin.read()
"""
_OPPONENT = "import sys; print(flush=True); sys.stdin.read()"
_INTERPRETER = tuple(own_python("-I", "-S", "-B"))


class Trial(NamedTuple):
    """What came of the attacks."""

    worked: frozenset[int]
    """The attacks whose canary was hurt, or that were not made; 0 if the scratch folder could not be used."""
    user: int | None
    """The number of the user the attacker was made; None if it was the arena's."""
    errors: dict[int, str]
    """What the attacker was told, by attack; for people, not for judging."""


class _Canaries(NamedTuple):
    targets: attacks.Targets
    secret: str
    sockets: dict[int, socket.socket]
    victim: subprocess.Popen[bytes]
    opponent: Process
    descriptors: tuple[int, int]
    priority: int


def try_attacks(tier: Tier) -> Trial:
    """Run all attacks in a child of this tier.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    with _canaries(tier) as canaries:
        attacker = spawn(
            [*_INTERPRETER, _ATTACKS, json.dumps(canaries.targets)],
            tier,
            RESOURCES,
            readable=python_readable(()).with_files([_ATTACKS]),
        )
        try:
            reports = _reports(attacker)
            attacker.kill()
            worked = _hurt(canaries, reports, attacker)
        finally:
            attacker.kill()
            attacker.close()
    missing = attacks.ATTACKS.keys() - reports.keys()
    errors = {number: str(report["error"]) for number, report in reports.items() if report["error"]}
    return Trial(frozenset(worked | missing), attacker.user, errors)


@contextmanager
def _canaries(tier: Tier) -> Generator[_Canaries]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-canaries-")))
        # As open as can be: what protects it is to be the sandbox alone.
        folder.chmod(0o777)
        secret, name = secrets.token_hex(16), secrets.token_hex(16)
        store = folder / "store"
        store.write_text(secret, encoding="ascii")
        store.chmod(0o666)
        sockets = {number: stack.enter_context(channel) for number, channel in _listen(name).items()}
        victim = stack.enter_context(_victim(secret))
        opponent = spawn([*_INTERPRETER, "-c", _OPPONENT], tier, RESOURCES, readable=python_readable(()))
        stack.callback(opponent.close)
        stack.callback(opponent.kill)
        _first_line(opponent.stdout)
        targets = attacks.Targets(
            store=str(store),
            folder=str(folder),
            passwords=_PASSWORDS,
            outside=str(folder / "outside"),
            tcp=sockets[6].getsockname()[1],
            udp=sockets[7].getsockname()[1],
            abstract=name,
            arena=victim.pid,
            opponent=opponent.pid,
            address=int(_first_line(victim.stdout.fileno() if victim.stdout else -1)),
            size=len(secret),
            address_bytes=RESOURCES.address_bytes,
            scratch_bytes=RESOURCES.scratch_bytes,
            text=secrets.token_hex(8),
        )
        yield _Canaries(
            *(targets, secret, sockets, victim, opponent),
            _descriptors(victim.pid),
            os.getpriority(os.PRIO_PROCESS, opponent.pid),
        )


def _listen(name: str) -> dict[int, socket.socket]:
    """Open what is to be reached, by the number of the attack on it."""
    found = {6: socket.create_server(("127.0.0.1", 0)), 7: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)}
    found[7].bind(("127.0.0.1", 0))
    if sys.platform == "linux":
        found[8] = socket.socket(socket.AF_UNIX)
        found[8].bind(b"\0" + name.encode())
        found[8].listen()
    return found


@contextmanager
def _victim(secret: str) -> Generator[subprocess.Popen[bytes]]:
    """Run a process that stands for the arena: outside the sandbox, of the arena's user, with a secret."""
    with subprocess.Popen(  # noqa: S603 - this interpreter with a script of ours
        [*_INTERPRETER, "-c", _VICTIM],
        env={"SECRET": secret},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as victim:
        try:
            yield victim
        finally:
            victim.kill()


def _reports(attacker: Process) -> dict[int, dict[str, object]]:
    """Read what the attacker prints till it ends or its time is up."""
    text, deadline = b"", time.monotonic() + _DEADLINE_S
    while (wait := deadline - time.monotonic()) > 0:
        select.select([attacker.stdout], [], [], wait)
        try:
            chunk = os.read(attacker.stdout, 1 << 16)
        except BlockingIOError:
            continue
        if not chunk:
            break
        text += chunk
    reports: dict[int, dict[str, object]] = {}
    for line in text.splitlines():
        with suppress(ValueError):
            report = json.loads(line)
            reports[report["attack"]] = report
    return reports


def _hurt(canaries: _Canaries, reports: dict[int, dict[str, object]], attacker: Process) -> set[int]:
    """Give the attacks that worked, by what they left behind or got hold of."""
    targets, secret = canaries.targets, canaries.secret
    got = {number: str(report["got"]) for number, report in reports.items()}
    store, folder = Path(targets["store"]), Path(targets["folder"])
    with Path(targets["passwords"]).open(encoding="utf-8") as file:
        passwords = file.readline()
    victim = canaries.victim.pid
    signs = {
        0: _left(attacker, "control") != targets["text"].encode(),
        1: secret in got.get(1, ""),
        2: _content(store) != secret,
        3: store.name in got.get(3, ""),
        4: passwords in got.get(4, ""),
        5: (folder / "outside").exists(),
        9: canaries.victim.poll() is not None or canaries.opponent.has_exited(),
        **{number: secret in got.get(number, "") for number in (10, 11, 12)},
        13: secret[:8] in got.get(13, ""),
        14: _left(attacker, "ran") is not None,
        15: got.get(15) == str(targets["address_bytes"]),
        16: len(_left(attacker, "forks") or b"") == attacks.NUM_FORKS,
        17: len(_left(attacker, "large") or b"") > targets["scratch_bytes"],
        18: _is_changed(canaries, victim),
        **{
            number: bool(select.select([channel], [], [], 0)[0])
            for number, channel in canaries.sockets.items()
        },
    }
    return {number for number, sign in signs.items() if sign}


def _is_changed(canaries: _Canaries, victim: int) -> bool:
    try:
        priority = os.getpriority(os.PRIO_PROCESS, canaries.opponent.pid)
    except ProcessLookupError:
        priority = canaries.priority
    return (priority, _descriptors(victim)) != (canaries.priority, canaries.descriptors)


def _descriptors(pid: int) -> tuple[int, int]:
    """Give the limits on file descriptors of another process, where the system tells."""
    if sys.platform != "linux":
        return (0, 0)
    import resource

    try:
        return resource.prlimit(pid, resource.RLIMIT_NOFILE)
    except ProcessLookupError:
        return (0, 0)


def _left(attacker: Process, name: str) -> bytes | None:
    """Return the beginning of a file that the attacker left in its scratch folder; None without one."""
    try:
        with os.fdopen(attacker.open_scratch(name), "rb") as file:
            return file.read(2 * RESOURCES.scratch_bytes)
    except OSError:
        return None


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def _first_line(fd: int) -> bytes:
    """Read what a process that has just started prints first."""
    os.set_blocking(fd, True)
    with os.fdopen(os.dup(fd), "rb") as file:
        return file.readline()
