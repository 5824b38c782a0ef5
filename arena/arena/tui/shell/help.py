"""Help: the purpose of the focused widget, and every key that works here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static
from typing_extensions import override

from arena.tui.look import app_of
from arena.tui.shell.chrome import HasHeader
from arena.tui.text import safe

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.screen import Screen

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
