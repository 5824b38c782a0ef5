"""A command looks for garbage rarely, and not at all when it ends."""

from __future__ import annotations

import subprocess

from arena.own_python import own_python

RUN = """
import atexit, gc, sys
from arena.__main__ import main
sys.argv = ["arena", "--version"]
atexit.register(lambda: print(gc.isenabled(), gc.get_threshold()[0], gc.get_freeze_count() > 10_000))
main()
"""


def test_a_command_looks_for_garbage_rarely_and_not_when_it_ends() -> None:
    done = subprocess.run(own_python("-c", RUN), capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert done.stdout.splitlines()[-1] == "True 50000 True"
