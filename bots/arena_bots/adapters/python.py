"""The bot `python`: a bot in a single file or in a folder, without a package.

The file is what the module of a packaged bot is: it has the hook `make_bot(game, seed, options)`. Files
beside it can be imported only if an option `with` names them, so that the same files play everywhere. Of a
folder `bot.py` or `main.py` is that file, and all that lies in the folder belongs to the bot.
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
"""What the file is called in `sys.modules`; its own name may be that of a library."""
_INIT = "__init__.py"
_MAINS = ("bot.py", "main.py")
"""What the file of a folder is called; the first one that is there counts."""


class _Helpers:
    """Finds the modules and packages that options name, by the names of their files."""

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._places = places

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module lies; None for any other."""
        del path, target
        place = self._places.get(name)
        # By the name __init__.py it knows a package.
        return None if place is None else spec_from_file_location(name, place)


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> Bot:
    """Make the bot of a file.

    Options: `file`, the file or a folder with `bot.py` or `main.py`; `with`, `with2`, …, files and folders
    that it imports: a file or a package by its name, of another folder what lies in it. All further options
    are those of the bot.

    Raises:
        OptionError: a file is missing, or the bot refuses an option.
        PluginError: the file cannot be run, or has no bot.
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
        raise OptionError(f'python: {key} names no file or folder: "{text}"')
    return path.resolve()


def _main_of(folder: Path) -> Path:
    """Return the file of a folder that has the hook.

    Raises:
        OptionError: none has the name it must have.
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
    """Run a file once for a process, as an import does; later matches make their bots of what it defined."""
    _offer(helpers)
    path = given
    if given.is_dir():
        path = _main_of(given)
        # Behind everything that is installed, as helpers are.
        sys.path.append(str(given))
    try:
        module = run_file(path, _MODULE)
    except (Exception, SystemExit) as error:
        advice = "; with=PATH adds what it imports" if isinstance(error, ImportError) else ""
        raise PluginError(f"{failure(path, error)}{advice}") from error
    try:
        return Plugin(BOTS, path.name, module)
    except PluginError as error:
        raise PluginError(f"{path.name} has no bot in it: {error}") from error


def _offer(helpers: Sequence[Path]) -> None:
    """Let helpers be imported, behind everything that is installed.

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
                f"python: with={helper.name} could not be imported, for a module {helper.stem} is installed; "
                "rename it"
            )
        places[helper.stem] = place
    sys.meta_path.append(_Helpers(places))
