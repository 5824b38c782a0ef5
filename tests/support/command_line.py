"""Runs the command `arena` inside this process, with a store and settings of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast
from unittest.mock import patch

import click
from click.testing import CliRunner

from arena.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

FAST = ("--isolation", "none", "--require-tier", "T0", "--executor", "inline", "--game", "tic-tac-toe")
"""Options of a tournament that is played in this process."""


def commands_of(group: click.Group) -> dict[str, click.Command]:
    """Return the commands of a group by name, those of `arena` after importing all of them."""
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


class CommandLine:
    """Calls `arena`; all its files are in `folder`, except compiled kernels, which the whole run shares."""

    def __init__(self, folder: Path, db: Path | None = None) -> None:
        self.folder = folder
        self.db = db or folder / "arena.db"
        self._env = {
            "ARENA_DB": str(self.db),
            "ARENA_HOME": str(folder / "home"),
            "ARENA_CONFIG": None,
            "ARENA_LOG": None,
            "ARENA_ASCII": None,
            "XDG_CONFIG_HOME": str(folder / "config"),
            "NO_COLOR": "1",
        }

    def __call__(self, *arguments: object, status: int = 0, env: dict[str, str] | None = None) -> Result:
        """Call `arena`; it must end with this exit status and without a traceback.

        The tests share this process, so it keeps its priority, which `arena grade` would lower.
        """
        words = [str(argument) for argument in arguments]
        with patch("arena.cli.grade_command.lower_priority"):
            result = CliRunner(env={**self._env, **(env or {})}, catch_exceptions=False).invoke(main, words)
        assert result.exit_code == status, f"arena {' '.join(words)} gave {result.exit_code}: {result.output}"
        return result

    def lines(self, *arguments: object, status: int = 0) -> list[str]:
        """Call `arena`; return the lines of its standard output."""
        return self(*arguments, status=status).stdout.splitlines()

    def objects(self, *arguments: object, status: int = 0) -> list[dict[str, object]]:
        """Call `arena` with `--format ndjson`; return the objects."""
        lines = self.lines(*arguments, "--format", "ndjson", status=status)
        return [cast("dict[str, object]", json.loads(line)) for line in lines]
