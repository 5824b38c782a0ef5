"""Starts processes for bots: on Linux with a process that clones itself, elsewhere with a new interpreter.

The starter keeps the launcher's modules in memory, so a start does not cost an interpreter. The processes it
clones are children of this process, not of the starter: this process reaps, measures and kills them, even if
the starter dies.
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

from arena.own_python import own_python

if TYPE_CHECKING:
    from collections.abc import Mapping

LAUNCHER = str(Path(__file__).with_name("launcher.py"))
CODE = str(Path(__file__).parents[2])
"""The folder that contains the package `arena`."""
_INTERPRETER = own_python("-I", "-S", "-B")
_LENGTH_BYTES = 8
_MESSAGE_BYTES = 16
"""Bytes that suffice for every message of a container."""


class Spawned(NamedTuple):
    """A started process: its id, which is also its group's id, and this side's descriptors."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    control: socket.socket | None
    """Receives what a container's first process sends; None without a starter."""
    popen: subprocess.Popen[bytes] | None = None
    """The Popen object, whose return code must be set when the process has been reaped; None for a clone."""


class _Starter:
    """The starter of this process, and the socket to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        here, there = socket.socketpair()
        self._socket = here
        with there:
            self._process = subprocess.Popen(  # noqa: S603 - runs our own script
                [*_INTERPRETER, LAUNCHER, CODE, str(there.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={},
                pass_fds=[there.fileno()],
                # A new session, so that signals of the terminal reach only this process.
                start_new_session=True,
            )

    def request(self, recipe: bytes, descriptors: list[int]) -> int:
        """Request the start of a process; return its id.

        Raises:
            OSError: the system refused, or the starter has ended (ConnectionError).
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
        """End the starter; the processes it has started continue."""
        self._socket.close()
        # A forked child must not kill the starter of its parent.
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()


_starters: list[_Starter] = []
"""Contains at most one starter, that of this process."""
_lock = threading.Lock()
"""Serialises requests, because those of two threads must not mix on the socket."""


def start(recipe: bytes, environment: Mapping[str, str], folder: Path, tracer: int | None = None) -> Spawned:
    """Start the process of a recipe.

    Args:
        recipe: the output of `arena.sandbox.launch_recipe.encode`.
        environment: all its environment variables.
        folder: its working directory; without a starter the recipe file is put beside it.
        tracer: a socket that receives the listener for refused calls; needs a starter.

    Raises:
        OSError: the process cannot be started.
    """
    if sys.platform == "linux":
        return _start_by_clone(recipe, [] if tracer is None else [tracer])
    return _start_fresh(recipe, environment, folder)


def _start_by_clone(recipe: bytes, more: list[int]) -> Spawned:
    """Send a request to the starter; if the starter was killed, to a new one."""
    with _lock:
        try:
            return _request(recipe, more)
        except ConnectionError:
            # It may have cloned itself before it was killed. That process ends with its pipes, so the next
            # one needs pipes of its own: with one pipe, the two would answer for each other.
            _starters.pop().close()
            return _request(recipe, more)


def _request(recipe: bytes, more: list[int]) -> Spawned:
    """Make pipes and request the start of a process at their other ends.

    Raises:
        OSError: the system refused, or the starter is gone (ConnectionError); nothing stays open.
    """
    with ExitStack() as theirs, ExitStack() as ours:
        (their_in, our_in), (our_out, their_out), (our_err, their_err) = (os.pipe() for _ in range(3))
        for fd in (their_in, their_out, their_err):
            theirs.callback(os.close, fd)
        for fd in (our_in, our_out, our_err):
            ours.callback(os.close, fd)
        # SEQPACKET keeps the messages of a container apart.
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.callback(there.close)
        ours.callback(here.close)
        here.setblocking(False)  # noqa: FBT003 - the parameter is positional only
        descriptors = [their_in, their_out, their_err, there.fileno(), *more]
        pid = _own_starter().request(recipe, descriptors)
        # From here on the caller owns this side's descriptors, so the stack must not close them.
        ours.pop_all()
    return Spawned(pid, our_in, our_out, our_err, here)


def _own_starter() -> _Starter:
    if _starters and _starters[0].owner != os.getpid():
        # After a fork: the inherited starter's clones would be children of the original process.
        _starters.pop().close()
    if not _starters:
        _starters.append(_Starter())
    return _starters[0]


@atexit.register
def close_starter() -> None:
    """End the starter of this process, if any; the processes it has started continue."""
    while _starters:
        _starters.pop().close()


def _start_fresh(recipe: bytes, environment: Mapping[str, str], folder: Path) -> Spawned:
    file = folder.parent / "recipe"
    file.write_bytes(recipe)
    popen = subprocess.Popen(  # noqa: S603 - runs the program that the user registered
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
    """Return a duplicate descriptor that stays open when the pipe's owner is deleted."""
    if pipe is None:
        raise OSError(errno.EBADF, "a pipe is missing")
    with pipe:
        return os.dup(pipe.fileno())


def take_descriptor(control: socket.socket) -> int | None:
    """Return the descriptor of the scratch folder that a container sent; None if it will never come."""
    with suppress(OSError):
        control.setblocking(True)  # noqa: FBT003 - the parameter is positional only
        _, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 1)
        control.setblocking(False)  # noqa: FBT003 - the parameter is positional only
        return descriptors[0] if descriptors else None
    return None


def take_status(control: socket.socket) -> int | None:
    """Return the bot's status that a container's first process sent; None if it sent none."""
    with suppress(OSError):
        data = control.recv(_MESSAGE_BYTES)
        return int.from_bytes(data, "little") if data else None
    return None
