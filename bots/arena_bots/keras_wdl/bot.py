"""The bot `keras`: evaluates all successor positions with one network call, and plays the most promising."""

from __future__ import annotations

import importlib
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from arena_bots.keras_wdl.encoding import PLANES, full_spec, images_of, planes_of, worth_of
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader
from arena_plugins.weights import load_onnx

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from arena_plugins.contract import Game, Limit, State

RECIPES = ("best", "article")
"""Recipes whose weights ship with the bot."""
WEIGHTS = Path(__file__).with_name("weights")
_GAMES = {
    "connect-four:cols=7,k=4,rows=6": "connect-four",
    "tic-tac-toe": "tic-tac-toe",
    "gomoku:exact=off,k=4,size=6": "gomoku-6-4",
}
"""Games whose weights ship with the bot, with the names used in file names."""


class KerasBot:
    """Takes an immediate win, otherwise trusts its network; it does not search."""

    deterministic = True

    def __init__(self, network: Network, game: Game, seed: int) -> None:
        self._network = network
        self._shape = game.shape
        self._random = Random(seed)  # noqa: S311 - not used for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match in which ties are broken by `seed`."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose among the successor positions; limits are ignored, because one network call is quick."""
        del limit
        worth = self._worth(state)
        top = max(worth.values())
        best = [action for action, value in worth.items() if value == top]
        action = self._random.choice(best)
        return PlayResult(
            action,
            value=2 * top - 1,
            policy={other: float(other in best) / len(best) for other in worth},
            pv=(action,),
            nodes=len(worth),
            depth=0,
        )

    def _worth(self, state: State) -> dict[int, float]:
        """Return the expected points, 0 to 1, after each action; if a win exists, other actions get 0."""
        player = state.current_player
        children = {action: state.child(action) for action in state.legal_actions}
        worth = {
            action: (child.returns[player] + 1) / 2 for action, child in children.items() if child.is_terminal
        }
        if 1.0 in worth.values() or len(worth) == len(children):
            # There is a win, or every successor is terminal: the network is not needed.
            return {action: worth.get(action, 0.0) for action in children}
        going = {action: child for action, child in children.items() if not child.is_terminal}
        asked = worth_of(self._network.chances(planes_of(list(going.values()), self._shape)))
        worth |= zip(going, asked.tolist(), strict=True)
        return {action: worth[action] for action in children}


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> KerasBot:
    """Make the bot; options `recipe` and `weights` (a file, instead of a recipe).

    Raises:
        OptionError: no weights ship for the game, or both options are given.
        PluginError: the weights cannot be read, or are for another game.
    """
    reader = OptionReader("keras", options)
    recipe = reader.choice("recipe", "", ("", *RECIPES))
    weights = reader.text("weights", "")
    reader.done()
    if recipe and weights:
        raise OptionError("keras: give recipe or weights, not both")
    return KerasBot(load_network(weights or shipped(game, recipe or RECIPES[0]), game), game, seed)


def shipped(game: Game, recipe: str) -> Path:
    """Return the shipped weights file for a game.

    Raises:
        OptionError: there is none.
    """
    name = _GAMES.get(full_spec(game), "")
    path = WEIGHTS / f"{name}-{recipe}.onnx"
    if name and path.is_file():
        return path
    known = sorted(path.stem for path in WEIGHTS.glob("*.onnx"))
    raise OptionError(
        f"keras has no weights for {full_spec(game)} by recipe {recipe} (there are: {', '.join(known)});"
        " train some with arena train keras, and give them as weights=FILE"
    )


MAX_BYTES = 1 << 25
"""Maximum size of a weights file in bytes; the shipped ones have 3 MB together."""
_CLASSES = 3
_SILENT = 4
"""Log level of ONNX Runtime that suppresses messages; problems with a model are raised as exceptions."""
_NEAR = 1e-3
"""Tolerance for the sum of the class probabilities."""


class Network:
    """Predicts the chances of loss, draw and win for the player who has just moved."""

    def __init__(self, content: bytes, game: Game, source: str) -> None:
        """Load a model from bytes; `source` names it in error messages.

        Raises:
            PluginError: it is not a model of `keras`, is for another game, or is damaged.
        """
        self._session = _session(content, source)
        told: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        if told.get("bot") != "keras":
            raise PluginError(f"{source} contains no weights of keras; arena train keras creates some")
        wanted = full_spec(game)
        if told.get("game") != wanted:
            raise PluginError(f"{source} holds weights for {told.get('game')}, not for {wanted}")
        self._images = images_of(game) if told.get("images") == "all" else images_of(game)[:1]
        self._shape = (PLANES, *game.shape)
        self._check(source)

    def chances(self, planes: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the chances of positions with one call, `[n, 2, rows, columns]` to `[n, 3]`.

        A network trained on all symmetric images of positions is evaluated on all of them, and the mean is
        returned.
        """
        count, images = len(planes), len(self._images)
        flat = planes.reshape(count, PLANES, -1)
        turned = flat[:, :, self._images].transpose(2, 0, 1, 3) if images > 1 else flat
        batch = np.ascontiguousarray(turned).reshape(images * count, *self._shape)
        answer: NDArray[np.float32] = self._session.run(["chances"], {"planes": batch})[0]
        return answer.reshape(images, count, _CLASSES).mean(axis=0)

    def _check(self, source: str) -> None:
        """Evaluate an empty board as a test.

        Raises:
            PluginError: the result is not a set of probabilities.
        """
        planes = np.zeros((2, *self._shape), np.float32)
        try:
            chances = self.chances(planes)
        except Exception as error:
            # A broken model can raise any exception.
            raise PluginError(f"{source} cannot be evaluated: {_first_line(error)}") from error
        if not np.allclose(chances.sum(axis=1), 1, atol=_NEAR) or (chances < 0).any():
            raise PluginError(f"{source} does not return probabilities: {chances[0].tolist()}")


def load_network(path: str | Path, game: Game) -> Network:
    """Read a weights file.

    Raises:
        PluginError: the file is missing or damaged, or is not for this bot and game.
    """
    return Network(load_onnx(path, max_bytes=MAX_BYTES), game, str(path))


def _session(content: bytes, source: str) -> Any:  # noqa: ANN401 - ONNX Runtime has no types
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    # The arena allocator reserves memory in advance, which counts against the sandbox's limit.
    options.enable_cpu_mem_arena = False
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # ONNX Runtime's exceptions have no common base class.
        raise PluginError(f"{source} is a damaged ONNX model: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
