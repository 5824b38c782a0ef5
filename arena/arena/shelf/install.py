"""Installs and removes wheels atomically, without executing any of their code."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import shutil
import subprocess
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
from arena.errors import ArenaError, PluginError
from arena.own_python import interpreter, own_python
from arena.shelf.listing import list_bots, offers_of, same_name
from arena.shelf.records import (
    LIB,
    Installed,
    discard,
    distribution_of,
    hash_files,
    read_address,
    read_record,
    shelf_folder,
    version_folder,
    wheel_folders,
    write_record,
)
from arena.shelf.versions import choose, order
from arena.shelf.wheel_files import MAX_BYTES, OURS, Wheel, check_sum, lacking, read_wheel
from arena_plugins.entries import BOTS, NUM_DIGITS, make_listing, offers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena_plugins.entries import Entry

_HIDDEN = ".work-"
"""Name prefix of folders that are being installed or removed."""
_STALE_S = 86_400.0
"""Seconds after which such a folder must have been left by a killed process."""
_ARCHIVES = (".gz", ".zip", ".bz2", ".xz")
"""Suffixes of source distributions, whose file names could also be package names."""
_ONLY_WHEELS = (
    "only wheels (.whl) are installed, because building anything else would execute its code here; "
    "python -m build --wheel builds the wheel of a project"
)


class Receipt(NamedTuple):
    """The result of an installation."""

    installed: Installed
    bots: tuple[str, ...]
    """The names of the installed bots."""


def install(
    what: str, *, sha256: str | None = None, index: str | None = None, name: str | None = None
) -> Receipt:
    """Install a wheel together with the requirements that the arena lacks, completely or not at all.

    Other installed versions of its distribution stay.

    Args:
        what: a file, or a requirement such as `my-bot>=1.2`, which pip fetches.
        sha256: the hash the wheel must have, in hex.
        index: URL of the package index; None for the one pip is configured to use.
        name: the arena's name for its only bot; None for the name in the wheel.

    Raises:
        PluginError: it is refused: not a wheel, too large, without a bot, another hash, a name that is taken,
            or already installed.
        ArenaError: pip cannot fetch or unpack it.
        OSError: it cannot be written, or another process has installed it meanwhile.
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
        _check_absent(wheel)
        bots = _check_bots(wheel, name)
        wheels = [wheel, *lacking(wheel, extras, fetch)]
        check_sum(wheel.path.name, [each.extent for each in wheels])
        installed = _unpack(wheels, work / "done", name or "")
        _shelve(work / "done", version_folder(wheel.name, wheel.version, wheel.sha256))
    finally:
        removal.remove(work)
    return Receipt(installed, bots)


def remove(text: str) -> list[str]:
    """Remove the wheel that a bot or a distribution belongs to; return the names of the removed bots.

    Args:
        text: the name of a bot or of a distribution, with `@` and a version if several are installed.

    Raises:
        PluginError: no installed wheel matches, or several do.
    """
    name, _, version = text.partition("@")
    found = {folder: bots for folder, bots in _bots_by_folder().items() if _is_called(folder, bots, name)}
    if not found:
        raise PluginError(_not_there(name))
    entries = {_described(folder, name): folder for folder in found}
    owners = sorted({distribution_of(folder) for folder in found})
    if len(owners) > 1:
        raise PluginError(
            f"{name} matches several packages ({', '.join(owners)}); name the package, as in "
            f"arena bots remove {owners[0]}"
        )
    if len(entries) > 1 and not version:
        ways = ", ".join(f"{entry.address} ({entry.version})" for entry in entries)
        raise PluginError(f"{name} is installed in {len(entries)} versions; remove one of {ways}")
    newest_first = sorted(entries, key=lambda entry: order(entry.version), reverse=True)
    folder = entries[choose(newest_first, version)]
    gone = _hidden(shelf_folder())
    discard(folder, gone)
    removal.remove(gone)
    return found[folder]


def _obtain(what: str, work: Path, fetch: partial[Wheel]) -> tuple[Wheel, set[str]]:
    """Return the wheel, in a folder that no other process writes to, and its requested extras."""
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
    if source.stat().st_size > MAX_BYTES:
        raise PluginError(f"{source.name} is refused: it is larger than {MAX_BYTES} bytes")
    copy = work / "own" / source.name
    copy.parent.mkdir()
    shutil.copyfile(source, copy)
    wheel = read_wheel(copy)
    _check_distribution(wheel.name)
    return wheel


def _fetch(work: Path, index: str | None, wanted: Requirement) -> Wheel:
    name = str(canonicalize_name(wanted.name))
    return read_wheel(fetch(f"{name}{wanted.specifier}", work / "fetched" / name, index))


def _check_distribution(name: str) -> None:
    """Refuse a distribution that is the arena itself or a library of its environment.

    Raises:
        PluginError: it is one.
    """
    normal = str(canonicalize_name(name))
    if normal == OURS:
        raise PluginError(f"{OURS} is the arena itself; pip install --upgrade {OURS} brings another release")
    # A bot of the environment may be installed in one more version; a library may not.
    if any(same_name(entry.distribution, normal) for entry in offers(BOTS)):
        return
    with suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version(normal)
        raise PluginError(
            f"{normal} {version} is in the arena's own environment; pip uninstall {normal} makes room"
        )


