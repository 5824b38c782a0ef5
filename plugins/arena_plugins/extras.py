"""What is not installed: one sentence with the command that installs it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from arena_plugins.errors import PluginError


def require_modules(what: str, requirement: str, *modules: str) -> None:
    """Check, without importing them, that optional modules are installed.

    Args:
        what: what needs them, as users know it.
        requirement: what pip installs to bring all of them, as in `bot-arena[train-keras]`.
        *modules: top-level modules.

    Raises:
        PluginError: one is not installed; the message names it and the command that installs it.
    """
    for module in modules:
        if not _is_installed(module):
            raise PluginError(f"{what} needs {module}: pip install '{requirement}'")


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None  # pyright: ignore[reportUnnecessaryComparison] - None blocks an import
    found = find_spec(module)
    # Without an origin it is a namespace: a folder that happens to have this name.
    return found is not None and found.origin is not None
