"""The table of system calls, compared with the kernel's headers if present, and with facts stated here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arena.sandbox.launch.calls import ALLOWABLE, ALLOWED, NEWEST, REFUSALS, RULED

TABLES = (ALLOWED, RULED, ALLOWABLE, REFUSALS)
CALLS = [call for table in TABLES for group in table.values() for call in group]
X86_HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h")
GENERIC_HEADER = "/usr/include/asm-generic/unistd.h"

X86_64 = (
    "read 0 write 1 open 2 close 3 stat 4 mmap 9 mprotect 10 munmap 11 brk 12 rt_sigaction 13 ioctl 16 "
    "pread64 17 pipe 22 dup2 33 getpid 39 socket 41 sendto 44 socketpair 53 clone 56 execve 59 exit 60 "
    "wait4 61 kill 62 fcntl 72 chmod 90 prctl 157 setpriority 141 tkill 200 futex 202 exit_group 231 "
    "tgkill 234 openat 257 utimensat 280 prlimit64 302 getrandom 318 membarrier 324 statx 332 rseq 334 "
    "clone3 435 close_range 436 futex_waitv 449 fchmodat2 452 futex_wake 454 futex_wait 455 futex_requeue "
    "456 mseal 462"
)
"""Numbers from Linux' syscall_64.tbl."""
AARCH64 = (
    "getcwd 17 epoll_create1 20 dup3 24 fcntl 25 ioctl 29 unlinkat 35 fchmod 52 fchmodat 53 openat 56 "
    "close 57 pipe2 59 lseek 62 read 63 write 64 newfstatat 79 fstat 80 utimensat 88 exit 93 exit_group "
    "94 futex 98 set_robust_list 99 clock_gettime 113 kill 129 tgkill 131 rt_sigaction 134 setpriority "
    "140 prctl 167 getpid 172 gettid 178 socket 198 socketpair 199 sendto 206 brk 214 munmap 215 mremap "
    "216 clone 220 execve 221 mmap 222 mprotect 226 madvise 233 wait4 260 prlimit64 261 getrandom 278 "
    "membarrier 283 statx 291 rseq 293 clone3 435 close_range 436 futex_waitv 449 fchmodat2 452 mseal 462"
)
"""Numbers from Linux' asm-generic/unistd.h."""
FORBIDDEN = (
    *(
        "fork",
        "vfork",
        "execveat",
        "ptrace",
        "process_vm_readv",
        "process_vm_writev",
        "pidfd_open",
        "pidfd_getfd",
    ),
    *(
        "pidfd_send_signal",
        "setsid",
        "setpgid",
        "timer_create",
        "memfd_create",
        "memfd_secret",
        "userfaultfd",
    ),
    *("shmget", "shmat", "semget", "msgget", "mq_open", "inotify_init", "inotify_init1", "fanotify_init"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "chown", "fchown", "lchown", "fchownat", "mount"),
    *(
        "umount2",
        "mount_setattr",
        "open_tree",
        "move_mount",
        "fsopen",
        "pivot_root",
        "chroot",
        "unshare",
        "setns",
    ),
    *("io_uring_setup", "io_setup", "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "seccomp"),
    *("open_by_handle_at", "name_to_handle_at", "setuid", "setresuid", "setgroups", "capset", "personality"),
    *("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set", "kcmp"),
    *("connect", "bind", "listen", "accept", "accept4", "setsockopt", "splice", "tee", "vmsplice", "mknodat"),
    *(
        "process_madvise",
        "migrate_pages",
        "move_pages",
        "landlock_restrict_self",
        "file_setattr",
        "setxattrat",
    ),
)


def literal(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def table(column: int) -> dict[str, int]:
    return {str(call[0]): number for call in CALLS if isinstance(number := call[column], int)}


@pytest.mark.parametrize(("column", "text"), [(1, X86_64), (2, AARCH64)])
def test_known_numbers(column: int, text: str) -> None:
    facts = literal(text)
    assert len(facts) > 45
    assert facts.items() <= table(column).items()


@pytest.mark.parametrize("column", [1, 2])
def test_no_number_is_given_twice(column: int) -> None:
    passing = [call for rows in (ALLOWED, RULED, ALLOWABLE) for group in rows.values() for call in group]
    found = [number for call in passing if (number := call[column]) is not None]
    assert len(found) == len(set(found))
    assert len({call[0] for call in passing}) == len(passing)
    assert all(isinstance(number, int) and 0 <= number <= NEWEST for number in found)
    assert len(found) > 140


def test_the_dangerous_calls_are_absent() -> None:
    names = {call[0] for rows in (ALLOWED, RULED, ALLOWABLE) for group in rows.values() for call in group}
    assert names.isdisjoint(FORBIDDEN)
    assert names.isdisjoint({"clone3", "socket", "getxattr", "listxattr"})


@pytest.mark.parametrize(
    ("column", "header"),
    [
        *((1, header) for header in X86_HEADERS if Path(header).exists()),
        *((2, header) for header in [GENERIC_HEADER] if Path(header).exists()),
    ],
)
def test_the_numbers_are_those_of_the_kernel_headers(column: int, header: str) -> None:
    text = Path(header).read_text(encoding="utf-8")
    kernels = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
    # The generic header calls the same number fstatat, the 64-bit ABI newfstatat.
    kernels.setdefault("newfstatat", kernels.get("fstatat", -1))
    newest = kernels.pop("syscalls", max(kernels.values()))
    for name, number in table(column).items():
        # A header older than the table lacks its newest calls.
        assert kernels.get(name, number if number > newest - 1 else -1) == number, name
