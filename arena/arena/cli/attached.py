"""`--tui`: play a tournament in the background and show the dashboard on it."""

from __future__ import annotations

from typing import cast

import click
from click.core import ParameterSource

from arena.cli.exits import Exit
from arena.cli.output import say
from arena.cli.screen_options import check_toolkit, has_screen, run_app
from arena.coordinator.client import NotStartedError, follow, start
from arena.errors import ConfigError
from arena.home import open_store
from arena.results.addresses import Address
from arena.results.sequential import report_of

_ENDS = frozenset({Exit.COMPLETE, Exit.NOT_SHOWN, Exit.UNDECIDED})
"""Exit statuses of runs that reached their end."""
_HERE = frozenset({"tui", "db", "form", "quiet"})
"""Options that concern only this terminal, or that are passed on in another way."""


def hold_and_watch(db: str | None) -> int:
    """Run the current command in a process of its own, and show the dashboard until the user leaves it.

    Args:
        db: path of the store; None for the default place.

    Returns:
        The exit status of the run if it has ended, else 0.

    Raises:
        ConfigError: there is no terminal to show the dashboard on.
        ArenaError: the run cannot be started.
    """
    if not has_screen():
        raise ConfigError("--tui needs a terminal; leave it out to see a line for each event")
    check_toolkit()
    started = start(command_words(click.get_current_context()), db=db)
    say("checking the bots ...", err=True)
    try:
        record = follow(started)
    except NotStartedError as error:
        say(f"arena: {error}", err=True)
        return error.status or Exit.RUN_ERROR
    except KeyboardInterrupt:
        started.end()
        raise click.Abort from None
    name = record.name
    from arena.tui.start import watch_app

    run_app(watch_app(db, Address(record)))
    status = started.poll()
    if status is None:
        say(
            f"{name} is still running; to watch it: arena watch {name}, to stop it: arena stop {name}",
            err=True,
        )
        return Exit.COMPLETE
    if status < 0:
        say(f"{name} was ended by signal {-status}; arena resume {name} continues it", err=True)
        return Exit.STOPPED
    with open_store(db, read_only=True, create=False) as store:
        report = report_of(store, record)
    if status not in _ENDS and (said := started.complaint()):
        say(said, err=True)
    if report is not None:
        say(report.line())
    return status


def command_words(context: click.Context) -> list[str]:
    """Return the words typed after `arena`, without the options about the screen and the store."""
    words, bots = _command(context), list[str]()
    for parameter in context.command.params:
        name = parameter.name or ""
        value: object = context.params.get(name)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name in _HERE:
            continue
        values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            bots += map(str, values)
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[0])
        else:
            for each in values:
                words += [parameter.opts[0], str(each)]
    # After "--" a bot's name cannot be mistaken for an option.
    return [*words, "--", *bots]


def _command(context: click.Context) -> list[str]:
    """Return the words of a command after `arena`, such as `ladder run`."""
    words, above = [context.info_name or ""], context.parent
    while above is not None and above.parent is not None:
        words, above = [above.info_name or "", *words], above.parent
    return words
