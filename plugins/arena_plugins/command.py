"""Builds the command line that starts a bot host; has few imports, so the arena can use it cheaply."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a host must know before it can greet, passed as JSON in its only argument.

    Every user of the machine can read the arguments of a process, so it contains no secrets.
    """

    entry: str
    """The bot's entry point, `module` or `module:attr`."""
    name: str
    """The bot's name in the arena."""
    version: str
    """The version of the distribution the bot comes from."""
    options: dict[str, str]
    """The bot's options."""
    games: dict[str, str]
    """The games it may be asked to play, from name to entry point."""
    path: list[str]
    """The entries that `sys.path` holds after the standard library."""


def host_command(  # noqa: PLR0913 - one keyword for each field of `Start`
    python: str,
    *,
    entry: str,
    name: str,
    version: str,
    options: Mapping[str, str],
    games: Mapping[str, str],
    path: Sequence[str],
) -> list[str]:
    """Return the arguments that start a host with the interpreter `python`.

    `-P -s -S` equals `-I -S` without `-E`; `-E`, which `-I` implies, would ignore PYTHONHASHSEED. `-S` skips
    `site`: `.pth` files are not executed, and `path` must hold every folder that is needed (see `host_path`).
    """
    start = Start(
        entry=entry,
        name=name,
        version=version,
        options=dict(options),
        games=dict(games),
        path=list(path),
    )
    bootstrap = f"{__file__.removesuffix('command.py')}bootstrap.py"
    return [python, "-P", "-s", "-S", "-B", "-X", "utf8", bootstrap, msgspec.json.encode(start).decode()]


def host_path() -> list[str]:
    """Return this process's `sys.path` for a host: absolute paths of existing entries, without the entry "".

    The empty entry means the working directory, which for a host is its scratch folder.
    """
    # Imported here, because a host imports this module, too, and every bot would wait.
    from pathlib import Path

    return list(
        dict.fromkeys(str(Path(entry).absolute()) for entry in sys.path if entry and Path(entry).exists())
    )
