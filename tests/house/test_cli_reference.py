"""Every command answers `--help`, and the page on the command line matches the commands."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from arena.cli.main import main
from cli_reference import PAGE, commands, render

COMMANDS = [path for path, _ in commands()]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_command_answers_help(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*path[1:], "--help"])
    assert result.exit_code == 0, result.output
    assert path[-1] in result.output


def test_the_page_is_that_of_the_commands() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run python tests/support/cli_reference.py"
