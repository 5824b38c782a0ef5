"""All bots that can be entered: those of the arena's own environment and those on the shelf."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from arena.errors import PluginError
from arena.shelf.records import LIB, Installed, hash_files, read_record, wheel_folders
from arena_plugins.entries import BOTS, Entry, Listing, Problem, make_listing, offers, pick

if TYPE_CHECKING:
    from collections.abc import Iterator


def list_bots() -> Listing:
    """List every bot from metadata alone; a name that both places offer is a problem."""
    shelved: list[Entry] = []
    broken: list[Problem] = []
    for folder in wheel_folders():
        try:
            shelved += offers_of(folder)
        except PluginError as error:
            broken.append(Problem(Entry(folder.name, "", folder.name, "", str(folder / LIB)), str(error)))
    listing = make_listing([*offers(BOTS), *shelved])
    return listing._replace(problems=(*listing.problems, *broken))


def find_bot(name: str) -> Entry:
    """Give the entry point of a bot.

    Raises:
        PluginError: there is none of that name, or more than one.
    """
    return pick(list_bots(), BOTS, name)


def offers_of(folder: Path) -> list[Entry]:
    """Give the bots of a folder of the shelf; those of wheels that were unpacked with its own do not count.

    Raises:
        PluginError: it has none, or what is installed there cannot be told.
    """
    installed = read_record(folder)
    found = list(_offers_of(folder, installed))
    if not found:
        raise _changed(folder, installed)
    return found


def verify(entry: Entry) -> Installed:
    """See that the files of a bot of the shelf are those that were installed; give what they came from.

    Raises:
        PluginError: they are not.
    """
    folder = Path(entry.folder).parent
    installed = read_record(folder)
    if hash_files(folder / LIB) != installed.files:
        raise _changed(folder, installed)
    return installed


def same_name(one: str, other: str) -> bool:
    """Say whether two names are one distribution's."""
    return _normal(one) == _normal(other)


def _offers_of(folder: Path, installed: Installed) -> Iterator[Entry]:
    lib = str(folder / LIB)
    for entry in offers(BOTS, [lib]):
        if same_name(entry.distribution, installed.distribution):
            yield entry._replace(folder=lib)


def _changed(folder: Path, installed: Installed) -> PluginError:
    return PluginError(
        f"the files of {installed.distribution} {installed.version} in {folder} are no longer those of its "
        f"wheel; arena bots remove {folder.name}, then install it again"
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()
