"""The bundled weights: their provenance is true, and they fit their limits."""

from __future__ import annotations

import hashlib
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena_bots.td_lambda.bot import RECIPES, WEIGHTS, load_value, make_bot
from arena_plugins.contract import Limit
from game_samples import make
from labelled_sample import sample_quality

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARowState

CONNECT_FOUR = make("connect-four")
MOST_BYTES = 3_000_000
"""Maximum size of all bundled weights of the bot together."""


def provenance(recipe: str) -> dict[str, Any]:
    return tomllib.loads((WEIGHTS / f"{recipe}.provenance.toml").read_text("utf-8"))


def after(actions: list[int]) -> KInARowState:
    state = CONNECT_FOUR.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def test_each_recipe_has_weights_and_all_of_them_are_small() -> None:
    assert sorted(path.stem for path in WEIGHTS.glob("*.npz")) == sorted(RECIPES)
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) <= MOST_BYTES


@pytest.mark.parametrize("recipe", RECIPES)
def test_weights_are_those_of_their_provenance(recipe: str) -> None:
    told = provenance(recipe)
    content = (WEIGHTS / f"{recipe}.npz").read_bytes()
    assert told["sha256"] == hashlib.sha256(content).hexdigest()
    assert told["bytes"] == len(content)
    assert told["command"].startswith("arena train td-lambda ")
    for key in ("seed", "steps", "seconds", "options", "data", "versions", "machine", "quality"):
        assert key in told


@pytest.mark.parametrize("recipe", RECIPES)
def test_values_are_finite(recipe: str) -> None:
    states = [after(actions) for actions in ([3], [3, 3], [0, 1, 2, 3], [6, 6, 6, 6, 6, 6])]
    values = load_value(WEIGHTS / f"{recipe}.npz").of(states)
    assert values.shape == (4,)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("recipe", RECIPES)
def test_it_takes_a_win_and_blocks_one(recipe: str) -> None:
    bot = make_bot(CONNECT_FOUR, 1, {"recipe": recipe})
    assert bot.play(after([0, 1, 0, 1, 0, 1]), Limit()).action == 0
    assert bot.play(after([0, 1, 0, 1, 0]), Limit()).action == 0


@pytest.mark.parametrize("recipe", RECIPES)
def test_it_plays_as_well_as_its_provenance_says(recipe: str) -> None:
    bot = make_bot(CONNECT_FOUR, 1, {"recipe": recipe})
    assert sample_quality(bot).is_told_by(provenance(recipe)["quality"])
