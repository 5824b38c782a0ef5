"""The folder a bot process may write to."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


class Scratch:
    """A folder of its own for one process; `home` is wiped between matches, `cache` lives with the process.

    What is in `cache` (compiled code) is in the memory of the process too, so keeping it tells nothing new.
    """

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="arena-bot-"))
        self.home = self.root / "home"
        self.cache = self.root / "cache"
        self.home.mkdir()
        self.cache.mkdir()

    def wipe(self) -> None:
        """Empty `home`."""
        with suppress(OSError), os.scandir(self.home) as found:
            if not any(found):
                return
        _remove(self.home)
        # What cannot be removed stays, and so does the folder.
        self.home.mkdir(exist_ok=True)

    def remove(self) -> None:
        """Remove all of it; a second call does nothing."""
        _remove(self.root)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    # A bot may have taken its folders' permissions away.
    folder.chmod(0o700)
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
