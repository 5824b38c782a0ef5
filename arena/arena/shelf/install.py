"""Puts wheels on the shelf and takes them off again; nothing of a wheel runs, nothing stays half done."""

from __future__ import annotations

import importlib.metadata
import shutil
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from arena import removal
from arena.errors import PluginError
from arena.shelf import pip
from arena.shelf.listing import list_bots, offers_of, same_name
from arena.shelf.records import (
    LIB,
    Installed,
    hash_files,
    shelf_folder,
    wheel_folders,
    write_record,
)
from arena.shelf.requirements import OURS, lacking
from arena.shelf.wheels import Wheel, read_wheel
from arena_plugins.entries import BOTS, make_listing

if TYPE_CHECKING:
    from collections.abc import Sequence

_HIDDEN = ".work-"
"""How the name of a folder begins that is not on the shelf yet, or no longer."""
_STALE_S = 86_400.0
"""Seconds after which such a folder was left by a process that was killed."""
_ARCHIVES = (".gz", ".zip", ".bz2", ".xz")
"""The name of an sdist might be that of a package, too."""
_ONLY_WHEELS = (
    "only wheels (.whl) are installed, for code of anything else would run here while it is built; "
    "python -m build --wheel makes one of a project"
)


class Receipt(NamedTuple):
    """What was installed."""

    installed: Installed
    bots: tuple[str, ...]
    """The names of its bots."""


def install(what: str, *, sha256: str | None = None, index: str | None = None) -> Receipt:
    """Install a wheel with what it needs and the arena lacks, in one step: all of it or nothing.

    Args:
        what: a file, or a requirement such as `my-bot>=1.2`, which pip fetches.
        sha256: the hash the wheel must have, in hex.
        index: address of the package index; None for the one pip is set up for.

    Raises:
        PluginError: it is refused: no wheel, no bot in it, another hash, a name that is taken.
        ArenaError: pip cannot fetch or unpack it.
        OSError: it cannot be written, or somebody else installed it meanwhile.
    """
    shelf = shelf_folder()
    shelf.mkdir(parents=True, exist_ok=True)
    _sweep(shelf)
    work = _hidden(shelf)
    work.mkdir()
    try:
        fetch = partial(_fetch, work, index)
        wheel, extras = _obtain(what, work, fetch)
        if sha256 is not None and wheel.sha256 != sha256.lower():
            raise PluginError(f"{wheel.path.name} has the SHA-256 {wheel.sha256}, not {sha256}")
        bots = _check_bots(wheel)
        wheels = [wheel, *lacking(wheel, extras, fetch)]
        done = work / "done"
        installed = _unpack(wheels, done)
        done.rename(shelf / wheel.name)
    finally:
        removal.remove(work)
    return Receipt(installed, bots)


def remove(name: str) -> list[str]:
    """Remove the wheel that a bot or a distribution of this name came with; give the bots that are gone.

    Raises:
        PluginError: none on the shelf has this name, or two have.
    """
    names = {folder: _bots_of(folder) for folder in wheel_folders()}
    found = [
        folder
        for folder, bots in names.items()
        if same_name(folder.name, name) or name.casefold() in map(str.casefold, bots)
    ]
    if not found:
        raise PluginError(_not_there(name))
    if len(found) > 1:
        owners = " and ".join(folder.name for folder in found)
        raise PluginError(
            f"{name} may be that of {owners}; remove another of its bots, which takes all along"
        )
    gone = _hidden(found[0].parent)
    found[0].rename(gone)
    removal.remove(gone)
    return names[found[0]]


def _obtain(what: str, work: Path, fetch: partial[Wheel]) -> tuple[Wheel, set[str]]:
    """Give the wheel, in a folder nobody else writes to, and its extras that are wanted."""
    if what.endswith(".whl"):
        return _copy(Path(what), work), set()
    try:
        wanted = Requirement(what)
    except InvalidRequirement as error:
        raise PluginError(f"{what} is neither a wheel nor the name of one; {_ONLY_WHEELS}") from error
    if wanted.url or wanted.marker or what.endswith(_ARCHIVES):
        raise PluginError(f"{what} is neither a wheel nor a name with versions; {_ONLY_WHEELS}")
    _check_distribution(wanted.name)
    return fetch(wanted), wanted.extras


