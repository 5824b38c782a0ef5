"""The conformance kit: checks whether a game or a bot satisfies the contract."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from arena_plugins.check_bots import CHECKS as BOT_CHECKS
from arena_plugins.check_bots import BotUnderTest
from arena_plugins.check_games import CHECKS as GAME_CHECKS
from arena_plugins.checks import Check, assert_conforms, run_checks
from arena_plugins.hookspecs import PROJECT
from arena_plugins.manager import BOTS, Plugin, load_bot_plugin, load_game
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena_plugins.check_bots import Factory
    from arena_plugins.contract import Bot, Game

__all__ = ["Check", "assert_conforms", "check_bot", "check_game"]


def check_game(game: Game) -> list[Check]:
    """Check a game in this process; any exception it raises becomes a failed check."""
    return run_checks(GAME_CHECKS, game)


def check_bot(
    bot: str | Factory | Callable[[Game, int], Bot],
    game: str | Game = "connect-four",
    *,
    options: Mapping[str, str] | None = None,
    seconds: float = 0.1,
    nodes: int = 100,
) -> list[Check]:
    """Check a bot in this process; any exception it raises when made or asked becomes a failed check.

    Args:
        bot: the spec of an installed bot, its hook `make_bot`, or a function of game, seed and options.
        game: the game it plays, as a spec or a `Game`.
        options: options for a `make_bot`; ignored for a spec, which has its own.
        seconds: time for one answer, in seconds.
        nodes: search nodes for one answer in the checks that limit them.

    Raises:
        PluginError: the game cannot be loaded, or the spec of the bot cannot be read.
    """
    played = load_game(game) if isinstance(game, str) else game
    if isinstance(bot, str):
        factory, given = _by_spec(bot)
    else:
        factory, given = _by_hook(bot), options or {}
    test = BotUnderTest(factory, given, played, seconds, nodes)
    return run_checks(BOT_CHECKS, test)


def _by_spec(text: str) -> tuple[Factory, Mapping[str, str]]:
    spec = Spec.parse(text)

    @cache
    def plugin() -> Plugin:
        return load_bot_plugin(spec)

    def make(game: Game, seed: int, options: Mapping[str, str]) -> Bot:
        return plugin().make_bot(game, seed, options)

    return make, spec.options


def _by_hook(make: Factory | Callable[[Game, int], Bot]) -> Factory:
    """Return a factory that calls a marked hook the way the arena does: with the parameters it declares."""
    if not hasattr(make, f"{PROJECT}_impl"):
        return cast("Factory", make)
    return Plugin(BOTS, make.__module__, SimpleNamespace(make_bot=make)).make_bot
