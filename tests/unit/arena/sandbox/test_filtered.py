"""The real filter: a child without Landlock installs it and tries calls, and programs run under it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arena.sandbox.launch.calls import ALLOWABLE, ALLOWED, REFUSALS, RULED
from arena.sandbox.launch.seccomp import ARCHITECTURES
from arena.sandbox.launch_recipe import LAUNCHER

CODE = str(Path(LAUNCHER).parents[2])
MACHINE = os.uname().machine
SCRIPT = """
import ctypes, json, os, sys
code, extra, calls = json.loads(sys.argv[1])
sys.path.append(code)
from arena.sandbox.launch import seccomp
seccomp.restrict(os.uname().machine, extra)
libc = ctypes.CDLL(None, use_errno=True)
found = []
for number, arguments in calls:
    ctypes.set_errno(0)
    result = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    found.append(ctypes.get_errno() if result < 0 else 0)
print(json.dumps(found))
"""
BECOME = """
import json, os, sys
code, extra, command = json.loads(sys.argv[1])
sys.path.append(code)
from arena.sandbox.launch import seccomp
seccomp.restrict(os.uname().machine, extra)
os.execvp(command[0], command)
"""
NOBODY = 0x7FFFFFF0
"""A process id that no process has."""
X86_64 = {
    "fork": 57, "vfork": 58, "ptrace": 101, "setpgid": 109, "setsid": 112, "shmget": 29, "semget": 64,
    "msgget": 68, "timer_create": 222, "mq_open": 240, "inotify_init1": 294, "memfd_create": 319,
    "setxattr": 188, "chown": 92, "mount": 165, "io_uring_setup": 425, "pidfd_open": 434, "seccomp": 317,
    "sched_setaffinity": 203, "personality": 135, "bind": 49, "connect": 42, "setsockopt": 54,
    "userfaultfd": 323, "process_vm_readv": 310, "unshare": 272, "keyctl": 250, "setuid": 105, "bpf": 321,
}  # fmt: skip
AARCH64 = {
    "ptrace": 117, "setpgid": 154, "setsid": 157, "shmget": 194, "semget": 190, "msgget": 186,
    "timer_create": 107, "mq_open": 180, "inotify_init1": 26, "memfd_create": 279, "setxattr": 5,
    "fchownat": 54, "mount": 40, "io_uring_setup": 425, "pidfd_open": 434, "seccomp": 277,
    "sched_setaffinity": 122, "personality": 92, "bind": 200, "connect": 203, "setsockopt": 208,
    "userfaultfd": 282, "process_vm_readv": 270, "unshare": 97, "keyctl": 219, "setuid": 146, "bpf": 280,
}  # fmt: skip
ABSENT = {0xC000003E: X86_64, 0xC00000B7: AARCH64}

pytestmark = pytest.mark.usefixtures("linux")


@pytest.fixture
def linux() -> None:
    assert MACHINE in ARCHITECTURES, "tests of the filter need Linux on a machine that has one"


def run_code(script: str, *data: object, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", "-B", "-c", script, json.dumps([CODE, *data])],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def tried(*calls: tuple[str | int, *tuple[int, ...]], extra: tuple[str, ...] = ()) -> list[int]:
    """Return the errors of calls in a filtered child; 0 if a call succeeded."""
    numbers = [(call if isinstance(call, int) else number(call), rest) for call, *rest in calls]
    done = run_code(SCRIPT, extra, numbers)
    assert done.returncode == 0, (done.returncode, done.stderr)
    found: list[int] = json.loads(done.stdout)
    return found


def number(name: str) -> int:
    column = ARCHITECTURES[MACHINE].column
    for table in (ALLOWED, RULED, ALLOWABLE, REFUSALS):
        for call in (call for group in table.values() for call in group):
            if call[0] == name and isinstance(found := call[column], int):
                return found
    raise AssertionError(name)


def test_what_bots_do_not_need_is_refused() -> None:
    absent = ABSENT[ARCHITECTURES[MACHINE].audit]
    found = tried(*((call, *[0] * 6) for call in absent.values()))
    assert dict(zip(absent, found, strict=True)) == dict.fromkeys(absent, errno.EPERM)


def test_some_refusals_say_what_programs_fall_back_on() -> None:
    calls = [("clone3", 0, 0), ("socket", 2, 1, 0), ("getxattr", 0, 0, 0, 0), ("listxattr", 0, 0, 0), (599,)]
    expected = [errno.ENOSYS, errno.EAFNOSUPPORT, errno.ENOTSUP, errno.ENOTSUP, errno.ENOSYS]
    assert tried(*calls) == expected


def test_threads_are_started_and_processes_are_not() -> None:
    # The kernel refuses a thread that does not share memory, so the call passed the filter.
    assert tried(("clone", 17, 0, 0, 0, 0), ("clone", 0x10000, 0, 0, 0, 0)) == [errno.EPERM, errno.EINVAL]
    done = run_code(
        BECOME,
        [],
        [
            sys.executable,
            "-c",
            "import threading as t; x = t.Thread(target=print, args=[1]); x.start(); x.join()",
        ],
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_anonymous_memory_is_private() -> None:
    calls = [("mmap", 0, 4096, 3, flags, -1, 0) for flags in (0x22, 0x21, 0x23)]
    assert tried(*calls) == [0, errno.EPERM, errno.EPERM]


def test_descriptors_send_no_signals() -> None:
    allowed = [("fcntl", 1, 1, 0), ("fcntl", 1, 3, 0), ("fcntl", 1, 1030, 10)]
    refused = [("fcntl", 1, command, 0) for command in (8, 10, 15, 1024, 1026, 1031)]
    assert tried(*allowed, *refused) == [0] * 3 + [errno.EPERM] * 6


def test_descriptors_are_asked_about_and_no_more() -> None:
    # 0 is a pipe: it has no window size, but a number of bytes; the error of a null address is the kernel's
    # own.
    allowed = [
        ("ioctl", 0, 0x5413, 0),
        ("ioctl", 0, 0x541B, 0),
        ("ioctl", 1, 0x5451, 0),
        ("ioctl", 1, 0x5450, 0),
    ]
    refused = [("ioctl", 0, command, 0) for command in (0x5412, 0x5452, 0x8901, 0x40086602)]
    assert tried(*allowed, *refused) == [errno.ENOTTY, errno.EFAULT, 0, 0] + [errno.ENOTTY] * 4


def test_a_bot_keeps_the_death_signal_and_its_secrets() -> None:
    allowed = [("prctl", 3, 0, 0, 0, 0), ("prctl", 39, 0, 0, 0, 0), ("prctl", 41, 1, 0, 0, 0)]
    refused = [("prctl", option, 0, 0, 0, 0) for option in (1, 4, 22, 36, 0x59616D61)]
    assert tried(*allowed, *refused) == [0] * 3 + [errno.EPERM] * 5


def test_new_privileges_are_given_up_without_landlock() -> None:
    script = "import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))"
    assert run_code(BECOME, [], [sys.executable, "-I", "-c", script]).stdout == "1\n"


def test_limits_and_priority_are_its_own() -> None:
    calls = [("prlimit64", 0, 7, 0, 0), ("prlimit64", os.getpid(), 7, 0, 0)]
    calls += [("setpriority", 0, 0, 19), ("setpriority", 0, os.getpid(), 19), ("setpriority", 1, 0, 19)]
    assert tried(*calls) == [0, errno.EPERM, 0, errno.EPERM, errno.EPERM]
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19


def test_socket_pairs_are_streams() -> None:
    # With a null address for the two descriptors, the kernel's own error is EFAULT.
    calls = [("socketpair", 1, kind, 0, 0) for kind in (1, 0x80801, 2, 5)] + [("socketpair", 2, 1, 0, 0)]
    assert tried(*calls) == [errno.EFAULT, errno.EFAULT, errno.EPERM, errno.EPERM, errno.EPERM]


def test_nobody_is_reached_from_a_socket_pair(tmp_path: Path) -> None:
    """The only allowed kind of socket pair has no addresses: a message to a path is not delivered."""
    import socket

    address = str(tmp_path / "socket")
    script = f"""
