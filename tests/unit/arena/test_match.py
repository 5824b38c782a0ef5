from __future__ import annotations

import pickle
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arena_plugins
from arena.match import MatchResult, MatchSetup, match_seed, play_match, play_matches
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Forfeit
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena_plugins.contract import Limit, PlayResult, State, Termination
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.referee.seats import Answer, Seat

HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
GAME = load_game("tic-tac-toe")
CONTROL = TimeControl.parse(None, 20, None)


class Scripted:
    def __init__(self, play: Callable[[State], PlayResult]) -> None:
        self._play = play

    def play(self, state: State, limit: Limit) -> PlayResult:
        del limit
        return self._play(state)


def first_legal(state: State) -> PlayResult:
    return PlayResult(state.legal_actions[0], value=0.25)


def seat_of(play: Callable[[State], PlayResult] = first_legal) -> InProcessSeat:
    return InProcessSeat(lambda _game, _seed: Scripted(play), name="bot", version="1")


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise error

    return fail


def play(
    first: Seat,
    second: Seat,
    opening: tuple[int, ...] = (),
    on_move: Callable[[int, int, Answer], None] | None = None,
    abort: Callable[[], bool] | None = None,
) -> MatchResult:
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(CONTROL, CONTROL), opening=opening)
    return play_match(GAME, (first, second), setup, on_move=on_move, abort=abort)


def test_a_match_is_played_to_its_end() -> None:
    moves: list[tuple[int, int]] = []
    result = play(seat_of(), seat_of(), on_move=lambda ply, action, _: moves.append((ply, action)))

    assert (result.outcome, result.termination, result.rated) == ("first", "rules", True)
    assert result.reason == f"A wins by {GAME.ending(replay(result))}"
    assert result.actions == (0, 1, 2, 3, 4, 5, 6)
    assert moves == list(enumerate(result.actions))
    assert result.values == (0.25,) * 7
    assert (result.fault, result.fault_player, result.tier) == (None, None, "T0")
    assert len(result.times_ms) == len(result.infos) == 7
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own bytes


def replay(result: MatchResult) -> State:
    state = GAME.initial_state()
    for action in result.actions:
        state = state.child(action)
    return state


def test_an_opening_is_given() -> None:
    result = play(seat_of(), seat_of(), opening=(4, 0, 7))

    assert (result.actions[:4], result.num_opening) == ((4, 0, 7, 1), 3)
    assert result.times_ms[:3] == (0, 0, 0)
    assert result.values[:4] == (None, None, None, 0.25)
    assert result.outcome == "second"
    assert result.reason.startswith("B wins by")


def test_a_draw() -> None:
    moves = iter((0, 1, 2, 4, 3, 5, 7, 6, 8))
    first, second = (seat_of(lambda _: PlayResult(next(moves))) for _ in range(2))
    result = play(first, second)

    assert (result.outcome, result.termination) == ("draw", "rules")
    assert result.reason == f"Draw by {GAME.ending(replay(result))}"


def test_resigning_loses() -> None:
    result = play(seat_of(), seat_of(lambda _: PlayResult(0, resign=True)))

    assert (result.outcome, result.termination, result.reason) == ("first", "resign", "B resigns")
    assert (result.actions, result.fault, result.rated) == ((0,), None, True)


def test_a_fault_loses() -> None:
    result = play(seat_of(), seat_of(lambda _: PlayResult(0)))

    assert (result.outcome, result.termination, result.fault_player) == ("first", "illegal_move", 1)
    assert result.reason == "B makes an illegal move at ply 2: action 0 (illegal_move)"
    assert result.fault is not None
    assert result.fault["bot"] == "bot"


def test_a_bot_that_cannot_start_loses() -> None:
    broken = InProcessSeat(raising(ValueError("broken")), name="bot", version="1")

    assert play(broken, seat_of()).outcome == "second"
    assert play(seat_of(), broken).outcome == "first"
    both = play(broken, broken)
    assert (both.outcome, both.termination, both.rated) == ("void", "init_crash", False)
    assert re.fullmatch(r"Match void: ValueError: broken in test_match\.py:\d+ \(init_crash\)", both.reason)
    assert play(seat_of(), broken).reason.startswith("B forfeits at the start: ValueError: broken in ")


@pytest.mark.parametrize(("opening", "termination"), [((), "crash"), ((4,), "protocol_order")])
def test_both_fail_before_the_first_action(opening: tuple[int, ...], termination: str) -> None:
    # The bot to move crashes; the other bot sends output out of turn.
    crasher, chatterer = hosted("exit-3"), hosted("chatter")
    seats = (chatterer, crasher) if opening else (crasher, chatterer)
    result = play(*seats, opening=opening)
    for seat in seats:
        seat.close()

    assert (result.outcome, result.termination, result.rated) == ("void", termination, False)
    assert result.actions == opening


def hosted(mode: str) -> HostedSeat:
    return HostedSeat(
        ProcessSettings([sys.executable, "-I", "-S", HOSTILE, mode, "1"]), name="bot", version="1"
    )


class Judged(InProcessSeat):
    """A bot that receives its opponent's thinking time at the end, and may have pondered."""

    opponent_s = -1.0
    fault: Forfeit | None = None

    def check_idle(self, opponent_s: float) -> Forfeit | None:
        self.opponent_s = opponent_s
        return self.fault


