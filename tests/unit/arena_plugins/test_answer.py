"""A bot's result as messages: an error is a BotError, harmless nonsense is dropped."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_plugins import BotError, PlayResult, wire
from arena_plugins.answer import make_answer

if TYPE_CHECKING:
    from collections.abc import Callable

LEGAL = (0, 2, 5)


def test_a_plain_answer_is_one_message() -> None:
    assert make_answer("g", PlayResult(2), LEGAL) == [wire.Action("g", 2)]
    assert make_answer("g", PlayResult(0, resign=True), LEGAL) == [wire.Resign("g")]


def test_thoughts_come_first() -> None:
    result = PlayResult(
        action=2,
        value=0.5,
        policy={0: 0.25, 2: 0.75},
        visits={0: 1, 2: 3},
        pv=(2, 5),
        nodes=4,
        depth=2,
        text="\x1b[1m" + "x" * 300,
    )
    info, action = make_answer("g", result, LEGAL)
    assert info == wire.Info("g", value=0.5, pv=[2, 5], nodes=4, depth=2, text="[1m" + "x" * 197)
    assert action == wire.Action("g", 2, 0.5, [(0, 0.25), (2, 0.75)], [(0, 1), (2, 3)])


def test_illegal_and_infinite_evaluations_are_dropped() -> None:
    result = PlayResult(7, value=math.nan, policy={0: math.inf, 1: 0.5, 5: 0.5}, visits={1: 3, 2: 4})
    assert make_answer("g", result, LEGAL) == [wire.Action("g", 7, None, [(5, 0.5)], [(2, 4)])]


@given(
    st.dictionaries(
        st.integers(-1, 6) | st.sampled_from([0, 2, 5]), st.floats() | st.integers() | st.booleans()
    ),
    st.dictionaries(st.integers(0, 6) | st.booleans(), st.integers() | st.integers(-3, 3) | st.booleans()),
)
def test_plain_dicts_are_read_as_any_mapping_is(policy: dict[int, float], visits: dict[int, int]) -> None:
    def answer(kind: Callable[[Any], Any]) -> object:
        try:
            return make_answer("g", PlayResult(2, policy=kind(policy), visits=kind(visits)), [*LEGAL])
        except BotError as error:
            return str(error)

    assert answer(dict) == answer(MappingProxyType)


def test_integers_of_numpy_are_welcome() -> None:
    values: Any = {np.int32(2): np.float32(1.0)}
    visits: Any = {np.int64(2): np.int64(9)}
    action: Any = np.uint8(2)
    answer = make_answer("g", PlayResult(action, np.float64(1), values, visits), LEGAL)
    assert answer == [wire.Action("g", 2, 1.0, [(2, 1.0)], [(2, 9)])]
    assert wire.decode_bot(wire.encode(answer[0])[:-1]) == answer[0]


def test_a_sub_class_of_int_gives_its_true_value() -> None:
    class Liar(int):
        def __index__(self) -> int:
            return 5

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    assert (
        wire.encode(make_answer("g", PlayResult(Liar(2)), LEGAL)[0])
        == b'{"type":"action","id":"g","action":2}\n'
    )


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        PlayResult(action=True),
        PlayResult(np.True_),  # pyright: ignore[reportArgumentType] - wrong on purpose, as are the others
        PlayResult(2.0),  # pyright: ignore[reportArgumentType]
        PlayResult("2"),  # pyright: ignore[reportArgumentType]
        PlayResult(None),  # pyright: ignore[reportArgumentType]
        PlayResult(2**64),
        PlayResult(2, value="high"),  # pyright: ignore[reportArgumentType]
        PlayResult(2, value=10**400),
        PlayResult(2, policy=[0.5, 0.5]),  # pyright: ignore[reportArgumentType]
        PlayResult(2, policy={"a": 0.5}),  # pyright: ignore[reportArgumentType]
        PlayResult(2, policy={2: "much"}),  # pyright: ignore[reportArgumentType]
        PlayResult(2, visits={2: 1.5}),  # pyright: ignore[reportArgumentType]
        PlayResult(2, pv=("d",)),  # pyright: ignore[reportArgumentType]
        PlayResult(2, nodes=1e6),  # pyright: ignore[reportArgumentType]
        PlayResult(2, depth=False),
    ],
)
def test_wrong_types_are_a_bot_error(wrong: object) -> None:
    with pytest.raises(BotError):
        make_answer("g", wrong, LEGAL)


def test_long_evaluations_give_way_to_the_action() -> None:
    legal = range(5000)
    result = PlayResult(4999, 0.5, dict.fromkeys(legal, 1 / 5000), dict.fromkeys(legal, 10**9), tuple(legal))
    info, action = make_answer("g", result, legal)
    assert action == wire.Action("g", 4999, 0.5)
    assert isinstance(info, wire.Info)
    assert info.pv == list(range(256))


@given(st.integers(-(2**63), 2**64 - 1), st.text(), st.lists(st.integers(0, 10)))
def test_every_answer_can_be_sent(action: int, text: str, pv: list[int]) -> None:
    for message in make_answer("g", PlayResult(action, text=text, pv=tuple(pv)), LEGAL):
        assert wire.decode_bot(wire.encode(message)[:-1]) == message
