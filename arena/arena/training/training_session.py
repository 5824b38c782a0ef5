"""One session of a run: train, write the weights with their provenance, measure them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import sys
import tomllib
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.config import check_executor
from arena.coordinator.machines import ShardPlan, TrainingMachines, check_machines, open_shards
from arena.errors import ConfigError, PluginError
from arena.garbage import collect_as_usual
from arena.rating.shares import wilson
from arena.training import checkpoints, metrics
from arena.training.context import Context, RunObservers, ShardSlots, TrainingRun
from arena.training.dispatch import Dispatcher
from arena.training.files import full_disks_named, held, toml_lines, write_whole
from arena.training.metrics import MetricsWriter
from arena.training.stopping import run_orders
from arena_plugins.manager import TRAINERS, load_game, load_plugin
from arena_plugins.spec import Spec
from arena_plugins.training import Score

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from arena.training.context import Watcher
    from arena.training.runs import RunSettings
    from arena.training.stopping import RunOrders
    from arena_plugins.training import Fact, Trainer

_LIBRARIES = ("numpy", "numba", "torch", "tensorflow", "keras", "onnx", "onnxruntime")


class Measured(msgspec.Struct, frozen=True):
    """The results against one opponent."""

    opponent: str
    score: Score
    plies: int
    """Number of random actions at the start of each pair of matches."""


def _path_of(weights: Path) -> Path:
    """Return the path of a weights file's provenance."""
    return weights.with_suffix(".provenance.toml")


def provenance(
    weights: bytes,
    run: Mapping[str, Fact],
    options: Mapping[str, Fact],
    data: Mapping[str, Fact],
    measured: Sequence[Measured] = (),
) -> str:
    """Format the provenance of weights.

    Args:
        weights: the content of the weights file.
        run: how they were made: command, trainer, recipe, game, seed, steps, seconds.
        options: the options of the trainer.
        data: the data they were made from.
        measured: their results in matches.
    """
    head: dict[str, Fact] = {
        "sha256": hashlib.sha256(weights).hexdigest(),
        "bytes": len(weights),
        **run,
        "date": datetime.now(UTC).date().isoformat(),
    }
    tables = {"options": options, "data": data, "versions": _versions(), "machine": _machine()}
    text = toml_lines(head)
    text += "".join(f"\n[{name}]\n{toml_lines(values)}" for name, values in tables.items() if values)
    return text + "".join(f"\n[[measured]]\n{toml_lines(_row(one))}" for one in measured)


def _row(measured: Measured) -> dict[str, Fact]:
    row: dict[str, Fact] = {"opponent": measured.opponent, "random_plies": measured.plies}
    for side, counts in (("first", measured.score.first), ("second", measured.score.second)):
        low, high = wilson(counts[0], sum(counts))
        row[f"{side}_matches"] = sum(counts)
        row[f"{side}_wins"], row[f"{side}_draws"], row[f"{side}_losses"] = counts
        row[f"{side}_win_percent"] = round(100 * counts[0] / max(sum(counts), 1), 1)
        row[f"{side}_win_low"], row[f"{side}_win_high"] = round(low, 1), round(high, 1)
    row["distinct"] = measured.score.num_distinct
    return row


def _versions() -> dict[str, Fact]:
    """Return the versions of the libraries that are loaded."""
    found: dict[str, Fact] = {
        "bot-arena": importlib.metadata.version("bot-arena"),
        "python": platform.python_version(),
    }
    return found | {name: importlib.metadata.version(name) for name in _LIBRARIES if name in sys.modules}


def _machine() -> dict[str, Fact]:
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count() or 1}


_WEIGHTS = "weights"
_SUFFIXES = (".npz", ".onnx")
_PLIES = 2
"""Number of random actions at the start of evaluation matches."""


class Product(msgspec.Struct, frozen=True):
    """The result of a run."""

    weights: Path
    spec: str
    """Spec of the bot with the trained weights, ready to be entered."""
    measured: tuple[Measured, ...]
    seconds: float
    """Seconds of training over all sessions."""


def check(settings: RunSettings, keys: str | None = None) -> None:
    """Check that a run can begin, before hours of training are spent on it.

    Args:
        settings: the run.
        keys: this machine's key for worker machines.

    Raises:
        ArenaError: its game or its trainer cannot be made, the weights cannot be written, or worker machines
            cannot be used.
    """
    check_executor(settings.executor or "local")
    check_machines(machines_of(settings, keys))
    if settings.out_file is not None:
        _check_out(settings.out_file)
    load_game(settings.game)
    load_plugin(TRAINERS, settings.trainer).make_trainer(settings.options)


def machines_of(settings: RunSettings, keys: str | None) -> TrainingMachines:
    """Return where the shards of a run are computed, with this machine's key."""
    return TrainingMachines(settings.executor or "local", settings.cluster, keys)


