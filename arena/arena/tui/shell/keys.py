"""The global keys, palette commands for all keys, a check for keys bound twice, and the help page."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static
from typing_extensions import override

from arena.tui.look import app_of
from arena.tui.shell.chrome import HasHeader
from arena.tui.text import safe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from textual.app import App, ComposeResult
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
"""Actions that the palette offers in another way, or that are useless within it."""


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

    Textual reports only a few of them: it drops a binding whose key is taken by another one.
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


_KEYS = 14
"""Width of the column of keys, in cells."""


class HelpScreen(ModalScreen[None]):
    """A page over the screen; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "dismiss", "Close", id="help.close")
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 76; max-width: 100%; height: auto; max-height: 100%;
        background: $arena-surface; color: $arena-text; border: heavy $arena-focus; padding: 0 1;
    }
    HelpScreen Static { width: 100%; height: auto; }
    """

    def __init__(self, text: Text) -> None:
        super().__init__()
        self.text = text
        """The text that is shown."""

    @override
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self.text)


def help_text(screen: Screen[Any]) -> Text:
    """Return the help of the focused widget and of the screen, and all keys that work now."""
    text = Text()
    nodes = [node for node in (screen.focused, screen) if node is not None]
    # A field of a form has a help text of its own, other widgets have that of their class.
    about = [getattr(node, "help_text", None) or getattr(node, "HELP", None) for node in nodes]
    for paragraph in about:
        if paragraph:
            text.append(f"{safe(paragraph)}\n\n")
    app = app_of(screen)
    tabs = app.tabs() if isinstance(app, HasHeader) else ()
    names = {f"tab({key})": f"Screen {label}" for key, label, _, _ in tabs}
    by_action: dict[str, tuple[list[str], str]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and not binding.system:
            description = names.get(binding.action, binding.description)
            keys, _ = by_action.setdefault(binding.action, ([], description))
            shown = app.get_key_display(binding)
            if shown not in keys:
                keys.append(shown)
    for keys, description in by_action.values():
        text.append(f"{' '.join(keys):<{_KEYS}} ", style="bold")
        text.append(f"{safe(description)}\n")
    return text
