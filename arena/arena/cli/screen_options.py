"""Code shared by commands with a screen: display options, a check for a terminal, running a dashboard."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click
from rich_click import RichOption

from arena.cli.options import as_one
from arena.garbage import collect_as_usual

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from arena.tui.glyphs import GlyphName
    from arena.tui.screens.dashboard import Dashboard, ScreenOptions

_Result = TypeVar("_Result")
_PANEL = "Screen"
_M_ARENA_MAX = -8
"""M_ARENA_MAX of glibc's malloc.h: the `mallopt` parameter that limits the number of heaps."""
_OPENSSL = ("_ssl", "_hashlib")
"""Modules that load OpenSSL."""
_DISPLAY = (
    click.option(
        "--ascii", "is_ascii", cls=RichOption, panel=_PANEL, is_flag=True, help="Draw with ASCII only."
    ),
    click.option(
        "--theme", cls=RichOption, panel=_PANEL, metavar="NAME", default="", help="Colours; T lists them."
    ),
    click.option(
        "--reduce-motion", cls=RichOption, panel=_PANEL, is_flag=True, help="No sliding, fading or blinking."
    ),
)


class DisplayOptions(NamedTuple):
    """The display options of a command with a screen."""

    plain: bool
    """Whether lines are printed although there is a terminal."""
    is_ascii: bool
    theme: str
    reduce_motion: bool

    @property
    def has_screen(self) -> bool:
        """Whether the dashboard is shown: there is a terminal, and no lines were asked for."""
        return not self.plain and has_screen()

    def options(self) -> ScreenOptions:
        """Return the options of the dashboard, which saves the changes that a user makes in it."""
        from arena.tui.settings import SettingsFile

        glyphs: GlyphName | None = "ascii" if self.is_ascii or os.environ.get("ARENA_ASCII") else None
        return {
            "glyphs": glyphs,
            "theme": self.theme,
            "reduce_motion": self.reduce_motion,
            "settings": SettingsFile(),
        }


def display_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the display options; the command receives them and its own --plain as one argument, `display`."""

    @functools.wraps(command)
    def with_display(*arguments: object, display: DisplayOptions, **options: object) -> _Result:
        # Called before the command, because the store's modules load the event loop, too.
        if display.has_screen:
            load_without_openssl()
            # Called before any thread allocates memory.
            _share_one_heap()
        return command(*arguments, display=display, **options)

    with_options = as_one("display", DisplayOptions)(with_display)
    for option in reversed(_DISPLAY):
        with_options = option(with_options)
    return with_options


def has_screen() -> bool:
    """Return whether a program can draw on this terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def check_toolkit() -> None:
    """Check that the installed version of the toolkit is one that the dashboard supports.

    Raises:
        ConfigError: the version is not supported; the message names it and the remedy.
    """
    from importlib.metadata import version

    from arena.errors import ConfigError

    found = version("textual")
    if not (8, 2, 8) <= tuple(int(part) for part in found.split(".")[:3] if part.isdecimal()) < (9,):
        raise ConfigError(
            f"the dashboard needs textual 8.2.8 or a newer 8, and {found} is installed; "
            'pip install "textual>=8.2.8,<9" fixes this, --plain works without it'
        )


def load_without_openssl() -> None:
    """Load the event loop and the hashes without OpenSSL: 4.6 MB that no screen needs.

    Both work without these modules. A module that imports `ssl` later gets the real one.
    """
    if not sys.modules.keys().isdisjoint(_OPENSSL):
        return
    modules: dict[str, ModuleType | None] = sys.modules  # pyright: ignore[reportAssignmentType]
    # `None` in this table makes an import fail.
    modules.update(dict.fromkeys(_OPENSSL))
    try:
        import asyncio
        import hashlib
        import hmac

        del asyncio, hashlib, hmac
    finally:
        for name in _OPENSSL:
            del modules[name]


def run_app(app: Dashboard) -> None:
    """Run the dashboard until it is closed.

    Raises:
        Exit: the dashboard failed; carries its status.
    """
    # Commands without display options have not done so yet.
    _share_one_heap()
    # All imports are done by now, and rare collections would leave much garbage in memory.
    collect_as_usual()
    app.run()
    if app.return_code:
        raise click.exceptions.Exit(app.return_code)


def _share_one_heap() -> None:
    """Make all threads of this process allocate from one heap; separate heaps would keep freed memory."""
    if sys.platform == "linux":
        import ctypes

        # Only glibc has it.
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
