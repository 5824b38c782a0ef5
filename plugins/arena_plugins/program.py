"""Programs named by the option `cmd` of a spec: splitting the command, and the bot `exec`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from arena_plugins.errors import OptionError
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

CMD = "cmd"
"""The name of the option that holds a command."""
EXEC = "exec"
"""The bot whose program speaks arena-bot/1 itself; the arena starts the program instead of a host."""


def exec_command(options: Mapping[str, str]) -> list[str]:
    """Return the program and the arguments of the bot `exec`.

    Raises:
        OptionError: an option is unknown, or there is no command.
    """
    reader = OptionReader(EXEC, options)
    reader.text(CMD, "")
    reader.done()
    return command_words(EXEC, options)


def command_words(owner: str, options: Mapping[str, str]) -> list[str]:
    """Return the program and the arguments named by the option `cmd` of the bot `owner`.

    Raises:
        OptionError: the option is missing, or its quotes are not closed.
    """
    words = split_command(options.get(CMD, ""))
    if not words:
        raise OptionError(
            f'{owner} needs a program; write {owner}:cmd=PATH or {owner}:cmd="PROGRAM ARGUMENT"'
        )
    return words


def split_command(text: str) -> list[str]:
    """Split a command into words like a shell does; a text that is the path of a file stays one word.

    Raises:
        OptionError: a quote is not closed.
    """
    if is_file(text):
        return [text]
    try:
        return shlex.split(text)
    except ValueError as error:
        raise OptionError(f"cannot read the command {text}: {error}") from error


def is_file(text: str) -> bool:
    """Return whether `text` is the path of a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False  # the text is too long for a path, or contains a NUL
