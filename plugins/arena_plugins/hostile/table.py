"""The table of hostile bots: expected terminations, the tier they start from, and the programs as data."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Misbehaviour(NamedTuple):
    """One hostile program of the table: when it misbehaves, and how the referee must end the match."""

    number: int
    """A fixed number of the case, as used in the tests; 0 for cases without one."""
    name: str
    expected: tuple[str, ...]
    """The correct terminations; `rules` if the misbehaviour must have no effect."""
    tier: str = "T1"
    """The weakest tier in which `expected` is guaranteed."""
    move: int = 2
    """The number of its move at which it misbehaves, from 1; 0 means every move."""
    limit_ms: int = 10_000
    """Its time for a move, in milliseconds."""
    init_s: float = 20.0
    """Its startup time, in seconds."""
    opponent: str = "good"
    """The name of its opponent."""
    memory_bytes: int = 128 << 20
    """Its memory limit, in bytes."""
    is_plugin: bool = False
    """Whether it is a plugin in a host, made by the trial, instead of a program of this package."""
    stronger: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Other correct terminations in stronger tiers: pairs of tier and terminations, weakest tier first."""
    needs: tuple[str, ...] = ()
    """The targets it must be given, as keys of `canaries=`."""

    def expected_in(self, tier: str) -> tuple[str, ...]:
        """Return the correct terminations in a tier; empty if the tier guarantees nothing."""
        if tier < self.tier:
            return ()
        return next((found for least, found in reversed(self.stronger) if tier >= least), self.expected)


_SHORT_MS = 300
_FILLING_MS = 60_000
"""Milliseconds; enough for a busy disk to create 4,096 files, so the quota ends the match, not the clock."""


def _late(number: int, name: str, move: int = 2) -> Misbehaviour:
    return Misbehaviour(number, name, ("time_move",), move=move, limit_ms=_SHORT_MS)


def _all(expected: str, *bots: tuple[int, str]) -> list[Misbehaviour]:
    return [Misbehaviour(number, name, (expected,)) for number, name in bots]


def _reaching(number: int, name: str, *needs: str) -> Misbehaviour:
    return Misbehaviour(number, name, ("rules",), "T2", needs=needs)


def _filling(number: int, name: str, expected: tuple[str, ...] = ("oom",)) -> Misbehaviour:
    """Return the row of a bot that fills its scratch folder.

    Weak tiers poll the folder's size; in T3 the folder is a file system of limited size.
    """
    return Misbehaviour(number, name, expected, limit_ms=_FILLING_MS, stronger=(("T3", ("rules",)),))


def _plugins(*bots: tuple[int, str]) -> list[Misbehaviour]:
    return [Misbehaviour(number, name, ("init_crash", "oom"), is_plugin=True) for number, name in bots]


