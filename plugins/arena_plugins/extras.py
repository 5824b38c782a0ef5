"""Reports missing optional modules, together with the command that installs them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from arena_plugins.errors import PluginError


def require_modules(what: str, requirement: str, *modules: str) -> None:
    """Check, without importing them, that optional modules are installed.

    Args:
        what: the feature that needs them, in the words of its users.
        requirement: the requirement for pip that installs all of them, as in `bot-arena[train-keras]`.
        *modules: names of top-level modules.

    Raises:
        PluginError: a module is not installed; the text names it and the command that installs it.
    """
    for module in modules:
        if not _is_installed(module):
            raise PluginError(f"{what} needs {module}: pip install '{requirement}'")


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None  # pyright: ignore[reportUnnecessaryComparison] - None blocks an import
    found = find_spec(module)
    # A spec without an origin is a namespace package: any folder of that name on the path.
    return found is not None and found.origin is not None
