"""Recipes: TOML files beside a trainer that specify what to train and how."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from arena.errors import ConfigError
from arena_plugins.regular import read_regular
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena_plugins.entries import Entry

_FOLDER = "recipes"
_USUAL = "best"


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One recipe; a run keeps the text it was read from."""

    about: str = ""
    """A one-sentence description."""
    game: str = "connect-four"
    """Spec of the game."""
    seed: int | None = None
    """The seed; None draws one at random."""
    budget: float | None = None
    """Seconds of training, after which the run ends with what it has."""
    options: dict[str, str | int | float | bool] = {}
    """Options of the trainer; those given on the command line take precedence."""


class Found(msgspec.Struct, frozen=True):
    """A recipe and its source."""

    name: str
    """Its name, or its file as given; empty if the trainer has no recipe."""
    text: str
    recipe: Recipe


def find_recipe(entry: Entry, asked: str | None) -> Found:
    """Find a recipe of a trainer by name, or read one from a file.

    Args:
        entry: the trainer; its recipes are located by `_recipes_of`.
        asked: a name or a file; None for the recipe `best`, or for none if the trainer has no recipe of this
            name.

    Raises:
        ConfigError: there is no such recipe, or it cannot be read.
    """
    known = {path.stem: path for path in _recipes_of(entry)}
    if asked is None and _USUAL not in known:
        return Found("", "", Recipe())
    name = asked or _USUAL
    path = known.get(name) or Path(name)
    if name not in known and path.suffix != ".toml":
        listed = ", ".join(known) or "none"
        raise ConfigError(
            f'the trainer {entry.name} has no recipe "{name}"{nearest(name, known)} (recipes: {listed};'
            " a file of your own ends in .toml)"
        )
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the recipe {path}: {error}") from error
    return Found(name, text, parse_recipe(text, str(path)))


def recipe_names(entry: Entry) -> list[str]:
    """Return the names of a trainer's recipes."""
    return [path.stem for path in _recipes_of(entry)]


def parse_recipe(text: str, source: str) -> Recipe:
    """Parse a recipe.

    Raises:
        ConfigError: it is not valid TOML, or has an unknown key or an invalid value; the text names `source`.
    """
    try:
        values = cast("dict[str, object]", tomllib.loads(text))
        return msgspec.convert(values, Recipe)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"the recipe {source}: {error}") from error


def options_of(recipe: Recipe) -> dict[str, str]:
    """Return the options of a recipe as a user would write them; booleans become on and off."""
    return {key: _written(value) for key, value in recipe.options.items()}


def _written(value: str | float | bool) -> str:  # noqa: FBT001 - a value of TOML
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _recipes_of(entry: Entry) -> Iterable[Path]:
    """Yield the recipe files of a trainer: in `recipes` beside its module, or inside its package."""
    module = entry.value.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if found is None or found.origin is None:
        return []
    beside = Path(found.origin).parent
    folders = [beside / _FOLDER]
    if found.submodule_search_locations is not None and "." in module:
        folders.append(beside.parent / _FOLDER)
    return [path for folder in folders for path in sorted(folder.glob("*.toml"))]
