"""Writes docs/reference/cli.md from the click objects of the command `arena`: run this file to update it."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from arena.cli.main import main
from command_line import commands_of
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "reference" / "cli.md"
INTRODUCTION = """# Command line

<!-- Written by `python tests/support/cli_reference.py` from the commands themselves; edit those. -->
"""

DEFAULT = re.compile(r"\s*\[default: ([^\]]+)\]")
"""A default in the help text, given there because configuration files may override it."""


def render() -> str:
    """Return the text of the page: names, types, defaults and help of every command, in our own layout."""
    return INTRODUCTION + "".join(_command(path, command) for path, command in commands())


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with the words that call it, groups before their commands."""
    waiting: list[tuple[tuple[str, ...], click.Command]] = [(("arena",), main)]
    while waiting:
        path, command = waiting.pop(0)
        yield path, command
        if isinstance(command, click.Group):
            waiting[:0] = [((*path, name), inner) for name, inner in sorted(commands_of(command).items())]


def _command(path: tuple[str, ...], command: click.Command) -> str:
    arguments = [_metavar(param) for param in command.params if isinstance(param, click.Argument)]
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    parts = [f"\n## `{' '.join([*path, *arguments])}`\n\n{_prose(command.help)}\n"]
    if options:
        parts.append("\n| option | default | meaning |\n| --- | --- | --- |\n")
        parts += [
            f"| {_names(option)} | {_default(option)} | {_cell(DEFAULT.sub('', option.help or ''))} |\n"
            for option in options
        ]
    return "".join(parts)


def _metavar(param: click.Argument) -> str:
    if param.metavar is not None:
        # As `--help` prints it, with the dots of a list within its brackets.
        return param.metavar.replace("]...", "…]").replace("...", "…")
    name = (param.name or "").upper()
    shown = f"{name}…" if param.nargs == -1 else name
    return shown if param.required else f"[{shown}]"


def _names(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.is_flag or option.count:
        return names
    if isinstance(option.type, click.Choice):
        return f"{names} " + ", ".join(f"`{choice}`" for choice in option.type.choices)
    return f"{names} {(option.metavar or option.type.name).upper()}"


def _default(option: click.Option) -> str:
    value = option.to_info_dict()["default"]
    if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
        return f"`{value}`"
    written = DEFAULT.search(option.help or "")
    return f"`{written[1]}`" if written else ""


def _cell(text: str | None) -> str:
    return " ".join(_prose(text).split()).replace("|", "\\|")


def _prose(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("\b\n", "")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