def judged(play: Callable[[State], PlayResult] = first_legal) -> Judged:
    return Judged(lambda _game, _seed: Scripted(play), name="bot", version="1")


@pytest.mark.parametrize("last", [None, PlayResult(0, resign=True), PlayResult(0)])
def test_each_bot_is_judged_by_what_the_other_one_thought(last: PlayResult | None) -> None:
    def slow(state: State) -> PlayResult:
        is_last = last is not None and len(state.history) == 4
        until = time.monotonic() + 0.02 * (1 + is_last)
        while time.monotonic() < until:
            pass
        return last if is_last and last is not None else first_legal(state)

    thought = [0.0, 0.0]

    def charge(ply: int, _: int, answer: Answer) -> None:
        thought[ply % 2] += answer.elapsed_s

    first, second = judged(slow), judged()
    play(first, second, on_move=charge)
    assert first.opponent_s == thought[1]
    if last is None:
        assert second.opponent_s == thought[0]
    else:
        assert second.opponent_s >= thought[0] + 0.04


@pytest.mark.parametrize("player", [0, 1])
def test_a_winner_that_pondered_loses(player: int) -> None:
    seats = judged(), judged()
    seats[player].fault = Forfeit(Termination.PONDERING, {"idle_cpu_ms": 500.0})
    result = play(*seats)
    assert (result.outcome, result.termination) == (("second", "first")[player], "pondering")
    assert (result.fault_player, result.fault, result.rated) == (player, {"idle_cpu_ms": 500.0}, True)
    assert result.reason == f"{'AB'[player]} forfeits at ply 7 (pondering)"
    assert len(result.actions) == 7


def test_the_weaker_tier_counts() -> None:
    good, twin = hosted("good"), hosted("good")
    assert play(good, seat_of()).tier == "T0"
    assert play(good, twin).tier == "T1"
    good.close()
    twin.close()


def test_a_match_can_be_aborted() -> None:
    answers = iter((False, False, True))
    result = play(seat_of(), seat_of(), abort=lambda: next(answers))

    assert (result.outcome, result.termination, result.rated) == ("void", "aborted", False)
    assert (result.actions, result.reason) == ((0, 1), "Match void (aborted)")


def test_an_error_of_the_arena_voids_the_match() -> None:
    result = play(seat_of(), seat_of(), on_move=raising(ZeroDivisionError("ours")))

    assert (result.outcome, result.termination, result.actions) == ("void", "arena_error", (0,))
    assert result.fault is not None
    assert "ZeroDivisionError: ours" in str(result.fault["traceback"])


@pytest.mark.parametrize("opening", [(0, 0), (99,), (0, 3, 1, 4, 2)])
def test_an_impossible_opening_voids_the_match(opening: tuple[int, ...]) -> None:
    result = play(seat_of(), seat_of(), opening=opening)

    assert (result.termination, result.rated) == ("arena_error", False)
    assert len(result.actions) == result.num_opening == len(result.times_ms)


def test_ctrl_c_ends_the_bots() -> None:
    good = hosted("good")
    with pytest.raises(KeyboardInterrupt):
        play(good, seat_of(raising(KeyboardInterrupt())))
    assert good.pid is None


def test_two_bots_play_many_matches() -> None:
    first, second = Scripted(first_legal), Scripted(lambda state: PlayResult(state.legal_actions[-1]))
    results = list(play_matches(GAME, (first, second), 4, control=CONTROL, opening=(4,)))

    assert [result.actions[:3] for result in results] == [(4, 8, 0), (4, 0, 8)] * 2
    assert [result.reason.split()[0] for result in results] == ["B", "A"] * 2
    assert {(result.termination, result.tier, result.num_opening) for result in results} == {
        ("rules", "T0", 1)
    }


class Seeded:
    """A bot that plays at random from its seed, and never the same match twice."""

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def new_match(self, seed: int) -> None:
        self.seeds.append(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        del limit
        return PlayResult(state.legal_actions[self.seeds[-1] % len(state.legal_actions)])


def test_every_match_has_seeds_of_its_own() -> None:
    def play_out(seed: int) -> tuple[list[MatchResult], set[int]]:
        bots = Seeded(), Seeded()
        results = list(play_matches(GAME, bots, 5, seed=seed))
        assert [len(bot.seeds) for bot in bots] == [5, 5]
        return results, {*bots[0].seeds, *bots[1].seeds}

    (results, seeds), (again, _), (_, others) = play_out(1), play_out(1), play_out(2)
    assert [result.actions for result in results] == [result.actions for result in again]
    assert len(seeds | others) == 20
    assert max(seeds | others) < 2**53


def test_a_bot_that_failed_plays_on() -> None:
    failing = Scripted(raising(ValueError("odd")))
    results = list(play_matches(GAME, (Scripted(first_legal), failing), 3))
    assert [result.outcome for result in results] == ["first", "second", "first"]
    assert {result.termination for result in results} == {"bot_error"}


def test_seeds_are_what_the_protocol_says() -> None:
    # printf '7/0/1/0' | sha256sum; the first 16 digits, shifted right by 11 bits
    assert match_seed(7, 0, 1, 0) == int("051a17cd1403c594", 16) >> 11


@given(st.integers(0, 2**63 - 1))
def test_seeds_differ(seed: int) -> None:
    seeds = Counter(match_seed(seed, a, b, c) for a in range(3) for b in range(3) for c in (0, 1))
    assert len(seeds) == 18
    assert max(seeds) < 2**53
