"""Recipes: TOML files beside a trainer that say what to train, and how."""

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
    """What it makes, in a sentence."""
    game: str = "connect-four"
    """Spec of the game."""
    seed: int | None = None
    """None draws one."""
    budget: float | None = None
    """Seconds of training, after which it ends with what there is."""
    options: dict[str, str | int | float | bool] = {}
    """Of the trainer; those given with the command win."""


class Found(msgspec.Struct, frozen=True):
    """A recipe and where it comes from."""

    name: str
    """Its name, or its file as it was given; empty where a trainer has none."""
    text: str
    recipe: Recipe


def find_recipe(entry: Entry, asked: str | None) -> Found:
    """Find a recipe of a trainer by name, or read a file.

    Args:
        entry: the trainer; see `_recipes_of` for where its recipes lie.
        asked: a name or a file; None for `best`, or nothing where the trainer has no such recipe.

    Raises:
        ConfigError: there is none, or it cannot be read.
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
    """Give the names of a trainer's recipes."""
    return [path.stem for path in _recipes_of(entry)]


def parse_recipe(text: str, source: str) -> Recipe:
    """Read a recipe.

    Raises:
        ConfigError: it is no TOML, or has a key or a value that no recipe has; names `source`.
    """
    try:
        values = cast("dict[str, object]", tomllib.loads(text))
        return msgspec.convert(values, Recipe)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"the recipe {source}: {error}") from error


def options_of(recipe: Recipe) -> dict[str, str]:
    """Give the options of a recipe as a user would write them: switches are on and off."""
    return {key: _written(value) for key, value in recipe.options.items()}


def _written(value: str | float | bool) -> str:  # noqa: FBT001 - a value of TOML
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _recipes_of(entry: Entry) -> Iterable[Path]:
    """List the recipes of a trainer: in `recipes` beside its module, of a package also within."""
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
