"""The options of the trainer and their defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.spec import OptionReader

_LAYER = re.compile(r"([1-9][0-9]{0,3})(?:([cv])([1-9]))?")
_MANY = 10**9
"""Upper bound of options that count positions: a number with too many digits is refused."""


class HiddenLayer(NamedTuple):
    """A hidden layer, followed by ReLU."""

    units: int
    """Number of units of a dense layer, or of filters of a convolution."""
    kernel: int = 0
    """Side of a convolution's window in cells; 0 for a dense layer."""
    is_padded: bool = True
    """Whether windows extend beyond the edges, so that there is one for each cell."""


class Options(NamedTuple):
    """The settings of a training run; docs/reference/keras.md lists the options with their meaning."""

    layers: tuple[HiddenLayer, ...]
    source: str
    games: int
    ends: bool
    averaged: bool
    epochs: int
    per_epoch: int
    batch: int
    optimizer: str
    rate: float
    rate_end: float
    average: float
    rounds: int
    round_games: int
    per_round: int
    opening: int
    epsilon: float
    epsilon_end: float
    rivals: float
    slips: float
    random_rivals: float
    window: int
    proofs: float
    measured: int
    every: int

    @classmethod
    def read(cls, reader: OptionReader) -> Options:
        """Read the options.

        Raises:
            OptionError: a value is not allowed.
        """
        return cls(
            layers=layers_of(reader.text("layers", "64c4 128 64")),
            source=reader.choice("source", "random", ("random", "store")),
            games=reader.integer("games", 20_000, low=2, high=10**7),
            ends=reader.flag("ends", default=False),
            averaged=reader.flag("averaged", default=True),
            epochs=reader.integer("epochs", 4, low=0, high=10**5),
            per_epoch=reader.integer("per_epoch", 100_000, low=0, high=_MANY),
            batch=reader.integer("batch", 1024, low=1, high=10**5),
            optimizer=reader.choice("optimizer", "adam", ("adam", "rmsprop")),
            rate=reader.number("rate", 0.001, low=1e-8, high=1),
            rate_end=reader.number("rate_end", 0.001, low=1e-8, high=1),
            average=reader.number("average", 0.0, low=0, high=0.99999),
            rounds=reader.integer("rounds", 0, low=0, high=10**6),
            round_games=reader.integer("round_games", 2000, low=1, high=10**6),
            per_round=reader.integer("per_round", 100_000, low=1, high=_MANY),
            opening=reader.integer("opening", 20, low=0, high=1000),
            epsilon=reader.number("epsilon", 1.0, low=0, high=1),
            epsilon_end=reader.number("epsilon_end", 1.0, low=0, high=1),
            rivals=reader.number("rivals", 0.0, low=0, high=1),
            slips=reader.number("slips", 1.0, low=0, high=1),
            random_rivals=reader.number("random_rivals", 0.0, low=0, high=1),
            window=reader.integer("window", 900_000, low=1, high=10**8),
            proofs=reader.number("proofs", 0.0, low=0, high=1),
            measured=reader.integer("measured", 1000, low=0, high=10**6),
            every=reader.integer("every", 10, low=1, high=10**6),
        )


def layers_of(text: str) -> tuple[HiddenLayer, ...]:
    """Parse a list of layers: `64c4 128` is 64 filters of 4 by 4 cells, then 128 dense units.

    The windows of `64v4` do not extend beyond the edges.

    Raises:
        OptionError: the list is malformed, or a convolution follows a dense layer.
    """
    layers: list[HiddenLayer] = []
    for word in text.split():
        found = _LAYER.fullmatch(word)
        if found is None:
            raise OptionError(
                f'the trainer keras: "{word}" in layers is not of the form 128 (dense), 64c4 or 64v4 '
                "(filters)"
            )
        units, kind, kernel = found.groups()
        layer = HiddenLayer(int(units), int(kernel), kind == "c") if kernel else HiddenLayer(int(units))
        if layer.kernel and layers and not layers[-1].kernel:
            raise OptionError(f'the trainer keras: "{word}" in layers comes after a dense layer')
        layers.append(layer)
    return tuple(layers)


def map_shape(layers: Sequence[HiddenLayer], shape: tuple[int, int]) -> tuple[int, int]:
    """Return the rows and columns of the feature map after the convolutions.

    Raises:
        OptionError: a window is larger than the remaining map.
    """
    for layer in layers:
        if layer.kernel > min(shape):
            raise OptionError(
                f"the trainer keras: windows of {layer.kernel} by {layer.kernel} cells do not fit on"
                f" {shape[0]} by {shape[1]}"
            )
        if layer.kernel and not layer.is_padded:
            shape = (shape[0] - layer.kernel + 1, shape[1] - layer.kernel + 1)
    return shape
