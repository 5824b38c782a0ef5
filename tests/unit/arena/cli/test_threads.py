from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.own_python import own_python
from arena.sandbox.resources import num_cores

RUN = """
import os, sys
sys.argv = ["arena", "--version"]
from arena.__main__ import main
try:
    main()
except SystemExit:
    import numpy
    numpy.linalg.inv(numpy.eye(300) * 2)
    print(len(os.listdir("/proc/self/task")))
"""
"""Prints the number of threads of a command's process once it has computed with matrices."""


def threads(**environment: str) -> int:
    left = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(  # noqa: S603 - our own code
        own_python("-c", RUN), capture_output=True, text=True, check=True, env={**left, **environment}
    )
    return int(done.stdout.split()[-1])


@pytest.mark.skipif(
    not Path("/proc/self/task").exists() or sys.platform != "linux", reason="only Linux counts threads there"
)
def test_commands_compute_in_one_thread_unless_the_user_says_otherwise() -> None:
    assert threads() == 1
    assert threads(OPENBLAS_NUM_THREADS="2") == min(2, num_cores())
