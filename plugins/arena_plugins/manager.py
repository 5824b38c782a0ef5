"""Loads plugins: one by name, raising on failure, or all of them, with failures kept as data."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

import pluggy

import arena_plugins.hookspecs
from arena_plugins.contract import Game
from arena_plugins.entries import (
    BOTS,
    GAMES,
    TRAINERS,
    Entry,
    Listing,
    Problem,
    find,
    list_plugins,
    noun_of,
)
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.hookspecs import PROJECT
from arena_plugins.spec import OptionReader, Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_plugins.contract import Bot
    from arena_plugins.training import Trainer

__all__ = [
    "BOTS",
    "GAMES",
    "TRAINERS",
    "Entry",
    "Listing",
    "Plugin",
    "Problem",
    "find",
    "game_spec",
    "list_plugins",
    "load_all",
    "load_bot",
    "load_bot_plugin",
    "load_entry",
    "load_game",
    "load_plugin",
]


_OPTIONS = "options"
"""Name of the hook parameter that a plugin without options leaves out."""


class Plugin:
    """One loaded plugin, whose hook makes bots, games or trainers.

    Every plugin has its own pluggy manager. With a shared one, a hook call would reach every registered
    plugin, and a second entry point for the same module could not be registered.
    """

    def __init__(self, group: str, name: str, module: object) -> None:
        """Register `module`.

        Raises:
            PluginError: it lacks the hook of this group, or the hook has unknown parameters.
        """
        noun = noun_of(group)
        hook = f"make_{noun}"
        manager = pluggy.PluginManager(PROJECT)
        manager.add_hookspecs(arena_plugins.hookspecs)
        try:
            manager.register(module, name)
        except pluggy.PluginValidationError as error:
            raise PluginError(f'the {noun} "{name}" has a wrong hook: {error}') from error
        self.group = group
        self.name = name
        self.module = module
        self._hook: pluggy.HookCaller = getattr(manager.hook, hook)
        if not self._hook.get_hookimpls():
            raise PluginError(
                f'the {noun} "{name}" has no hook {hook}; mark a function of that name @hookimpl'
            )

    def make(self, options: Mapping[str, str], **arguments: object) -> Any:  # noqa: ANN401 - depends on the group
        """Call the hook with the arguments it declares.

        Raises:
            OptionError: the plugin rejects an option, or options are given and its hook takes none.
            PluginError: the plugin reports that it cannot be made, or the hook raised another exception.
        """
        (hook,) = self._hook.get_hookimpls()
        if _OPTIONS not in hook.argnames:
            OptionReader(f'the {noun_of(self.group)} "{self.name}"', options).done()
        try:
            return self._hook(**arguments, options=options)
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(
                f'the {noun_of(self.group)} "{self.name}" cannot be made: {type(error).__name__}: {error}'
            ) from error

    def make_bot(self, game: Game, seed: int, options: Mapping[str, str]) -> Bot:
        """Make a bot.

        Raises:
            OptionError: the plugin rejects an option.
            PluginError: the hook failed, or returned an object without `play`.
        """
        bot = self.make(options, game=game, seed=seed)
        if not callable(getattr(bot, "play", None)):
            raise PluginError(
                f'the bot "{self.name}" made a {type(bot).__name__}, which has no play(state, limit)'
            )
        return bot

    def make_game(self, options: Mapping[str, str]) -> Game:
        """Make a game.

        Raises:
            OptionError: the plugin rejects an option.
            PluginError: the hook failed, or returned an object that is not a `Game`.
        """
        game = self.make(options)
        if not isinstance(game, Game):
            raise PluginError(f'the game "{self.name}" made a {type(game).__name__}, which is not a Game')
        return game

    def make_trainer(self, options: Mapping[str, str]) -> Trainer:
        """Make a trainer.

        Raises:
            OptionError: the plugin rejects an option.
            PluginError: the hook failed, or returned an object without `train` or without the name of a bot.
        """
        trainer = self.make(options)
        if not callable(getattr(trainer, "train", None)) or not isinstance(
            getattr(trainer, "bot", None), str
        ):
            raise PluginError(
                f'the trainer "{self.name}" made a {type(trainer).__name__}, without train(context) or bot'
            )
        return trainer


def load_plugin(group: str, name: str, path: Sequence[str] | None = None) -> Plugin:
    """Load the plugin with a given name.

    Raises:
        PluginError: no plugin or more than one has that name, or it cannot be imported.
    """
    return load_entry(group, name, find(group, name, path).value)


def load_bot_plugin(spec: Spec) -> Plugin:
    """Load a bot's plugin into this process, which can hold only one version of each bot.

    Raises:
        PluginError: no plugin has that name, it cannot be imported, or another version is installed.
    """
    entry = find(BOTS, spec.name)
    if spec.version and _plain(spec.version) != _plain(entry.version):
        raise PluginError(
            f"{spec.address} is not in this Python environment, which has {entry.name} {entry.version}; "
            "use arena match or arena tournament to play several versions"
        )
    return load_entry(BOTS, spec.name, entry.value)


def load_entry(group: str, name: str, value: str) -> Plugin:
    """Load a plugin by its entry point `module` or `module:attr`, without any metadata.

    Raises:
        PluginError: it cannot be imported (the exception is the cause) or has no hook of this group.
    """
    module_name, _, attributes = value.partition(":")
    try:
        module: object = importlib.import_module(module_name)
        for attribute in filter(None, attributes.split(".")):
            module = getattr(module, attribute)
    except (Exception, SystemExit) as error:
        raise PluginError(
            f'the {noun_of(group)} "{name}" ({value}) cannot be imported: {type(error).__name__}: {error}'
        ) from error
    return Plugin(group, name, module)


def _plain(version: str) -> str:
    """Normalise a version so that 0.1, 0.1.0 and v0.1 are equal; a full comparison would need a library."""
    return re.sub(r"(\.0)+\Z", "", version.casefold().removeprefix("v"))


def load_all(
    group: str, path: Sequence[str] | None = None
) -> tuple[Mapping[str, Plugin], tuple[Problem, ...]]:
    """Load every plugin of a group; return the loaded ones by name, and a problem for each failure."""
    listing = list_plugins(group, path)
    plugins: dict[str, Plugin] = {}
    problems = list(listing.problems)
    for name, entry in listing.entries.items():
        try:
            plugins[name] = load_entry(group, name, entry.value)
        except PluginError as error:
            problems.append(Problem(entry, str(error)))
    return plugins, tuple(problems)


def load_game(text: str) -> Game:
    """Make a game from its spec, as in `gomoku:size=6,k=4`.

    Raises:
        PluginError: the spec is malformed, or the game cannot be found, loaded or made.
        OptionError: the game rejects an option.
    """
    spec = Spec.parse(text, versioned=False)
    return load_plugin(GAMES, spec.name).make_game(spec.options)


def load_bot(text: str, game: Game, *, seed: int) -> Bot:
    """Make a bot in this process from its spec, as in `mcts:playouts=1000`.

    Raises:
        PluginError: the spec is malformed, or the bot cannot be found, loaded or made.
        OptionError: the bot rejects an option.
    """
    spec = Spec.parse(text)
    return load_bot_plugin(spec).make_bot(game, seed, spec.options)


def game_spec(game: Game) -> str:
    """Return the canonical spec of a game: keys sorted, default values left out.

    Raises:
        PluginError: no installed game has its name.
    """
    plugin = load_plugin(GAMES, game.name)
    try:
        defaults = dict(plugin.make_game({}).params)
    except OptionError:
        defaults: dict[str, int | str] = {}  # a required option means there is no default game: write all
    options = {key: str(value) for key, value in game.params.items() if defaults.get(key) != value}
    return str(Spec(game.name, options))
