"""`arena export` as a process: stopped at any moment, or with a full disk, it leaves nothing behind."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from arena.export.dataset import Dataset
from children import arena_call, arena_environment, run_child
from exports import fill

if TYPE_CHECKING:
    from pathlib import Path

ARENA = (sys.executable, "-m", "arena")
DEADLINE = 120.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with 600 matches."""
    folder = tmp_path_factory.mktemp("filled")
    fill(folder / "arena.db", num=600)
    return folder / "arena.db"


def _command(store: Path, *words: str) -> list[str]:
    return [*ARENA, "export", "out", "--db", str(store), *words]


HELD = """
import sys, time
from arena.export import _job
_job.canonical_of = lambda *_: time.sleep(600)
"""
"""A program that exports but never finishes its first block."""


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_export_leaves_nothing(store: Path, tmp_path: Path, kind: signal.Signals) -> None:
    call = arena_call("export", "out", "--db", str(store), "--format", "csv")
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-c", HELD + call],
        cwd=tmp_path,
        env=arena_environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        # The output folder is created before any match is read.
        while not list(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(kind)
        _, said = process.communicate(timeout=DEADLINE)
    assert process.returncode == 3
    assert "arena export: stopped; nothing was written" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["npz", "parquet", "csv", "pgn"])
def test_a_full_disk_is_told_and_leaves_nothing(store: Path, tmp_path: Path, form: str) -> None:
    def no_room() -> None:
        # More than the shared memory of two readers of a store, less than the files of an export.
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    done = subprocess.run(  # noqa: S603 - our own command
        _command(store, "--format", form, "--quiet"),
        cwd=tmp_path,
        env=arena_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        preexec_fn=no_room,
    )
    assert done.returncode == 1
    assert "nothing was kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_same_bytes_from_two_processes(store: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        out.mkdir()
        run_child(_command(store, "--split", "0.9", "--dedup"), cwd=out, env=arena_environment(tmp_path))
    one, two = ({path.name: path.read_bytes() for path in (out / "out").iterdir()} for out in outs)
    assert one == two
    assert Dataset.open(outs[0] / "out").num_rows("train") > 0
