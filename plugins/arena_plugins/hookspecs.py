"""The hooks a plugin implements; docs/reference/hooks.md has one entry for each."""

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
"""Marks a function of a plugin as the implementation of the hook of that name."""


@hookspec(firstresult=True)
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> Bot:  # pyright: ignore[reportReturnType]
    """Make a bot that plays `game`, all its chance drawn from `seed`; refuse options with `OptionError`."""


@hookspec(firstresult=True)
def make_game(options: Mapping[str, str]) -> Game:  # pyright: ignore[reportReturnType]
    """Make a game by its options; refuse impossible ones with `OptionError`."""


@hookspec(firstresult=True)
def make_trainer(options: Mapping[str, str]) -> Trainer:  # pyright: ignore[reportReturnType]
    """Make a trainer by its options; refuse those it does not know with `OptionError`."""
