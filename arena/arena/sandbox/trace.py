"""Finds out which system calls of a bot the filter refuses, and names them.

A traced bot runs under the filter of its tier, but the kernel asks a listener about each refusal. The
listener is this process: it counts the call and answers as the filter would have.

Layouts: struct seccomp_notif and struct seccomp_notif_resp in linux/seccomp.h. Names of calls, for display:
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux 6.17.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from arena.sandbox.launch.calls import ALLOWABLE

if TYPE_CHECKING:
    from types import TracebackType

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
"""Numbers of `ioctl`: both directions, 80 or 24 bytes of content, type `!`, calls 0 and 1."""
_QUESTION_BYTES = 80
_QUESTION = struct.Struct("=QIIi")
"""The beginning of a question: id, process, flags, number of the call."""
_ANSWER = struct.Struct("=QqiI")
"""An answer: id of the question, result, negative error, flags."""


class Refused(NamedTuple):
    """A kind of system call that was refused."""

    name: str
    times: int
    """Number of refusals."""
    error: int
    """The error number that the bot got."""

    @property
    def allowed_by(self) -> str | None:
        """The name in `calls.ALLOWABLE` that would allow it, or None."""
        return next(
            (name for name, group in ALLOWABLE.items() if self.name in {call[0] for call in group}), None
        )


class Tracer:
    """Context manager that counts the refused calls of the bots started within it."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._counts: Counter[int] = Counter()
        self._thread = threading.Thread(target=self._listen, name="tracer", daemon=True)

    @property
    def descriptor(self) -> int:
        """The socket through which the launcher sends the listener."""
        return self._theirs.fileno()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The thread then receives no descriptors, which is its sign to end; only then are the counts
        # complete.
        self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._ours.close()
        self._theirs.close()

    def refused(self) -> list[Refused]:
        """Return the calls refused so far, the most frequent first."""
        from arena.sandbox.launch import seccomp

        machine = os.uname().machine
        return [
            Refused(call_name(machine, number), count, seccomp.refusal(machine, number))
            for number, count in self._counts.most_common()
        ]

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._ours, select.POLLIN)
        listeners: set[int] = set()
        while True:
            for fd, events in poll.poll():
                if fd == self._ours.fileno():
                    # A bot with an engine consists of two processes, each with its own filter.
                    fds = socket.recv_fds(self._ours, 1, 1)[1]
                    if not fds:
                        for listener in listeners:
                            os.close(listener)
                        return
                    listeners.update(fds)
                    poll.register(fds[0], select.POLLIN)
                elif events & select.POLLIN:
                    self._answer(fd)
                else:
                    # The last process under this filter has ended.
                    poll.unregister(fd)
                    listeners.remove(fd)
                    os.close(fd)

    def _answer(self, listener: int) -> None:
        if sys.platform != "linux":
            return
        import fcntl

        from arena.sandbox.launch import seccomp

        question = bytearray(_QUESTION_BYTES)
        # The question is withdrawn if its process was killed or received a signal.
        with suppress(FileNotFoundError):
            fcntl.ioctl(listener, _RECEIVE, question)
            asked, _, _, number = _QUESTION.unpack_from(question)
            self._counts[number] += 1
            error = seccomp.refusal(os.uname().machine, number)
            fcntl.ioctl(listener, _SEND, bytearray(_ANSWER.pack(asked, 0, -error, 0)))


