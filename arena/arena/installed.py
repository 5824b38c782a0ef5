"""Tells the programs of this machine from files that came with a bot and are only called like one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix/store")


def is_system(program: Path) -> bool:
    """Return whether a program lies in a folder of the system."""
    return any(program.is_relative_to(place) for place in _SYSTEM)


def is_installed(program: Path) -> bool:
    """Return whether a program is one of this machine, behind all links: no bot brought it.

    It is if it lies in a folder of the system or with the interpreter that runs this, or if `PATH` finds it.
    """
    real = Path(os.path.realpath(program))
    if is_system(real) or real.is_relative_to(os.path.realpath(sys.base_prefix)):
        return True
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [folder for folder in path if folder.startswith("/")]
    found = (shutil.which(name, path=folder) for folder in folders for name in (program.name, real.name))
    return any(os.path.realpath(place) == str(real) for place in found if place)