import socket
pair = socket.socketpair()
try:
    pair[0].sendto(b"x", {address!r})
except OSError as error:
    print(error.errno)
pair[0].sendmsg([b"y"])
print(pair[1].recv(9))
"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as host:
        host.bind(address)
        done = run_code(BECOME, [], [sys.executable, "-I", "-c", script])
        host.settimeout(0)
        with pytest.raises(BlockingIOError):
            host.recv(9)
    assert done.stdout.split()[1:] == ["b'y'"], done.stderr
    assert int(done.stdout.split()[0]) in {errno.EISCONN, errno.EOPNOTSUPP}


def test_no_signal_wakes_a_stopped_bot() -> None:
    stopped, harmless = signal.SIGCONT, 0
    names = ("kill", "tkill")
    calls = [(name, NOBODY, number) for name in names for number in (stopped, harmless)]
    calls += [("tgkill", NOBODY, NOBODY, number) for number in (stopped, harmless)]
    calls += [("rt_sigqueueinfo", NOBODY, stopped, 0), ("rt_tgsigqueueinfo", NOBODY, NOBODY, stopped, 0)]
    assert tried(*calls) == [errno.EPERM, errno.ESRCH] * 3 + [errno.EPERM] * 2


def test_room_is_reserved_within_the_limit_only() -> None:
    # A pipe cannot reserve space; the kernel says so for the calls that pass the filter.
    assert tried(("fallocate", 0, 0, 0, 9), ("fallocate", 0, 1, 0, 9)) == [errno.EBADF, errno.ENOTSUP]


