"""Copies of this Python that every user may run, or only its owner, whatever the original permits."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from arena_plugins.command import host_path

PACKAGES = [
    folder
    for folder in host_path()
    if not Path(folder).is_relative_to(sys.base_prefix)
    or Path(folder).name in {"site-packages", "dist-packages"}
]
"""Folders with packages, which are used where they are: a copy has the standard library only."""
_NOT_NEEDED = shutil.ignore_patterns(
    "*.opt-?.pyc", "ensurepip", "idlelib", "site-packages", "test", "tkinter"
)
"""Files that a copy leaves out. Bytecode stays, because processes of a copy would not write it again."""
_ORIGIN = b"$ORIGIN/../lib"


def copy_interpreter(folder: Path, mode: int) -> str:
    """Copy the interpreter and the standard library, by hard links where possible; return its path.

    Args:
        folder: destination; it is created.
        mode: mode of that folder.
    """
    base, name = Path(sys.base_prefix), f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder.mkdir()
    folder.chmod(0o755)
    shutil.copytree(base / "lib" / name, folder / "lib" / name, ignore=_NOT_NEEDED, copy_function=_link)
    for library in (base / "lib").glob("libpython*.so*"):
        _link(library, folder / "lib" / library.name)
    program = folder / "bin" / name
    program.parent.mkdir()
    program.write_bytes(_relocated(Path(os.path.realpath(sys.executable)).read_bytes()))
    for made in (folder / "bin", folder / "lib", folder / "lib" / name, program):
        made.chmod(0o755)
    folder.chmod(mode)
    return str(program)


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy2(source, target)


def _relocated(program: bytes) -> bytes:
    """Make a program look for its libraries beside itself, if it looks for them by an absolute path."""
    own = f"{sys.base_prefix}/lib".encode() + b"\0"
    return program.replace(own, _ORIGIN.ljust(len(own), b"\0")) if len(own) > len(_ORIGIN) else program
