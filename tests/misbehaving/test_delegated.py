"""An ordinary user to whom a control group is delegated gets a group for each bot, in every tier."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from arena.sandbox.launch_recipe import is_open_to_all
from arena.sandbox.limits.cgroup import NoSubtreeError, enter
from arena.sandbox.tier import tiers_to_try
from groups import new_group
from interpreters import PACKAGES, copy_interpreter

NOBODY = 65534
SCRIPT = """
import json, os, sys
sys.path += json.loads(sys.argv[1])
from functools import partial
from pathlib import Path
from arena.sandbox.limits import exact
from arena.sandbox.limits.cgroup import enter
exact.enter = partial(enter, ())
from arena.sandbox.family import members
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.tier import tiers_to_try
told = []
for tier in tiers_to_try():
    command = [sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(600)"]
    bot = spawn(ProcessSettings(command, tier))
    os.set_blocking(bot.stdout, True)
    answer = os.read(bot.stdout, 10) or os.read(bot.stderr, 1000)
    folder = Path(bot.leaf.path)
    inside = sorted(map(int, (folder / "cgroup.procs").read_text().split()))
    told.append([answer.decode(), inside == sorted(members(bot.pid)), bot.limits])
    bot.kill()
    bot.close()
    told[-1].append(folder.exists())
print(json.dumps(told))
"""


def test_bots_of_an_ordinary_user_join_their_groups() -> None:
    with new_group() as group, tempfile.TemporaryDirectory() as name:
        if group is None or os.geteuid() != 0:
            # Only root can delegate a group here: the user's own group contains other processes, so it is
            # refused.
            with pytest.raises(NoSubtreeError):
                enter()
            return
        for path in (group, *(group / f"cgroup.{name}" for name in ("procs", "subtree_control", "threads"))):
            os.chown(path, NOBODY, NOBODY)
        folder = Path(name)
        folder.chmod(0o755)
        python = copy_interpreter(folder / "python", 0o755)
        with subprocess.Popen(  # noqa: S603 - our own script
            [
                python,
                "-I",
                "-S",
                "-B",
                "-c",
                f"import sys; sys.stdin.readline()\n{SCRIPT}",
                json.dumps(PACKAGES),
            ],
            cwd="/",
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        ) as process:
            (group / "cgroup.procs").write_text(str(process.pid))
            out, err = process.communicate(b"\n", timeout=120)
    if all(map(is_open_to_all, PACKAGES)):
        assert json.loads(out) == [["\n", True, "kernel", False]] * len(tiers_to_try()), err.decode()
    else:
        assert b"PermissionError" in err or b"ModuleNotFoundError" in err
