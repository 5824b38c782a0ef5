"""Makes the targets of the attacks: files, sockets, a process that stands for the arena, an opponent."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox.attacks import attacker as program
from arena.sandbox.attacks.targets import Targets
from arena.sandbox.canaries import held
from arena.sandbox.canaries.attackers import (
    INTERPRETER,
    RESOURCES,
    attacker,
    last_words,
    read_reports,
    send_order,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from arena.sandbox.process import Process
    from arena.sandbox.tier import Tier

PASSWORDS = "/etc/passwd"
DEVICE = "/dev/full"
"""A device that hardly any other program uses."""
SHARED = str(Path(program.__file__))
NUM_LOCKS = 2_000
MANY_LOCKS = 9 * NUM_LOCKS // 10
"""Number of locks that proves the attack. The kernel shows its list of locks page by page, so a lock that
another process releases meanwhile moves others out of sight."""
HOARD_BYTES = 8 << 20
_MAX_FOLDER = 90
"""Maximum bytes of the path of a folder in which a socket is made; macOS has room for 103 with the name."""
_VICTIM = """
import os, sys
secret = os.environ["SECRET"].encode()
print(id(secret) + bytes.__basicsize__ - 1, flush=True)
sys.stdin.read()
"""
OWN_MODES = {"own_file": 0o644, "own_program": 0o755, "own_folder": 0o755}
"""Modes of the files that belong to the attacker's user."""


class Canaries(NamedTuple):
    """The targets, and what is needed to examine them."""

    targets: Targets
    secrets: dict[int, str]
    """Secrets that the attacker is not told, by the number of the attack that could obtain them."""
    sockets: dict[int, socket.socket]
    """The listening sockets, by the number of the attack on them."""
    victim: subprocess.Popen[bytes]
    """The process that stands for the arena."""
    opponent: Process
    attacker: Process

    def pulse(self) -> None:
        """Change a file in the folder that the attacker watches."""
        with suppress(OSError):
            Path(self.targets["folder"], self.secrets[28]).write_bytes(b"x")


