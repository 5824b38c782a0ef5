"""Starts processes for bots: on Linux by one process that clones itself, elsewhere by a fresh interpreter.

The starter has what the launcher needs in memory, so a start costs no interpreter. What it clones is a child
of this process, not of the starter: this process waits for it, measures it and kills it, and the starter
may die meanwhile.
"""

from __future__ import annotations

import atexit
import errno
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from arena.own import own_python

if TYPE_CHECKING:
    from collections.abc import Mapping

LAUNCHER = str(Path(__file__).with_name("launcher.py"))
CODE = str(Path(__file__).parents[2])
"""The folder the package `arena` lies in."""
_INTERPRETER = own_python("-I", "-S", "-B")
_LENGTH_BYTES = 8


class Spawned(NamedTuple):
    """A process that was started: its id, which is its group's too, and this side's descriptors."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    control: socket.socket | None
    """Brings what the first process of a container sends; None where there is no starter."""
    popen: subprocess.Popen[bytes] | None = None
    """What must be told that the process was reaped."""


class _Starter:
    """The starter of this process and the socket to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        here, there = socket.socketpair()
        self._socket = here
        with there:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [*_INTERPRETER, LAUNCHER, CODE, str(there.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={},
                pass_fds=[there.fileno()],
                # Signals of a terminal are this process's affair.
                start_new_session=True,
            )

    def request(self, recipe: bytes, descriptors: list[int]) -> int:
        """Have a process started; return its id.

        Raises:
            OSError: the system refused, or the starter is gone (ConnectionError).
        """
        header = len(recipe).to_bytes(_LENGTH_BYTES, "little")
        socket.send_fds(self._socket, [header], descriptors)
        self._socket.sendall(recipe)
        data = self._socket.recv(_LENGTH_BYTES)
        if len(data) < _LENGTH_BYTES:
            raise ConnectionError("the starter of bots has ended")
        answer = int.from_bytes(data, "little", signed=True)
        if answer < 0:
            raise OSError(-answer, os.strerror(-answer), "clone")
        return answer

    def close(self) -> None:
        """End the starter; processes that it started go on."""
        self._socket.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()


_starters: list[_Starter] = []
"""At most one: that of this process."""
_lock = threading.Lock()
"""Requests and answers of two threads must not mix."""


def start(recipe: bytes, environment: Mapping[str, str], folder: Path, tracer: int | None = None) -> Spawned:
    """Start the process of a recipe.

    Args:
        recipe: as `arena.sandbox.recipe.encode` writes it.
        environment: all its variables.
        folder: where it works; the recipe goes beside it where there is no starter.
        tracer: a socket that takes the listener to refused calls; only with a starter.

    Raises:
        OSError: the process cannot be started.
    """
    if sys.platform == "linux":
        return _start_by_clone(recipe, [] if tracer is None else [tracer])
    return _start_fresh(recipe, environment, folder)


def _start_by_clone(recipe: bytes, more: list[int]) -> Spawned:
    """Ask the starter, and a new one if the last was killed."""
    with _lock:
        try:
            return _request(recipe, more)
        except ConnectionError:
            # It may have cloned itself before it was killed. That process ends with its pipes, so the next
            # one needs pipes of its own: two at one pipe would answer for each other.
            _starters.pop().close()
            return _request(recipe, more)


def _request(recipe: bytes, more: list[int]) -> Spawned:
    """Make pipes and have a process started at their other ends.

    Raises:
        OSError: the system refused, or the starter is gone (ConnectionError); nothing stays open.
    """
    with ExitStack() as theirs, ExitStack() as ours:
        (their_in, our_in), (our_out, their_out), (our_err, their_err) = (os.pipe() for _ in range(3))
        for fd in (their_in, their_out, their_err):
            theirs.callback(os.close, fd)
        for fd in (our_in, our_out, our_err):
            ours.callback(os.close, fd)
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.callback(there.close)
        ours.callback(here.close)
        here.setblocking(False)  # noqa: FBT003 - the only way to call it
        descriptors = [their_in, their_out, their_err, there.fileno(), *more]
        pid = _own_starter().request(recipe, descriptors)
        ours.pop_all()
    return Spawned(pid, our_in, our_out, our_err, here)


def _own_starter() -> _Starter:
    if _starters and _starters[0].owner != os.getpid():
        # A fork of the process it belongs to: its children would be that one's.
        _starters.pop().close()
    if not _starters:
        _starters.append(_Starter())
    return _starters[0]


@atexit.register
def close_starter() -> None:
    """End the starter of this process, if there is one; what it started goes on."""
    while _starters:
        _starters.pop().close()


def _start_fresh(recipe: bytes, environment: Mapping[str, str], folder: Path) -> Spawned:
    file = folder.parent / "recipe"
    file.write_bytes(recipe)
    popen = subprocess.Popen(  # noqa: S603 - running what the user registered is the job
        [*_INTERPRETER, LAUNCHER, str(file)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
    )
    stdin, stdout, stderr = map(_detached, (popen.stdin, popen.stdout, popen.stderr))
    return Spawned(popen.pid, stdin, stdout, stderr, None, popen)


def _detached(pipe: IO[bytes] | None) -> int:
    """Return a descriptor that lives on when the object that owns the pipe is gone."""
    if pipe is None:
        raise OSError(errno.EBADF, "a pipe is missing")
    with pipe:
        return os.dup(pipe.fileno())


def take_descriptor(control: socket.socket) -> int | None:
    """Return the descriptor of the scratch folder that a container sent; None if it never will."""
    with suppress(OSError):
        control.setblocking(True)  # noqa: FBT003 - the only way to call it
        _, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        control.setblocking(False)  # noqa: FBT003 - the only way to call it
        return descriptors[0] if descriptors else None
    return None


def take_status(control: socket.socket) -> int | None:
    """Return the status that a container's first process sent of the bot; None if it sent none."""
    with suppress(OSError):
        data = control.recv(16)
        return int.from_bytes(data, "little") if data else None
    return None
