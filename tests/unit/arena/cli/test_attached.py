"""`--tui`: the command that runs in the background, and the message after the dashboard is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from arena.cli import attached
from arena.cli.attached import command_words
from arena.cli.main import main
from arena.coordinator.client import WITH_FORMAT, start
from arena.errors import ArenaError, ConfigError
from command_line import commands_of

if TYPE_CHECKING:
    from pathlib import Path


def words_of(*typed: str) -> list[str]:
    """Return the arguments of the background command for a typed command."""
    command = main.get_command(click.Context(main), typed[0])
    assert command is not None
    with command.make_context(typed[0], list(typed[1:])) as context:
        return command_words(context)


def test_the_command_is_the_one_that_was_typed() -> None:
    typed = (
        "tournament",
        "mcts:playouts=9",
        "random",
        "--tui",
        "--rounds",
        "3",
        "--no-swap",
        "--tc",
        "1+0.1",
    )
    expected = [
        "tournament",
        "--rounds",
        "3",
        "--no-swap",
        "--tc",
        "1+0.1",
        "--",
        "mcts:playouts=9",
        "random",
    ]
    assert words_of(*typed) == expected


def test_a_test_keeps_its_hypotheses() -> None:
    assert words_of("match", "a", "b", "--sprt", "--tui") == ["match", "--sprt", "gain", "--", "a", "b"]
    words = words_of("test", "a", "--sprt", "elo1=9", "--then-rate", "3", "--rated", "--tui")
    assert words == ["test", "--sprt", "elo1=9", "--then-rate", "3", "--rated", "--", "a"]


def test_a_ladder_is_a_command_of_two_words() -> None:
    typed = ["run", "main", "random", "mcts", "--tui", "--anchor", "random=1", "--anchor", "mcts=2"]
    group = main.get_command(click.Context(main), "ladder")
    assert isinstance(group, click.Group)
    command = group.get_command(click.Context(group), "run")
    assert command is not None
    above = click.Context(group, parent=click.Context(main, info_name="arena"), info_name="ladder")
    with command.make_context("run", typed[1:], parent=above) as context:
        words = command_words(context)
    anchors = ["--anchor", "random=1", "--anchor", "mcts=2"]
    assert words == ["ladder", "run", *anchors, "--", "main", "random", "mcts"]


def test_every_command_with_a_dashboard_tells_its_events_as_objects() -> None:
    shown = {
        name
        for name, command in commands_of(main).items()
        if {"tui", "form"} <= {parameter.name for parameter in command.params}
    }
    assert shown == {"tournament", "match", "test"}
    assert shown <= WITH_FORMAT


def test_what_is_about_this_terminal_or_the_store_stays_here() -> None:
    typed = ("match", "--db", "x.db", "--quiet", "--format", "ndjson", "--strict", "--tui", "a", "b")
    assert words_of(*typed) == ["match", "--strict", "--", "a", "b"]


def test_without_a_terminal_nothing_is_started() -> None:
    with pytest.raises(ConfigError, match="--tui needs a terminal; leave it out"):
        attached.hold_and_watch(None)


def test_a_log_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "file"))
    with pytest.raises(ArenaError, match="set ARENA_HOME to another folder"):
        start(["tournament", "random", "random"])
