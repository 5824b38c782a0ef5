"""The classifier in Keras: built from layers, trained in steps, evaluated in batches, written as ONNX."""

# ruff: noqa: ANN401 - TensorFlow and Keras have no type information that a strict checker could use
# pyright: basic, reportMissingTypeStubs=false, reportMissingImports=false, reportAttributeAccessIssue=false
# onnx creates its message classes at run time, which no checker can follow.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from arena_bots.keras_wdl.encoding import PLANES, full_spec, worth_of
from arena_bots.keras_wdl.train.options import map_shape

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray
    from onnx import NodeProto

    from arena_bots.keras_wdl.train.array_rules import ArrayRules
    from arena_bots.keras_wdl.train.examples import Examples
    from arena_bots.keras_wdl.train.options import HiddenLayer, Options
    from arena_plugins.contract import Game

_CLASSES = 3
_SOON = 9
"""Number of steps until the running average of the weights covers several steps."""
_ASKED = 16_384
"""Maximum positions per evaluation; larger batches only take more memory."""


@lru_cache
def _frameworks() -> tuple[Any, Any]:
    """Import TensorFlow and Keras, limited to one thread: on a busy machine, a second one makes it slower."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    # No GPU, because it adds in another order: equal machines must produce the same bytes from a seed.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    with _silence():
        import keras
        import tensorflow as tf

        # If TensorFlow has already run in this process, its number of threads can no longer be changed.
        with suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(1)
        # Equal machines must produce the same bytes from a seed.
        tf.config.experimental.enable_op_determinism()
        # The first operation starts the runtime, which prints messages; here they are suppressed.
        tf.constant(0)
    return tf, keras


@contextmanager
def _silence() -> Generator[None]:
    """Redirect native stderr: TensorFlow reports GPUs before its logging can be configured."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


