"""Versions of one bot: which one is the newest, and which one a spec means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from arena.errors import PluginError
from arena_plugins.entries import NUM_DIGITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.entries import Entry

_DIGITS = re.compile(r"[0-9a-fA-F]{4,64}\Z")
"""What may stand for a content hash; fewer digits say too little."""
_OLDEST = Version("0.dev0")


def same_version(one: str, other: str) -> bool:
    """Say whether two texts are one version by PEP 440: `0.1` is `0.1.0`, `1.0RC1` is `1.0rc1`."""
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


def order(version: str) -> Version:
    """Return what versions are compared by; a text that is no version of PEP 440 is older than any."""
    try:
        return Version(version)
    except InvalidVersion:
        return _OLDEST


def choose(found: Sequence[Entry], wanted: str) -> Entry:
    """Return the one of some versions that a spec means.

    Args:
        found: the versions of one bot, newest first, at least one.
        wanted: a version, digits of a content hash (at least four), both as in `0.1.0+3f2a91c0`, or
            nothing for the newest. A text that is both a version and digits is taken for the version.

    Raises:
        PluginError: no version is meant, or several are.
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
    """Say whether `wanted` is the beginning of a content hash, or a version with such: `0.1.0+3f2a91c0`."""
    before, plus, digits = wanted.rpartition("+")
    if not _DIGITS.match(digits):
        return False
    return digest.startswith(digits.lower()) and (not plus or same_version(version, before))


def _by_digits(found: Sequence[Entry], wanted: str) -> list[Entry]:
    return [entry for entry in found if has_digits(entry.version, entry.digest, wanted)]


def _shown(entry: Entry, found: Sequence[Entry]) -> str:
    """Return the version, with digits of its content where another one has the same version."""
    shared = sum(same_version(entry.version, other.version) for other in found) > 1
    return f"{entry.version}+{entry.digest[:NUM_DIGITS]}" if shared and entry.digest else entry.version


def _way_to(entry: Entry, found: Sequence[Entry]) -> str:
    if entry.digest:
        return f"{entry.address} ({entry.version})"
    # Its version alone does not find it, but of equal versions it is the newest.
    address = entry.name if entry == found[0] else entry.address
    return f"{address} ({entry.version}, in the arena's environment)"