def _copy(source: Path, work: Path) -> Wheel:
    if not source.is_file():
        raise PluginError(f"there is no file {source}; give the path of a wheel, or the name of a package")
    copy = work / "own" / source.name
    copy.parent.mkdir()
    shutil.copyfile(source, copy)
    wheel = read_wheel(copy)
    _check_distribution(wheel.name)
    return wheel


def _fetch(work: Path, index: str | None, wanted: Requirement) -> Wheel:
    name = str(canonicalize_name(wanted.name))
    return read_wheel(pip.fetch(f"{name}{wanted.specifier}", work / "fetched" / name, index))


def _check_distribution(name: str) -> None:
    normal = str(canonicalize_name(name))
    if normal == OURS:
        raise PluginError(f"{OURS} is the arena itself; pip install --upgrade {OURS} brings another release")
    if (shelf_folder() / normal).exists():
        raise PluginError(f"{normal} is installed already; arena bots remove {normal} makes room for another")
    with suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version(normal)
        raise PluginError(
            f"{normal} {version} is in the arena's own environment; pip uninstall {normal} makes room"
        )


def _check_bots(wheel: Wheel) -> tuple[str, ...]:
    """See that a wheel has bots, by names that nobody has, and give the names.

    Raises:
        PluginError: it has none, or a name is bad or taken.
    """
    listing = make_listing(wheel.bots)
    if listing.problems:
        raise PluginError(f"{wheel.path.name} is refused: {listing.problems[0].reason}")
    if not listing.entries:
        raise PluginError(f"{wheel.path.name} has no bot: no entry point in the group {BOTS}")
    present = list_bots()
    taken = {entry.name.casefold(): entry for entry in present.entries.values()}
    taken |= {problem.entry.name.casefold(): problem.entry for problem in present.problems}
    for name in listing.entries:
        if owner := taken.get(name.casefold()):
            raise PluginError(
                f'{wheel.path.name} is refused: there is a bot "{owner.name}" from {owner.distribution}, '
                "and names are unique; uninstall that one first"
            )
    return tuple(listing.entries)


def _unpack(wheels: Sequence[Wheel], folder: Path) -> Installed:
    wheel, *others = wheels
    (folder / LIB).mkdir(parents=True)
    pip.unpack([wheel.path for wheel in wheels], folder / LIB)
    installed = Installed(
        distribution=wheel.distribution,
        version=wheel.version,
        wheel=wheel.path.name,
        sha256=wheel.sha256,
        installed_at=datetime.now(UTC).replace(microsecond=0),
        files=hash_files(folder / LIB),
        also={other.path.name: other.sha256 for other in others},
    )
    write_record(folder, installed)
    return installed


def _not_there(name: str) -> str:
    for entry in list_bots().entries.values():
        if entry.name.casefold() == name.casefold() or same_name(entry.distribution, name):
            return (
                f"{name} was not installed by arena bots install: it came with {entry.distribution} into the "
                f"arena's own environment, where pip uninstall {entry.distribution} removes it"
            )
    there = ", ".join(folder.name for folder in wheel_folders()) or "nothing"
    return f"no installed wheel has a bot or a name {name} (installed: {there})"


def _bots_of(folder: Path) -> list[str]:
    with suppress(PluginError):
        return [entry.name for entry in offers_of(folder)]
    return []


def _hidden(shelf: Path) -> Path:
    return shelf / f"{_HIDDEN}{uuid.uuid4().hex}"


def _sweep(shelf: Path) -> None:
    """Remove what killed processes left; a living one is done long before."""
    for folder in shelf.glob(f"{_HIDDEN}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                removal.remove(folder)
