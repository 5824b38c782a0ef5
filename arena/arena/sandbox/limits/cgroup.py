"""Exact limits by cgroup v2: one control group per bot, below a group that the arena may divide.

Files and their meaning: Documentation/admin-guide/cgroup-v2.rst of the Linux kernel.
"""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox.family import members
from arena.sandbox.limits.polled import Usage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

CONTROLLERS = ("memory", "pids")
"""What exact limits need; freezer, `cgroup.kill` and `cpu.stat` belong to every group."""
MAIN = "arena-main"
"""The group of the arena and its workers: a group that is divided may hold no processes itself."""
_LEAF = "arena-bot-"
_PROC = Path("/proc")
_NUM_SWEPT = 64
"""Groups of killed arenas that one start removes; each takes about 50 µs."""
_NUM_ROUNDS = 10
"""How often processes are moved that were started while others were moved."""
_REMOVAL_S, _STEP_S = 0.1, 0.001
"""Killed processes that nobody waits for are gone a little later than those that the arena waits for."""
_SHORT = 256
"""Bytes that hold the first line of `cpu.stat`."""
_MICROSECOND = 1e-6
_START_FIELD = 19
"""Of /proc/PID/stat, counted from the field after the name."""

_numbers = itertools.count()


class NoSubtreeError(Exception):
    """There is no cgroup that the arena may divide; the message says what is missing."""

    def __init__(self, why: str, *, is_delegable: bool = True) -> None:
        super().__init__(why)
        self.is_delegable = is_delegable
        """Whether a cgroup of its own, as systemd-run makes one, would help."""


class Toll(NamedTuple):
    """What the kernel counted for a bot until its end."""

    peak_bytes: int
    """The most memory it held at once: resident, file cache, scratch, pipes and sockets."""
    num_oom_kills: int
    """Processes that the kernel killed because the memory limit was reached."""


