"""What a bot, a game and a trainer see."""

from arena_plugins.conformance import Check, assert_conforms, check_bot, check_game
from arena_plugins.contract import (
    Bot,
    Game,
    Limit,
    Outcome,
    PlayResult,
    State,
    Symmetry,
    Termination,
)
from arena_plugins.errors import (
    ArenaError,
    BotError,
    BotTerminatedError,
    BotTimeoutError,
    IllegalMoveError,
    InvalidMoveError,
    OptionError,
    PluginError,
    ProtocolError,
)
from arena_plugins.hookspecs import hookimpl
from arena_plugins.manager import game_spec, load_bot, load_game
from arena_plugins.spec import OptionReader, Spec

__all__ = [
    "ArenaError",
    "Bot",
    "BotError",
    "BotTerminatedError",
    "BotTimeoutError",
    "Check",
    "Game",
    "IllegalMoveError",
    "InvalidMoveError",
    "Limit",
    "OptionError",
    "OptionReader",
    "Outcome",
    "PlayResult",
    "PluginError",
    "ProtocolError",
    "Spec",
    "State",
    "Symmetry",
    "Termination",
    "assert_conforms",
    "check_bot",
    "check_game",
    "game_spec",
    "hookimpl",
    "load_bot",
    "load_game",
]
