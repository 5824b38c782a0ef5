"""`arena open` without a terminal says what an address names, and which command prints it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from command_line import CommandLine


@pytest.mark.parametrize(
    "address",
    ["spring", "spring/table", "spring/matches", "spring/3", "spring/3:2", "random", "minimax:depth=1"],
)
def test_it_says_what_it_is_and_the_command_works(played: CommandLine, address: str) -> None:
    said, command = played("open", address).stdout.splitlines()
    assert said.startswith(f"{address}: ")
    program, *words = shlex.split(command)
    assert program == "arena"
    assert played(*words).stdout


def test_plain_says_so_in_a_terminal_too_and_nothing_is_an_error(played: CommandLine) -> None:
    assert played("open", "spring", "--plain").stdout == played("open", "spring").stdout
    failed = played("open", "sprnig", status=2)
    assert 'nothing is called "sprnig"; did you mean "spring"?' in failed.stderr
    assert failed.stdout == ""


def test_late_viewers_of_plain_lines_get_a_summary_and_all_from_the_start(played: CommandLine) -> None:
    summary = played("watch", "spring", "--plain").stdout.splitlines()
    assert summary[0].startswith("12 matches are over before this; arena watch spring --plain --from-start")
    assert not [line for line in summary if " over: " in line]
    assert len([line for line in summary if " points, Elo " in line]) == 3
    whole = played("watch", "spring", "--from-start").stdout.splitlines()
    told = [line.split()[1] for line in whole if " over: " in line]
    assert told == [f"spring/{number}" for number in range(1, 13)], "each once, in order"
    assert not [line for line in whole if " points, Elo " in line]
