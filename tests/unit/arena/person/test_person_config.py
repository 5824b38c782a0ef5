"""The configuration of a play: options, TOML, the command of its coordinator."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from arena.cli.main import main
from arena.coordinator.client import Link
from arena.errors import ConfigError, PluginError
from arena.person.session_config import (
    PERSON,
    PlayConfig,
    make_play,
    parse_play,
    play_config,
    play_from,
    read_opening,
    words_of,
)
from arena_plugins import load_game
from command_line import commands_of

FULL = PlayConfig(
    bot="minimax:depth=2",
    game="connect-four",
    side="second",
    opening=(3, 3, 2),
    clock="1:00+1",
    hint="random",
    isolation="T1",
    require_tier="T0",
    require_limits="kernel",
    srand=5,
    name="evening",
)


def test_toml_gives_the_same_back() -> None:
    for config in (FULL, PlayConfig(bot="random"), replace(FULL, bot='exec:cmd="a \x7f é"', rated=True)):
        assert parse_play(config.to_toml(), "a test") == config


@pytest.mark.parametrize("text", ["bot = 5", "nonsense", 'bot = "random"\nbots = []'])
def test_toml_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a stored one"):
        parse_play(text, "a stored one")


def test_the_words_of_the_coordinator_make_the_same_play() -> None:
    plan = make_play(FULL)
    words = words_of(plan)
    assert words[:2] == ["play", "--headless"]
    command = commands_of(main)["play"]
    context = command.make_context("play", words[1:])
    given = {key: value for key, value in context.params.items() if key in PlayConfig.__struct_fields__}
    side = "first" if context.params["is_first"] else "second"
    again = play_config({**given, "side": side, "srand": FULL.srand})
    assert again == replace(plan.config, srand=FULL.srand)
    assert Link.again("evening") == ["play", "--headless", "--attach", "evening"]


def test_a_person_has_an_hour_and_the_bot_its_limit() -> None:
    plan = make_play(PlayConfig(bot="random", st=2.0))
    assert (str(plan.person_control), str(plan.bot_control)) == ("3600/move", "2/move")
    plan = make_play(PlayConfig(bot="random:st=1", clock="60+1"))
    assert (str(plan.person_control), str(plan.bot_control)) == ("60+1", "1/move")
    assert plan.person.label == PERSON


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rated": True, "hint": "random"}, "--rated and --hint"),
        ({"opening": (9,)}, "move 1: action 9 is not legal"),
        ({"opening": (0, 1, 0, 1, 0, 1, 0)}, "ends the game"),
        ({"clock": "soon"}, "time control"),
        ({"clock": "60", "st": 1.0}, "exclude each other"),
        ({"init_time": -1.0}, "--init-time"),
    ],
)
def test_what_cannot_be_played_is_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        make_play(replace(PlayConfig(bot="random"), **changes))


def test_an_unknown_bot_is_named() -> None:
    with pytest.raises(PluginError, match='no bot "mtcs"'):
        make_play(PlayConfig(bot="mtcs"))


def test_openings_are_read_as_people_write_them() -> None:
    game = load_game("connect-four")
    assert read_opening(game, "4 4, d") == (3, 3, 3)
    assert read_opening(game, "") == ()
    with pytest.raises(ConfigError, match=r"--opening, move 2: .*99"):
        read_opening(game, "4 99")


def test_who_plays_on_takes_the_side_to_move() -> None:
    config = play_from("tic-tac-toe", (4,), ("random", "minimax"), 1)
    assert (config.bot, config.side, config.opening) == ("random", "second", (4,))
    config = play_from("tic-tac-toe", (), (PERSON, "minimax"), 1)
    assert (config.bot, config.side) == ("minimax", "first")
