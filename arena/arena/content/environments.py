"""The part of a virtual environment that belongs to the identity of the bot that its interpreter runs."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from arena.content.collect import Collection, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

_INFO = (".dist-info", ".egg-info")
_CACHE = "__pycache__"


def add_environment(collection: Collection, program: str) -> None:
    """Record the content of an interpreter's virtual environment, if any, in the collection's `needs`.

    Distributions count by name and version, like those that a package requires. Modules that belong to no
    distribution count by their bytes: they are the bot's own code.

    Raises:
        PluginError: such a module cannot be read, or a limit is exceeded.
    """
    prefix = Path(program).parent.parent
    if not (prefix / "pyvenv.cfg").is_file():
        return
    for site in sorted(prefix.glob("lib/python*/site-packages")):
        recorded = {_CACHE}
        for distribution in importlib.metadata.distributions(path=[str(site)]):
            metadata = distribution.metadata
            name = canonicalize_name(str(metadata["Name"]))
            collection.needs[f"environment {name}"] = metadata["Version"]
            recorded |= _top_names(distribution)
        for place in _others(collection, site, recorded):
            collection.needs[f"environment {place.name}"] = _hash(collection.what, place)


def _top_names(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the first part of the path of each file that a distribution has installed.

    An environment for machine learning has 80,000 files: `Distribution.files` makes a path of each, which
    took a second.
    """
    record = distribution.read_text("RECORD")
    if record is None:
        return {file.parts[0] for file in distribution.files or ()}
    return {row[0].partition("/")[0] for row in csv.reader(record.splitlines()) if row}


def _others(collection: Collection, site: Path, recorded: set[str]) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(site))  # noqa: PTH208 - must raise for a folder that cannot be read
    except OSError as error:
        raise unreadable(collection.what, site, error) from error
    for name in names:
        if name not in recorded and not name.endswith(_INFO):
            yield site / name


def _hash(what: str, place: Path) -> str:
    """Return a SHA-256 over the paths and bytes of a file, or of all files below a folder."""
    own = Collection(what)
    if place.is_dir():
        own.add_tree("", place)
    else:
        own.add_file(place.name, place)
    total = hashlib.sha256()
    for path, source in sorted(own.files.items()):
        with source.open("rb") as file:
            total.update(f"{path}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return total.hexdigest()
