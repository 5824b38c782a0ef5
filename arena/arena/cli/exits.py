"""Exit statuses, and how errors become one line on stderr."""

from __future__ import annotations

import io
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich_click import RichGroup
from typing_extensions import override

from arena.errors import ArenaError, BotFailedError, ConfigError, NotFoundError, PluginError, StoreError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Loader = Callable[[], tuple[click.Command, ...]]

_LINE = 4000
"""Maximum number of characters printed of an error."""


class Exit(IntEnum):
    """Exit statuses of the commands."""

    COMPLETE = 0
    RUN_ERROR = 1
    USAGE = 2
    STOPPED = 3
    FAULTS = 4
    BOT_FAILED = 5
    STORE = 6
    NOT_SHOWN = 10
    UNDECIDED = 11


def exit_code(error: ArenaError) -> Exit:
    """Return the exit status for an error."""
    if isinstance(error, StoreError):
        return _store_exit(error)
    if isinstance(error, BotFailedError):
        return Exit.BOT_FAILED
    if isinstance(error, ConfigError | PluginError | NotFoundError):
        return Exit.USAGE
    return Exit.RUN_ERROR


def _store_exit(error: StoreError) -> Exit:
    """Return the exit status for an error of the store, according to its cause."""
    from arena_db import errors

    cause = error.__cause__
    if isinstance(cause, errors.MissingError | errors.UnsupportedError | errors.TakenError):
        return Exit.USAGE
    if isinstance(cause, errors.LeaseLostError):
        return Exit.STOPPED
    if isinstance(
        cause,
        OSError
        | errors.FullError
        | errors.AccessError
        | errors.RefusedError
        | errors.MovedError
        | errors.AwayError,
    ):
        return Exit.RUN_ERROR
    return Exit.STORE


class ArenaGroup(RichGroup):
    """The root of the commands: a command returns its exit status, an error ends as one line on stderr.

    A command's module is imported only when the command is run. All modules together take about 80 ms, and 1
    to 3 MB of memory for as long as a dashboard or a server runs.
    """

    def __init__(self, *, loaders: Mapping[str, Loader] | None = None, **named: Any) -> None:  # noqa: ANN401 - click's
        """Create the group.

        Args:
            loaders: for each command name, a function that imports its module and returns the commands in it.
            named: keyword arguments of click's group.
        """
        super().__init__(**named)
        self._loaders = loaders or {}

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self._loaders, *super().list_commands(ctx)})

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        load = self._loaders.get(cmd_name)
        if load is None:
            return super().get_command(ctx, cmd_name)
        return next(command for command in load() if command.name == cmd_name)

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            # Click suggests only names of commands that are in `self.commands`.
            found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
            self.commands = {name: command for name, command in found.items() if command is not None}
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **named: Any) -> NoReturn:  # noqa: ANN401 - click's
        """Run a command and end the process with its exit status."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A character that the terminal's encoding lacks must not end the command.
                stream.reconfigure(errors="backslashreplace")
        sys.exit(
            _status(lambda: super(ArenaGroup, self).main(args, *rest, **{**named, "standalone_mode": False}))
        )


def _status(command: Callable[[], object]) -> int:
    try:
        status = command()
        sys.stdout.flush()
    except ArenaError as error:
        return _complain("arena", str(error), exit_code(error))
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        path = context.command_path if context else "arena"
        return _complain(path, f"{error.format_message()} ({path} --help tells more)", Exit.USAGE)
    except click.Abort:
        return _complain("arena", "aborted", Exit.RUN_ERROR)
    except OSError as error:
        # Python flushes stdout at exit, and the rest of the buffer would cause a second error.
        sys.stdout = io.StringIO()
        return _complain(
            "arena", f"{error.filename or 'the output'}: {error.strerror or error}", Exit.RUN_ERROR
        )
    return status if isinstance(status, int) else Exit.COMPLETE


def _complain(who: str, text: str, status: Exit) -> Exit:
    click.echo(f"{who}: {clean_text(text, _LINE)}", err=True)
    return status
