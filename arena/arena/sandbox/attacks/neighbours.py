"""Attacks on the opponent, and covert channels between two bots."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_IPC_CREATE = 0o1000
_NOTE_BYTES = 4096
_SHARED_FILES = Path("/dev/shm")  # noqa: S108 - a place for notes that the arena does not watch


def leave_note(targets: Targets) -> object:
    """Run by the opponent: leave a note for the other bot; return the opponent's own program and weights."""
    note = targets["note"].encode()
    for leave in (_leave_in_memory, _leave_in_queue, _leave_in_file):
        with suppress(OSError):
            leave(targets, note)
    return [Path(targets[name]).read_text(encoding="ascii") for name in ("program", "weights")]


def attack_read_note(targets: Targets) -> object:
    """Return the notes that the other bot left."""
    found: list[str] = []
    for look in (_look_in_memory, _look_in_queue, _look_in_file):
        with suppress(OSError):
            found.append(look(targets).decode(errors="replace"))
    return found


def attack_read_program(targets: Targets) -> object:
    """Return the program and the weights of the opponent."""
    return [Path(targets[name]).read_text(encoding="ascii") for name in ("program", "weights")]


def attack_take_core(targets: Targets) -> object:
    """Move this process to other processes' cores, and the opponent as well."""
    for pid in (0, targets["opponent"]):
        with suppress(OSError):
            os.sched_setaffinity(pid, targets["cores"])
    return None


def _leave_in_memory(targets: Targets, note: bytes) -> None:
    segment = syscall("shmget", targets["note_key"], _NOTE_BYTES, _IPC_CREATE | 0o666)
    ctypes.memmove(syscall("shmat", segment, 0, 0), note, len(note))


def _leave_in_queue(targets: Targets, note: bytes) -> None:
    os.umask(0)
    queue = syscall("mq_open", targets["note_queue"].encode(), os.O_RDWR | os.O_CREAT, 0o666, None)
    syscall("mq_timedsend", queue, note, len(note), 0, None)


def _leave_in_file(targets: Targets, note: bytes) -> None:
    (_SHARED_FILES / targets["note_queue"]).write_bytes(note)


def _look_in_memory(targets: Targets) -> bytes:
    segment = syscall("shmget", targets["note_key"], _NOTE_BYTES, 0)
    return ctypes.string_at(syscall("shmat", segment, 0, 0), _NOTE_BYTES).rstrip(b"\0")


def _look_in_queue(targets: Targets) -> bytes:
    queue = syscall("mq_open", targets["note_queue"].encode(), os.O_RDONLY | os.O_NONBLOCK, 0, None)
    buffer = ctypes.create_string_buffer(_NOTE_BYTES * 4)
    size = syscall("mq_timedreceive", queue, buffer, len(buffer), None, None)
    return buffer.raw[:size]


def _look_in_file(targets: Targets) -> bytes:
    return (_SHARED_FILES / targets["note_queue"]).read_bytes()
