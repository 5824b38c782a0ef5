"""Measures how finely the packages are split: run this file to list modules with exactly one importer."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from source_tree import Source, import_graph, room_sources

if TYPE_CHECKING:
    from collections.abc import Mapping


def lone_importers(sources: Mapping[str, Source]) -> tuple[dict[str, str], int]:
    """Return the importer of each module that has exactly one, and the number of all modules.

    Imports in functions and under `TYPE_CHECKING` count. A package imports, but is not counted itself.
    """
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module, targets in import_graph(sources).items():
        for target in targets - {module}:
            importers[target].add(module)
    modules = [name for name, source in sources.items() if source.path.name != "__init__.py"]
    alone = {name: next(iter(importers[name])) for name in modules if len(importers[name]) == 1}
    return alone, len(modules)


def main() -> None:
    """Print the modules with one importer, the shortest first, and their share."""
    sources = room_sources()
    alone, num_modules = lone_importers(sources)
    lengths = {name: len(sources[name].path.read_text(encoding="utf-8").splitlines()) for name in alone}
    for name in sorted(alone, key=lambda name: lengths[name]):
        sys.stdout.write(f"{lengths[name]:4} {name} <- {alone[name]}\n")
    share = len(alone) / num_modules
    sys.stdout.write(f"{len(alone)} of {num_modules} modules ({share:.1%}) have exactly one importer\n")


if __name__ == "__main__":
    main()
