"""Runs: their folders in the arena's home, and their settings."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from arena.errors import ConfigError
from arena.home import home
from arena.training import checkpoints
from arena.training.files import held, toml_lines, write_whole
from arena.training.recipe import find_recipe, options_of
from arena_plugins.entries import TRAINERS, find
from arena_plugins.spec import NAME, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

_SETTINGS = "run.toml"
_SEEDS = 1 << 53
"""Upper bound of a seed, exclusive: a float, and JSON in other languages, holds all smaller whole numbers
exactly."""


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that determines a run; stored in its folder as `run.toml`."""

    trainer: str
    """Name of the trainer's entry point."""
    recipe: str = ""
    """Name or file of the recipe."""
    recipe_text: str = ""
    """The recipe's text when the run began."""
    options: dict[str, str] = {}
    """Options of the trainer, from the recipe and the command line together."""
    game: str = "connect-four"
    """Spec of the game."""
    seed: int
    budget: float | None = None
    """Seconds of training; None for no limit."""
    data: str = ""
    """Absolute path of a folder of exported matches; empty without one."""
    start: str = ""
    """The run and step whose checkpoint it started from; empty if it started from scratch."""
    command: str = ""
    """The command that began the run."""
    out: str = ""
    """Absolute path for a copy of the weights; empty without one."""
    opponents: tuple[str, ...] = ()
    """Specs of the bots to measure the weights against."""
    matches: int = 200
    """Number of evaluation matches against each opponent."""
    keeps_matches: bool = False
    """Whether the matches of the run are stored."""
    executor: str | None = None
    """Where shards are computed, as in `arena train --executor`; None for processes of this machine."""
    cluster: str | None = None
    """`local:N`: slots of a scheduler of its own on this machine."""

    @property
    def out_file(self) -> Path | None:
        """`out` as a path."""
        return Path(self.out) if self.out else None

    @property
    def data_folder(self) -> Path | None:
        """`data` as a path."""
        return Path(self.data) if self.data else None

    def to_toml(self) -> str:
        """Format the settings as TOML."""
        values = {key: value for key, value in msgspec.to_builtins(self).items() if value is not None}
        options = values.pop("options")
        return toml_lines(values) + f"\n[options]\n{toml_lines(options)}"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The settings given on the command line; None leaves the choice to the recipe."""

    trainer: str
    options: Mapping[str, str] = {}
    recipe: str | None = None
    game: str | None = None
    seed: int | None = None
    budget: float | None = None
    data: Path | None = None
    name: str | None = None
    start: str | None = None
    """A run whose checkpoint to start from."""
    command: str = ""
    out: Path | None = None
    """Path for a copy of the weights."""
    opponents: tuple[str, ...] = ()
    matches: int | None = None
    keeps_matches: bool = False
    executor: str | None = None
    cluster: str | None = None

    @classmethod
    def of_options(
        cls, trainer: str, options: Mapping[str, str], command: str, given: Mapping[str, Any]
    ) -> Order:
        """Return the order that a command line gives.

        Args:
            trainer: name of the trainer; empty if a run is resumed.
            options: the options of the trainer.
            command: the command line, for the record.
            given: values of the other options, by field.
        """
        return cls(trainer=trainer, options=options, command=command, **given)

    def wishes(self) -> dict[str, object]:
        """Return the given settings that a resumed run may change."""
        given: dict[str, object] = {
            "budget": self.budget,
            "out": None if self.out is None else str(self.out.absolute()),
            "opponents": self.opponents or None,
            "matches": self.matches,
            "keeps_matches": self.keeps_matches or None,
        }
        wishes = {key: value for key, value in given.items() if value is not None}
        if (self.executor, self.cluster) != (None, None):
            # A new place replaces the old one as a whole.
            wishes |= {"executor": self.executor, "cluster": self.cluster}
        return wishes


def runs_folder() -> Path:
    """Return the folder of all runs."""
    return home().absolute() / "runs"


def settle(order: Order) -> RunSettings:
    """Determine the settings of a new run; the command line takes precedence over the recipe.

    Raises:
        PluginError: there is no such trainer.
        ConfigError: the recipe or a number is invalid, or the data folder does not exist.
    """
    found = find_recipe(find(TRAINERS, order.trainer), order.recipe)
    recipe = found.recipe
    seed = next((seed for seed in (order.seed, recipe.seed) if seed is not None), secrets.randbelow(_SEEDS))
    start = "" if order.start is None else _start_of(order.start, order.trainer, seed)
    budget = recipe.budget if order.budget is None else order.budget
    if not 0 <= seed < _SEEDS:
        raise ConfigError(f"--seed {seed} is not a whole number from 0 to 2^53 - 1")
    if budget is not None and not 0 < budget < float("inf"):
        raise ConfigError(f"--budget {budget:g} is not a positive number of seconds")
    if order.data is not None and not order.data.is_dir():
        raise ConfigError(f"--data {order.data} is not a folder; arena export creates such folders")
    settings = RunSettings(
        trainer=order.trainer,
        recipe=found.name,
        recipe_text=found.text,
        options={**options_of(recipe), **order.options},
        game=order.game or recipe.game,
        seed=seed,
        budget=budget,
        data="" if order.data is None else str(order.data.absolute()),
        start=start,
        command=order.command,
    )
    return msgspec.structs.replace(settings, **order.wishes())


def _start_of(name: str, trainer: str, seed: int) -> str:
    """Return a description of the checkpoint that a run starts from.

    Raises:
        ConfigError: there is none, or it has another trainer or seed, on which array shapes may depend.
    """
    folder, settings = find_run(name)
    kept = checkpoints.load(folder)
    if kept is None:
        raise ConfigError(f"the run {name} has no checkpoint to begin from")
    if (settings.trainer, settings.seed) != (trainer, seed):
        raise ConfigError(
            f"the checkpoint of {name} is one of {settings.trainer} with seed {settings.seed};"
            f" begin with these, not with {trainer} and seed {seed}"
        )
    return f"{name} step {kept[0].step}"


def make_folder(settings: RunSettings, name: str | None) -> Path:
    """Create the folder of a new run and store its settings.

    Raises:
        ConfigError: the name is not allowed, or another run has it.
    """
    folder = runs_folder()
    if name is None:
        name = next(text for i in count(1) if not (folder / (text := f"{settings.trainer}-{i}")).exists())
    if not NAME.match(name):
        raise ConfigError(f'"{name}" cannot be the name of a run (letters, digits, "_", ".", "-")')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The folder appears complete or not at all: a process killed before the last line leaves no run that
        # can neither be resumed nor begun again. Names of runs do not begin with a dot.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-", ignore_cleanup_errors=True) as new:
            run = Path(new, name)
            run.mkdir()
            write_settings(run, settings)
            if settings.start:
                origin = folder / settings.start.partition(" ")[0]
                write_whole(run / checkpoints.NAME, (origin / checkpoints.NAME).read_bytes())
            # A rename does not replace a folder with files, so of two processes with one name only one gets
            # it.
            run.rename(folder / name)
    except OSError as error:
        if (folder / name).exists():
            raise ConfigError(f'there is a run "{name}" already; --resume {name} continues it') from None
        raise ConfigError(f"cannot make {folder / name} ({error.strerror}); set ARENA_HOME") from error
    return folder / name


def write_settings(folder: Path, settings: RunSettings) -> None:
    """Store the settings of a run."""
    write_whole(folder / _SETTINGS, settings.to_toml().encode())


def drop_if_empty(folder: Path) -> None:
    """Remove a new run that has neither measurements nor a checkpoint, because its trainer refused it.

    A run that another process holds stays: in its first step it has none either.
    """
    with suppress(ConfigError), held(folder):
        files = {path.name: path.stat().st_size for path in folder.iterdir()}
        if all(name in {_SETTINGS, "lock"} or not size for name, size in files.items()):
            shutil.rmtree(folder)


def find_run(name: str) -> tuple[Path, RunSettings]:
    """Return the folder and the settings of a run.

    Raises:
        ConfigError: no run has that name, or its settings cannot be read.
    """
    folder = runs_folder() / name
    if not has_run(name):
        known = sorted(_names())
        listed = ", ".join(known[:10]) or "none"
        raise ConfigError(f'there is no run "{name}"{nearest(name, known)} (runs: {listed})')
    try:
        values = tomllib.loads((folder / _SETTINGS).read_text("utf-8"))
        return folder, msgspec.convert(values, RunSettings)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise ConfigError(f"{folder / _SETTINGS} cannot be read: {error}") from error


def has_run(name: str) -> bool:
    """Return whether there is a run of that name."""
    return bool(NAME.match(name)) and (runs_folder() / name / _SETTINGS).is_file()


def same_options(settings: RunSettings, options: Mapping[str, str]) -> None:
    """Refuse options that differ from those the run began with.

    Raises:
        ConfigError: an option differs; the text names the first one.
    """
    for key, value in options.items():
        if settings.options.get(key) != value:
            was = json.dumps(settings.options.get(key, ""))
            raise ConfigError(f"the run was begun with {key}={was}; to change it begin another run")


def _names() -> Iterable[str]:
    folder = runs_folder()
    found = folder.glob(f"*/{_SETTINGS}") if folder.is_dir() else ()
    return (path.parent.name for path in found if NAME.match(path.parent.name))
