"""An app with the look of the dashboard: its themes, glyphs and motion, without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import App
from textual.keys import key_to_character
from textual.scrollbar import ScrollBar, ScrollBarRender
from typing_extensions import override

from arena.tui.glyphs import choose_glyphs
from arena.tui.themes import THEMES, arena_variables

if TYPE_CHECKING:
    from textual.binding import Binding
    from textual.message_pump import MessagePump
    from textual.screen import Screen

    from arena.tui.glyphs import GlyphName, Glyphs

DEFAULT_THEME = "textual-dark"


class AsciiBars(ScrollBarRender):
    """Scroll bars with whole cells at their ends, which need no glyph but the blank."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class LookApp(App[None]):
    """The base class of the dashboard, and the host in which its widgets are tested."""

    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [  # pyright: ignore[reportIncompatibleVariableOverride] # meant to be overridden
        (0, "-narrow"),
        (40, "-single"),
        (60, "-pair"),
        (80, "-usual"),
        (120, "-wide"),
    ]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [  # pyright: ignore[reportIncompatibleVariableOverride] # meant to be overridden
        (0, "-shallow"),
        (12, "-flat"),
        (16, "-low"),
        (24, "-reference"),
        (40, "-tall"),
    ]
    CSS = """
    /* What Textual draws with other glyphs than ASCII, once only that may be shown. */
    App.-ascii {
        CommandPalette #--input, CommandPalette #--input.--list-visible { border: none; height: 3; }
        CommandPalette SearchIcon, CommandPalette LoadingIndicator { display: none; }
        CommandList, CommandList:focus, CommandList.--visible { border: none; }
        HelpScreen > VerticalScroll, ConfirmScreen > Vertical { border: ascii $arena-focus; }
        Toast { border: none; }
    }
    """
    glyphs: Glyphs
    """The glyphs that widgets draw with."""

    def __init__(
        self, *, glyphs: GlyphName | None = None, theme: str = "", reduce_motion: bool = False
    ) -> None:
        """Create the app.

        Args:
            glyphs: the set of glyphs; None chooses by the terminal.
            theme: name of the theme; empty for the default one.
            reduce_motion: whether sliding, fading and blinking are off.
        """
        super().__init__()
        self.glyphs = choose_glyphs(glyphs)
        self.set_class(self.glyphs.is_ascii, "-ascii")
        # A class attribute is the only hook: Textual uses it for all scroll bars of the process.
        ScrollBar.renderer = AsciiBars if self.glyphs.is_ascii else ScrollBarRender
        self.reduce_motion = reduce_motion
        if reduce_motion:
            self.animation_level = "none"
        for own in THEMES:
            self.register_theme(own)
        self.theme = theme if theme in self.available_themes else DEFAULT_THEME

    @property
    @override
    def _background_screens(self) -> list[Screen[Any]]:
        # Textual also lays out and paints the screen below, even if the screen on top fills the terminal and
        # hides it: each resize then caused three full paints.
        if self._screen_stack and self._screen_stack[-1].styles.background.a == 1:
            return []
        return super()._background_screens  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] # Textual leaves results of screens open

    @override
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return arena_variables(self.current_theme)

    @override
    def get_key_display(self, binding: Binding) -> str:
        """Return a word or character for a key, never a pictogram."""
        if binding.key_display:
            return binding.key_display
        *modifiers, key = binding.key.split("+")
        character = key_to_character(key)
        shown = character if character and character.isprintable() and character != " " else key
        return "".join("^" if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers) + shown


def app_of(node: MessagePump) -> App[object]:
    """Return the app of a widget or a screen, with a type."""
    return cast("App[object]", node.app)
