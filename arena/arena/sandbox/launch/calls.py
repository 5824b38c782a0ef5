"""The system calls that a bot may make in tiers T2 and T3, with their numbers on each architecture.

Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (AArch64) of Linux. The
filter in `arena.sandbox.launch.seccomp` is built from these tables; every other call is refused.
"""

import errno

Call = tuple[str, "int | None", "int | None"]
"""Name, number on x86-64, number on AArch64; None if the architecture lacks the call."""

NEWEST = 469
"""The highest call number that was reviewed (Linux 6.17, file_setattr), the same on both architectures."""

# fmt: off
ALLOWED: dict[str, tuple[Call, ...]] = {
    "opens a file or looks at names; Landlock decides which": (
        ("open", 2, None), ("openat", 257, 56), ("openat2", 437, 437), ("creat", 85, None),
        ("stat", 4, None), ("lstat", 6, None), ("newfstatat", 262, 79), ("statx", 332, 291),
        ("access", 21, None), ("faccessat", 269, 48), ("faccessat2", 439, 439),
        ("readlink", 89, None), ("readlinkat", 267, 78), ("getcwd", 79, 17),
        ("chdir", 80, 49), ("fchdir", 81, 50), ("statfs", 137, 43), ("umask", 95, 166),
    ),
    "uses a file that is open already": (
        ("read", 0, 63), ("write", 1, 64), ("close", 3, 57), ("fstat", 5, 80), ("lseek", 8, 62),
        ("pread64", 17, 67), ("pwrite64", 18, 68), ("readv", 19, 65), ("writev", 20, 66),
        ("preadv", 295, 69), ("pwritev", 296, 70), ("preadv2", 327, 286), ("pwritev2", 328, 287),
        ("dup", 32, 23), ("dup2", 33, None), ("dup3", 292, 24), ("close_range", 436, 436),
        ("getdents64", 217, 61), ("fstatfs", 138, 44), ("fgetxattr", 193, 10), ("flistxattr", 196, 13),
        ("ftruncate", 77, 46), ("fsync", 74, 82), ("fdatasync", 75, 83), ("flock", 73, 32),
        ("fadvise64", 221, 223), ("readahead", 187, 213), ("sendfile", 40, 71),
        ("copy_file_range", 326, 285),
    ),
    "makes, moves or removes what is in its scratch folder; Landlock keeps it there": (
        ("mkdir", 83, None), ("mkdirat", 258, 34), ("rmdir", 84, None),
        ("unlink", 87, None), ("unlinkat", 263, 35), ("truncate", 76, 45),
        ("rename", 82, None), ("renameat", 264, 38), ("renameat2", 316, 276),
        ("link", 86, None), ("linkat", 265, 37), ("symlink", 88, None), ("symlinkat", 266, 36),
    ),
    "manages its own memory": (
        ("brk", 12, 214), ("munmap", 11, 215), ("mprotect", 10, 226), ("mremap", 25, 216),
        ("madvise", 28, 233), ("msync", 26, 227), ("mincore", 27, 232), ("mseal", 462, 462),
    ),
    "places its own memory; OpenBLAS asks for it": (
        ("mbind", 237, 235), ("get_mempolicy", 239, 236),
    ),
    "waits for descriptors, and makes those that only this process can use": (
        ("poll", 7, None), ("ppoll", 271, 73), ("select", 23, None), ("pselect6", 270, 72),
        ("epoll_create", 213, None), ("epoll_create1", 291, 20), ("epoll_ctl", 233, 21),
        ("epoll_wait", 232, None), ("epoll_pwait", 281, 22), ("epoll_pwait2", 441, 441),
        ("eventfd", 284, None), ("eventfd2", 290, 19), ("signalfd", 282, None), ("signalfd4", 289, 74),
        ("timerfd_create", 283, 85), ("timerfd_settime", 286, 86), ("timerfd_gettime", 287, 87),
        ("pipe", 22, None), ("pipe2", 293, 59),
    ),
    "talks over a socket pair; there is no call to connect, bind, listen or accept": (
        ("sendto", 44, 206), ("recvfrom", 45, 207), ("sendmsg", 46, 211), ("recvmsg", 47, 212),
        ("sendmmsg", 307, 269), ("recvmmsg", 299, 243), ("shutdown", 48, 210),
        ("getsockname", 51, 204), ("getpeername", 52, 205), ("getsockopt", 55, 209),
    ),
    "runs and joins its threads": (
        ("futex", 202, 98), ("futex_waitv", 449, 449), ("futex_wake", 454, 454),
        ("futex_wait", 455, 455), ("futex_requeue", 456, 456), ("set_robust_list", 273, 99),
        ("rseq", 334, 293), ("membarrier", 324, 283), ("set_tid_address", 218, 96),
        ("gettid", 186, 178), ("getcpu", 309, 168), ("sched_yield", 24, 124),
        ("arch_prctl", 158, None), ("restart_syscall", 219, 128), ("exit", 60, 93),
        ("exit_group", 231, 94),
    ),
    "becomes the bot's program; Landlock decides which": (("execve", 59, 221),),
    "waits for the engine beside an adapter": (("wait4", 61, 260), ("waitid", 247, 95)),
    "reads clocks, sleeps, sets an alarm; an alarm does not wake a stopped process": (
        ("clock_gettime", 228, 113), ("clock_getres", 229, 114), ("clock_nanosleep", 230, 115),
        ("nanosleep", 35, 101), ("gettimeofday", 96, 169), ("time", 201, None), ("times", 100, 153),
        ("getitimer", 36, 102), ("setitimer", 38, 103), ("alarm", 37, None), ("pause", 34, None),
    ),
    "handles signals": (
        ("rt_sigaction", 13, 134), ("rt_sigprocmask", 14, 135), ("rt_sigreturn", 15, 139),
        ("rt_sigpending", 127, 136), ("rt_sigtimedwait", 128, 137), ("rt_sigsuspend", 130, 133),
        ("sigaltstack", 131, 132),
    ),
    "reads who and where it is": (
        ("getpid", 39, 172), ("getppid", 110, 173), ("getuid", 102, 174), ("geteuid", 107, 175),
        ("getgid", 104, 176), ("getegid", 108, 177), ("getresuid", 118, 148), ("getresgid", 120, 150),
        ("getgroups", 115, 158), ("getpgrp", 111, None), ("getpgid", 121, 155), ("getsid", 124, 156),
        ("capget", 125, 90), ("uname", 63, 160), ("sysinfo", 99, 179), ("getrandom", 318, 278),
        ("getrusage", 98, 165), ("getpriority", 140, 141), ("getrlimit", 97, 163),
        ("sched_getaffinity", 204, 123), ("sched_getscheduler", 145, 120), ("sched_getparam", 143, 121),
        ("sched_getattr", 315, 275), ("sched_get_priority_max", 146, 125),
        ("sched_get_priority_min", 147, 126), ("sched_rr_get_interval", 148, 127),
    ),
    "lowers its own limits": (("setrlimit", 160, 164),),
}
"""Calls that are allowed with any arguments, grouped by why they are needed and safe."""

