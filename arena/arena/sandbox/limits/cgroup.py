"""Exact limits with cgroup v2: one control group per bot, below a group that the arena may divide.

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
"""The controllers that exact limits need; every group has freezer, `cgroup.kill` and `cpu.stat`."""
MAIN = "arena-main"
"""Group of the arena and its workers, because a group with subgroups may not contain processes itself."""
_LEAF = "arena-bot-"
_PROC = Path("/proc")
_NUM_SWEPT = 64
"""Maximum number of groups of killed arenas that one start removes; each takes about 50 µs."""
_NUM_ROUNDS = 10
"""Number of passes over the processes to move, because new ones may start meanwhile."""
_REMOVAL_S, _STEP_S = 0.1, 0.001
"""Seconds to wait until a group can be removed, and seconds between two attempts: killed processes that the
arena does not reap end a little later."""
_SHORT = 256
"""Bytes that are enough for the first line of `cpu.stat`."""
_MICROSECOND = 1e-6
_START_FIELD = 19
"""Field of /proc/PID/stat with the start time, counted from the field after the name."""

_numbers = itertools.count()


class NoSubtreeError(Exception):
    """There is no cgroup that the arena may divide; the text says what is missing."""

    def __init__(self, why: str, *, is_delegable: bool = True) -> None:
        super().__init__(why)
        self.is_delegable = is_delegable
        """Whether a delegated cgroup, such as systemd-run creates, would help."""


class Toll(NamedTuple):
    """The kernel's final counts for a bot."""

    peak_bytes: int
    """Peak memory in bytes: resident, file cache, scratch, pipes and sockets."""
    num_oom_kills: int
    """Number of processes that the kernel killed at the memory limit."""


