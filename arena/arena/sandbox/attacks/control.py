"""The control: what a bot is allowed to do, and must be able to do."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

HOME = Path(os.environ.get("HOME", os.curdir))
"""The scratch folder."""


def attack_nothing(targets: Targets) -> object:
    """Send a text through a pair of stream sockets to a thread, which writes it to the scratch folder."""
    here, there = socket.socketpair()

    def write() -> None:
        (HOME / "control").write_bytes(there.recv(1000))

    with here, there:
        thread = threading.Thread(target=write)
        thread.start()
        here.sendall(targets["text"].encode())
        thread.join()
    return None