def test_files_keep_their_mode_and_times_unless_allowed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    file.chmod(0o600)
    script = "import os, sys; os.utime(sys.argv[1], (1, 1)); os.chmod(sys.argv[1], 0o644)"
    become = [sys.executable, "-I", "-c", script, str(file)]
    before = file.stat()
    assert "PermissionError" in run_code(BECOME, [], become).stderr
    assert "PermissionError" in run_code(BECOME, ["chmod"], become).stderr
    assert (file.stat().st_mode, file.stat().st_mtime) == (before.st_mode, before.st_mtime)
    assert run_code(BECOME, ["chmod", "utime"], become).returncode == 0
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime) == (0o644, 1)


def test_numbers_of_a_foreign_abi_kill() -> None:
    number = 0x40000000
    done = run_code(SCRIPT, [], [(number, (0,))])
    if ARCHITECTURES[MACHINE].audit == 0xC000003E:
        assert done.returncode == -signal.SIGSYS
    else:
        assert json.loads(done.stdout) == [errno.ENOSYS]


ECHO = {
    "python": [
        sys.executable,
        "-c",
        "import sys, numpy; [print(int(numpy.int64(l)) + 1) for l in sys.stdin]",
    ],
    "sh": ["sh", "-c", "while read -r line; do echo $((line + 1)); done"],
    "node": [
        "node",
        "-e",
        "require('readline').createInterface({input: process.stdin}).on('line', l => console.log(+l + 1))",
    ],
    "c": ["echo.c"],
    "java": ["Echo.java"],
}
SOURCES = {
    "echo.c": "#include <stdio.h>\nint main(void) { int i; while (scanf("
    '"%d", &i) == 1) { printf("%d\\n", i + 1); fflush(stdout); } return 0; }\n',
    "Echo.java": "public class Echo { public static void main(String[] a) { var in = new"
    " java.util.Scanner(System.in); while (in.hasNextInt()) System.out.println(in.nextInt() + 1); } }\n",
}
COMPILERS = {"c": "gcc", "java": "javac"}
RUNTIMES = [name for name, command in ECHO.items() if shutil.which(COMPILERS.get(name, command[0]))]


@pytest.mark.parametrize("extra", [[], list(ALLOWABLE)], ids=["T2", "T3"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_programs_of_these_runtimes_answer(runtime: str, extra: list[str], tmp_path: Path) -> None:
    command = ECHO[runtime]
    if runtime in COMPILERS:
        source = tmp_path / command[0]
        source.write_text(SOURCES[command[0]])
        where = ["-o", str(tmp_path / "echo")] if runtime == "c" else ["-d", str(tmp_path)]
        subprocess.run([COMPILERS[runtime], *where, str(source)], check=True)  # noqa: S603 - a compiler
        command = [str(tmp_path / "echo")] if runtime == "c" else ["java", "-cp", str(tmp_path), "Echo"]
    done = run_code(BECOME, extra, command, text="41\n7\n")
    assert (done.returncode, done.stdout) == (0, "42\n8\n"), done.stderr


def test_the_two_runtimes_every_machine_has_are_tried() -> None:
    assert {"python", "sh"} <= set(RUNTIMES)