class Leaf:
    """The control group of one bot; it includes everything that the bot starts."""

    def __init__(self, path: str) -> None:
        """Open an existing group.

        Raises:
            OSError: it does not exist, or cannot be frozen or measured.
        """
        self.path = path
        """The folder of the group."""
        self._cpu_s = 0.0
        self._seen_bytes = 0
        self._freezer = self._cpu = -1
        # Kept open, because every pause of the bot writes to it.
        self._freezer = os.open(f"{path}/cgroup.freeze", os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._cpu = os.open(f"{path}/cpu.stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._close()
            raise

    def limit(self, memory_bytes: int, tasks: int, controllers: Collection[str] = CONTROLLERS) -> None:
        """Set the limits: exceeding the memory kills all processes, exceeding the tasks makes fork fail.

        Args:
            memory_bytes: maximum memory of all processes together; swap is not allowed.
            tasks: maximum number of threads and processes together.
            controllers: the controllers that the group has.

        Raises:
            OSError: the kernel refused the call.
        """
        if "memory" in controllers:
            _write(f"{self.path}/memory.max", str(memory_bytes))
            with suppress(FileNotFoundError):  # the kernel has no swap accounting
                _write(f"{self.path}/memory.swap.max", "0")
            # With oom.group the kernel kills the whole bot, not just its largest process.
            _write(f"{self.path}/memory.oom.group", "1")
        if "pids" in controllers:
            _write(f"{self.path}/pids.max", str(tasks))

    def freeze(self) -> None:
        """Stop all processes, at once or within milliseconds; then only SIGKILL reaches them."""
        self._set_frozen(b"1")

    def thaw(self) -> None:
        """Resume the processes that `freeze` stopped."""
        self._set_frozen(b"0")

    def cpu_s(self) -> float:
        """Return the CPU seconds of all processes and threads, including ended ones.

        After the group was removed, it returns the result of the last call.
        """
        if self._cpu >= 0:
            with suppress(OSError, ValueError):
                line, _, _ = os.pread(self._cpu, _SHORT, 0).partition(b"\n")
                self._cpu_s = int(line.removeprefix(b"usage_usec ")) * _MICROSECOND
        return self._cpu_s

    def usage(self) -> Usage:
        """Return the memory and the tasks that the kernel counts at present."""
        memory_bytes = _number(f"{self.path}/memory.current")
        self._seen_bytes = max(self._seen_bytes, memory_bytes)
        return Usage(memory_bytes, _number(f"{self.path}/pids.current"))

    def toll(self) -> Toll:
        """Return the kernel's counts so far."""
        events = _entries(f"{self.path}/memory.events")
        # Kernels before 5.19 do not count the peak; the maximum seen by `usage` stands in.
        peak_bytes = _number(f"{self.path}/memory.peak") or self._seen_bytes
        return Toll(peak_bytes, events.get("oom_kill", 0))

    def kill(self) -> None:
        """Kill all processes, frozen or not."""
        with suppress(OSError):
            _write(f"{self.path}/cgroup.kill", "1")

    def remove(self) -> bool:
        """Remove the group; return False if it still contains processes after `_REMOVAL_S` seconds."""
        self._close()
        deadline = time.monotonic() + _REMOVAL_S
        while not (removed := _remove(self.path)) and time.monotonic() < deadline:
            # rmdir fails with EBUSY until the kernel has released the last killed process.
            time.sleep(_STEP_S)
        return removed

    def _set_frozen(self, state: bytes) -> None:
        if self._freezer >= 0:
            with suppress(OSError):
                os.write(self._freezer, state)

    def _close(self) -> None:
        # The last reading, which `cpu_s` returns from now on.
        self.cpu_s()
        for fd in (self._freezer, self._cpu):
            if fd >= 0:
                os.close(fd)
        self._freezer = self._cpu = -1


class Subtree:
    """A control group that the arena has divided: one subgroup for itself, one for each bot."""

    def __init__(self, root: Path, controllers: Sequence[str] = CONTROLLERS) -> None:
        self.root = root
        """The folder of the group."""
        self._controllers = controllers

    def make_leaf(self, memory_bytes: int, tasks: int) -> Leaf:
        """Create a bot's group and set its limits.

        Raises:
            OSError: the kernel refused the call.
        """
        # The name identifies the owner: other arenas leave the group alone while this process lives.
        name = f"{_LEAF}{os.getpid()}-{_start_time(os.getpid())}-{next(_numbers)}"
        path = str(self.root / name)
        os.mkdir(path)  # noqa: PTH102 - pathlib takes twice as long
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
        """Remove at most `_NUM_SWEPT` groups of killed arenas, and kill the processes left in them."""
        with suppress(OSError), os.scandir(self.root) as entries:
            # A killed process may end later than the removal; the next start removes its group.
            abandoned = (entry.path for entry in entries if _is_abandoned(entry.name))
            for path in itertools.islice(abandoned, _NUM_SWEPT):
                with suppress(OSError):
                    _write(f"{path}/cgroup.kill", "1")
                _remove(path)


def enter(controllers: Sequence[str] = CONTROLLERS, proc: Path = _PROC) -> Subtree:
    """Divide the cgroup of this process, or find the one that a parent of this process has divided.

    This process moves to a group `arena-main` below its own, together with all other processes of its cgroup,
    which must be its descendants. A trial group for a bot is created, limited and removed, so that missing
    support is noticed now.

    Args:
        controllers: the controllers that each bot's group must have.
        proc: the path of procfs.

    Raises:
        NoSubtreeError: the cgroup cannot be divided. No process was moved, unless the kernel refused later.
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
        # A trial, because only creating a group with limits shows whether the kernel permits it.
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
            # In the root cgroup this means that cgroup v1 has the controllers, or that the kernel lacks them.
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
            # Reading and moving is not atomic: a process forked meanwhile is found in the next round.
            pids = _pids(own)
            for pid in pids:
                with suppress(ProcessLookupError):
                    _write(f"{main}/cgroup.procs", str(pid))
            if not pids:
                break
        # Only a group without processes of its own may pass controllers on.
        _write(f"{own}/cgroup.subtree_control", " ".join(f"+{name}" for name in controllers))
    except OSError as error:
        raise NoSubtreeError(f"{error.filename or own}: {error.strerror}") from error


def _is_abandoned(name: str) -> bool:
    """Return whether a name is that of a bot's group whose arena has ended."""
    if not name.startswith(_LEAF):
        return False
    owner, _, start_time = name.removeprefix(_LEAF).rpartition("-")[0].partition("-")
    # The start time tells an arena from a later process that got its pid.
    return owner.isdigit() and _read_start_time(int(owner)) != start_time


@cache
def _start_time(pid: int) -> str:
    return _read_start_time(pid)


def _read_start_time(pid: int) -> str:
    """Return the start time of a process in clock ticks since boot; empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    # The name of the program is in parentheses and may contain any character, even `)`.
    return text.rpartition(")")[2].split()[_START_FIELD]


def _remove(path: str) -> bool:
    """Remove a group; return False if it is not empty."""
    try:
        os.rmdir(path)  # noqa: PTH106 - pathlib takes twice as long
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
    """Decode a path of mountinfo, in which blanks and backslashes are written as octal escapes."""
    parts = word.split("\\")
    return parts[0] + "".join(chr(int(part[:3], 8)) + part[3:] for part in parts[1:])
