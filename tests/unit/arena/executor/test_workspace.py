from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.executor import workspace as workspace_module
from arena.executor.workspace import recreate_workspace, workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOLD = """
import sys, tempfile
from arena.executor import workspace as workspace_module
from arena.executor.workspace import workspace
tempfile.tempdir = sys.argv[1]
with workspace() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def test_temporary_files_go_with_the_run(temporary: Path) -> None:
    with workspace() as folder:
        assert (folder.parent, tempfile.gettempdir()) == (temporary, str(folder))
        made = Path(tempfile.mkdtemp())
        assert made.parent == folder
        with workspace() as inner:
            assert (inner.parent, tempfile.gettempdir()) == (temporary, str(inner))
        assert list(folder.iterdir()) == [made]
        assert tempfile.gettempdir() == str(folder)
    assert tempfile.gettempdir() == str(temporary)


def test_threads_end_theirs_in_any_order(temporary: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(workspace())
        theirs = second.enter_context(workspace())
        first.close()
        assert theirs.is_dir()
        assert tempfile.gettempdir() == str(theirs)
        second.close()
        assert tempfile.gettempdir() == str(temporary)


def test_files_that_another_thread_made_stay_until_all_threads_have_ended(temporary: Path) -> None:
    with ExitStack() as first, ExitStack() as second, ExitStack() as third:
        own = first.enter_context(workspace())
        theirs = second.enter_context(workspace())
        # A bot of the first run starts while the folder of the second run is the newest.
        made = Path(tempfile.mkdtemp())
        assert made.parent == theirs
        second.close()
        assert made.is_dir()
        assert tempfile.gettempdir() == str(own)
        empty = third.enter_context(workspace())
        assert made.is_dir(), "no run of this process takes it for that of a killed one"
        third.close()
        assert not empty.exists()
        shutil.rmtree(own)
        first.close()
        assert list(temporary.iterdir()) == []


def test_they_go_after_an_error_too(temporary: Path) -> None:
    with pytest.raises(KeyError), workspace():
        raise KeyError
    assert tempfile.gettempdir() == str(temporary)


def test_what_a_killed_run_left_goes_with_the_next_one(temporary: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(temporary)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own code
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        with workspace():
            assert left.exists()  # the process that owns it is alive
        process.kill()
    assert (left / "file").exists()
    with workspace():
        assert not left.exists()


def test_what_was_left_delays_a_start_for_a_moment_only(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = temporary / "arena-run-left"
    (left / "deep" / "deeper").mkdir(parents=True)
    (left / "deep" / "deeper").chmod(0)
    monkeypatch.setattr(workspace_module, "_SWEEP_S", 0.0)
    with workspace():
        assert (left / "deep" / "deeper").exists()
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with workspace():
        assert not left.exists()


def test_others_are_left_alone(temporary: Path) -> None:
    (temporary / "arena-run-file").touch()
    (temporary / "target").mkdir()
    (temporary / "arena-run-link").symlink_to(temporary / "target")
    with workspace():
        pass
    assert sorted(os.listdir(temporary)) == ["arena-run-file", "arena-run-link", "target"]  # noqa: PTH208 - names
    for path in (temporary / "arena-run-file", temporary / "arena-run-link"):
        path.unlink()
    (temporary / "target").rmdir()


def test_runs_that_begin_at_once_do_not_sweep_each_other(temporary: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(temporary)]

    def hold(_: int) -> bytes:
        return subprocess.run(command, input=b"", capture_output=True, check=True).stdout  # noqa: S603 - our own code

    with ThreadPoolExecutor(8) as threads:
        folders = set(threads.map(hold, range(16)))
    assert len(folders) == 16


def test_a_folder_that_was_cleared_away_is_made_again(temporary: Path) -> None:
    with workspace() as folder:
        assert not recreate_workspace()
        shutil.rmtree(folder)
        assert recreate_workspace()
        assert folder.is_dir()
        assert not recreate_workspace()
        # Another process created it again before this one looked.
        folder.rename(temporary / "aside")
        folder.mkdir()
        assert recreate_workspace()
        (temporary / "aside").rmdir()
        tempfile.tempdir = str(temporary)
        with workspace():
            assert folder.exists(), "the next run must not take it for that of a killed one"
        tempfile.tempdir = str(folder)
    assert not folder.exists()
