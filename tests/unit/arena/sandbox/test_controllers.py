"""The values written to and read from a group's files, as ordinary files: controllers may be missing here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from arena.sandbox.limits.cgroup import Leaf, Toll
from arena.sandbox.limits.polled import Usage

if TYPE_CHECKING:
    from pathlib import Path

GIGABYTE = 1 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of a new group."""
    for name, text in {
        "cgroup.freeze": "0\n",
        "cgroup.kill": "",
        "cpu.stat": "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n",
        "memory.max": "max\n",
        "memory.swap.max": "max\n",
        "memory.oom.group": "0\n",
        "memory.current": "8192\n",
        "memory.peak": "1048576\n",
        "memory.events": "low 0\nhigh 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 1\n",
        "pids.max": "max\n",
        "pids.current": "5\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def state(folder: Path) -> dict[str, str]:
    return {
        name: (folder / name).read_text().split()[0]
        for name in ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max")
    }


def test_limits_are_written_as_the_kernel_reads_them(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_text("")  # a file keeps what is beyond the end of a shorter text, the kernel does not
    Leaf(str(folder)).limit(96 << 20, 129)
    assert state(folder) == {
        "memory.max": "100663296",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "129",
    }


def test_a_kernel_without_swap_accounting_limits_too(folder: Path) -> None:
    (folder / "memory.swap.max").unlink()
    (folder / "pids.max").write_text("")
    Leaf(str(folder)).limit(GIGABYTE, 1)
    assert (folder / "pids.max").read_text() == "1"
    assert not (folder / "memory.swap.max").exists()


@pytest.mark.parametrize("name", ["memory.max", "memory.oom.group", "pids.max"])
def test_a_limit_that_cannot_be_set_is_an_error(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError):
        Leaf(str(folder)).limit(GIGABYTE, 1)


def test_what_the_kernel_counted_is_read(folder: Path) -> None:
    leaf = Leaf(str(folder))
    assert leaf.usage() == Usage(8192, 5)
    assert leaf.toll() == Toll(1048576, 3)
    assert leaf.cpu_s() == pytest.approx(1.234567)
    leaf.freeze()
    assert (folder / "cgroup.freeze").read_text()[0] == "1"
    (folder / "memory.current").write_text("4096\n")
    assert leaf.usage() == Usage(4096, 5)
    (folder / "memory.peak").unlink()
    assert leaf.toll() == Toll(8192, 3)
    for name in ("memory.events", "memory.current"):
        (folder / name).unlink()
    assert leaf.toll() == Toll(8192, 0)
    assert leaf.usage() == Usage(0, 5)


def test_the_last_measure_is_kept(folder: Path) -> None:
    leaf = Leaf(str(folder))
    assert not leaf.remove()
    (folder / "cpu.stat").write_text("usage_usec 9000000\n")
    assert leaf.cpu_s() == pytest.approx(1.234567)


def test_a_folder_that_is_no_group_is_refused(folder: Path) -> None:
    (folder / "cpu.stat").unlink()
    (before, after) = (os.dup(0) for _ in range(2))
    for fd in (before, after):
        os.close(fd)
    with pytest.raises(FileNotFoundError):
        Leaf(str(folder))
    # No descriptor was left open: the lowest free number is the same.
    assert os.dup(0) == before
    os.close(before)
