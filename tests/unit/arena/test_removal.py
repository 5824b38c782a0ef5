from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arena import removal
from arena.removal import remove

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

IS_ROOT = os.geteuid() == 0
NOBODY = 65534


def make_chain(top: Path, depth: int) -> None:
    """Make nested folders, deeper than the longest possible path."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def fill(top: Path) -> None:
    """Create one file of every kind."""
    (top / "empty").mkdir()
    (top / "closed" / "below").mkdir(parents=True)
    (top / "closed" / "below" / "file").touch()
    (top / "file").touch(mode=0)
    os.mkfifo(top / "fifo")
    (top / "dangling").symlink_to("nowhere")
    (top / "loop").symlink_to(".")
    (top / "long").mkdir()
    (top / "long" / ("n" * 255)).mkdir()
    odd = os.open(top, os.O_RDONLY)
    for name in (b"\xff\xfe", b"new\nline", b"-rf", b"*", b"\x1b[2J", b"..."):
        os.mkdir(name, dir_fd=odd)
        os.close(os.open(os.path.join(name, name), os.O_CREAT | os.O_WRONLY, dir_fd=odd))  # noqa: PTH118 - bytes
    os.close(odd)
    with socket.socket(socket.AF_UNIX) as channel:
        where = Path.cwd()
        os.chdir(top)  # a socket's path may not be long
        channel.bind("socket")
        os.chdir(where)
    if IS_ROOT:
        os.mknod(top / "device", 0o20666, os.makedev(1, 3))
    (top / "closed" / "below").chmod(0)
    (top / "closed").chmod(0)


def as_nobody(function: Callable[[Path], None], folder: Path) -> None:
    """Call a function in a process of an unprivileged user, to whom file modes apply."""
    if not IS_ROOT:
        function(folder)
        return
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        code = 1
        try:
            function(Path())
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_whatever_is_in_it_goes(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    fill(top)
    remove(top)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names


def test_folders_that_deny_access_go_for_an_ordinary_user_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    def fill_and_remove(folder: Path) -> None:
        top = folder / "top"
        for mode in (0, 0o100, 0o200, 0o400, 0o500, 0o600):
            closed = top / f"{mode:o}" / "inner"
            (closed / "innermost").mkdir(parents=True)
            (closed / "innermost" / "file").touch()
            for path in (closed / "innermost", closed, closed.parent):
                path.chmod(mode)
        top.chmod(0)
        remove(top)
        assert not os.path.lexists(top)

    as_nobody(fill_and_remove, tmp_path)


def test_depth_and_number_do_not_matter(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    make_chain(top, 5_000)
    for number in range(20_000):
        (top / f"f{number}").touch()
    remove(top, seconds=600)  # on a slow disk
    assert not top.exists()


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    make_chain(top, 300)
    code = (
        "import resource, sys; from arena.removal import remove;"
        "used = len(__import__('os').listdir('/proc/self/fd'));"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (used - 1 + 5, used - 1 + 5)); remove(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(top)], check=True)  # noqa: S603 - our own code
    assert not top.exists()


def test_a_file_a_link_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "stays").touch()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "file").touch()
    for name in ("link", "file", "nothing", "no/such/folder"):
        remove(tmp_path / name)
    remove(os.fspath(tmp_path / "link"))
    assert sorted(os.listdir(tmp_path)) == ["target"]  # noqa: PTH208 - names
    assert (tmp_path / "target" / "stays").exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner" / "file").write_text("stays")
    (outside / "inner").chmod(0o755)
    outside.chmod(0o550)
    top = tmp_path / "top"
    (top / "deep").mkdir(parents=True)
    (top / "deep" / "link").symlink_to(outside)
    (top / "deep" / "inner").symlink_to(outside / "inner")
    os.link(outside / "inner" / "file", top / "deep" / "hard")
    remove(top)
    assert not top.exists()
    assert outside.stat().st_mode & 0o777 == 0o550
    assert (outside / "inner").stat().st_mode & 0o777 == 0o755
    assert (outside / "inner" / "file").read_text() == "stays"
    outside.chmod(0o755)


def test_names_that_are_taken_only_take_another_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["taken", "file", "taken", "file"])

    def token(size: int) -> str:
        return next(names, None) or os.urandom(size).hex()

    monkeypatch.setattr(removal.secrets, "token_hex", token)
    top = tmp_path / "top"
    for path in ("taken/a/b/c", "x/y/z", "x/w/z"):
        (top / path).mkdir(parents=True)
        (top / path / "file").touch()
    (top / "file").touch()
    remove(top)
    assert not top.exists()


def test_what_cannot_be_removed_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = os.unlink

    def refuse(name: str, *, dir_fd: int) -> None:
        if name == "immutable":
            raise PermissionError
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(removal.os, "unlink", refuse)
    top = tmp_path / "top"
    (top / "a" / "b" / "c").mkdir(parents=True)
    for folder in (top, top / "a", top / "a" / "b"):
        (folder / "immutable").touch()
        (folder / "file").touch()
    remove(top)
    left = [path for path in top.rglob("*") if not path.is_dir()]
    assert [path.name for path in left] == ["immutable"] * 3
    monkeypatch.undo()
    remove(top)
    assert not top.exists()


def test_it_gives_up_in_time(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a").mkdir(parents=True)
    for number in range(100):
        (top / "a" / f"f{number}").touch()
    remove(top, seconds=0)
    assert len(list((top / "a").iterdir())) == 100
    remove(top)
    assert not top.exists()


def test_another_file_system_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "top"
    (top / "mount" / "inner").mkdir(parents=True)
    (top / "mount" / "inner" / "file").touch()
    (top / "file").touch()
    inode, fstat = (top / "mount").stat().st_ino, os.fstat

    def stat(descriptor: int) -> object:
        found = fstat(descriptor)
        if found.st_ino == inode:
            return os.stat_result((*found[:2], found.st_dev + 1, *found[3:10]))
        return found

    monkeypatch.setattr(removal.os, "fstat", stat)
    remove(top)
    monkeypatch.undo()
    assert sorted(path.name for path in top.rglob("*")) == ["file", "inner", "mount"]


def test_systems_without_these_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "_HAS_DIR_FD", False)
    (tmp_path / "target").mkdir()
    (tmp_path / "top" / "inner").mkdir(parents=True)
    (tmp_path / "top" / "inner" / "file").touch()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "file").touch()
    for name in ("top", "link", "file", "nothing"):
        remove(tmp_path / name)
    assert os.listdir(tmp_path) == ["target"]  # noqa: PTH208 - names


_SWAP = """
import os, sys
folder, foreign = sys.argv[1:]
print(flush=True)
number = 0
while True:
    number += 1
    try:
        os.makedirs(os.path.join(folder, "swap", "inner"), exist_ok=True)
        os.chmod(os.path.join(folder, "swap"), 0)
        os.rename(os.path.join(folder, "swap"), os.path.join(folder, "away%d" % number))
        os.symlink(foreign, os.path.join(folder, "swap"))
        os.unlink(os.path.join(folder, "swap"))
    except OSError:
        pass
"""


def test_a_living_process_cannot_lead_it_elsewhere(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    (foreign / "inner").mkdir(parents=True)
    (foreign / "inner" / "file").touch()
    foreign.chmod(0o755)
    top = tmp_path / "top"
    command = [sys.executable, "-c", _SWAP, str(top), str(foreign)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own code
        assert process.stdout is not None
        process.stdout.readline()
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            remove(top, seconds=0.1)
            assert foreign.stat().st_mode & 0o777 == 0o755
        process.kill()
    assert (foreign / "inner" / "file").exists()
    remove(top)
    assert not top.exists()


def test_things_that_vanish_meanwhile(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for number in range(300):
        (top / f"{number}" / "inner").mkdir(parents=True)
        (top / f"{number}" / "inner" / "file").touch()
    threads = [threading.Thread(target=remove, args=(top,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    remove(top)
    assert not top.exists()
