"""Child processes of tests: each has a deadline, and its output is shown when it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MODULES_AFTER = """
import json, sys
def report():
    print("\\n" + json.dumps(sorted(sys.modules)))
try:
    exec(sys.argv.pop(1))
except SystemExit as end:
    if end.code:
        raise
finally:
    report()
"""


def run_child(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    deadline: float = 120.0,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run `command` for at most `deadline` seconds; with `check` a non-zero exit code fails the test."""
    done = subprocess.run(  # noqa: S603 - the commands are those of the tests
        [str(part) for part in command],
        cwd=cwd,
        env=None if env is None else dict(env),
        timeout=deadline,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if check and done.returncode:
        raise AssertionError(
            f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
    return done


def arena_environment(folder: Path, scripts: Path | None = None) -> dict[str, str]:
    """Return an environment in which `arena` keeps everything it stores inside `folder`.

    Only the cache, `ARENA_CACHE`, is shared by all tests: a new one would compile all kernels again.

    `scripts` is the folder of commands that comes first on PATH; by default that of this interpreter.
    """
    own = {
        "ARENA_HOME": str(folder / "home"),
        "ARENA_DB": str(folder / "arena.db"),
        "PATH": os.pathsep.join([str(scripts or sysconfig.get_path("scripts")), os.environ.get("PATH", "")]),
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key == "ARENA_CACHE" or not key.startswith(("ARENA_", "PYTHON", "COV_", "COVERAGE_"))
    }
    return inherited | own


def modules_after(code: str, folder: Path) -> set[str]:
    """Return the names in `sys.modules` of a fresh interpreter that ran `code` to its end in `folder`."""
    done = run_child([sys.executable, "-c", _MODULES_AFTER, code], cwd=folder, env=arena_environment(folder))
    return set(cast("list[str]", json.loads(done.stdout.splitlines()[-1])))


def arena_call(*arguments: str) -> str:
    """Return code that runs the command `arena` with `arguments` in the process that executes it."""
    return f"sys.argv[:] = {['arena', *arguments]!r}\nfrom arena.__main__ import main\nmain()"
