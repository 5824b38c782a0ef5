"""Starts `rogue_slot.py`, a slot of another machine that lies."""

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
    """Run a slot of another machine that lies."""
    slot = Slot("e" * 32, 0, os.urandom(16).hex())
    key = cluster.place.key
    assert key is not None
    setup = SlotSetup(
        address=cluster.place.address,
        keys=str(key.path),
        slot=slot,
        facts=msgspec.structs.replace(find_facts(1, 0.0), name="rogue"),
        folder=str(folder),
        parent=os.getpid(),
        programs_roam=False,
    )
    program = ROOT / "tests" / "support" / "rogue_slot.py"
    command = own_python(str(program), msgspec.json.encode(setup).decode())
    with subprocess.Popen(command) as process:  # noqa: S603 - a program of the tests
        yield slot
        process.kill()
