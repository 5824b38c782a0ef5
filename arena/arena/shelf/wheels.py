"""Wheels, read as they lie there: nothing is unpacked and nothing of them runs."""

from __future__ import annotations

import importlib.metadata
import re
from typing import TYPE_CHECKING, NamedTuple

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from arena.errors import PluginError
from arena.shelf.records import hash_file

if TYPE_CHECKING:
    from pathlib import Path

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]*\.whl\Z")


class Wheel(NamedTuple):
    """A wheel file and what it says of itself."""

    path: Path
    name: str
    """The normalised name of its distribution."""
    distribution: str
    """That name as its metadata has it."""
    version: str
    sha256: str
    requires: tuple[str, ...]
    """What it needs, as its metadata has it."""


def read_wheel(path: Path) -> Wheel:
    """Read a wheel.

    Raises:
        PluginError: it is none, or its metadata contradict its name.
    """
    try:
        if not _FILE_NAME.match(path.name):
            raise PluginError(
                f"{path.name!r} is no name of a wheel, which has letters, digits and _.+!- only"
            )
        name, version, _, _ = parse_wheel_filename(path.name)
        (found,) = importlib.metadata.distributions(path=[str(path)])
        headers = found.metadata
        title, said = (str(headers.get_all(key, [""])[0]) for key in ("Name", "Version"))
        requires = tuple(found.requires or ())
        fits = canonicalize_name(title) == name and Version(said) == version
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise PluginError(f"{path.name} is no wheel: {error}") from error
    except (ValueError, TypeError, KeyError, OSError, NotImplementedError) as error:
        # The last one is what zipfile raises for a compression or an encryption it does not know.
        raise PluginError(f"{path.name} is no wheel: it has not the metadata of one distribution") from error
    if not fits:
        raise PluginError(f"{path.name} says that it is {title} {said}; ask its author for one that fits")
    return Wheel(path, str(name), title, said, hash_file(path), requires)
