"""The contract between the arena and its plugins, for authors of bots, games and trainers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from arena_plugins.extras import require_modules
    from arena_plugins.hookspecs import hookimpl
    from arena_plugins.manager import game_spec, load_bot, load_game
    from arena_plugins.spec import OptionReader, Spec
    from arena_plugins.training import Checkpoint, Score, Trained, Trainer, TrainingContext, TrainingMatch
    from arena_plugins.weights import load_arrays, load_onnx

__all__ = [
    "ArenaError",
    "Bot",
    "BotError",
    "BotTerminatedError",
    "BotTimeoutError",
    "Check",
    "Checkpoint",
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
    "Score",
    "Spec",
    "State",
    "Symmetry",
    "Termination",
    "Trained",
    "Trainer",
    "TrainingContext",
    "TrainingMatch",
    "assert_conforms",
    "check_bot",
    "check_game",
    "game_spec",
    "hookimpl",
    "load_arrays",
    "load_bot",
    "load_game",
    "load_onnx",
    "require_modules",
]

# Each name is imported on first use, so a bot does not import the conformance kit and `arena --help` does not
# import the plugin manager.
_HOMES = {
    "conformance": {"Check", "assert_conforms", "check_bot", "check_game"},
    "contract": {"Bot", "Game", "Limit", "Outcome", "PlayResult", "State", "Symmetry", "Termination"},
    "extras": {"require_modules"},
    "hookspecs": {"hookimpl"},
    "manager": {"game_spec", "load_bot", "load_game"},
    "spec": {"OptionReader", "Spec"},
    "training": {"Checkpoint", "Score", "Trained", "Trainer", "TrainingContext", "TrainingMatch"},
    "weights": {"load_arrays", "load_onnx"},
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "errors")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