_X86_64 = """
read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore
madvise shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket
connect accept sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername socketpair
setsockopt getsockopt clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget
msgsnd msgrcv msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename
mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday
getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid
getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid getresgid
getpgid setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo
rt_sigsuspend sigaltstack utime mknod uselib personality ustat statfs fstatfs sysfs getpriority
setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max
sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt
pivot_root _sysctl prctl arch_prctl adjtimex setrlimit chroot sync acct settimeofday mount umount2
swapon swapoff reboot sethostname setdomainname iopl ioperm create_module init_module delete_module
get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid
readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity
set_thread_area io_setup io_destroy io_getevents io_submit io_cancel get_thread_area lookup_dcookie
epoll_create epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address restart_syscall
semtimedop fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete
clock_settime clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes
vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify
mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get inotify_init
inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat
unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list
get_robust_list splice tee sync_file_range vmsplice move_pages utimensat epoll_pwait signalfd
timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2
epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg
fanotify_init fanotify_mark prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg
setns getcpu process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2
seccomp getrandom memfd_create kexec_file_load bpf execveat userfaultfd membarrier mlock2
copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq
""".split()  # noqa: SIM905 - as a list it would have hundreds of quotes
"""Names on x86-64, from number 0 on."""
_AARCH64 = """
io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr lgetxattr
fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr getcwd lookup_dcookie
eventfd2 epoll_create1 epoll_ctl epoll_pwait dup dup3 fcntl inotify_init1 inotify_add_watch
inotify_rm_watch ioctl ioprio_set ioprio_get flock mknodat mkdirat unlinkat symlinkat linkat renameat
umount2 mount pivot_root nfsservctl statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir
chroot fchmod fchmodat fchownat fchown openat close vhangup pipe2 quotactl getdents64 lseek read write
readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice tee
readlinkat newfstatat fstat sync fsync fdatasync sync_file_range timerfd_create timerfd_settime
timerfd_gettime utimensat acct capget capset personality exit exit_group waitid set_tid_address unshare
futex set_robust_list get_robust_list nanosleep getitimer setitimer kexec_load init_module delete_module
timer_create timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime
clock_getres clock_nanosleep syslog ptrace sched_setparam sched_setscheduler sched_getscheduler
sched_getparam sched_setaffinity sched_getaffinity sched_yield sched_get_priority_max
sched_get_priority_min sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack rt_sigsuspend
rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority
getpriority reboot setregid setgid setreuid setuid setresuid getresuid setresgid getresgid setfsuid
setfsgid times setpgid getpgid getsid setsid getgroups setgroups uname sethostname setdomainname
getrlimit setrlimit getrusage umask prctl getcpu gettimeofday settimeofday adjtimex getpid getppid
getuid geteuid getgid getegid gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify
mq_getsetattr msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget shmctl shmat shmdt
socket socketpair bind listen accept connect getsockname getpeername sendto recvfrom setsockopt
getsockopt shutdown sendmsg recvmsg readahead brk munmap mremap add_key request_key keyctl clone execve
mmap fadvise64 swapon swapoff mprotect msync mlock munlock mlockall munlockall mincore madvise
remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages rt_tgsigqueueinfo
perf_event_open accept4 recvmmsg - - - - - - - - - - - - - - - - wait4 prlimit64 fanotify_init
fanotify_mark - - clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp
finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat
userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx
io_pgetevents rseq kexec_file_load
""".split()  # noqa: SIM905 - as a list it would have hundreds of quotes
"""Names on AArch64, from number 0 on; a dash marks an unused number."""
_BOTH = """
pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig
fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret
process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake
futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr
""".split()  # noqa: SIM905 - as a list it would have hundreds of quotes
"""Names from `_FIRST_OF_BOTH` on, which are the same on every architecture."""
_FIRST_OF_BOTH = 424


def call_name(machine: str, number: int) -> str:
    """Return the name of a system call, or `call 1234` for an unknown number.

    Args:
        machine: `os.uname().machine`: x86_64, or an architecture that uses the numbers of AArch64.
        number: the number of the call.
    """
    names, first = (_X86_64 if machine == "x86_64" else _AARCH64), 0
    if number >= _FIRST_OF_BOTH:
        names, first = _BOTH, _FIRST_OF_BOTH
    index = number - first
    known = 0 <= index < len(names) and names[index] != "-"
    return names[index] if known else f"call {number}"