@contextmanager
def set_out(tier: Tier, files: Iterable[str] = ()) -> Generator[Canaries]:
    """Make the targets, and an attacker that waits for its order.

    Args:
        tier: isolation tier of the attacker and of its opponent.
        files: files that the attacker may read in addition to its program.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-canaries-")))
        # Permissions are as open as possible, so that only the sandbox can protect the files.
        folder.chmod(0o777)
        hidden = _draw_secrets()
        _fill(folder, hidden)
        name = secrets.token_hex(16)
        sockets = _listen(stack, folder, name)
        victim = stack.enter_context(_victim(hidden[10]))
        theirs = [str(folder / "program"), str(folder / "weights")]
        with _on_core(-1):
            opponent = stack.enter_context(attacker(tier, theirs))
        with _on_core(0):
            process = stack.enter_context(attacker(tier, files))
        _give_to(folder, process.user)
        targets = Targets(
            **{each: str(folder / each) for each in ("store", "link", "outside", *OWN_MODES)},
            **{each: str(folder / each) for each in ("program", "weights")},
            datagrams=sockets[30].getsockname(),
            folder=str(folder),
            passwords=PASSWORDS,
            device=DEVICE,
            shared=SHARED,
            num_locks=NUM_LOCKS,
            tcp=sockets[6].getsockname()[1],
            udp=sockets[7].getsockname()[1],
            abstract=name,
            arena=victim.pid,
            opponent=opponent.pid,
            address=int(victim.stdout.readline() if victim.stdout else -1),
            size=len(hidden[10]),
            cores=sorted(cores_of(0) - cores_of(process.pid)),
            memory_key=held.draw_key(),
            note_key=held.draw_key(),
            note_queue=f"arena-{secrets.token_hex(8)}",
            note="",
            address_bytes=RESOURCES.address_bytes,
            scratch_bytes=RESOURCES.scratch_bytes,
            hoard_bytes=HOARD_BYTES,
            text=secrets.token_hex(8),
        )
        stack.callback(held.remove, targets)
        _leave_note(opponent, targets, hidden)
        yield Canaries(targets, hidden, sockets, victim, opponent, process)


def _draw_secrets() -> dict[int, str]:
    found = {number: secrets.token_hex(16) for number in (1, 3, 10, 26, 27, 28, 34)}
    with Path(PASSWORDS).open(encoding="utf-8") as file:
        found[4] = file.readline()
    # The same secret, reached in other ways; ptrace reads one word of eight bytes.
    return {**found, **dict.fromkeys((11, 12), found[10]), 13: found[10][:8]}


def _fill(folder: Path, hidden: dict[int, str]) -> None:
    store = folder / "store"
    store.write_text(hidden[1], encoding="ascii")
    store.chmod(0o666)
    (folder / hidden[3]).touch()
    (folder / "link").symlink_to(f"/{hidden[27]}")
    for name in ("program", "weights"):
        (folder / name).write_text(hidden[34], encoding="ascii")
        (folder / name).chmod(0o644)
    (folder / "own_folder").mkdir()
    for name in ("own_file", "own_program"):
        (folder / name).touch()
    for name, mode in OWN_MODES.items():
        (folder / name).chmod(mode)


def _give_to(folder: Path, user: int | None) -> None:
    """Make the attacker the owner of some files, so that a different owner is not what protects them."""
    if user is not None:
        for name in OWN_MODES:
            os.chown(folder / name, user, user)


def _listen(stack: ExitStack, folder: Path, name: str) -> dict[int, socket.socket]:
    """Open the sockets that attacks aim at, by the attack's number; the stack closes them in all cases."""
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    place = _near(stack, folder) / "datagrams"
    datagrams.bind(str(place))
    place.chmod(0o777)
    found = {6: tcp, 7: udp, 30: datagrams}
    if sys.platform == "linux":
        found[8] = stack.enter_context(socket.socket(socket.AF_UNIX))
        found[8].bind(b"\0" + name.encode())
        found[8].listen()
    return found


def _near(stack: ExitStack, folder: Path) -> Path:
    """Return a folder for a socket: the given one, or a new one in `/tmp` if its path is too long.

    The address of a socket has room for little more than a hundred bytes, and a job's TMPDIR may have more.
    Without a socket no attack could be made, no tier would be granted, and bots would run unprotected.
    """
    if len(os.fsencode(folder)) <= _MAX_FOLDER:
        return folder
    near = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-canaries-", dir="/tmp")))
    near.chmod(0o711)
    return near


@contextmanager
def _victim(secret: str) -> Generator[subprocess.Popen[bytes]]:
    """Run a process that stands for the arena: outside the sandbox, as its user, with a secret in memory."""
    with subprocess.Popen(  # noqa: S603 - runs this interpreter with our own script
        [*INTERPRETER, "-c", _VICTIM],
        env={"SECRET": secret},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as victim:
        try:
            yield victim
        finally:
            victim.kill()


def _leave_note(opponent: Process, targets: Targets, hidden: dict[int, str]) -> None:
    send_order(opponent, {**targets, "note": hidden[26]}, [("note", "neighbours.leave_note")])
    reports = read_reports(opponent)
    if not reports:
        raise OSError(last_words(opponent))
    if hidden[34] not in str(reports["note"]["got"]):
        raise OSError(f"a bot cannot read its own program: {reports['note']['error']}")


@contextmanager
def _on_core(index: int) -> Generator[None]:
    """Start processes on one of the arena's cores, as for a match, if the system supports it."""
    cores = sorted(cores_of(0))
    if not cores:
        yield
        return
    os.sched_setaffinity(0, {cores[index]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def cores_of(pid: int) -> frozenset[int]:
    """Return the cores a process may run on (0 is this process); empty if the system cannot tell."""
    return frozenset(os.sched_getaffinity(pid)) if hasattr(os, "sched_getaffinity") else frozenset()
