"""Only regular files are read, and nothing that could block is opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena_plugins import load_arrays, load_onnx
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.regular import open_regular, read_regular, refuse_special

if TYPE_CHECKING:
    from collections.abc import Callable


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def link_to_device(folder: Path) -> Path:
    (folder / "link").symlink_to("/dev/zero")
    return folder / "link"


def device(_folder: Path) -> Path:
    return Path("/dev/zero")


SPECIAL = {"pipe": pipe, "device": device, "link": link_to_device}
"""Functions that create a file in a folder, by its type."""


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_what_is_no_regular_file(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    num_open = len(list(Path("/proc/self/fd").iterdir()))
    for read in (read_regular, open_regular):
        with pytest.raises(OSError, match="not a regular file") as caught:
            read(path)
        assert caught.value.filename == str(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == num_open
    for load in (load_arrays, load_onnx):
        with pytest.raises(PluginError, match=r"cannot read the weights .*not a regular file"):
            load(path)
    with pytest.raises(OptionError, match=r"mcts: weights=.* is a (pipe|device); give a regular file"):
        refuse_special("mcts", {"weights": str(path)})


def test_a_folder_and_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(OSError, match="socket"):
            read_regular("socket")
        with pytest.raises(OptionError, match="is a socket"):
            refuse_special("mcts", {"weights": "./socket"})


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abcd")
    assert read_regular(file, max_bytes=4) == b"abcd"
    with pytest.raises(OSError, match="more than the 3 bytes allowed"):
        read_regular(file, max_bytes=3)
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(OSError, match="67,108,864 bytes allowed"):
        read_regular(file)


def test_a_file_that_says_it_is_empty() -> None:
    # Files in /proc have size 0, whatever their content.
    assert read_regular("/proc/self/status").startswith(b"Name:")
    with pytest.raises(OSError, match="more than the 5 bytes allowed"):
        read_regular("/proc/self/status", max_bytes=5)


def test_other_options_are_left_alone(tmp_path: Path) -> None:
    options = {"cmd": "/dev/zero", "file": str(tmp_path), "n": "5", "path": f"/{'x' * 5000}", "nul": "/\0"}
    refuse_special("exec", options)
