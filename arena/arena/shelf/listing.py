"""Lists all bots that can be entered, and advises users who name a file where a bot's name belongs."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arena.errors import PluginError
from arena.shelf.records import LIB, Installed, hash_files, read_address, read_record, title_of, wheel_folders
from arena.shelf.versions import choose, order, same_version
from arena_plugins.entries import BOTS, Entry, Listing, Problem, make_listing, offers, pick
from arena_plugins.program import CMD, EXEC
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packaging.version import Version

    _Offer = tuple[Entry, datetime]
    """A bot, and the time of its installation."""

_LAST = datetime.max.replace(tzinfo=UTC)
"""The installation time assumed for a bot of the arena's environment, which is the current one."""


def list_bots() -> Listing:
    """List every bot from metadata alone; a name declared by two distributions is a problem.

    Several versions of one distribution are versions of one bot, including a version in the arena's
    environment. The newest is the greatest by PEP 440, in which a pre-release is older than its release and
    newer than the previous release. Among equal versions the one in the environment is newest, then the one
    installed last.
    """
    found: list[_Offer] = [(entry, _LAST) for entry in offers(BOTS)]
    broken: list[Problem] = []
    for folder in wheel_folders():
        try:
            installed = read_record(folder)
            found += [(entry, installed.installed_at) for entry in offers_of(folder, installed)]
        except PluginError as error:
            broken.append(Problem(read_address(folder), str(error)))
    newest: list[Entry] = []
    older: dict[str, tuple[Entry, ...]] = {}
    for same in _by_name(found):
        if not _are_versions(same):
            newest += [entry for entry, _ in same]
            continue
        # Most bots have one version, and reading a version needs a library.
        by_age = sorted(same, key=_age, reverse=True) if len(same) > 1 else same
        first, *others = (entry for entry, _ in by_age)
        newest.append(first)
        older[first.name] = tuple(others)
    listing = make_listing(newest)
    older = {name: found for name, found in older.items() if name in listing.entries and found}
    return Listing(listing.entries, (*listing.problems, *broken), older)


def find_bot(text: str) -> Entry:
    """Return the entry point of a bot.

    Args:
        text: its name, or `name@version`.

    Raises:
        PluginError: no bot, or more than one, has that name and version.
    """
    return read_bot(list_bots(), text)[1]


def read_bot(listing: Listing, text: str) -> tuple[Spec, Entry]:
    """Parse a spec; return it with the entry point that it names.

    Raises:
        PluginError: it is malformed, or names no bot; if a file has that name, the text says how to enter it.
    """
    try:
        spec = Spec.parse(text)
        return spec, pick_bot(listing, spec)
    except PluginError as error:
        if way := way_in(text):
            raise PluginError(way) from error
        raise


def pick_bot(listing: Listing, spec: Spec) -> Entry:
    """Return the entry point that a spec names.

    Raises:
        PluginError: no bot or more than one has that name and version, or the newest version is damaged.
    """
    newest = pick(listing, BOTS, spec.name)
    for damaged, reason in listing.problems:
        if same_name(damaged.distribution, newest.distribution) and (
            same_version(damaged.version, spec.version)
            if spec.version
            else order(damaged.version) > order(newest.version)
        ):
            raise PluginError(reason)
    return choose(listing.versions_of(spec.name), spec.version)


def offers_of(folder: Path, installed: Installed) -> list[Entry]:
    """Return the bots in a folder of an installed wheel, without those of wheels that were unpacked with it.

    Raises:
        PluginError: there is no bot, or there are several although one was renamed.
    """
    found = list(_offers_of(folder, installed))
    if not found or (installed.bot and len(found) > 1):
        raise _changed(folder, installed)
    return found


def verify(entry: Entry) -> Installed:
    """Check that the files of an installed bot are unmodified; return the record of its installation.

    Raises:
        PluginError: they were modified.
    """
    folder = Path(entry.folder).parent
    installed = read_record(folder)
    if hash_files(folder / LIB) != installed.files:
        raise _changed(folder, installed)
    return installed


