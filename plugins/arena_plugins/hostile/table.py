"""All hostile bots: what each is expected to end in, and from which isolation tier on."""

from __future__ import annotations

from typing import NamedTuple


class Misbehaviour(NamedTuple):
    """One row of the table."""

    number: int
    """Of the acceptance matrix; 0 for one that is not in it."""
    name: str
    expected: tuple[str, ...]
    """The terminations that are right; `rules` where it is to have no effect."""
    tier: str = "T1"
    """The weakest tier for which that holds."""
    move: int = 2
    """Which of its moves it fails at, from 1; 0 is every move."""
    limit_ms: int = 10_000
    """Its time for a move."""
    init_s: float = 20.0
    """Seconds it has to start."""
    opponent: str = "good"
    """Whom it plays."""
    memory_bytes: int = 128 << 20
    """Its limit."""
    is_plugin: bool = False
    """Whether it is a plugin in a host, which the trial makes, and not one of the programs here."""
    stronger: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What is right instead from a stronger tier on: the tier and the terminations, weakest tier first."""
    needs: tuple[str, ...] = ()
    """What it must be told to reach for, keys of `canaries=`."""

    def expected_in(self, tier: str) -> tuple[str, ...]:
        """Return the terminations that are right in a tier; none where the tier promises nothing."""
        if tier < self.tier:
            return ()
        return next((found for least, found in reversed(self.stronger) if tier >= least), self.expected)


_SHORT_MS = 300
_FILLING_MS = 60_000
"""Long enough for a busy disk to take 4,096 new files: it is the bound that shall end the match."""


def _late(number: int, name: str, move: int = 2) -> Misbehaviour:
    return Misbehaviour(number, name, ("time_move",), move=move, limit_ms=_SHORT_MS)


def _all(expected: str, *bots: tuple[int, str]) -> list[Misbehaviour]:
    return [Misbehaviour(number, name, (expected,)) for number, name in bots]


def _reaching(number: int, name: str, *needs: str) -> Misbehaviour:
    return Misbehaviour(number, name, ("rules",), "T2", needs=needs)


def _filling(number: int, name: str, expected: tuple[str, ...] = ("oom",)) -> Misbehaviour:
    """Make the row of a bot that fills its scratch folder: polled in weak tiers, a file system in T3."""
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
    # From T2 on there is no child to leave behind: the fork fails, and so does the bot.
    *_all("crash", (0, "orphan"), (0, "orphan-after-answer")),
    *_all("bot_error", (26, "exception"), (0, "error"), (68, "evil-text")),
    *_all("malformed", (27, "bad-utf8"), (28, "bom"), (29, "nan"), (30, "duplicate-keys"), (31, "nesting")),
    *_all("malformed", (32, "array"), (33, "true"), (34, "float"), (35, "string"), (36, "null")),
    *_all("malformed", (37, "trailing-junk"), (40, "noise")),
    *_all("oom", (41, "memory-touched"), (42, "memory-reserved"), (43, "memory-leak"), (0, "oom")),
    # Where the kernel counts they play on, as exact limits do in all tiers; everywhere else the arena counts.
    # From T2 on no fork is allowed, and in T3 the kernel always counts.
    Misbehaviour(44, "fork-bomb", ("rules", "crash", "oom"), stronger=(("T2", ("rules",)),)),
    Misbehaviour(45, "thread-bomb", ("rules", "crash", "oom"), stronger=(("T3", ("rules",)),)),
    _reaching(46, "daemon"),
    *(_filling(47, "disk"), _filling(48, "inodes"), _filling(48, "deep-folders")),
    # It plays on at once, and may have answered before the arena looks.
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
    # No timer wakes it: there is none that sends a signal.
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
    # Pinged are only those that idled for long; it is replaced then.
    *_all("rules", (0, "dies-of-ping"), (0, "ignores-ping")),
    Misbehaviour(72, "crash-start", ("init_crash",), opponent="silent-start", init_s=1.0),
)