TABLE: tuple[Misbehaviour, ...] = (
    *_all("rules", (0, "good"), (0, "slow")),
    Misbehaviour(1, "full-column", ("illegal_move",), move=0),
    *_all("illegal_move", (2, "act-99"), (2, "act-minus-1"), (2, "act-2-to-63")),
    Misbehaviour(0, "late-illegal", ("illegal_move",), limit_ms=_SHORT_MS),
    *_all("malformed", (2, "act-10-to-5000")),
    *_all("protocol_order", (3, "two-answers"), (4, "answer-before-go"), (0, "wrong-id")),
    *_all("protocol_order", (0, "info-wrong-id"), (0, "pong"), (0, "wrong-nonce"), (0, "chatter")),
    *_all("protocol_order", (0, "ready-start"), (0, "wrong-ready"), (0, "pong-ready")),
    *(_late(*bot) for bot in ((5, "late"), (7, "sleep"), (8, "busy"), (9, "regex"), (10, "big-power"))),
    *(_late(*bot) for bot in ((11, "drip"), (11, "drip-lines"), (15, "never-reads"), (25, "stop-itself"))),
    *(_late(0, name) for name in ("info-then-sleep", "crowd", "crowd-in-bursts", "meek")),
    Misbehaviour(6, "just-in-time", ("rules",), limit_ms=_SHORT_MS),
    Misbehaviour(6, "within-margin", ("rules",), limit_ms=_SHORT_MS),
    *_all("output_flood", (12, "info-flood"), (12, "empty-flood")),
    *_all("oversize_line", (13, "endless-line"), (13, "long-line")),
    *_all("rules", (14, "stderr-flood"), (38, "empty-lines"), (0, "crlf"), (39, "print"), (0, "reads-late")),
    *_all("crash", (16, "close-stdout"), (17, "close-stdin"), (18, "exit-0"), (19, "exit-3")),
    *_all("crash", (20, "system-exit"), (21, "os-exit"), (22, "segv"), (23, "abrt"), (24, "kill")),
    *_all("crash", (0, "raise"), (0, "die-after-answer")),
    # From T2 on, fork fails: there is no child to leave behind, and the bot crashes.
    *_all("crash", (0, "orphan"), (0, "orphan-after-answer")),
    *_all("bot_error", (26, "exception"), (0, "error"), (68, "evil-text")),
    *_all("malformed", (27, "bad-utf8"), (28, "bom"), (29, "nan"), (30, "duplicate-keys"), (31, "nesting")),
    *_all("malformed", (32, "array"), (33, "true"), (34, "float"), (35, "string"), (36, "null")),
    *_all("malformed", (37, "trailing-junk"), (40, "noise")),
    *_all("oom", (41, "memory-touched"), (42, "memory-reserved"), (43, "memory-leak"), (0, "oom")),
    # If the kernel counts processes, the bot plays on, because the limit is exact in all tiers. Otherwise the
    # arena counts. From T2 on fork is forbidden, and in T3 the kernel always counts.
    Misbehaviour(44, "fork-bomb", ("rules", "crash", "oom"), stronger=(("T2", ("rules",)),)),
    Misbehaviour(45, "thread-bomb", ("rules", "crash", "oom"), stronger=(("T3", ("rules",)),)),
    _reaching(46, "daemon"),
    *(_filling(47, "disk"), _filling(48, "inodes"), _filling(48, "deep-folders")),
    # The bot plays on at once, and may answer before the arena inspects its folder.
    _filling(48, "nested-folders", ("oom", "rules")),
    Misbehaviour(47, "large-file", ("rules",)),
    Misbehaviour(49, "descriptors", ("rules",)),
    Misbehaviour(0, "link-swap", ("rules",), needs=("folder",)),
    *(_reaching(0, name, "mark") for name in ("sysv-segment", "posix-queue", "shm-file", "mount")),
    *(_reaching(50, "network", "port", "abstract"), _reaching(51, "read-store", "store")),
    *(_reaching(52, "write-store", "store"), _reaching(53, "read-weights", "weights")),
    *(_reaching(54, "procfs", "pid"), _reaching(55, "ptrace", "pid"), _reaching(56, "signal-others", "pid")),
    _reaching(57, "signal-all"),
    _late(58, "ignore-sigterm"),
    Misbehaviour(59, "ponder", ("rules",), opponent="slow", move=0),
    # No timer can wake it: the sandbox forbids timers that send signals.
    Misbehaviour(59, "ponder-by-timer", ("rules",), "T2", opponent="slow", move=0),
    _reaching(60, "child-answers"),
    Misbehaviour(61, "silent-start", ("init_timeout",), init_s=1.0),
    Misbehaviour(61, "never-ready", ("init_timeout",), init_s=1.0),
    *_all("init_crash", (62, "crash-start"), (62, "crash-ready"), (0, "error-start")),
    *_all("no_common_protocol", (63, "no-common-protocol")),
    *_all("rules", (64, "false-name"), (68, "evil-name"), (69, "wild-info"), (70, "false-deterministic")),
    *_plugins((65, "pickle-weights"), (65, "pickle-as-onnx"), (65, "pickle-in-arrays")),
    *_plugins((66, "array-bomb"), (66, "array-claim"), (66, "inflating-arrays")),
    *_plugins((67, "lambda-weights"), (67, "hdf5-weights")),
    Misbehaviour(71, "runs-at-install", ("rules",), is_plugin=True),
    *_all("resign", (0, "resign")),
    # Only bots that idled for long are pinged; a bot that fails the ping is replaced.
    *_all("rules", (0, "dies-of-ping"), (0, "ignores-ping")),
    Misbehaviour(72, "crash-start", ("init_crash",), opponent="silent-start", init_s=1.0),
)


_TIERS = ("T1", "T2", "T3")
_PROGRAM = str(Path(__file__).with_name("__main__.py"))


class HostileCase(NamedTuple):
    """One hostile program and the terminations expected of it."""

    number: int
    """A fixed number of the case, as used in the tests; 0 for cases without one."""
    name: str
    """A short name for the misbehaviour."""
    expected: Mapping[str, tuple[str, ...]]
    """The expected terminations for each isolation tier; a tier without guarantees is left out.

    `rules` means that the misbehaviour has no effect: the program plays on with the first legal action.
    """
    move: int
    """The number of its move at which it misbehaves, from 1; 0 means every move."""
    limit_ms: int
    """The time for a move that it is designed for, in milliseconds, with the usual margin of 50 ms."""
    init_s: float
    """The startup time that it is designed for, in seconds."""
    memory_bytes: int
    """The memory limit that it is designed for, in bytes."""
    opponent: str
    """Name of the program it plays against: `good` answers at once, `slow` after 50 ms."""
    needs: tuple[str, ...]
    """The canaries it attacks, as keys for `command`."""

    def command(self, python: str, canaries: Mapping[str, object] | None = None) -> list[str]:
        """Return the command line that starts the program.

        Args:
            python: path of a Python interpreter; it needs no other packages.
            canaries: the targets of the attack, by the keys in `needs`; missing ones are not attacked.
                `store` and `weights` are files it tries to read or write. `folder` is a folder whose mode it
                tries to change through a link. `port` is a listening TCP port on 127.0.0.1, `abstract` the
                name of a listening abstract socket. `pid` is a process it tries to read, trace and signal.
                `mark` is a string of hex digits that identifies the objects it leaves in the kernel.
        """
        told = (
            [f"canaries={','.join(f'{key}:{value}' for key, value in canaries.items())}"] if canaries else []
        )
        return [python, "-I", "-S", "-B", _PROGRAM, self.name, str(self.move), *told]


def cases() -> tuple[HostileCase, ...]:
    """Return all hostile programs, in the order in which the arena's own trial runs them."""
    return tuple(_case(row) for row in TABLE if not row.is_plugin)


def _case(row: Misbehaviour) -> HostileCase:
    expected = {tier: found for tier in _TIERS if (found := row.expected_in(tier))}
    return HostileCase(
        number=row.number,
        name=row.name,
        expected=MappingProxyType(expected),
        move=row.move,
        limit_ms=row.limit_ms,
        init_s=row.init_s,
        memory_bytes=row.memory_bytes,
        opponent=row.opponent,
        needs=row.needs,
    )
