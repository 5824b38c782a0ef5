"""Exit codes, and how errors become one line on stderr."""

from __future__ import annotations

import os
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click
import rich_click
from typing_extensions import override

from arena.errors import ArenaError, ConfigError, PluginError, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Exit(IntEnum):
    """What the exit status says."""

    COMPLETE = 0
    RUN_ERROR = 1
    USAGE = 2
    STOPPED = 3
    FAULTS = 4
    BOT_FAILED = 5
    STORE = 6


class BotFailedError(ArenaError):
    """A bot failed its check or its first position."""


class NotFoundError(ArenaError):
    """Something that was asked for by name or number is not there."""


def exit_code(error: ArenaError) -> Exit:
    """Give the exit status an error ends the command with."""
    if isinstance(error, StoreError):
        return Exit.STORE
    if isinstance(error, BotFailedError):
        return Exit.BOT_FAILED
    if isinstance(error, ConfigError | PluginError | NotFoundError):
        return Exit.USAGE
    return Exit.RUN_ERROR


class ArenaGroup(rich_click.RichGroup):
    """A group of commands whose errors end as one clear line and the right exit status."""

    @override
    def main(self, args: Sequence[str] | None = None, *rest: Any, **named: Any) -> Any:
        try:
            return super().main(args, *rest, **named)
        except ArenaError as error:
            click.echo(f"arena: {error}", err=True)
            sys.exit(exit_code(error))
        except BrokenPipeError:
            # Whoever read our output has gone (`| head`); Python must not complain when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(Exit.COMPLETE)