def same_name(one: str, other: str) -> bool:
    """Return whether two names denote the same distribution."""
    return _normal(one) == _normal(other)


def _offers_of(folder: Path, installed: Installed) -> Iterator[Entry]:
    lib = str(folder / LIB)
    for entry in offers(BOTS, [lib]):
        if same_name(entry.distribution, installed.distribution):
            yield entry._replace(name=installed.bot or entry.name, folder=lib, digest=installed.sha256)


def _by_name(found: Sequence[_Offer]) -> list[list[_Offer]]:
    by_name: dict[str, list[_Offer]] = {}
    for entry, installed_at in dict(found).items():
        by_name.setdefault(entry.name.casefold(), []).append((entry, installed_at))
    return list(by_name.values())


def _are_versions(same: Sequence[_Offer]) -> bool:
    """Return whether bots with one name, ignoring case, are versions of one bot: at most one per location."""
    bots = {(entry.name, _normal(entry.distribution)) for entry, _ in same}
    return len(bots) == 1 and len({entry.folder for entry, _ in same}) == len(same)


def _age(offer: _Offer) -> tuple[Version, datetime]:
    entry, installed_at = offer
    # The time may lack a zone if the record was edited by hand.
    return order(entry.version), installed_at if installed_at.tzinfo else installed_at.replace(tzinfo=UTC)


def _changed(folder: Path, installed: Installed) -> PluginError:
    return PluginError(
        f"the files of {installed.distribution} {installed.version} in {folder} are no longer those of its "
        f"wheel; arena bots remove {title_of(folder)}, then install it again"
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


_FILE: Final = "file"
_OPTIONS: Final = {"python": _FILE, "kaggle": _FILE, EXEC: CMD, "gomocup": CMD}
"""For each adapter, the option that names what it runs."""
_ARCHIVES: Final = (".tar.gz", ".tgz")
_HOOK: Final = b"make_bot"
_ENGINE: Final = "pbrain"
"""Name prefix of Gomocup engines."""
_HEAD: Final = 1 << 20
"""Bytes at the beginning of a file in which the hook is searched for."""


def way_in(text: str) -> str:
    """Describe how to enter the file or folder that `text` names; empty if it names neither."""
    adapter, colon, rest = text.partition(":")
    if colon and adapter in _OPTIONS and _exists(rest):
        return f"{text} names a file without its option; write {_spec(adapter, rest)}"
    if not _exists(text):
        return f"there is no file {text}" if os.sep in adapter else ""
    path = Path(text)
    if path.is_dir():
        return _way_into(path, text)
    if path.suffix == ".whl":
        return f"{text} is a wheel; run arena bots install {text}"
    return f"{text} is a file; write {_spec(_adapter_of(path), text)}"


def _way_into(path: Path, text: str) -> str:
    if (path / "pyproject.toml").is_file():
        return f"{text} is a package; run pip install {text}, and write the name of its bot"
    if (path / "main.py").is_file():
        return f"{text} is a folder; write {_spec(_adapter_of(path / 'main.py'), text)}"
    return f"{text} is a folder without a main.py; name the program in it, as python:file={path / 'bot.py'}"


def _adapter_of(path: Path) -> str:
    if path.name.startswith(_ENGINE):
        return "gomocup"
    if path.name.endswith(_ARCHIVES):
        return "kaggle"
    if path.suffix != ".py":
        return EXEC
    with path.open("rb") as file:
        return "python" if _HOOK in file.read(_HEAD) else "kaggle"


def _spec(adapter: str, path: str) -> str:
    if _OPTIONS[adapter] == CMD and os.sep not in path:
        path = f".{os.sep}{path}"
    return str(Spec(adapter, {_OPTIONS[adapter]: path}))


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False
