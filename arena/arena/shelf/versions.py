"""Versions of one bot: finding the newest one, and the one that a spec names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from arena.errors import PluginError
from arena_plugins.entries import NUM_DIGITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packaging.version import Version

    from arena_plugins.entries import Entry

_DIGITS = re.compile(r"[0-9a-fA-F]{4,64}\Z")
"""The form of leading digits of a content hash; fewer than four would be ambiguous."""


def same_version(one: str, other: str) -> bool:
    """Return whether two texts are the same version by PEP 440: `0.1` is `0.1.0`, `1.0RC1` is `1.0rc1`."""
    # Imported here, because most processes compare no versions.
    from packaging.version import InvalidVersion, Version

    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


def order(version: str) -> Version:
    """Return the sort key of a version; a text that is not a PEP 440 version is older than any version."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version)
    except InvalidVersion:
        return Version("0.dev0")


def choose(found: Sequence[Entry], wanted: str) -> Entry:
    """Return the version that a spec names.

    Args:
        found: the versions of one bot, newest first, at least one.
        wanted: a version, at least four leading digits of a content hash, both as in `0.1.0+3f2a91c0`, or an
            empty text for the newest. A text that could be both is taken for a version.

    Raises:
        PluginError: no version matches, or several do.
    """
    if not wanted:
        return found[0]
    chosen = [entry for entry in found if same_version(entry.version, wanted)] or _by_digits(found, wanted)
    if len(chosen) == 1:
        return chosen[0]
    title = f"{found[0].name}@{wanted}"
    if chosen:
        ways = ", ".join(_way_to(entry, found) for entry in reversed(chosen))
        raise PluginError(f"{title} fits {len(chosen)} installed bots; write one of {ways}")
    known = list(dict.fromkeys(_shown(entry, found) for entry in reversed(found)))
    there = f"there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
    raise PluginError(f"{title} is not installed; {there}")


def has_digits(version: str, digest: str, wanted: str) -> bool:
    """Return whether `wanted` starts a content hash, or is a version plus such a start: `0.1.0+3f2a91c0`."""
    before, plus, digits = wanted.rpartition("+")
    if not _DIGITS.match(digits):
        return False
    return digest.startswith(digits.lower()) and (not plus or same_version(version, before))


def _by_digits(found: Sequence[Entry], wanted: str) -> list[Entry]:
    return [entry for entry in found if has_digits(entry.version, entry.digest, wanted)]


def _shown(entry: Entry, found: Sequence[Entry]) -> str:
    """Return the version, with leading digits of its content hash if another entry has the same version."""
    shared = sum(same_version(entry.version, other.version) for other in found) > 1
    return f"{entry.version}+{entry.digest[:NUM_DIGITS]}" if shared and entry.digest else entry.version


def _way_to(entry: Entry, found: Sequence[Entry]) -> str:
    if entry.digest:
        return f"{entry.address} ({entry.version})"
    # The version alone does not identify it, but it is the newest of equal versions, so the name does.
    address = entry.name if entry == found[0] else entry.address
    return f"{address} ({entry.version}, in the arena's environment)"
