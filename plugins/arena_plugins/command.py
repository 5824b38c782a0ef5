"""The command line that starts a bot host; light enough for the arena to import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host must know before it can greet: its only argument, as JSON.

    Everybody on the machine can read the arguments of a process, so nothing here is a secret.
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
    """The games it may be asked to play: name to entry point."""
    path: list[str]
    """What `sys.path` is to hold, after the standard library."""


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
    """Give the arguments that start a host with the interpreter `python`.

    `-P -s -S` is `-I -S` without `-E`, because `-I` would ignore PYTHONHASHSEED. `-S` skips `site`, so
    `.pth` files never run and `path` must hold every folder that is needed (see `host_path`).
    """
    start = Start(
        entry=entry,
        name=name,
        version=version,
        options=dict(options),
        games=dict(games),
        path=list(path),
    )
    bootstrap = str(Path(__file__).with_name("bootstrap.py"))
    return [python, "-P", "-s", "-S", "-B", "-X", "utf8", bootstrap, msgspec.json.encode(start).decode()]


def host_path() -> list[str]:
    """Give this process's `sys.path` for a host: absolute, only what exists, without the entry "".

    That entry means whatever folder a process works in, which for a host is its scratch folder.
    """
    return list(
        dict.fromkeys(str(Path(entry).absolute()) for entry in sys.path if entry and Path(entry).exists())
    )