class Classifier:
    """A network for loss, draw and win, its optimiser, and the running average of its weights."""

    def __init__(self, options: Options, rules: ArrayRules, seed: int) -> None:
        """Make a network with initial weights drawn from `seed`.

        Raises:
            PluginError: TensorFlow or Keras is not installed.
        """
        tf, keras = _frameworks()
        keras.utils.set_random_seed(seed % 2**32)
        self._tf = tf
        self._rules = rules
        self.has_convolutions = any(layer.kernel for layer in options.layers)
        self.model = _model(keras, options.layers, rules.shape)
        kinds = {"adam": keras.optimizers.Adam, "rmsprop": keras.optimizers.RMSprop}
        self._optimizer = kinds[options.optimizer](options.rate)
        self._optimizer.build(self.model.trainable_variables)
        self._has_average = options.average > 0
        self._averages = [tf.Variable(value) for value in self.model.get_weights()]
        self._keep = tf.constant(options.average, tf.float32)
        self._steps = _steps_function(tf, self)
        self._loss = _loss_function(tf, self.model)
        self._chances = _chances_function(tf, self.model)

    def fit(
        self, examples: Examples, rows: NDArray[np.intp], batch: int, symmetries: NDArray[np.intp]
    ) -> float:
        """Train on rows of examples in whole batches, each row under its symmetry; return the mean loss."""
        total = 0.0
        together = max(_ASKED // batch, 1) * batch
        for start in range(0, len(rows), together):
            chosen = examples.take(rows[start : start + together])
            planes = self._planes(chosen, symmetries[start : start + together])
            batches = (len(planes) // batch, batch)
            total += float(
                self._steps(planes.reshape(*batches, *planes.shape[1:]), chosen.chances.reshape(*batches, -1))
            )
        return total * batch / len(rows)

    def loss(self, examples: Examples) -> tuple[float, float]:
        """Return the mean cross entropy, and the percentage of examples whose likeliest class is correct."""
        loss = right = 0.0
        for start in range(0, len(examples.mine), _ASKED):
            part = examples.take(slice(start, start + _ASKED))
            planes = self._rules.planes(part.mine, part.other)
            one, other = self._loss(planes, part.chances, part.weights)
            loss, right = loss + float(one), right + float(other)
        total = max(float(examples.weights.sum()), 1.0)
        return loss / total, 100 * right / total

    def judge(self, mine: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the expected points of the player who has just moved; `[n]`."""
        worth = np.empty(len(mine), np.float32)
        for start in range(0, len(mine), _ASKED):
            part = slice(start, start + _ASKED)
            worth[part] = worth_of(self._chances(self._rules.planes(mine[part], other[part])).numpy())
        return worth

    def set_rate(self, rate: float) -> None:
        """Set the optimiser's learning rate."""
        self._optimizer.learning_rate.assign(rate)

    def weights(self) -> list[NDArray[np.float32]]:
        """Return the weights for play: the running averages, if they are kept."""
        if self._has_average:
            return [value.numpy() for value in self._averages]
        return self.model.get_weights()

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return every array that training changes, by name."""
        named = {
            "weights": self.model.weights,
            "averages": self._averages,
            "optimizer": self._optimizer.variables,
        }
        return {
            f"{name}/{number}": value.numpy()
            for name, values in named.items()
            for number, value in enumerate(values)
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore a snapshot.

        Raises:
            KeyError: it belongs to another network.
        """
        for name, values in (
            ("weights", self.model.weights),
            ("averages", self._averages),
            ("optimizer", self._optimizer.variables),
        ):
            for number, value in enumerate(values):
                value.assign(arrays[f"{name}/{number}"])

    def _planes(self, chosen: Examples, symmetries: NDArray[np.intp]) -> NDArray[np.float32]:
        mine, other = chosen.mine.copy(), chosen.other.copy()
        for symmetry in range(1, self._rules.num_images):
            rows = symmetries == symmetry
            mine[rows] = self._rules.image(mine[rows], symmetry)
            other[rows] = self._rules.image(other[rows], symmetry)
        return self._rules.planes(mine, other)


def _model(keras: Any, layers: Sequence[HiddenLayer], shape: tuple[int, int]) -> Any:
    map_shape(layers, shape)
    given = values = keras.layers.Input((*shape, 2))
    is_flat = False
    for layer in layers:
        if layer.kernel:
            edges = "same" if layer.is_padded else "valid"
            values = keras.layers.Conv2D(layer.units, layer.kernel, padding=edges, activation="relu")(values)
        else:
            values = values if is_flat else keras.layers.Flatten()(values)
            is_flat = True
            values = keras.layers.Dense(layer.units, activation="relu")(values)
    values = values if is_flat else keras.layers.Flatten()(values)
    return keras.Model(given, keras.layers.Dense(_CLASSES)(values))


def _steps_function(tf: Any, classifier: Classifier) -> Any:
    model, optimizer, averages = classifier.model, classifier._optimizer, classifier._averages  # noqa: SLF001 - same module
    keep, has_average = classifier._keep, classifier._has_average  # noqa: SLF001 - as above

    def step(planes: Any, chances: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = model(planes, training=True)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(chances, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        if has_average:
            # A short memory at first, or the average would long contain the random initial weights.
            done = tf.cast(optimizer.iterations.value, tf.float32)
            kept = tf.minimum(keep, done / (done + _SOON))
            for average, value in zip(averages, model.trainable_variables, strict=True):
                average.assign(kept * average + (1 - kept) * value)
        return loss

    # A Python call, and one per operation, would cost more than a step of a small network. So one call makes
    # many steps, compiled with XLA unless there are convolutions, which XLA executes more slowly on a CPU.
    @tf.function(jit_compile=not classifier.has_convolutions, autograph=False)
    def steps(planes: Any, chances: Any) -> Any:
        def one_more(number: Any, total: Any) -> Any:
            return number + 1, total + step(planes[number], chances[number])

        nothing = (tf.constant(0), tf.constant(0.0))
        return tf.while_loop(lambda number, _: number < planes.shape[0], one_more, nothing)[1]

    return steps


def _loss_function(tf: Any, model: Any) -> Any:
    @tf.function(reduce_retracing=True, autograph=False)
    def loss(planes: Any, chances: Any, weights: Any) -> Any:
        logits = model(planes)
        losses = tf.nn.softmax_cross_entropy_with_logits(chances, logits)
        is_right = tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(chances, 1)), tf.float32)
        return tf.reduce_sum(weights * losses), tf.reduce_sum(weights * is_right)

    return loss


def _chances_function(tf: Any, model: Any) -> Any:
    @tf.function(reduce_retracing=True, autograph=False)
    def chances(planes: Any) -> Any:
        return tf.nn.softmax(model(planes))

    return chances


_OPSET = 17
_IR = 8
"""The IR version that belongs to the opset; every supported ONNX Runtime reads it."""


def onnx_bytes(
    layers: Sequence[HiddenLayer], weights: Sequence[NDArray[np.float32]], game: Game, *, is_averaged: bool
) -> bytes:
    """Return the ONNX file of a classifier.

    The model maps `planes`, `[batch, 2, rows, columns]`, to `chances`, `[batch, 3]`. Weights are stored in
    two bytes and computed with in four.

    Args:
        layers: the hidden layers.
        weights: Keras's weights, layer by layer, kernel before bias.
        game: the game.
        is_averaged: whether the bot is to average over all symmetric images of a position.
    """
    rows, columns = game.shape
    nodes: list[NodeProto] = []
    stored: list[NDArray[np.float16]] = []
    name = "planes"
    for number, (layer, kernel, bias) in enumerate(_by_layer(layers, weights, game.shape)):
        stored += [kernel.astype(np.float16), bias.astype(np.float16)]
        is_last = number == len(layers)
        if not (layer and layer.kernel) and (number == 0 or layers[number - 1].kernel):
            nodes.append(helper.make_node("Flatten", [name], ["flat"]))
            name = "flat"
        names = [f"kernel{number}", f"bias{number}"]
        nodes += [helper.make_node("Cast", [f"{one}h"], [one], to=TensorProto.FLOAT) for one in names]
        if layer and layer.kernel:
            edges = "SAME_UPPER" if layer.is_padded else "VALID"
            nodes.append(helper.make_node("Conv", [name, *names], [f"sum{number}"], auto_pad=edges))
        else:
            nodes.append(helper.make_node("Gemm", [name, *names], [f"sum{number}"]))
        name = "chances" if is_last else f"layer{number}"
        nodes.append(helper.make_node("Softmax" if is_last else "Relu", [f"sum{number}"], [name]))
    tensors = [
        numpy_helper.from_array(array, f"{kind}{number // 2}h")
        for number, (array, kind) in enumerate(
            zip(stored, ("kernel", "bias") * (len(layers) + 1), strict=True)
        )
    ]
    graph = helper.make_graph(
        nodes,
        "keras",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["batch", PLANES, rows, columns])],
        [helper.make_tensor_value_info("chances", TensorProto.FLOAT, ["batch", 3])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    helper.set_model_props(
        model,
        {"bot": "keras", "game": full_spec(game), "images": "all" if is_averaged else "one"},
    )
    checker.check_model(model)
    return model.SerializeToString(deterministic=True)


def rounded(weights: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Return weights rounded as they are in the file."""
    return [array.astype(np.float16).astype(np.float32) for array in weights]


def _by_layer(
    layers: Sequence[HiddenLayer], weights: Sequence[NDArray[np.float32]], shape: tuple[int, int]
) -> Iterator[tuple[HiddenLayer | None, NDArray[np.float32], NDArray[np.float32]]]:
    """Yield each layer (None for the last one) with its weights in ONNX's layout, channels first."""
    depth = PLANES
    has_map = True
    for number, layer in enumerate((*layers, None)):
        kernel, bias = weights[2 * number], weights[2 * number + 1]
        if layer and layer.kernel:
            yield layer, kernel.transpose(3, 2, 0, 1), bias
            depth = layer.units
            continue
        if has_map:
            # Keras flattens with channels last.
            kernel = (
                kernel.reshape(*map_shape(layers, shape), depth, -1)
                .transpose(2, 0, 1, 3)
                .reshape(kernel.shape)
            )
            has_map = False
        yield layer, kernel, bias
