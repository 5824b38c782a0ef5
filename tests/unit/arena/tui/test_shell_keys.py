"""The keys of the shell: filter, help, copy, footer, palette, and keys that are bound twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.widgets import Input

from arena.tui.app import ArenaApp
from arena.tui.shell.chrome import FooterLine
from arena.tui.shell.keys import APP_BINDINGS, HelpScreen, clashes
from arena.tui.shell.screen import ArenaScreen, FilterLine
from arena.tui.widgets.small_board import SmallBoard
from dashboard import live_screen, piloted, sample_app, screen_lines, settle

if TYPE_CHECKING:
    from textual.pilot import Pilot


def test_the_filter_opens_applies_and_closes() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        screen = live_screen(app)
        await pilot.press("slash", *"1 bot:[/]", "enter")
        await settle(pilot)
        assert screen.filters == ["1 bot:[/]"]
        assert screen.name == "live", "digits went into the line, not to the screens"
        assert not screen.query_one(FilterLine).has_class("-open")
        await pilot.press("slash", "x", "escape")
        await settle(pilot)
        assert screen.filter_text == "1 bot:[/]"
        await pilot.press("escape")
        assert screen.filters[-1] == ""
        await pilot.press("3", "slash")
        await settle(pilot)
        assert not app.screen.query(Input), "a screen without a filter has none"

    piloted(app, press)


def test_help_tells_of_the_widget_and_of_the_keys() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        for key in ("question_mark", "f1"):
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, HelpScreen)
            text = app.screen.text.plain
            assert str(SmallBoard.HELP) in text
            assert "The wall of boards." in text
            assert "Freeze" in text
            await pilot.press("escape")
            await settle(pilot)
            assert app.screen.name == "live"

    piloted(app, press)


def test_copy_puts_text_out_as_it_is() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        await pilot.press("y")
        await settle(pilot)
        assert app.clipboard == "[b]#313[/] az v mcts"
        assert any("copied: [b]#313[/] az v mcts" in line for line in screen_lines(app))
        await pilot.press("2", "y")
        await settle(pilot)
        assert any("nothing to copy" in line for line in screen_lines(app))

    piloted(app, press)


def test_one_widget_can_be_all() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        assert isinstance(app.screen.focused, SmallBoard)
        await pilot.press("m")
        await settle(pilot)
        assert app.screen.maximized is app.screen.focused
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen.maximized is None
        await pilot.press("m", "m")
        await settle(pilot)
        assert app.screen.maximized is None

    piloted(app, press)


def test_commands_and_themes_are_in_the_palette() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Go to Live", "Go to Standings", "Freeze", "Refresh", "Copy", "Help", "Theme"} <= titles
        await pilot.press("T")
        await settle(pilot)
        assert app.screen.name != "live"
        await pilot.press("escape")
        await settle(pilot)
        await pilot.press("q")

    piloted(app, press)


def test_the_footer_has_few_keys_and_help_among_them() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        for width, most in ((60, 7), (80, 7), (120, 12)):
            await pilot.resize_terminal(width, 24)
            await settle(pilot)
            text = "".join(app.screen.query_one(FooterLine).text_lines())
            keys = [
                word for word in ("enter", "space", "/", "^p", "?", "q", "s") if f" {word} " in f" {text} "
            ]
            assert 3 < len(keys) <= most
            assert "? Help" in text
            assert "enter Open" in text

    piloted(app, look)


def test_a_click_in_the_footer_is_a_key() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        footer = app.screen.query_one(FooterLine)
        await pilot.click(FooterLine, offset=(footer.text_lines()[0].index("Freeze"), 0))
        await settle(pilot)
        assert app.is_frozen

    piloted(app, look)


def test_no_key_is_bound_twice_and_every_binding_has_an_id() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        for key in "123":
            await pilot.press(key)
            await settle(pilot)
            assert app.screen.focused is not None
            assert clashes(app.screen) == {}
            own = [
                b for b in app.screen.active_bindings.values() if type(b.node).__module__.startswith("arena.")
            ]
            assert [b.binding.key for b in own if b.binding.id is None and not b.binding.system] in (
                [],
                ["ctrl+q"],
            ), "Textual's own quit key"

    piloted(app, look)
    ids = [binding.id for binding in APP_BINDINGS if isinstance(binding, Binding)]
    assert len(set(ids)) == len(ids) == len(APP_BINDINGS)


class Doubled(ArenaScreen):
    """A screen that binds a global key by mistake."""

    NAME = "doubled"
    BINDINGS = [Binding("r", "reload", "Again", id="doubled.again"), Binding("z", "reload", id="doubled.z")]  # noqa: RUF012 # as in Textual


def test_a_key_that_is_bound_twice_is_found() -> None:
    app = ArenaApp(None, [Doubled], glyphs="ascii")

    async def look(_: Pilot[None]) -> None:
        assert clashes(app.screen) == {"r": ["doubled.again", "app.refresh"]}
        assert clashes(app.screen, narrowed={"doubled.again"}) == {}

    piloted(app, look)


def test_the_keymap_of_the_user_holds() -> None:
    app = sample_app(keymap={"app.freeze": "f9", "screen.2": "z"})

    async def press(pilot: Pilot[None]) -> None:
        await pilot.press("space")
        assert not app.is_frozen
        await pilot.press("f9")
        assert app.is_frozen
        await pilot.press("z")
        await settle(pilot)
        assert app.screen.name == "standings"

    piloted(app, press)


def test_a_keymap_that_binds_a_key_twice_is_told_of() -> None:
    app = sample_app(keymap={"app.freeze": "r"})

    async def look(pilot: Pilot[None]) -> list[str]:
        await settle(pilot)
        return screen_lines(app)

    assert any("your keymap binds r twice" in line for line in piloted(app, look))
