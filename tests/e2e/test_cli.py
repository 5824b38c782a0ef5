"""The command as a process: closed pipes, full disks, signals, terminals without Unicode."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from children import arena_environment, run_child

if TYPE_CHECKING:
    from collections.abc import Iterator

ARENA = (sys.executable, "-m", "arena")
CUP = (*ARENA, "tournament", "random", "minimax:depth=1", "--game", "tic-tac-toe", "--isolation", "none")
DEADLINE = 120.0
INTERRUPTED = "Tournament was interrupted. To resume: arena resume cup-7"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose store has 400 matches."""
    folder = tmp_path_factory.mktemp("played")
    cup = [*CUP, "--executor", "inline", "--rounds", "200", "--quiet"]
    run_child(cup, cwd=folder, env=arena_environment(folder))
    return folder


LONG = pytest.mark.parametrize("running", [2000], indirect=True)
"""A longer tournament, most of a minute of play, for tests that run a second command meanwhile."""


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Yield a tournament that has finished its first match and has many left."""
    rounds = str(getattr(request, "param", 400))
    with subprocess.Popen(  # noqa: S603 - our own command
        [*CUP, "--rounds", rounds, "--name", "cup-7"],
        cwd=tmp_path,
        env=arena_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Finished game"):
                break
        yield process
        process.kill()


def _num_matches(folder: Path) -> int:
    games = [*ARENA, "matches", "--limit", "5000", "--format", "json"]
    return len(json.loads(run_child(games, cwd=folder, env=arena_environment(folder)).stdout))


def _resume(folder: Path) -> None:
    env = arena_environment(folder)
    run_child([*ARENA, "resume", "cup-7", "--quiet"], cwd=folder, env=env)
    run_child([*ARENA, "db", "check"], cwd=folder, env=env)


def test_ctrl_c_stores_what_was_played_and_resume_plays_the_rest(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=DEADLINE)
    assert running.returncode == 3, err
    assert out.splitlines()[-1] == INTERRUPTED
    assert "Traceback" not in err
    assert 1 <= _num_matches(tmp_path) < 800
    _resume(tmp_path)
    assert _num_matches(tmp_path) == 800


@LONG
def test_stop_from_another_shell(running: subprocess.Popen[str], tmp_path: Path) -> None:
    stop = run_child([*ARENA, "stop", "cup-7", "--now"], cwd=tmp_path, env=arena_environment(tmp_path))
    assert stop.stdout.startswith("asked cup-7 to stop: ")
    assert stop.stdout.endswith("; to continue later: arena resume cup-7\n")
    out, err = running.communicate(timeout=DEADLINE)
    assert running.returncode == 3, err
    assert out.splitlines()[-1] == INTERRUPTED


@LONG
def test_a_tournament_is_run_by_one_process_alone(running: subprocess.Popen[str], tmp_path: Path) -> None:
    done = run_child([*ARENA, "resume", "cup-7"], cwd=tmp_path, env=arena_environment(tmp_path), check=False)
    assert done.returncode == 2
    assert "cup-7" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert running.poll() is None


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    env = arena_environment(tmp_path)
    cup = shlex.join([*CUP, "--rounds", "400", "--name", "cup-7", "--quiet"])
    done = run_child(["sh", "-c", f"ulimit -f 700; exec {cup}"], cwd=tmp_path, env=env, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("arena: ")
    assert str(tmp_path / "arena.db") in done.stderr
    assert "Traceback" not in done.stderr
    stored = _num_matches(tmp_path)
    assert 0 < stored < 800
    _resume(tmp_path)
    assert _num_matches(tmp_path) == 800


def test_a_reader_that_goes_away_is_no_failure_of_ours(played: Path) -> None:
    call = shlex.join([*ARENA, "matches", "--limit", "400", "--format", "ndjson"])
    done = run_child(["sh", "-c", f"{call} | head -n 1"], cwd=played, env=arena_environment(played))
    assert json.loads(done.stdout)["id"] == 400
    assert done.stderr == ""


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_full_output_is_one_line(played: Path, form: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(  # noqa: S603 - our own command
            [*ARENA, "matches", "--limit", "400", "--format", form],
            cwd=played,
            env=arena_environment(played),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "arena: the output: No space left on device\n"


def test_a_name_the_terminal_cannot_write_is_written_as_escape(tmp_path: Path) -> None:
    env = {**arena_environment(tmp_path), "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = run_child([*ARENA, "show", "\u6f22"], cwd=tmp_path, env=env, check=False)
    assert done.returncode == 2
    run_child([*CUP, "--rounds", "1", "--executor", "inline", "--quiet"], cwd=tmp_path, env=env)
    done = run_child([*ARENA, "show", "\u6f22"], cwd=tmp_path, env=env, check=False)
    assert done.stderr == 'arena: no tournament "\\u6f22" (the newest is rr-1)\n'


def test_without_colours_nothing_is_coloured(played: Path) -> None:
    env = {**arena_environment(played), "FORCE_COLOR": "1"}
    assert "\x1b[" not in run_child([*ARENA, "matches"], cwd=played, env=arena_environment(played)).stdout
    coloured = {key: value for key, value in env.items() if key != "NO_COLOR"}
    board = run_child([*ARENA, "show", "1"], cwd=played, env=coloured).stdout
    assert "\x1b[1;31m" in board
    assert "\x1b[1;31m" not in run_child([*ARENA, "show", "1"], cwd=played, env=env).stdout
