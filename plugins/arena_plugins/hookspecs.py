"""The hooks that plugins implement; docs/reference/hooks.md documents each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import Bot, Game
    from arena_plugins.training import Trainer

PROJECT = "arena"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as the implementation of the hook with the same name."""


@hookspec(firstresult=True)
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> Bot:  # pyright: ignore[reportReturnType]
    """Make a bot that plays `game`, with all randomness drawn from `seed`.

    Raises:
        OptionError: an option is unknown, or its value is not allowed.
    """


@hookspec(firstresult=True)
def make_game(options: Mapping[str, str]) -> Game:  # pyright: ignore[reportReturnType]
    """Make a game from its options.

    Raises:
        OptionError: an option is unknown, or its value is not allowed.
    """


@hookspec(firstresult=True)
def make_trainer(options: Mapping[str, str]) -> Trainer:  # pyright: ignore[reportReturnType]
    """Make a trainer from its options.

    Raises:
        OptionError: an option is unknown, or its value is not allowed.
    """