RULED: dict[str, tuple[Call, ...]] = {
    "starts threads, never processes": (("clone", 56, 220),),
    "maps memory, but none that is shared without a file: it is in no process's resident size": (
        ("mmap", 9, 222),
    ),
    "reserves room in a file up to its limit; KEEP_SIZE would pass the limit": (("fallocate", 285, 47),),
    "copies and locks descriptors; never a signal for one, a lease, a watch or a larger pipe": (
        ("fcntl", 72, 25),
    ),
    "asks about terminals and descriptors": (("ioctl", 16, 29),),
    "names threads and memory, sets huge pages, reads": (("prctl", 157, 167),),
    "reads and lowers its own limits, not those of another process": (("prlimit64", 302, 261),),
    "lowers its own priority, not that of another process": (("setpriority", 141, 140),),
    "makes pairs of stream sockets; a datagram socket could send to any path": (("socketpair", 53, 199),),
    "signals itself, but never with SIGCONT, which could undo the arena's pause": (
        ("kill", 62, 129), ("tkill", 200, 130), ("tgkill", 234, 131),
        ("rt_sigqueueinfo", 129, 138), ("rt_tgsigqueueinfo", 297, 240),
    ),
}
"""Calls that are allowed with certain arguments; the rules are in `arena.sandbox.launch.seccomp`."""

ALLOWABLE: dict[str, tuple[Call, ...]] = {
    "chmod": (("chmod", 90, None), ("fchmod", 91, 52), ("fchmodat", 268, 53), ("fchmodat2", 452, 452)),
    "utime": (("utime", 132, None), ("utimes", 235, None), ("utimensat", 280, 88), ("futimesat", 261, None)),
}
"""Calls that can be added by name; no others can. Landlock has no right for them, so in T2 they could change
the mode or the times of any file of the same user."""

REFUSALS: dict[int, tuple[Call, ...]] = {
    # The C library then falls back to clone, whose flags the filter can inspect; clone3 takes a pointer.
    errno.ENOSYS: (("clone3", 435, 435),),
    errno.EAFNOSUPPORT: (("socket", 41, 198),),
    errno.ENOTTY: (("ioctl", 16, 29),),
    # Programs that copy files continue without attributes. Called by path, they would reach files that
    # Landlock hides.
    errno.ENOTSUP: (
        ("getxattr", 191, 8), ("lgetxattr", 192, 9), ("listxattr", 194, 11), ("llistxattr", 195, 12),
        ("fallocate", 285, 47),
    ),
}
"""Calls that are refused with an error other than EPERM, by error, because programs handle that error."""
# fmt: on
