"""Programs that a spec names in its option `cmd`: their words, and the bot that is nothing but one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from arena_plugins.errors import OptionError
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

CMD = "cmd"
"""The option that holds a command."""
EXEC = "exec"
"""The bot whose program speaks arena-bot/1 itself: the arena starts it in place of a host."""


def exec_command(options: Mapping[str, str]) -> list[str]:
    """Give the program and the arguments of the bot `exec`.

    Raises:
        OptionError: an option is unknown, or there is no command.
    """
    reader = OptionReader(EXEC, options)
    reader.text(CMD, "")
    reader.done()
    return command_words(EXEC, options)


def command_words(owner: str, options: Mapping[str, str]) -> list[str]:
    """Give the program and the arguments in the option `cmd` of the bot `owner`.

    Raises:
        OptionError: there is none.
    """
    words = split_command(options.get(CMD, ""))
    if not words:
        raise OptionError(
            f'{owner} needs a program; write {owner}:cmd=PATH or {owner}:cmd="PROGRAM ARGUMENT"'
        )
    return words


def split_command(text: str) -> list[str]:
    """Give the words of a command as a shell has them; the path of a file is one, whatever is in it.

    Raises:
        OptionError: its quotes are not closed.
    """
    if is_file(text):
        return [text]
    try:
        return shlex.split(text)
    except ValueError as error:
        raise OptionError(f"cannot read the command {text}: {error}") from error


def is_file(text: str) -> bool:
    """Tell whether `text` is the path of a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False  # too long for a name, or with a NUL