def sit(
    folder: Path,
    settings: RunSettings,
    watcher: Watcher,
    *,
    db: str | None = None,
    keys: str | None = None,
) -> Product:
    """Train until the run is finished, its time is used up, or the user stops it.

    Raises:
        Stopped: the user stopped it; a checkpoint was saved.
        ArenaError: the trainer, the game or an opponent cannot be made, the run is finished or in use, or a
            disk is full.
    """
    # The lock first: only the process that holds the run may remove orders and listen to new ones.
    with full_disks_named(folder), held(folder), run_orders(folder) as orders:
        resumed = checkpoints.load(folder)
        _check_unfinished(folder, settings, 0.0 if resumed is None else resumed[1])
        game = load_game(settings.game)
        trainer = load_plugin(TRAINERS, settings.trainer).make_trainer(settings.options)
        collect_as_usual()
        last_step = -1 if resumed is None else resumed[0].step
        machines = machines_of(settings, keys)
        with (
            MetricsWriter(folder, last_step=last_step) as metrics,
            _dispatching(
                ShardPlan(machines, settings.trainer, settings.game, folder.name), watcher, orders
            ) as found,
        ):
            context = Context(
                TrainingRun(settings, folder, game, resumed),
                RunObservers(metrics, watcher, orders),
                db=db,
                slots=ShardSlots(found, machines.is_chosen),
            )
            return _train(trainer, context, settings)


@contextmanager
def _dispatching(plan: ShardPlan, watcher: Watcher, orders: RunOrders) -> Generator[Dispatcher | None]:
    """Yield the dispatcher of shards; None if they are computed in this process. An error aborts them."""
    if plan.machines.executor == "inline":
        yield None
        return
    dispatcher = Dispatcher(
        partial(open_shards, plan), say=watcher.say, is_stopping=lambda: orders.is_stopping
    )
    try:
        yield dispatcher
    except BaseException:
        dispatcher.order("abort")
        raise
    finally:
        dispatcher.close()


def _train(trainer: Trainer, context: Context, settings: RunSettings) -> Product:
    try:
        trained = trainer.train(context)
    except ModuleNotFoundError as error:
        raise PluginError(
            f"the trainer {settings.trainer} needs {error.name}, which is not installed; install it with pip"
        ) from error
    finally:
        # A disk that is full must not hide why the training ended, nor keep its weights from being written:
        # they may go to another one.
        with suppress(OSError):
            metrics.draw(context.folder)
    if trained.suffix not in _SUFFIXES:
        raise ConfigError(f'the trainer made weights "{trained.suffix}"; they are .npz or .onnx')
    seconds = context.seconds
    weights = context.write(f"{_WEIGHTS}{trained.suffix}", trained.weights)
    run = _run_facts(settings, context, seconds)
    out = settings.out_file

    def describe(measured: Sequence[Measured]) -> None:
        text = provenance(trained.weights, run, settings.options, trained.facts, measured)
        write_whole(_path_of(weights), text.encode())
        if out is not None:
            write_whole(out, trained.weights)
            write_whole(_path_of(out), text.encode())

    # Written before the evaluation, so that a kill during it loses measurements, but no weights.
    describe([])
    spec = str(Spec(trainer.bot, {"weights": str(out or weights)}))
    measured = _measure(context, spec, settings)
    if measured:
        describe(measured)
    return Product(out or weights, spec, measured, seconds)


def _run_facts(settings: RunSettings, context: Context, seconds: float) -> dict[str, Fact]:
    return {
        "command": settings.command,
        "trainer": settings.trainer,
        "recipe": settings.recipe,
        "game": settings.game,
        "seed": settings.seed,
        "steps": context.step,
        "is_complete": context.step >= context.total,
        "start_checkpoint": settings.start,
        "resumed_from_step": 0 if context.resumed is None else context.resumed.step,
        "seconds": round(seconds, 1),
    }


def _measure(context: Context, spec: str, settings: RunSettings) -> tuple[Measured, ...]:
    measured: list[Measured] = []
    for opponent in settings.opponents:
        context.say(f"{settings.matches} matches against {opponent}")
        score = context.play(spec, opponent, settings.matches, plies=_PLIES)
        measured.append(Measured(opponent, score, _PLIES))
        context.metric(context.step, f"score vs {opponent}", score.percent)
    return tuple(measured)


def _check_unfinished(folder: Path, settings: RunSettings, seconds: float) -> None:
    """Refuse a run that is finished, or that has no training time left after `seconds`.

    Raises:
        ConfigError: it is finished or has no time left; the text says where its weights are.
    """
    for path in folder.glob(f"{_WEIGHTS}.provenance.toml"):
        told = tomllib.loads(path.read_text("utf-8"))
        if told["is_complete"]:
            raise ConfigError(f"the run {folder.name} is finished; its weights lie in {folder}")
        if settings.budget is not None and seconds >= settings.budget:
            raise ConfigError(
                f"the run {folder.name} has used up its {settings.budget:g} s; a larger --budget continues it"
            )


def _check_out(out: Path) -> None:
    """Refuse an unusable path for the weights.

    Raises:
        ConfigError: its parent folder does not exist, or it is a folder.
    """
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {out} cannot be written: name a file in an existing folder")
