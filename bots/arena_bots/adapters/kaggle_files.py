"""Shows an agent its files where Kaggle puts them, `/kaggle_simulations/agent`, if no container does.

Functions of Python that take a path are replaced by ones that change this prefix. Compiled code that opens a
file itself sees no such folder.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import io
import os
import pkgutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from arena_plugins.submission import PLACE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

_ABOVE = os.path.dirname(PLACE)  # noqa: PTH120 - text, not a file
_IN_OS = ("access", "chdir", "listdir", "lstat", "open", "readlink", "scandir", "stat")
"""Functions of `os` that read; those of `os.path`, `pathlib`, `glob` and `shutil` call them."""
_STAT = os.stat
"""The one that nothing replaces."""
_SUPPORTS = (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks)
"""Sets in which the standard library looks up what these functions can do."""


class _Shown:
    """The folder that is shown at the moment; empty while no agent runs."""

    folder = ""


def is_mounted(folder: Path) -> bool:
    """Return whether the folder of an agent is what lies at Kaggle's path, as in a container."""
    try:
        return os.path.samestat(_STAT(PLACE), _STAT(folder))
    except OSError:
        return False


@contextmanager
def shown_at_kaggles_path(folder: Path) -> Generator[None]:
    """Show the files of `folder` at Kaggle's path to Python code that runs in a `with` block."""
    if is_mounted(folder):
        yield
        return
    _install()
    before, _Shown.folder = _Shown.folder, str(folder)
    if before != _Shown.folder:
        for entry in [entry for entry in sys.path_importer_cache if _is_kaggles(entry)]:
            del sys.path_importer_cache[entry]
    try:
        yield
    finally:
        _Shown.folder = before


@functools.cache
def _install() -> None:
    """Replace the functions, once for a process: what was imported from them is replaced with them."""
    for name in _IN_OS:
        setattr(os, name, _changed(getattr(os, name), 0))
    io.open = builtins.open = _changed(io.open, 0)
    # `loadtxt` and `genfromtxt` call what NumPy kept when it was imported.
    kept: Any = getattr(np.lib, "_datasource", None)
    getattr(getattr(kept, "_file_openers", None), "_file_openers", {})[None] = io.open
    importlib.util.spec_from_file_location = _changed(importlib.util.spec_from_file_location, 1)
    sys.path_hooks.insert(0, _finder)


def _changed(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Return a function that takes Kaggle's path as the argument at `position`."""

    def changed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - those of any function
        if _Shown.folder and len(args) > position and isinstance(args[position], str | bytes | os.PathLike):
            args = (*args[:position], _real(args[position]), *args[position + 1 :])
        return original(*args, **kwargs)

    # In a traceback it stands below the agent's line; as code without a file it does not hide that line.
    changed.__code__ = changed.__code__.replace(co_filename=f"<{__name__}>")
    functools.update_wrapper(changed, original)
    for supports in _SUPPORTS:
        if original in supports:
            supports.add(changed)
    return changed


def _is_kaggles(path: str) -> bool:
    return path in {PLACE, _ABOVE} or path.startswith(f"{PLACE}/")


def _real(path: Any) -> Any:  # noqa: ANN401 - the same kind of path
    """Return where a path lies: below the shown folder if it is Kaggle's, else the path itself."""
    name = os.fsdecode(path)
    if not name.startswith(_ABOVE):
        return path
    name = os.path.normpath(name)
    if not _is_kaggles(name):
        return path
    folder = _Shown.folder
    real = os.path.dirname(folder) if name == _ABOVE else folder + name.removeprefix(PLACE)  # noqa: PTH120
    return os.fsencode(real) if isinstance(os.fspath(path), bytes) else real


def _finder(entry: str) -> Any:  # noqa: ANN401 - what the standard library finds modules with
    """Find the modules of an entry of `sys.path` that is Kaggle's path.

    Raises:
        ImportError: it is another one.
    """
    real = _real(entry) if _Shown.folder else entry
    if real == entry:
        raise ImportError(entry)
    return pkgutil.get_importer(real)
