import math
from typing import Any

import pytest

from arena.referee.thoughts import read_thoughts
from arena_plugins.manager import load_game
from arena_plugins.thoughts import Thoughts
from arena_plugins.wire import Action, Info

GAME = load_game("tic-tac-toe")
STATE = GAME.initial_state().child(4)


def read(info: Info | None = None, **given: Any) -> Thoughts:  # noqa: ANN401 - the fields of `Action`
    return read_thoughts(Action(id="x", action=0, **given), info, STATE, GAME)


def test_what_holds_is_kept() -> None:
    info = Info(id="x", pv=[0, 8], nodes=10, depth=2, text="a\x1bb" + "c" * 300, visits=[(0, 3)])
    thoughts = read(info, value=0.5, policy=[(0, 0.25), (8, 0.75)])

    assert thoughts == Thoughts(
        value=0.5,
        policy=((0, 0.25), (8, 0.75)),
        visits=((0, 3),),
        pv=(0, 8),
        nodes=10,
        depth=2,
        text="ab" + "c" * 198,
    )


def test_a_policy_may_come_in_any_order() -> None:
    for actions in ([0, 1, 2, 3, 5, 6, 7, 8], [8, 1, 2, 3, 5, 6, 7, 0], [5]):
        policy = [(action, 1 / len(actions)) for action in actions]
        assert read(policy=policy) == Thoughts(policy=tuple(sorted(policy)))


def test_the_answer_goes_before_the_info() -> None:
    info = Info(id="x", value=-1.0, policy=[(1, 1.0)], visits=[(1, 1)])
    thoughts = read(info, value=0.5, policy=[(0, 1.0)], visits=[(0, 1)])

    assert thoughts == Thoughts(value=0.5, policy=((0, 1.0),), visits=((0, 1),))
    assert read(info) == Thoughts(value=-1.0, policy=((1, 1.0),), visits=((1, 1),))


@pytest.mark.parametrize(("given", "value"), [(1e308, 1.0), (-2.0, -1.0), (0.25, 0.25)])
def test_a_value_is_clamped(given: float, value: float) -> None:
    assert read(value=given) == Thoughts(value=value)


@pytest.mark.parametrize(
    "given",
    [
        {"value": math.inf},
        {"policy": [(0, 0.5), (1, 0.498)]},
        {"policy": [(0, 1.5), (1, -0.5)]},
        {"policy": [(0, math.nan)]},
        {"policy": [(4, 1.0)]},
        {"policy": [(0, 0.5), (0, 0.5)]},
        {"policy": []},
        {"policy": [(0, 0.1)] * 10},
        {"visits": [(9, 1)]},
        {"visits": [(0, -1)]},
        {"visits": [(0, 2**63)]},
        {"visits": []},
    ],
)
def test_an_impossible_answer_is_dropped(given: dict[str, Any]) -> None:
    assert read(**given) == Thoughts()


@pytest.mark.parametrize(
    "info",
    [
        Info(id="x", pv=[]),
        Info(id="x", pv=[4]),
        Info(id="x", pv=[0, 9]),
        Info(id="x", pv=[0] * 10),
        Info(id="x", nodes=-1),
        Info(id="x", depth=2**63),
        Info(id="x", wdl=(0.5, 0.5, 0.5)),
        Info(id="x", wdl=(2.0, -1.0, 0.0)),
    ],
)
def test_an_impossible_info_is_dropped(info: Info) -> None:
    assert read(info) == Thoughts()


def test_win_draw_loss_give_a_value() -> None:
    assert read(Info(id="x", wdl=(0.75, 0.0, 0.25))) == Thoughts(value=0.5)
