"""The bot `python`: a bot in a single file or a folder, without a package.

The file plays the role of a packaged bot's module: it defines the hook `make_bot(game, seed, options)`. Files
beside it can be imported only if an option `with` names them, so the bot plays the same everywhere. For a
folder, `bot.py` or `main.py` is that file, and everything in the folder belongs to the bot.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from arena_bots.adapters.running import failure, run_file
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.manager import BOTS, Plugin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from arena_plugins.contract import Bot, Game

_FILE = "file"
_WITH = re.compile(r"with[0-9]*\Z")
"""Options that name a helper: `with`, `with2`, `with3` and so on."""
_MODULE = "arena_python_file"
"""The file's name in `sys.modules`; its own name might be that of a library."""
_INIT = "__init__.py"
_MAINS = ("bot.py", "main.py")
"""Possible names of the file in a folder; the first existing one is used."""


class _Helpers:
    """A module finder for the modules and packages that options name, by the names of their files."""

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._places = places

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is a helper, or None."""
        del path, target
        place = self._places.get(name)
        # `spec_from_file_location` recognises a package by the file name __init__.py.
        return None if place is None else spec_from_file_location(name, place)


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> Bot:
    """Make the bot that a file defines.

    Options: `file`, the file, or a folder with `bot.py` or `main.py`; `with`, `with2`, …, files and folders
    that it imports: a file or package by its name, any other folder for the modules it contains. All other
    options are passed to the bot.

    Raises:
        OptionError: a file is missing, or the bot rejects an option.
        PluginError: the file cannot be executed, or defines no bot.
    """
    path = _path(options, _FILE)
    helpers = tuple(_path(options, key) for key in sorted(options) if _WITH.match(key))
    own = {key: value for key, value in options.items() if key != _FILE and not _WITH.match(key)}
    return _load(path, helpers).make_bot(game, seed, own)


def _path(options: Mapping[str, str], key: str) -> Path:
    text = options.get(key, "")
    path = Path(text)
    if key == _FILE and not (text and path.exists()):
        raise OptionError(f'python: there is no file or folder "{text}"; write python:file=BOT.py')
    if not text or not path.exists():
        raise OptionError(f'python: {key} is not a file or folder: "{text}"')
    return path.resolve()


def _main_of(folder: Path) -> Path:
    """Return the file in a folder that defines the hook.

    Raises:
        OptionError: no file has one of the expected names.
    """
    for name in _MAINS:
        if (folder / name).is_file():
            return folder / name
    raise OptionError(
        f"python: the folder {folder.name} has no {' or '.join(_MAINS)}; name the file in it, or install "
        "it with pip if it is a project"
    )


@cache
def _load(given: Path, helpers: tuple[Path, ...]) -> Plugin:
    """Execute a file once per process, like an import; later matches make their bots from the same module."""
    _offer(helpers)
    path = given
    if given.is_dir():
        path = _main_of(given)
        # Appended, so that installed modules take precedence, as with helpers.
        sys.path.append(str(given))
    try:
        module = run_file(path, _MODULE)
    except (Exception, SystemExit) as error:
        advice = "; with=PATH adds what it imports" if isinstance(error, ImportError) else ""
        raise PluginError(f"{failure(path, error)}{advice}") from error
    try:
        return Plugin(BOTS, path.name, module)
    except PluginError as error:
        raise PluginError(f"{path.name} defines no bot: {error}") from error


def _offer(helpers: Sequence[Path]) -> None:
    """Make helpers importable, with lower precedence than everything that is installed.

    Raises:
        OptionError: a helper has the name of an installed module.
    """
    places: dict[str, Path] = {}
    for helper in helpers:
        if helper.is_dir() and not (helper / _INIT).is_file():
            sys.path.append(str(helper))
            continue
        place = helper / _INIT if helper.is_dir() else helper
        if find_spec(helper.stem) is not None:
            raise OptionError(
                f"python: with={helper.name} cannot be imported, because a module {helper.stem} is "
                "installed; rename it"
            )
        places[helper.stem] = place
    sys.meta_path.append(_Helpers(places))
