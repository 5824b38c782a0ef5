"""A plugin with a bot that weighs actions and a trainer that finds the weights; see `install`."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export.dataset import Dataset
from arena.own_python import own_python
from arena_plugins import Checkpoint, OptionReader, PlayResult, Trained, TrainingMatch, hookimpl, load_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest
    from numpy.typing import NDArray

    from arena_plugins import Game, Limit, State, TrainingContext

_METADATA = "Metadata-Version: 2.1\nName: weigher\nVersion: 3.1\n"
_ENTRY_POINTS = "[arena.bots]\nweigher = weigher\n[arena.trainers]\nweigher = weigher\n"
_RECIPE = 'about = "Few steps."\ngame = "tic-tac-toe"\nseed = 7\n[options]\nsteps = 12\n'


class Weigher:
    """Plays the legal action of the largest weight."""

    deterministic = True

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self._weights = weights["weights"]

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the legal action of the largest weight."""
        del limit
        return PlayResult(max(state.legal_actions, key=lambda action: float(self._weights[action])))


class WeigherTrainer:
    """Estimates the values of actions: first ones of its own random matches, or those of an export."""

    bot = "weigher"

    def __init__(self, at: Mapping[str, int]) -> None:
        self._steps = at["steps"]
        self._fail_at = at["fail-at"]
        self._stop_at = at["stop-at"]
        self._kill_at = at["kill-at"]
        self._orders = {at["order-at"]: ("stop",), at["abort-at"]: ("stop", "--now")}
        self._pause_at = at["pause-at"]

    def train(self, context: TrainingContext) -> Trained:
        """Train, from the checkpoint if there is one."""
        if context.data is not None:
            return _learn_from(context.data, context.game)
        resumed = context.resumed
        step, weights = 0, np.zeros(context.game.num_actions)
        if resumed is not None:
            step, weights = resumed.step, resumed.arrays["weights"].copy()
        goes_on = step < self._steps
        while goes_on:
            rng = np.random.default_rng([context.seed, step])
            state = context.game.initial_state()
            while not state.is_terminal:
                state = state.child(int(rng.choice(state.legal_actions)))
            weights[state.history[0]] += state.returns[0]
            step += 1
            context.metric(step, "weight", float(weights.max()))
            context.store([TrainingMatch(state.history, round(state.returns[0]))])
            if step == self._fail_at:
                raise RuntimeError("failed on purpose")
            if step == self._stop_at:
                os.kill(os.getpid(), signal.SIGINT)
            if step in self._orders and resumed is None:
                _order(context.folder.name, *self._orders[step])
            if step == self._pause_at and resumed is None:
                _pause(context.folder)
            if step == self._kill_at and resumed is None:
                os.kill(os.getpid(), signal.SIGKILL)
            checkpoint = Checkpoint(step, {"weights": weights.copy()}, {})
            goes_on = context.tick(step, self._steps, lambda kept=checkpoint: kept) and step < self._steps
        return Trained(_packed(weights), ".npz", {"matches": step, "source": "random play"})


def _learn_from(folder: Path, game: Game) -> Trained:
    data = Dataset.open(folder)
    assert data.game == game.name
    rows = data.arrays("train")
    worth = np.zeros(game.num_actions)
    np.add.at(worth, rows["action"], rows["value"] * rows["count"])
    facts = {"positions": len(rows["action"]), "source": f"export {folder.name}"}
    return Trained(_packed(worth), ".npz", facts)


def _pause(folder: Path) -> None:
    """Pause a run as another shell does, and resume it once it waits."""
    _order(folder.name, "pause")

    def go_on() -> None:
        while not (folder / "paused").exists():
            threading.Event().wait(0.01)
        _order(folder.name, "resume")

    threading.Thread(target=go_on).start()


def _order(run: str, command: str, *options: str) -> None:
    """Send a command to a run as another shell does."""
    command_line = own_python("-m", "arena", command, *options, run)
    shell = subprocess.Popen(command_line, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        shell.wait()
    finally:
        # The command prints its line only after this process was interrupted.
        print(shell.communicate()[0], end="")  # noqa: T201 - for the test


def _packed(weights: NDArray[np.float64]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, weights=weights)
    return file.getvalue()


@hookimpl
def make_bot(game: Game, options: Mapping[str, str]) -> Weigher:
    """Make the bot; option `weights`."""
    del game
    return Weigher(load_arrays(options["weights"]))


@hookimpl
def make_trainer(options: Mapping[str, str]) -> WeigherTrainer:
    """Make the trainer.

    Options: `steps`, and the steps at which it fails, is stopped or, in a new run, killed, or is ended or
    paused by another process.
    """
    reader = OptionReader("the trainer weigher", options)
    defaults = {
        "steps": 5,
        "fail-at": 0,
        "stop-at": 0,
        "kill-at": 0,
        "order-at": 0,
        "abort-at": 0,
        "pause-at": 0,
    }
    at = {key: reader.integer(key, default, low=0, high=10**6) for key, default in defaults.items()}
    reader.done()
    return WeigherTrainer(at)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make bot and trainer `weigher` discoverable, as a distribution in `folder`, for one test."""
    info = folder / "weigher-3.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(_METADATA, encoding="utf-8")
    (info / "entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
    (folder / "recipes").mkdir()
    (folder / "recipes" / "few.toml").write_text(_RECIPE, encoding="utf-8")
    shutil.copy(__file__, folder / "weigher.py")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "weigher", raising=False)
