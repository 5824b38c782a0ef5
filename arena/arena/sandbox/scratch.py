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

    def give_to(self, user: int) -> None:
        """Make `home` and `cache` another user's, with what is in them, before that user has a process."""
        self.root.chmod(0o711)  # it may pass, and sees no names
        for path in (self.home, self.cache, *self.home.rglob("*"), *self.cache.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)

    def wipe(self) -> None:
        """Empty `home`; the folder itself stays, for it is where the process is."""
        if _is_empty_folder(self.home):
            return
        if not _is_folder(self.home):
            _remove(self.home)
        with suppress(OSError):
            self.home.mkdir(mode=0o700, exist_ok=True)
            for path in self.home.iterdir():
                _remove(path)

    def remove(self) -> None:
        """Remove all of it; a second call does nothing."""
        _remove(self.root)


def _is_empty_folder(path: Path) -> bool:
    """Tell whether there is nothing to wipe, as after most matches, in a tenth of the time that takes."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not os.listdir(folder)  # noqa: PTH208 - of what is open, whatever its name has come to mean
    except OSError:
        return False
    finally:
        os.close(folder)


def _is_folder(path: Path) -> bool:
    # Never follow a link: a bot may have set one to a folder that is none of its own.
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    # Whatever a living bot does to the files meanwhile, this must go on.
    with suppress(OSError):
        if not _is_folder(path):
            path.unlink()
            return
        _open_up(path)
    shutil.rmtree(path, ignore_errors=True)


def _open_up(folder: Path) -> None:
    """Take back the right to remove what is in a folder; a bot may have given it up."""
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if _is_folder(path):
                path.chmod(0o700)
