"""Makes an agent's files appear at Kaggle's path, `/kaggle_simulations/agent`, outside of containers.

Functions of Python that take a path are replaced by wrappers that translate this prefix. Compiled code that
opens files by itself does not see the path.
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

_ABOVE = os.path.dirname(PLACE)  # noqa: PTH120 - pure text operation
_IN_OS = ("access", "chdir", "listdir", "lstat", "open", "readlink", "scandir", "stat")
"""Functions of `os` that read; `os.path`, `pathlib`, `glob` and `shutil` are built on them."""
_STAT = os.stat
"""The original function, before it is replaced."""
_SUPPORTS = (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks)
"""Sets in which the standard library looks up the capabilities of these functions."""


class _Shown:
    """The folder that currently appears at Kaggle's path; empty while no agent runs."""

    folder = ""


def is_mounted(folder: Path) -> bool:
    """Return whether the agent's folder is mounted at Kaggle's path, as it is in a container."""
    try:
        return os.path.samestat(_STAT(PLACE), _STAT(folder))
    except OSError:
        return False


@contextmanager
def shown_at_kaggles_path(folder: Path) -> Generator[None]:
    """Make the files of `folder` appear at Kaggle's path for Python code within a `with` block."""
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
    """Replace the functions, once per process, including references that other modules have imported."""
    for name in _IN_OS:
        setattr(os, name, _changed(getattr(os, name), 0))
    io.open = builtins.open = _changed(io.open, 0)
    # `loadtxt` and `genfromtxt` use a reference that NumPy stored when it was imported.
    kept: Any = getattr(np.lib, "_datasource", None)
    getattr(getattr(kept, "_file_openers", None), "_file_openers", {})[None] = io.open
    importlib.util.spec_from_file_location = _changed(importlib.util.spec_from_file_location, 1)
    sys.path_hooks.insert(0, _finder)


def _changed(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Wrap a function so that it accepts Kaggle's path as the argument at `position`."""

    def changed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - wraps functions of any signature
        if _Shown.folder and len(args) > position and isinstance(args[position], str | bytes | os.PathLike):
            args = (*args[:position], _real(args[position]), *args[position + 1 :])
        return original(*args, **kwargs)

        # In a traceback the wrapper appears below the agent's line. A file name in angle brackets marks it as
        # not being the agent's code.

    changed.__code__ = changed.__code__.replace(co_filename=f"<{__name__}>")
    functools.update_wrapper(changed, original)
    for supports in _SUPPORTS:
        if original in supports:
            supports.add(changed)
    return changed


def _is_kaggles(path: str) -> bool:
    return path in {PLACE, _ABOVE} or path.startswith(f"{PLACE}/")


def _real(path: Any) -> Any:  # noqa: ANN401 - returns the same kind of path
    """Translate Kaggle's path to the shown folder; return other paths unchanged."""
    name = os.fsdecode(path)
    if not name.startswith(_ABOVE):
        return path
    name = os.path.normpath(name)
    if not _is_kaggles(name):
        return path
    folder = _Shown.folder
    real = os.path.dirname(folder) if name == _ABOVE else folder + name.removeprefix(PLACE)  # noqa: PTH120
    return os.fsencode(real) if isinstance(os.fspath(path), bytes) else real


def _finder(entry: str) -> Any:  # noqa: ANN401 - a finder of the standard library
    """Return a module finder for a `sys.path` entry that is Kaggle's path.

    Raises:
        ImportError: it is another path.
    """
    real = _real(entry) if _Shown.folder else entry
    if real == entry:
        raise ImportError(entry)
    return pkgutil.get_importer(real)
