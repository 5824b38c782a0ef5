"""The global keys, every key as a command of the palette, and the detection of keys that are bound twice."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from textual.app import App
    from textual.screen import Screen

TAB_KEYS = "12345678"

APP_BINDINGS: list[BindingType] = [
    *(Binding(key, f"tab({key})", f"Screen {key}", show=False, id=f"screen.{key}") for key in TAB_KEYS),
    Binding("space", "freeze", "Freeze", id="app.freeze"),
    Binding("slash", "filter", "Filter", key_display="/", id="app.filter"),
    Binding("ctrl+p", "command_palette", "Commands", key_display="^p", id="app.palette"),
    Binding("question_mark,f1", "help", "Help", key_display="?", id="app.help"),
    Binding("q", "quit", "Quit", id="app.quit"),
    Binding("escape", "back", "Back", show=False, id="app.back"),
    Binding("m", "maximise", "Maximise", show=False, id="app.maximise"),
    Binding("r", "reload", "Refresh", show=False, id="app.refresh"),
    Binding("T", "change_theme", "Theme", show=False, id="app.theme"),
    Binding("y", "copy", "Copy", show=False, id="app.copy"),
    Binding("E", "open('export')", "Export", show=False, id="app.export"),
    Binding("p", "play", "Play", show=False, id="app.play"),
]
"""Global keys; those with `show` may appear in the footer."""
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


def keymap_clashes(keymap: Mapping[str, str], bindings: Iterable[BindingType]) -> dict[str, list[str]]:
    """Return the keys that a keymap binds to more than one of `bindings`, with the ids of these.

    Textual reports only few of them: it drops a binding whose key is taken by another one.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for binding in Binding.make_bindings(bindings):
        name = binding.id or binding.action
        for key in keymap.get(name, binding.key).split(","):
            if name not in found[key]:
                found[key].append(name)
    return {key: names for key, names in found.items() if len(names) > 1}


def clashes(screen: Screen[Any], narrowed: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the keys that more than one of the active bindings has, with the ids of these.

    Bindings of Textual have no id and do not count, nor do those in `narrowed`, which hide a global one on
    purpose (Play's digits, Replay's `space` and `p`).
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    chain: list[tuple[Any, Any]] = screen._modal_binding_chain  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # no public way tells all
    for _, bindings in chain:
        for key, of_key in bindings.key_to_bindings.items():
            found[key] += [b.id for b in of_key if b.id is not None and b.id not in narrowed]
    return {key: ids for key, ids in found.items() if len(ids) > 1}
