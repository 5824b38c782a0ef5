"""The table of attacks, with what each tier promises about them.

It is the source for `arena doctor`, the grades of tiers and the table in docs/explanation/isolation.md.
"""

from __future__ import annotations

from typing import NamedTuple

BLOCKED = "blocked"
"""The attack obtains nothing."""
REMOVED = "removed"
"""The attack succeeds, but nothing remains of it after the bot has ended."""
KILLED = "killed"
"""The arena detects the attack and kills the bot."""
BOUNDED = "bounded"
"""The attack obtains at most a fixed amount."""
WORKS = "works"
"""The tier makes no promise."""
SHOWN = "shown"
"""The tier makes no promise; the arena measures what the attack gains and displays it."""
KEPT = frozenset({BLOCKED, REMOVED, KILLED, BOUNDED})
"""Promises that an attack can break."""
CONTROL = 0
"""The number of the control, which must work."""


class Attack(NamedTuple):
    """One attack, and what the tiers promise about it."""

    number: int
    """Its number in docs/explanation/isolation.md; 0 is the control, which must work."""
    name: str
    """A description of the attempt, for users."""
    function: str
    """The function in this package that attempts it, as `module.function`."""
    portable: str
    """The promise of tier T1."""
    fence: str
    """The promise of tier T2."""
    container: str
    """The promise of tier T3."""
    is_quick: bool = True
    """Whether it runs before the first use of a tier; slower attacks run only in `arena doctor`."""

    def promise(self, tier: str) -> str:
        """Return the promise of a tier; `works` for a tier without a sandbox."""
        return {"T1": self.portable, "T2": self.fence, "T3": self.container}.get(tier, WORKS)

    def verdict(self, tier: str, *, worked: bool) -> str:
        """Return one or two words for the outcome of the attack in a tier."""
        if self.number == CONTROL:
            return "fails" if worked else WORKS
        if not worked:
            return self.promise(tier) if self.promise(tier) in KEPT else BLOCKED
        return SHOWN if self.promise(tier) == SHOWN else WORKS.upper()


ATTACKS: tuple[Attack, ...] = (
    Attack(
        0, "scratch folder, threads, socket pair (control)", "control.attack_nothing", WORKS, WORKS, WORKS
    ),
    Attack(1, "read the store", "foreign_files.attack_read_store", WORKS, BLOCKED, BLOCKED),
    Attack(2, "append to the store", "foreign_files.attack_append", WORKS, BLOCKED, BLOCKED),
    Attack(3, "list the store's folder", "foreign_files.attack_list", WORKS, BLOCKED, BLOCKED),
    Attack(4, "read the password file", "foreign_files.attack_read_passwords", WORKS, BLOCKED, BLOCKED),
    Attack(5, "write outside the scratch folder", "foreign_files.attack_write", WORKS, BLOCKED, BLOCKED),
    Attack(6, "connect by TCP", "sockets.attack_tcp", WORKS, BLOCKED, BLOCKED),
    Attack(7, "send by UDP", "sockets.attack_udp", WORKS, BLOCKED, BLOCKED),
    Attack(8, "connect to an abstract socket", "sockets.attack_abstract", WORKS, BLOCKED, BLOCKED),
    Attack(9, "kill the arena and the opponent", "other_processes.attack_kill", WORKS, BLOCKED, BLOCKED),
    Attack(10, "read the arena's memory in /proc", "other_processes.attack_memory", WORKS, BLOCKED, BLOCKED),
    Attack(
        *(11, "read the arena's environment in /proc", "other_processes.attack_environment"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(12, "process_vm_readv the arena", "other_processes.attack_readv", WORKS, BLOCKED, BLOCKED),
    Attack(13, "ptrace the arena", "other_processes.attack_trace", WORKS, BLOCKED, BLOCKED),
    Attack(14, "run a program", "other_processes.attack_run", WORKS, BLOCKED, BLOCKED),
    Attack(15, "allocate beyond the limit", "hoarding.attack_allocate", BLOCKED, BLOCKED, BLOCKED),
    Attack(16, "fork 300 times", "other_processes.attack_fork", WORKS, BLOCKED, BLOCKED),
    Attack(17, "write a file beyond the limit", "hoarding.attack_large_file", BLOCKED, BLOCKED, BLOCKED),
    Attack(
        *(18, "change the arena's limits, the opponent's priority", "other_processes.attack_limits"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(19, "chmod 0666 of a file outside", "foreign_files.attack_open_to_all"), *(WORKS, BLOCKED, BLOCKED)
    ),
    Attack(
        *(20, "chmod 4755 (set-uid) of a file outside", "foreign_files.attack_set_user"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(21, "close a folder outside with mode 0", "foreign_files.attack_close_folder"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(22, "utime and setxattr of a file outside", "foreign_files.attack_attributes"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(23, "mislead the removal of its scratch folder by links", "filling.attack_swap"),
        *(BLOCKED, BLOCKED, BLOCKED),
        is_quick=False,
    ),
    Attack(
        *(24, "fill its scratch folder beyond the limits, and leave it full", "filling.attack_fill"),
        *(REMOVED, KILLED, BOUNDED),
        is_quick=False,
    ),
    Attack(
        *(
            25,
            "hold memory that is not counted: memory files, System V, shared",
            "hoarding.attack_hidden_memory",
        ),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(26, "pass notes between bots: queues, shared memory", "neighbours.attack_read_note"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(27, "stat and readlink of files outside", "foreign_files.attack_look_up"), *(WORKS, WORKS, BLOCKED)
    ),
    Attack(28, "watch a folder outside (inotify)", "foreign_files.attack_watch", WORKS, BLOCKED, BLOCKED),
    Attack(
        *(29, "think while stopped: timer, descriptor, threads that send SIGCONT", "waking.attack_wake"),
        *(SHOWN, BLOCKED, BLOCKED),
        is_quick=False,
    ),
    Attack(30, "send a datagram to a socket's path", "sockets.attack_path", WORKS, BLOCKED, BLOCKED),
    Attack(
        *(31, "outlive an arena that was killed", "outliving.attack_outlive"),
        *(WORKS, BLOCKED, BLOCKED),
        is_quick=False,
    ),
    Attack(
        *(32, "leave a daemon behind", "outliving.attack_daemon"), *(WORKS, BLOCKED, BLOCKED), is_quick=False
    ),
    Attack(
        *(33, "read the CPU clock of another process", "other_processes.attack_clock"),
        *(WORKS, WORKS, BLOCKED),
    ),
    Attack(
        *(34, "read the neighbour's program and weights", "neighbours.attack_read_program"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        *(35, "move to the opponent's core, and the opponent", "neighbours.attack_take_core"),
        *(WORKS, BLOCKED, BLOCKED),
    ),
    Attack(
        36,
        "hold 1.2 times the limit of memory in pipes, sockets, files, shared memory",
        "hoarding.attack_limit",
        WORKS,
        BOUNDED,
        BOUNDED,
        is_quick=False,
    ),
    Attack(37, "change the times of a device", "foreign_files.attack_device", WORKS, BLOCKED, BLOCKED),
    Attack(38, "lock a file that others read, too (flock)", "foreign_files.attack_lock", WORKS, WORKS, WORKS),
    Attack(
        39,
        "hold memory of the kernel in thousands of file locks",
        "hoarding.attack_locks",
        WORKS,
        WORKS,
        WORKS,
    ),
)
"""All attacks, sorted by number."""
