"""The files named by options of a spec: adding them to a content, and rewriting the options accordingly."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.content.programs import FOLDER, place_words
from arena.content.trusted_links import follow
from arena.errors import OptionError
from arena_plugins.program import CMD, is_file, split_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.content.collect import Collection

_MAY_BE_FOLDER = re.compile(r"(file|with[0-9]*)\Z")
"""Options of single-file adapters whose values may name a folder even without a `/`."""
_OPTIONS = "options"
"""The folder of a content that holds the files named by options."""


class NamedFiles(NamedTuple):
    """The files and folders that options name, by option; those in a command as `cmd 0`, `cmd 1`."""

    sources: dict[str, Path]
    """By option, the absolute path on this machine."""
    copies: dict[str, str]
    """By option, the path in the content."""
    runtime: str = ""
    """Path of this machine's program that runs the command; empty if the bot brings its own."""


def place_options(
    collection: Collection, options: Mapping[str, str], *, has_program: bool, takes_folders: bool = True
) -> NamedFiles:
    """Add the files and folders that options name to a collection.

    Args:
        collection: receives the files.
        options: the options of the spec that may name files.
        has_program: whether the bot is an adapter. Its option `folder` then names a folder with everything
            that the program needs, and other options are relative to it.
        takes_folders: whether folders named by other options are added too.

    Raises:
        OptionError: `folder` does not name a folder, or a quote in a command is not closed.
        PluginError: a file cannot be read, or a limit is exceeded.
    """
    folder = _program_folder(options) if has_program else None
    base = Path.cwd() if folder is None else folder
    found = NamedFiles({}, {})
    for key, value in options.items():
        if key == CMD:
            words = split_command(value)
            placed = place_words(collection, words, folder)
            found = found._replace(runtime=placed.runtime)
            if placed.runtime and "/" in words[0]:
                found.sources[f"{CMD} 0"] = Path(placed.runtime)
            for number, path in placed.copies.items():
                found.copies[f"{CMD} {number}"] = path
                # A program that was found by PATH is not recorded, because PATH will find it again.
                if (place := base / words[number]).exists():
                    found.sources[f"{CMD} {number}"] = Path(os.path.abspath(place))  # noqa: PTH100 - must keep links
        elif folder is not None and key == FOLDER:
            found.sources[key], found.copies[key] = folder, FOLDER
        elif (place := _named(collection.what, base, key, value)) is not None and (
            takes_folders or has_program or not place.is_dir()
        ):
            found.sources[key], found.copies[key] = place, _place(collection, key, place, folder)
    if folder is not None and CMD not in options:
        collection.add_tree(FOLDER, folder)
    return found


def with_files(options: Mapping[str, str], shown: Mapping[str, str]) -> dict[str, str]:
    """Return `options` with each file replaced by its entry in `shown`, keyed as in `NamedFiles`."""
    given = {key: shown.get(key, value) for key, value in options.items()}
    if any(key.startswith(f"{CMD} ") for key in shown):
        words = split_command(options[CMD])
        given[CMD] = shlex.join(shown.get(f"{CMD} {i}", word) for i, word in enumerate(words))
    return given


def _program_folder(options: Mapping[str, str]) -> Path | None:
    text = options.get(FOLDER)
    if text is None:
        return None
    folder = Path(os.path.abspath(text))  # noqa: PTH100 - must keep links
    if not text or not folder.is_dir():
        raise OptionError(
            f"folder={text} is not a folder; name the folder that contains the program and its files"
        )
    return folder


def _named(what: str, base: Path, key: str, value: str) -> Path | None:
    """Return the file or folder that an option's value names, or None.

    A number never names a file, even if a file called 5 exists. Without a `/`, only the options for the bot's
    own files can name a folder: a folder that happens to exist in the working directory must not replace a
    word.
    """
    if not value or value.replace(".", "", 1).isdecimal():
        return None
    if is_file(str(base / value)) or (
        ("/" in value or _MAY_BE_FOLDER.match(key)) and _is_folder(base / value)
    ):
        return follow(what, base / value)
    return None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # too long for a path, or contains a NUL


def _place(collection: Collection, key: str, place: Path, folder: Path | None) -> str:
    real = None if folder is None else Path(os.path.realpath(folder))
    if real is not None and place.is_relative_to(real):
        return f"{FOLDER}/{place.relative_to(real).as_posix()}"
    path = f"{_OPTIONS}/{key}/{place.name}"
    if place.is_dir():
        collection.add_tree(path, place)
    else:
        collection.add_file(path, place)
    return path
