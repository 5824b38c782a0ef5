"""Starts slots of other machines: `rogue_slot.py`, which sends invalid results, and an honest one."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.setups import SlotSetup
from arena.executor.slots import Slot
from arena.own_python import own_python
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from arena.executor.cluster.private import PrivateCluster


@contextmanager
def rogue(cluster: PrivateCluster, folder: Path) -> Generator[Slot]:
    """Run a slot of another machine that sends invalid results."""
    setup = _setup(cluster, folder, "rogue")
    program = ROOT / "tests" / "support" / "rogue_slot.py"
    command = own_python(str(program), msgspec.json.encode(setup).decode())
    with subprocess.Popen(command) as process:  # noqa: S603 - a program of the tests
        try:
            yield setup.slot
        finally:
            # Also after a failed assertion: leaving the block waits for the process.
            process.kill()


_HONEST = """
import time
real = time.time
time.time = lambda: real() + {ahead}
from arena.executor.cluster.slot import main
main()
"""


@contextmanager
def honest(
    cluster: PrivateCluster, folder: Path, ahead: float = 0.0
) -> Generator[tuple[Slot, subprocess.Popen[str]]]:
    """Run a slot of another machine; yield it with its process, which prints to a pipe.

    Args:
        cluster: what it joins.
        folder: for its temporary files.
        ahead: seconds by which the clock of its machine is ahead of ours.
    """
    setup = _setup(cluster, folder, "honest")
    with subprocess.Popen(  # noqa: S603 - our own program
        own_python("-c", _HONEST.format(ahead=ahead)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(setup).decode() + "\n")
        process.stdin.close()
        try:
            yield setup.slot, process
        finally:
            process.kill()


def _setup(cluster: PrivateCluster, folder: Path, name: str) -> SlotSetup:
    key = cluster.place.key
    assert key is not None
    return SlotSetup(
        address=cluster.place.address,
        keys=str(key.path),
        slot=Slot("e" * 32, 0, os.urandom(16).hex()),
        facts=msgspec.structs.replace(find_facts(1, 0.0), name=name),
        folder=str(folder),
        parent=os.getpid(),
        programs_roam=False,
    )
