"""Reads wheel files in place, without unpacking them or executing their code."""

from __future__ import annotations

import importlib.metadata
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, NamedTuple

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from arena.errors import PluginError
from arena.shelf.bounds import Extent, check_bounds
from arena.shelf.records import hash_file
from arena_plugins.entries import BOTS, Entry

if TYPE_CHECKING:
    from pathlib import Path

_INFO = re.compile(r"[^/]+\.dist-info/")
_DAMAGED = (
    *(ValueError, TypeError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error),
    # Raised by zipfile for an unknown compression method or an encrypted file.
    RuntimeError,
)
"""Exceptions raised for a file that is not a valid wheel."""
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]*\.whl\Z")


class Wheel(NamedTuple):
    """A wheel file and its metadata."""

    path: Path
    name: str
    """The normalised name of its distribution."""
    distribution: str
    """The name of its distribution as in its metadata."""
    version: str
    sha256: str
    requires: tuple[str, ...]
    """Its requirements as in its metadata."""
    bots: tuple[Entry, ...] = ()
    """Its entry points in the group of bots, with unchecked names."""
    extent: Extent = Extent(0, 0)
    """What it unpacks to."""


def read_wheel(path: Path) -> Wheel:
    """Read and check a whole wheel.

    Raises:
        PluginError: it is not a wheel, its metadata contradict its name, or it exceeds a limit
            (`check_bounds`).
    """
    try:
        if not _FILE_NAME.match(path.name):
            raise PluginError(
                f"{path.name!r} is not a valid name of a wheel (only letters, digits and _.+!-)"
            )
        name, version, _, _ = parse_wheel_filename(path.name)
        extent = check_bounds(path)
        # `distributions(path=…)` would keep the file open for as long as this process lives.
        with zipfile.ZipFile(path) as archive:
            (info,) = {file.partition("/")[0] for file in archive.namelist() if _INFO.match(file)}
            found = importlib.metadata.PathDistribution(zipfile.Path(archive, f"{info}/"))
            headers = found.metadata
            title, said = (str(headers.get_all(key, [""])[0]) for key in ("Name", "Version"))
            requires = tuple(found.requires or ())
            bots = tuple(
                Entry(each.name, each.value, title, said) for each in found.entry_points if each.group == BOTS
            )
        fits = canonicalize_name(title) == name and Version(said) == version
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise PluginError(f"{path.name} is not a wheel: {error}") from error
    except _DAMAGED as error:
        raise PluginError(
            f"{path.name} is not a wheel: it is damaged, or lacks the metadata of exactly one distribution"
        ) from error
    if not fits:
        raise PluginError(f"{path.name} says that it is {title} {said}; ask its author for one that fits")
    return Wheel(path, str(name), title, said, hash_file(path), requires, bots, extent)
