"""Every key as a command of the palette, so that nothing depends on a key alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import App
    from textual.screen import Screen

_LEFT_OUT = frozenset({"command_palette", "back", "tab", "quit", "change_theme"})
"""Actions that the palette offers anyway, or that are useless within it."""


def key_commands(app: App[Any], screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Yield a command for each key that works on `screen` now, those of the focused widget first."""
    told: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        name = binding.action.partition("(")[0]
        if not active.enabled or binding.system or not binding.description or name in _LEFT_OUT:
            continue
        if binding.description not in told:
            told.add(binding.description)
            key = app.get_key_display(binding)
            run = partial(app.run_action, binding.action, active.node)
            yield SystemCommand(binding.description, f"as the key {key} does", run)
