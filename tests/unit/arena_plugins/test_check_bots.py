"""The checks accept bots that keep the contract, and name the violation of others."""

from __future__ import annotations

import itertools
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena_plugins import (
    Limit,
    OptionReader,
    PlayResult,
    State,
    assert_conforms,
    check_bot,
    hookimpl,
    load_game,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena_plugins import Bot, Game

    Play = Callable[[State, Limit], PlayResult]

pytestmark = pytest.mark.usefixtures("third_party")


@pytest.mark.parametrize("spec", ["first", "last", "random"])
def test_good_bots_pass(spec: str) -> None:
    checks = check_bot(spec, "misere")
    assert_conforms(checks)
    assert [check.number for check in checks] == list(range(1, 13))
    assert all(check.title and check.detail for check in checks)


class Scripted:
    """A bot that plays by a given function."""

    def __init__(self, play: Play, *, deterministic: bool) -> None:
        self._play, self.deterministic = play, deterministic

    def play(self, state: State, limit: Limit) -> PlayResult:
        return self._play(state, limit)


def failed(play: Play, *, deterministic: bool = False, strict: bool = True) -> list[int]:
    def make(_game: Game, _seed: int, options: Mapping[str, str]) -> Bot:
        if strict:
            OptionReader("scripted", options).done()
        return Scripted(play, deterministic=deterministic)

    return [check.number for check in check_bot(make, load_game("misere"), seconds=0.01) if not check.passed]


def lowest(state: State, _limit: Limit) -> PlayResult:
    return PlayResult(state.legal_actions[0], nodes=1, value=0.0, policy={state.legal_actions[0]: 1.0})


def test_a_hook_is_called_with_the_parameters_it_names() -> None:
    @hookimpl
    def make_bot(game: Game, seed: int) -> Bot:
        assert (game.name, type(seed)) == ("misere", int)
        return Scripted(lowest, deterministic=True)

    assert_conforms(check_bot(make_bot, "misere"))
    assert [check.passed for check in check_bot(make_bot, "misere", options={"x": "1"})] == [False] * 12


def test_a_bot_without_new_match_passes() -> None:
    assert failed(lowest) == []


def test_a_bot_may_resign() -> None:
    assert failed(lambda _state, _limit: PlayResult(0, resign=True), deterministic=True) == []


def test_an_option_that_nobody_reads() -> None:
    assert failed(lowest, strict=False) == [2]


@pytest.mark.parametrize(
    ("numbers", "result"),
    [
        ([3, 5, 8], PlayResult(99)),
        ([3], PlayResult(0, visits={0: 0.5})),  # pyright: ignore[reportArgumentType] - wrong on purpose
        ([7], PlayResult(0, nodes=1000)),
        ([9], PlayResult(0, value=1.5)),
        ([10], PlayResult(0, policy={0: 0.5})),
        ([10], PlayResult(0, policy={0: 2.0, 1: -1.0})),
        ([10], PlayResult(0, visits={99: 1})),
    ],
)
def test_a_wrong_answer_is_found(numbers: list[int], result: PlayResult) -> None:
    def play(state: State, _limit: Limit) -> PlayResult:
        if result.action == 99:
            return result
        action = state.legal_actions[0]
        shift = {0: action, 1: state.legal_actions[-1], 99: 99}
        policy = None if result.policy is None else {shift[a]: p for a, p in result.policy.items()}
        visits = None if result.visits is None else {shift[a]: n for a, n in result.visits.items()}
        return PlayResult(action, result.value, policy, visits, nodes=result.nodes)

    assert set(numbers) <= set(failed(play))


def test_a_late_answer_is_found() -> None:
    def play(state: State, limit: Limit) -> PlayResult:
        if limit.nodes is None and limit.seconds:
            end = time.perf_counter() + 0.3
            while time.perf_counter() < end:
                pass
        return lowest(state, limit)

    assert failed(play) == [6]


def test_false_determinism_is_found() -> None:
    chance = random.Random(1)  # noqa: S311 - a game
    assert 11 in failed(lambda state, _: PlayResult(chance.choice(state.legal_actions)), deterministic=True)


def test_a_bot_that_does_not_start_anew_is_found() -> None:
    class Stale(Scripted):
        def __init__(self) -> None:
            super().__init__(self.answer, deterministic=True)
            self.count = itertools.count()

        def answer(self, state: State, _limit: Limit) -> PlayResult:
            return PlayResult(state.legal_actions[next(self.count) % len(state.legal_actions)])

        def new_match(self, seed: int) -> None:
            del seed
            next(self.count)

    checks = check_bot(lambda _game, _seed, _options: Stale(), "misere")
    assert [check.number for check in checks if not check.passed] == [2, 12]


def test_a_bot_with_chance_and_new_match_plays_on() -> None:
    class Wild(Scripted):
        def new_match(self, seed: int) -> None:
            del seed

    checks = check_bot(lambda _game, _seed, _options: Wild(lowest, deterministic=False), "misere")
    assert "its actions cannot be compared" in checks[11].detail


def test_a_changed_state_is_found() -> None:
    def play(state: State, limit: Limit) -> PlayResult:
        answer = lowest(state, limit)
        state.cells = (1,) * 9
        return answer

    assert 4 in failed(play)


def test_what_cannot_play_is_found() -> None:
    checks = check_bot(lambda _game, _seed, _options: None, "misere")  # pyright: ignore[reportArgumentType] - wrong on purpose
    assert checks[0].detail == "a NoneType has no play(state, limit)"
    assert not any(check.passed for check in checks)
    assert "no bot" in check_bot("nobody-here", "misere")[0].detail


def test_the_template_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    template = Path(__file__).parents[3] / "plugins" / "template"
    monkeypatch.setattr(sys, "path", [str(template), *sys.path])
    from arena_plugins.manager import BOTS, load_entry

    plugin = load_entry(BOTS, "template", "arena_template.bot")
    for game in ("tic-tac-toe", "connect-four", "gomoku:size=6,k=4"):
        assert_conforms(check_bot(plugin.make_bot, game))
    assert_conforms(check_bot(plugin.make_bot, "connect-four", options={"careful": "off"}))
