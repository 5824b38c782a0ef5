from __future__ import annotations

import pytest

from arena_bots.keras_wdl.train import make_trainer
from arena_bots.keras_wdl.train.options import HiddenLayer, layers_of, map_shape
from arena_plugins.errors import OptionError


def test_layers_are_read() -> None:
    assert layers_of("64c4 96v3 128") == (
        HiddenLayer(64, 4),
        HiddenLayer(96, 3, is_padded=False),
        HiddenLayer(128),
    )
    assert layers_of("") == ()


def test_windows_must_fit_on_the_board() -> None:
    assert map_shape(layers_of("64c4 96v4 16c3 128"), (6, 7)) == (3, 4)
    with pytest.raises(OptionError, match="windows of 4 by 4 cells do not fit on 3 by 4"):
        map_shape(layers_of("64v4 64c4"), (6, 7))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": "64x"}, '"64x" in layers is not of the form 128'),
        ({"layers": "128 64c3"}, '"64c3" in layers comes after a dense layer'),
        ({"games": "0"}, "games=0 is not a whole number from 2"),
        ({"optimizer": "sgd"}, "optimizer=sgd is not one of adam, rmsprop"),
        ({"rouds": "3"}, 'no option "rouds"; did you mean "rounds"'),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_trainer(options)