def _check_absent(wheel: Wheel) -> None:
    """Check that this wheel is not installed yet.

    Raises:
        PluginError: it is.
    """
    for folder, bots in _bots_by_folder().items():
        if distribution_of(folder) == wheel.name and bots and read_record(folder).sha256 == wheel.sha256:
            raise PluginError(
                f"{wheel.path.name} is installed already: {', '.join(bots)} "
                f"({wheel.distribution} {wheel.version}, SHA-256 {wheel.sha256[:NUM_DIGITS]}…)"
            )


def _check_bots(wheel: Wheel, name: str | None) -> tuple[str, ...]:
    """Check that a wheel has bots, with names that no other distribution uses; return the names.

    Raises:
        PluginError: it has no bot, a name is malformed or taken, or one name is given for several bots.
    """
    offered = wheel.bots
    if name is not None:
        if len(offered) > 1:
            names = ", ".join(entry.name for entry in offered)
            raise PluginError(f"--as {name} names one bot, and {wheel.path.name} has several: {names}")
        offered = tuple(entry._replace(name=name) for entry in offered)
    listing = make_listing(offered)
    if listing.problems:
        raise PluginError(f"{wheel.path.name} is refused: {listing.problems[0].reason}")
    if not listing.entries:
        raise PluginError(f"{wheel.path.name} has no bot: no entry point in the group {BOTS}")
    present = list_bots()
    others = [*present.entries.values(), *(problem.entry for problem in present.problems)]
    for bot, owner in itertools.product(listing.entries, others):
        is_version = bot == owner.name and same_name(owner.distribution, wheel.name)
        if bot.casefold() == owner.name.casefold() and not is_version:
            raise PluginError(
                f'{wheel.path.name} is refused: there is a bot "{owner.name}" from {owner.distribution}, '
                "and names are unique; give this one another name with --as NAME"
            )
    return tuple(listing.entries)


def _shelve(done: Path, folder: Path) -> None:
    """Move an unpacked wheel to its final place.

    Raises:
        OSError: another process has done so meanwhile.
    """
    folder.parent.mkdir(exist_ok=True)
    try:
        done.rename(folder)
    except OSError:
        with suppress(OSError):
            folder.parent.rmdir()  # unless it holds other versions
        raise


def _unpack(wheels: Sequence[Wheel], folder: Path, name: str) -> Installed:
    wheel, *others = wheels
    (folder / LIB).mkdir(parents=True)
    unpack([wheel.path for wheel in wheels], folder / LIB)
    installed = Installed(
        distribution=wheel.distribution,
        version=wheel.version,
        wheel=wheel.path.name,
        sha256=wheel.sha256,
        installed_at=datetime.now(UTC),
        files=hash_files(folder / LIB),
        also={other.path.name: other.sha256 for other in others},
        bot=name,
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
    there = ", ".join(dict.fromkeys(map(distribution_of, wheel_folders()))) or "nothing"
    return f"no installed wheel has a bot or a name {name} (installed: {there})"


def _bots_by_folder() -> dict[Path, list[str]]:
    """Return the names of the bots in each folder of installed wheels; empty for a damaged one."""
    found: dict[Path, list[str]] = {}
    for folder in wheel_folders():
        found[folder] = []
        with suppress(PluginError):
            found[folder] += [entry.name for entry in offers_of(folder, read_record(folder))]
    return found


def _is_called(folder: Path, bots: Sequence[str], name: str) -> bool:
    return same_name(distribution_of(folder), name) or name.casefold() in map(str.casefold, bots)


def _described(folder: Path, name: str) -> Entry:
    """Return an entry with the version and digest of a folder, by its record or, failing that, its path."""
    entry = read_address(folder)._replace(name=name)
    with suppress(PluginError):
        installed = read_record(folder)
        entry = entry._replace(version=installed.version, digest=installed.sha256)
    return entry


def _hidden(shelf: Path) -> Path:
    return shelf / f"{_HIDDEN}{uuid.uuid4().hex}"


def _sweep(shelf: Path) -> None:
    """Remove leftovers of killed processes; a running installation is finished long before `_STALE_S`."""
    for folder in shelf.glob(f"{_HIDDEN}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                removal.remove(folder)


def fetch(requirement: str, folder: Path, index: str | None) -> Path:
    """Fetch the best wheel for a requirement into a new folder.

    Args:
        requirement: name and versions, without anything else.
        folder: the folder, which is created.
        index: URL of the package index; None for the one pip is configured to use.

    Raises:
        ArenaError: there is no such wheel, or it cannot be fetched.
    """
    folder.mkdir(parents=True)
    arguments = ["download", "--no-deps", "--only-binary=:all:", f"--dest={folder}"]
    arguments += [f"--index-url={index}"] if index else []
    _run_pip(*arguments, "--", requirement)
    (found,) = folder.iterdir()
    return found


def unpack(wheels: Iterable[Path], folder: Path) -> None:
    """Unpack wheels into one folder, without their requirements and without contacting an index.

    Raises:
        ArenaError: a wheel is damaged, or is for another Python or machine.
    """
    files = [str(wheel) for wheel in wheels]
    _run_pip("install", "--isolated", "--no-index", "--no-deps", f"--target={folder}", "--", *files)


def _run_pip(*arguments: str) -> None:
    if importlib.util.find_spec("pip") is None:
        raise ArenaError(f"installing needs pip, which {interpreter()} lacks; {interpreter()} -m ensurepip")
    command = own_python("-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check")
    done = subprocess.run(  # noqa: S603 - the names were checked, so none can be taken for an option
        [*command, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        last = lines[-1].removeprefix("ERROR: ") if lines else f"it ended with {done.returncode}"
        raise ArenaError(f"pip {arguments[0]}: {last}")
