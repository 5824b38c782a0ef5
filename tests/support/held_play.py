"""A trainer `held`: the shards of `alphazero`, of which the first one waits until its process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arena_bots.alphazero import train
from arena_bots.alphazero.train.shards import play_shard
from arena_plugins import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from arena_bots.alphazero.train import AlphaZeroTrainer

FOLDER = "HELD_PLAY_FOLDER"
"""The variable with the folder to which the first shard writes its process id; without it no shard waits."""
_DEADLINE_S = 300.0
_NOT_HERE = play_shard
"""A function whose name in its own module differs, so a shard cannot refer to it."""


def hold(data: bytes, blobs: Sequence[bytes], device: str) -> bytes:
    """Write the process id and wait to be killed, or play the shard if another one has done so."""
    folder = os.environ.get(FOLDER)
    if folder and _is_first(Path(folder)):
        time.sleep(_DEADLINE_S)
    return play_shard(data, blobs, device)


def name_device(data: bytes, blobs: Sequence[bytes], device: str) -> str:
    """Return text, which is no result of a shard."""
    del data, blobs
    return device


def linger(data: bytes, blobs: Sequence[bytes], device: str) -> bytes:
    """Create the file `lingers`, then compute until the process is killed."""
    (Path(os.environ[FOLDER]) / "lingers").touch()
    time.sleep(_DEADLINE_S)
    return echo(data, blobs, device)


def listen(data: bytes, blobs: Sequence[bytes], device: str) -> bytes:
    """Return what a program that inherits standard input reads from it."""
    del data, blobs, device
    script = "import sys; print(repr(sys.stdin.read()))"
    return subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=60, check=True
    ).stdout


def deafen(data: bytes, blobs: Sequence[bytes], device: str) -> bytes:
    """Block SIGTERM, as libraries may do that drive a device; return what it was given."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    return echo(data, blobs, device)


def echo(data: bytes, blobs: Sequence[bytes], device: str) -> bytes:
    """Return the arguments joined by `|`; raise an exception if `data` is `fail` or `lack`."""
    if data == b"fail":
        raise ValueError("failed on purpose")
    if data == b"lack":
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")
    return b"|".join([data, *blobs, device.encode()])


def _is_first(folder: Path) -> bool:
    try:
        (folder / "taken").touch(exist_ok=False)
    except FileExistsError:
        return False
    (folder / "pid.part").write_text(str(os.getpid()))
    (folder / "pid.part").rename(folder / "pid")
    return True


@hookimpl
def make_trainer(options: Mapping[str, str]) -> AlphaZeroTrainer:
    """Make the trainer of `alphazero`; a test lets it call `hold`."""
    return train.make_trainer(options)


def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Put a distribution with the trainer `held` first on `sys.path`, for the duration of a test."""
    metadata = folder / "held-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: held\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[arena.trainers]\nheld = held_play\n")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
