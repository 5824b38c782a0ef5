"""Text form of a sequential test: `gain`, `non-regression`, `elo0=0,elo1=30,alpha=0.05,beta=0.05`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from arena.errors import ConfigError
from arena.schedules.sprt_schedule import SprtTest
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.rating.sprt import EloModel

PRESETS: Final = {"gain": (0.0, 30.0), "non-regression": (-30.0, 0.0)}
"""Normalized Elo of H0 and H1: is the bot stronger, and is it at least not weaker."""
_NUMBERS: Final = ("elo0", "elo1", "alpha", "beta")
_MODELS: Final[Mapping[str, EloModel]] = {"normalized": "normalized", "logistic": "logistic"}
_WAY_OUT: Final = "write gain, non-regression or elo0=0,elo1=30,alpha=0.05,beta=0.05,model=normalized"


def parse_sprt(text: str) -> SprtTest:
    """Parse the hypotheses of a test; the keys are those of fastchess and cutechess, separated by commas.

    A preset may come first, and keys after it change it: `gain,alpha=0.01`.

    Raises:
        ConfigError: it cannot be parsed, or is not a valid test; the text shows the format.
    """
    head, *words = text.strip().split(",")
    if head in PRESETS:
        elo0, elo1 = PRESETS[head]
    else:
        elo0, elo1 = PRESETS["gain"]
        words = [head, *words]
    numbers = {"elo0": elo0, "elo1": elo1, "alpha": 0.05, "beta": 0.05}
    model = "normalized"
    for word in words:
        key, equals, value = word.strip().partition("=")
        if key == "model" and equals:
            model = value
        elif key in _NUMBERS and equals:
            numbers[key] = _number(text, word, value)
        else:
            raise ConfigError(f'--sprt {text}: "{word}" is unknown{_guess(key, equals)}; {_WAY_OUT}')
    if model == "bayesian":
        raise ConfigError(
            f"--sprt {text}: BayesElo is not supported, because its meaning depends on the draws; write "
            "model=normalized or model=logistic"
        )
    if model not in _MODELS:
        raise ConfigError(
            f"--sprt {text}: model={model} is neither normalized nor logistic{nearest(model, _MODELS)}"
        )
    try:
        return SprtTest(**numbers, model=_MODELS[model])
    except ConfigError as error:
        raise ConfigError(f"--sprt {text}: {error}; {_WAY_OUT}") from error


def sprt_text(test: SprtTest) -> str:
    """Return the text from which `parse_sprt` makes this test, with every key."""
    numbers = ",".join(f"{key}={getattr(test, key):.12g}" for key in _NUMBERS)
    return f"{numbers},model={test.model}"


def _number(text: str, word: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"--sprt {text}: {word} is not a number; {_WAY_OUT}")
    return number


def _guess(key: str, equals: str) -> str:
    return nearest(key, (*_NUMBERS, "model") if equals else PRESETS)
