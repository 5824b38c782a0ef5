"""Reads wheel files in place, within limits, and resolves the requirements that the arena lacks."""

from __future__ import annotations

import importlib.metadata
import re
import zipfile
import zlib
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from packaging.markers import UndefinedComparison
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from arena.content.archives import Bounds, Extent, check_zip
from arena.errors import PluginError
from arena.shelf.records import hash_file
from arena_plugins.entries import BOTS, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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


OURS = "bot-arena"


class _Need(NamedTuple):
    owner: str
    requirement: Requirement


def lacking(wheel: Wheel, extras: Iterable[str], fetch: Callable[[Requirement], Wheel]) -> list[Wheel]:
    """Fetch everything that a wheel requires, recursively, except what the arena's environment has.

    There is no backtracking: the first version that is fetched stays, even if a later requirement excludes
    it.

    Args:
        wheel: the wheel.
        extras: its extras to include.
        fetch: returns the wheel that satisfies a requirement.

    Raises:
        PluginError: a requirement is a URL, conflicts with an earlier one, or needs another arena release.
    """
    chosen: dict[str, Wheel] = {wheel.name: wheel}
    waiting = deque(_needs(wheel.distribution, wheel.requires, extras))
    known: set[str] = set()
    while waiting:
        need = waiting.popleft()
        if str(need.requirement) not in known:
            known.add(str(need.requirement))
            waiting += _meet(need, chosen, fetch)
    return [found for found in chosen.values() if found is not wheel]


def _meet(need: _Need, chosen: dict[str, Wheel], fetch: Callable[[Requirement], Wheel]) -> Iterator[_Need]:
    """Satisfy one requirement; yield the requirements that it brings."""
    wanted = need.requirement
    name = str(canonicalize_name(wanted.name))
    if wanted.url:
        raise PluginError(
            f"{need.owner} needs {wanted.name} from {wanted.url}, an address that could deliver anything; "
            "only wheels by name are fetched"
        )
    if name not in chosen:
        present = _present(name)
        if present is not None and wanted.specifier.contains(present.version, prereleases=True):
            return _needs(name, present.requires or (), wanted.extras, extras_only=True)
        if name == OURS:
            has = "no release" if present is None else f"release {present.version}"
            raise PluginError(
                f"{need.owner} needs {wanted}, and this is {has} of it; upgrade the arena first"
            )
        chosen[name] = fetch(wanted)
    found = chosen[name]
    if not wanted.specifier.contains(found.version, prereleases=True):
        raise PluginError(
            f"{need.owner} needs {wanted}, which does not go with {found.distribution} {found.version}; "
            "ask its author, or install it with pip into the arena's environment"
        )
    return _needs(found.distribution, found.requires, wanted.extras)


def _present(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _needs(
    owner: str, lines: Iterable[str], extras: Iterable[str], *, extras_only: bool = False
) -> Iterator[_Need]:
    """Yield the requirements that apply in this environment; with `extras_only`, only those of extras."""
    for line in lines:
        try:
            wanted = Requirement(line)
            marker, wanted.marker = wanted.marker, None
            if marker is None or marker.evaluate({"extra": ""}):
                holds = not extras_only
            else:
                holds = any(marker.evaluate({"extra": extra}) for extra in extras)
        except (InvalidRequirement, UndefinedComparison) as error:
            raise PluginError(
                f"{owner} needs {line!r}, which is not a valid requirement; ask its author"
            ) from error
        if holds:
            yield _Need(owner, wanted)


MAX_BYTES = 2 << 30
"""Maximum number of bytes of all files, compressed as well as uncompressed."""
MAX_FILES = 20_000
"""Maximum number of files and folders."""


def check_bounds(path: Path) -> Extent:
    """Read a whole wheel without writing anything, and refuse one that must not be unpacked.

    Raises:
        PluginError: see `check_zip`.
        OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error: it is damaged.
    """
    return check_zip(path, Bounds(MAX_BYTES, MAX_FILES))


def check_sum(wheels: str, extents: list[Extent]) -> None:
    """Check that wheels which are unpacked into one folder respect the limits together.

    Raises:
        PluginError: a limit is exceeded.
    """
    num_bytes, num_files = (sum(values) for values in zip(*extents, strict=True))
    if num_bytes > MAX_BYTES or num_files > MAX_FILES:
        raise PluginError(
            f"{wheels} with all it needs is refused: {num_bytes} bytes in {num_files} files and folders; "
            f"at most {MAX_BYTES} bytes in {MAX_FILES} are installed"
        )
