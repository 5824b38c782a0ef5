import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.referee.clock import GameClock
from arena.referee.timecontrol import TimeControl
from arena_plugins.wire import Clock


def clock_of(text: str) -> GameClock:
    return GameClock((TimeControl.from_text(text), TimeControl.from_text("7/move")))


def test_time_per_move_never_runs_down() -> None:
    clock = clock_of("2/move")
    clock.charge(0, 1.9)

    assert (clock.remaining_ms(0), clock.limit_ms(0), clock.lateness(0)) == (2000, 2000, "time_move")
    assert clock.allowance_s(0) == 2.05


def test_each_player_has_a_clock() -> None:
    clock = clock_of("10+1")
    clock.charge(0, 4.0)
    wire = clock.to_wire(1)

    assert (wire.you_ms, wire.opp_ms) == (7000, 7000)
    clock.charge(0, 4.0)
    assert clock.remaining_ms(0) == 4000
    assert clock.lateness(0) == "time_game"


def test_a_period_adds_the_base_again() -> None:
    clock = clock_of("2/10")
    clock.charge(0, 1.0)
    assert clock.remaining_ms(0) == 9000
    clock.charge(0, 1.0)
    assert clock.remaining_ms(0) == 18_000
    for _ in range(2):
        clock.charge(0, 1.0)
    assert clock.remaining_ms(0) == 26_000


def test_the_margin_is_no_gift() -> None:
    clock = clock_of("1")
    clock.charge(0, 1.02)

    assert clock.remaining_ms(0) == 0
    assert clock.allowance_s(0) == pytest.approx(0.03)


def test_a_bank_pays_for_time_beyond_a_move() -> None:
    clock = clock_of("2/move bank 60")
    clock.charge(0, 1.0)
    assert clock.remaining_ms(0) == 60_000
    clock.charge(0, 5.0)
    assert clock.remaining_ms(0) == 57_000
    assert (clock.limit_ms(0), clock.lateness(0)) == (59_000, "time_game")


def test_a_bound_is_that_of_the_moment() -> None:
    clock = clock_of("10+1")
    shown = clock.to_wire(0), clock.to_wire(1)
    assert clock.bound(0) == (10_000, 10.05, "time_game")
    assert clock.bound(1) == (7000, 7.05, "time_move")
    assert clock.bound(0) is clock.bound(0)
    clock.charge(0, 4.0)
    assert clock.bound(0) == (7000, 7.05, "time_game")
    assert (clock.to_wire(0).you_ms, clock.to_wire(1).opp_ms) == (7000, 7000)
    assert shown == (Clock(10_000, 7000), Clock(7000, 10_000))
    clock.charge(1, 4.0)
    assert clock.bound(1) == (7000, 7.05, "time_move")


@given(st.lists(st.floats(0, 3), max_size=30))
def test_a_clock_loses_what_was_used(used: list[float]) -> None:
    clock = clock_of("60+1")
    for elapsed in used:
        clock.charge(0, elapsed)

    assert clock.limit_ms(0) == pytest.approx(60_000 + 1000 * (len(used) - sum(used)))
    assert clock.remaining_ms(1) == 7000


def test_what_each_player_thought_is_summed_in_every_mode() -> None:
    bank = TimeControl(mode="bank", move_ms=1000, base_ms=5000)
    clock = GameClock((TimeControl.parse(None, 5, None), bank))
    for player, seconds in ((0, 0.5), (1, 2.0), (0, 0.25)):
        clock.charge(player, seconds)
    assert (clock.thought_s(0), clock.thought_s(1)) == (0.75, 2.0)
