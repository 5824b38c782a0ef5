"""Options that belong together are passed to a command as one value."""

from __future__ import annotations

from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from arena.cli.options import as_one
from arena.cli.screen_options import DisplayOptions


class Size(NamedTuple):
    rows: int
    cols: int


@click.command
@click.argument("name")
@click.option("--rows", type=int, default=6)
@as_one("size", Size)
@click.option("--cols", type=int, default=7)
@click.option("--deep", is_flag=True)
def command(name: str, *, size: Size, deep: bool) -> None:
    click.echo(f"{name} {size.rows}x{size.cols} {deep}")


def test_options_are_gathered_wherever_they_are_declared() -> None:
    run = CliRunner().invoke
    assert run(command, ["a"]).output == "a 6x7 False\n"
    assert run(command, ["a", "--cols", "3", "--deep", "--rows", "4"]).output == "a 4x3 True\n"
    assert [each.name for each in command.params] == ["name", "rows", "cols", "deep"]


@pytest.mark.parametrize(
    ("plain", "is_terminal"), [(False, False), (False, True), (True, False), (True, True)]
)
def test_a_screen_needs_a_terminal_and_no_wish_for_lines(
    monkeypatch: pytest.MonkeyPatch,
    plain: bool,  # noqa: FBT001 - a parameter
    is_terminal: bool,  # noqa: FBT001 - a parameter
) -> None:
    monkeypatch.setattr("arena.cli.screen_options.has_screen", lambda: is_terminal)
    display = DisplayOptions(plain=plain, is_ascii=False, theme="", reduce_motion=False)
    assert display.has_screen == (is_terminal and not plain)