class Leaf:
    """The control group of one bot; whatever the bot starts is in it too."""

    def __init__(self, path: str) -> None:
        """Open an existing group.

        Raises:
            OSError: there is none, or it cannot be frozen or measured.
        """
        self.path = path
        """Its folder."""
        self._cpu_s = 0.0
        self._seen_bytes = 0
        self._freezer = self._cpu = -1
        self._freezer = os.open(f"{path}/cgroup.freeze", os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._cpu = os.open(f"{path}/cpu.stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._close()
            raise

    def limit(self, memory_bytes: int, tasks: int, controllers: Collection[str] = CONTROLLERS) -> None:
        """Set the limits; more memory ends all its processes, more tasks cannot be started.

        Args:
            memory_bytes: the most memory of all processes together; they get no swap space.
            tasks: the most threads and processes together.
            controllers: those that the group has.

        Raises:
            OSError: the kernel refused.
        """
        if "memory" in controllers:
            _write(f"{self.path}/memory.max", str(memory_bytes))
            with suppress(FileNotFoundError):  # a kernel without swap accounting
                _write(f"{self.path}/memory.swap.max", "0")
            _write(f"{self.path}/memory.oom.group", "1")
        if "pids" in controllers:
            _write(f"{self.path}/pids.max", str(tasks))

    def freeze(self) -> None:
        """Stop all processes, now or within milliseconds; no signal but SIGKILL reaches them."""
        self._set_frozen(b"1")

    def thaw(self) -> None:
        """Let the processes run that `freeze` stopped."""
        self._set_frozen(b"0")

    def cpu_s(self) -> float:
        """Return the seconds of CPU of all its processes and threads, ended ones included.

        Once the group is removed it is what the last call returned.
        """
        if self._cpu >= 0:
            with suppress(OSError, ValueError):
                line, _, _ = os.pread(self._cpu, _SHORT, 0).partition(b"\n")
                self._cpu_s = int(line.removeprefix(b"usage_usec ")) * _MICROSECOND
        return self._cpu_s

    def usage(self) -> Usage:
        """Return the memory and the tasks that the kernel counts now."""
        memory_bytes = _number(f"{self.path}/memory.current")
        self._seen_bytes = max(self._seen_bytes, memory_bytes)
        return Usage(memory_bytes, _number(f"{self.path}/pids.current"))

    def toll(self) -> Toll:
        """Return what the kernel has counted so far."""
        events = _entries(f"{self.path}/memory.events")
        # A kernel before 5.19 counts no peak; then it is the most that `usage` has seen.
        peak_bytes = _number(f"{self.path}/memory.peak") or self._seen_bytes
        return Toll(peak_bytes, events.get("oom_kill", 0))

    def kill(self) -> None:
        """Kill all its processes, frozen or not."""
        with suppress(OSError):
            _write(f"{self.path}/cgroup.kill", "1")

    def remove(self) -> bool:
        """Remove the group; return False if processes are still in it after a tenth of a second."""
        self._close()
        deadline = time.monotonic() + _REMOVAL_S
        while not (removed := _remove(self.path)) and time.monotonic() < deadline:
            time.sleep(_STEP_S)
        return removed

    def _set_frozen(self, state: bytes) -> None:
        if self._freezer >= 0:
            with suppress(OSError):
                os.write(self._freezer, state)

    def _close(self) -> None:
        self.cpu_s()
        for fd in (self._freezer, self._cpu):
            if fd >= 0:
                os.close(fd)
        self._freezer = self._cpu = -1


class Subtree:
    """A control group that the arena has divided: one part for itself, one for each bot."""

    def __init__(self, root: Path, controllers: Sequence[str] = CONTROLLERS) -> None:
        self.root = root
        """Its folder."""
        self._controllers = controllers

    def make_leaf(self, memory_bytes: int, tasks: int) -> Leaf:
        """Make the group of a bot, with its limits.

        Raises:
            OSError: the kernel refused.
        """
        # Its name says who removes it: no other arena does as long as this process lives.
        name = f"{_LEAF}{os.getpid()}-{_start_time(os.getpid())}-{next(_numbers)}"
        path = str(self.root / name)
        os.mkdir(path)  # noqa: PTH102 - pathlib's takes twice as long
        leaf = None
        try:
            leaf = Leaf(path)
            leaf.limit(memory_bytes, tasks, self._controllers)
        except OSError:
            if leaf is None:
                _remove(path)
            else:
                leaf.remove()
            raise
        return leaf

    def sweep(self) -> None:
        """Remove groups of arenas that were killed, at most 64, and kill what is left in them."""
        with suppress(OSError), os.scandir(self.root) as entries:
            abandoned = (entry.path for entry in entries if _is_abandoned(entry.name))
            for path in itertools.islice(abandoned, _NUM_SWEPT):
                with suppress(OSError):
                    _write(f"{path}/cgroup.kill", "1")
                _remove(path)


def enter(controllers: Sequence[str] = CONTROLLERS, proc: Path = _PROC) -> Subtree:
    """Divide the cgroup of this process, or find the one that a parent of this process has divided.

    This process moves to a group `arena-main` below its own, with all others of its cgroup, which must be
    its descendants. A first group for a bot is made, limited and removed, so that what is missing shows now.

    Args:
        controllers: what each bot's group must have.
        proc: where the process file system is.

    Raises:
        NoSubtreeError: the cgroup cannot be divided; nothing has been moved, unless the kernel refused later.
    """
    mount, own = own_cgroup(proc)
    if own.name == MAIN:
        root = own.parent
    else:
        _check_dividable(mount, own, controllers)
        _divide(own, controllers)
        root = own
    subtree = Subtree(root, controllers)
    subtree.sweep()
    try:
        subtree.make_leaf(1 << 30, 1).remove()
    except OSError as error:
        raise NoSubtreeError(f"{error.filename or root}: {error.strerror}") from error
    return subtree


def own_cgroup(proc: Path = _PROC) -> tuple[Path, Path]:
    """Return the folder where cgroup v2 is mounted, and the folder of this process's cgroup.

    Raises:
        NoSubtreeError: there is no cgroup v2, or this process's group is not visible.
    """
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        mounts = (proc / "self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise NoSubtreeError(f"{error.filename}: {error.strerror}", is_delegable=False) from error
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    found = [words for words in map(str.split, mounts) if words[words.index("-") + 1] == "cgroup2"]
    if path is None or not found:
        raise NoSubtreeError("this system has no cgroup v2 hierarchy", is_delegable=False)
    for words in found:
        root, mount = (_unescape(word) for word in words[3:5])
        if path == root or path.startswith(f"{root.rstrip('/')}/"):
            return Path(mount), Path(mount, path[len(root) :].lstrip("/"))
    raise NoSubtreeError(f"cgroup {path} of this process is outside what is mounted", is_delegable=False)


def _check_dividable(mount: Path, own: Path, controllers: Sequence[str]) -> None:
    for folder, is_delegable in ((mount, False), (own, True)):
        missing = [name for name in controllers if name not in _words(folder / "cgroup.controllers")]
        if missing:
            # At the root of the machine cgroup v1 has them, or the kernel has none at all.
            raise NoSubtreeError(
                f"{folder}/cgroup.controllers lacks {' and '.join(missing)}", is_delegable=is_delegable
            )
    for path in (own, own / "cgroup.procs", own / "cgroup.subtree_control"):
        if not os.access(path, os.W_OK):
            raise NoSubtreeError(f"{path} cannot be written: this cgroup is not delegated to the arena")
    strangers = sorted(set(_pids(own)) - set(members(os.getpid())))
    if strangers:
        raise NoSubtreeError(
            f"{own} also holds process {strangers[0]} ({_name(strangers[0])}), which the arena did not start"
        )


def _divide(own: Path, controllers: Sequence[str]) -> None:
    main = own / MAIN
    try:
        main.mkdir(exist_ok=True)
        for _ in range(_NUM_ROUNDS):
            pids = _pids(own)
            for pid in pids:
                with suppress(ProcessLookupError):
                    _write(f"{main}/cgroup.procs", str(pid))
            if not pids:
                break
        _write(f"{own}/cgroup.subtree_control", " ".join(f"+{name}" for name in controllers))
    except OSError as error:
        raise NoSubtreeError(f"{error.filename or own}: {error.strerror}") from error


def _is_abandoned(name: str) -> bool:
    """Return whether it is the name of a bot's group whose arena has ended."""
    if not name.startswith(_LEAF):
        return False
    owner, _, start_time = name.removeprefix(_LEAF).rpartition("-")[0].partition("-")
    return owner.isdigit() and _read_start_time(int(owner)) != start_time


@cache
def _start_time(pid: int) -> str:
    return _read_start_time(pid)


def _read_start_time(pid: int) -> str:
    """Return when a process began, in clock ticks since the boot; empty if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[_START_FIELD]


def _remove(path: str) -> bool:
    """Remove a group; return False if something is still in it."""
    try:
        os.rmdir(path)  # noqa: PTH106 - pathlib's takes twice as long
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(fd)


def _words(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text(encoding="ascii").split()
    return []


def _pids(folder: Path) -> list[int]:
    return [int(word) for word in _words(folder / "cgroup.procs")]


def _number(path: str) -> int:
    words = _words(Path(path))
    return int(words[0]) if words and words[0].isdigit() else 0


def _entries(path: str) -> dict[str, int]:
    words = _words(Path(path))
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=False)}


def _name(pid: int) -> str:
    return " ".join(_words(_PROC / str(pid) / "comm")) or "of another container"


def _unescape(word: str) -> str:
    """Return a path of mountinfo, in which blanks and backslashes are written as octal numbers."""
    parts = word.split("\\")
    return parts[0] + "".join(chr(int(part[:3], 8)) + part[3:] for part in parts[1:])
