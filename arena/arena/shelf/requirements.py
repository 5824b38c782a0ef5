"""Resolves a wheel's requirements that the arena lacks, one by one, because pip would build from URLs."""

from __future__ import annotations

import importlib.metadata
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from packaging.markers import UndefinedComparison
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from arena.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arena.shelf.wheel_files import Wheel

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
