"""Plugins are loaded one by one, and every failure is a PluginError."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_plugins import (
    Limit,
    OptionError,
    PluginError,
    game_spec,
    load_bot,
    load_game,
)
from arena_plugins.conformance import check_bot
from arena_plugins.manager import BOTS, GAMES, load_all, load_entry, load_plugin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Distribute = Callable[..., Path]
    WriteModule = Callable[[str], str]

HOOK = "from arena_plugins import hookimpl, OptionError\n@hookimpl\ndef make_bot(game, options):\n"


@pytest.mark.usefixtures("third_party")
def test_hook_make_game() -> None:
    game = load_game("misere:size=4")
    assert (game.name, game.params, game.shape) == ("misere", {"size": 4}, (4, 4))


@pytest.mark.usefixtures("third_party")
def test_hook_make_bot() -> None:
    game = load_game("misere")
    limit = Limit(nodes=1)
    assert load_bot("first", game, seed=1).play(game.initial_state(), limit).action == 0
    assert load_bot("last", game, seed=1).play(game.initial_state(), limit).action == 8


@pytest.mark.usefixtures("third_party")
def test_one_process_holds_one_version_of_a_bot() -> None:
    game = load_game("misere")
    load_bot("first@1.2.0", game, seed=1)
    with pytest.raises(PluginError, match=r"first@1\.3 is not in this Python environment, .* first 1\.2"):
        load_bot("first@1.3", game, seed=1)
    assert check_bot("first@1.2", game, seconds=0.01)[0].passed
    assert "first@2" in check_bot("first@2", game, seconds=0.01)[0].detail
    with pytest.raises(PluginError, match="only bots have versions; write misere"):
        load_game("misere@1.2")


@pytest.mark.usefixtures("third_party")
def test_the_spec_of_a_game_leaves_defaults_out() -> None:
    assert game_spec(load_game("misere:size=3")) == "misere"
    assert game_spec(load_game("misere:size=4")) == "misere:size=4"


def test_the_spec_of_a_game_without_defaults_has_all(
    distribute: Distribute, write_module: WriteModule
) -> None:
    module = write_module(
        "from arena_plugins import Game, OptionError, State, hookimpl\n"
        "class Sized(Game):\n"
        "    def initial_state(self): raise AssertionError\n"
        "    move = parse_move = initial_state\n"
        "@hookimpl\n"
        "def make_game(options):\n"
        "    if 'size' not in options: raise OptionError('sized: give a size')\n"
        "    game = Sized()\n"
        "    game.name, game.params = 'sized', {'size': int(options['size']), 'art': 'x'}\n"
        "    return game\n"
    )
    distribute("sized", "1", games={"sized": module})
    assert game_spec(load_game("sized:size=5")) == "sized:art=x,size=5"
    with pytest.raises(OptionError, match="give a size"):
        load_game("sized")


@pytest.mark.usefixtures("third_party")
def test_a_refused_option_stays_an_option_error() -> None:
    with pytest.raises(OptionError, match="size=9 is not a whole number from 2 to 4"):
        load_game("misere:size=9")
    with pytest.raises(OptionError, match='first has no option "x"'):
        load_bot("first:x=1", load_game("misere"), seed=1)


@pytest.mark.parametrize("raised", ["RuntimeError('no licence')", "SystemExit(3)", "MemoryError()"])
def test_what_an_import_raises_is_the_cause(raised: str, write_module: WriteModule) -> None:
    module = write_module(f"raise {raised}")
    with pytest.raises(PluginError, match=rf'the bot "b" \({module}\) cannot be imported') as caught:
        load_entry(BOTS, "b", module)
    assert type(caught.value.__cause__).__name__ == raised.partition("(")[0]


def test_what_a_hook_raises_is_the_cause(write_module: WriteModule) -> None:
    plugin = load_entry(BOTS, "b", write_module(HOOK + "    raise ValueError(options['x'])"))
    with pytest.raises(PluginError, match='the bot "b" cannot be made: ValueError: 7') as caught:
        plugin.make(game=None, seed=1, options={"x": "7"})
    assert isinstance(caught.value.__cause__, ValueError)


def test_the_reason_of_a_plugin_is_said_as_it_is(write_module: WriteModule) -> None:
    body = "    from arena_plugins import PluginError\n    raise PluginError('b plays 7x6 only')"
    with pytest.raises(PluginError, match=r"^b plays 7x6 only$"):
        load_entry(BOTS, "b", write_module(HOOK + body)).make({}, game=None, seed=7)


def test_a_hook_that_names_no_options_takes_none(write_module: WriteModule) -> None:
    source = "from arena_plugins import hookimpl\n@hookimpl\ndef make_bot(seed): return seed"
    plugin = load_entry(BOTS, "b", write_module(source))
    assert plugin.make({}, game=None, seed=7) == 7
    with pytest.raises(OptionError, match=r'^the bot "b" has no option "depth" \(options: none\)$'):
        plugin.make({"depth": "3"}, game=None, seed=7)
    # pluggy does not pass parameters with a default, so these options would be lost.
    source = source.replace("(seed)", "(seed, options=())")
    with pytest.raises(OptionError, match='has no option "depth"'):
        load_entry(BOTS, "b", write_module(source)).make({"depth": "3"}, game=None, seed=7)


def test_what_a_hook_returns_must_play(third_party: Path, write_module: WriteModule) -> None:
    assert third_party.is_dir()
    plugin = load_entry(BOTS, "b", write_module(HOOK + "    return None"))
    with pytest.raises(PluginError, match=r"made a NoneType, which has no play\(state, limit\)"):
        plugin.make_bot(load_game("misere"), 1, {})
    module = write_module((HOOK + "    return 7").replace("make_bot(game, ", "make_game("))
    with pytest.raises(PluginError, match="made a int, which is not a Game"):
        load_entry(GAMES, "g", module).make_game({})


def test_a_module_without_the_hook_is_refused(write_module: WriteModule) -> None:
    for source in ("", "def make_bot(game, seed, options): ...", HOOK.replace("_bot", "_game") + "    ..."):
        with pytest.raises(PluginError, match=r"wrong hook|has no hook make_bot"):
            load_entry(BOTS, "b", write_module(source.replace("game, options", "options")))
    with pytest.raises(PluginError, match="wrong hook"):
        load_entry(BOTS, "b", write_module(HOOK.replace("options):", "colour):") + "    ..."))
    with pytest.raises(PluginError, match="cannot be imported: AttributeError"):
        load_entry(BOTS, "b", write_module("") + ":absent")


def test_two_names_may_share_a_module(distribute: Distribute, write_module: WriteModule) -> None:
    module = write_module(HOOK + "    return 1")
    distribute("pair", "1", {"left": module, "right": module})
    assert load_plugin(BOTS, "left").make(game=None, seed=1, options={}) == 1
    assert load_plugin(BOTS, "right").name == "right"


def test_one_failure_does_not_stop_the_others(distribute: Distribute, write_module: WriteModule) -> None:
    bots = {"good": write_module(HOOK + "    return 1"), "bad": write_module("1 / 0"), "[": "x"}
    folder = distribute("mixed", "1", bots)
    plugins, problems = load_all(BOTS, [str(folder)])
    assert list(plugins) == ["good"]
    assert {problem.entry.name for problem in problems} == {"bad", "["}
    assert any("ZeroDivisionError" in problem.reason for problem in problems)
