"""The fast path equals the normal path of a match for every answer of a bot, with a simulated clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.match import MatchResult, MatchSetup, play_match
from arena.referee.clock import GameClock
from arena.referee.inprocess import InProcessSeat, fast_seats_of, play_fast
from arena.referee.seats import Answer, Record, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena_plugins.contract import Limit, PlayResult, State, Termination
from arena_plugins.errors import ProtocolError
from arena_plugins.manager import load_game
from arena_plugins.thoughts import Thoughts

if TYPE_CHECKING:
    from collections.abc import Iterator

Behaviour = Callable[["World", State], object]

GAMES = {name: load_game(name) for name in ("connect-four", "tic-tac-toe")}
CONTROL = TimeControl(mode="move", move_ms=100, margin_ms=10, nodes=7)


class World:
    """The clocks of a machine that may be suspended."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asleep = 50.0

    def plain(self, state: State) -> PlayResult:
        self.now += 0.0001
        return PlayResult(state.legal_actions[-1])

    def late(self, state: State) -> PlayResult:
        self.now += 0.2
        return self.plain(state)

    def suspended(self, state: State) -> PlayResult:
        self.asleep += 5.0
        return self.late(state)

    def late_and_illegal(self, state: State) -> PlayResult:
        self.late(state)
        return PlayResult(99)


class Talkative(PlayResult, frozen=True):
    """A result of a class of the bot's author."""


class Bot:
    """A bot that behaves as a test specifies, answer by answer, and then normally."""

    def __init__(self, world: World, behaviours: Iterator[Behaviour]) -> None:
        self._world = world
        self._behaviours = behaviours
        self.limits: list[Limit] = []

    def play(self, state: State, limit: Limit) -> Any:  # noqa: ANN401 - the point is that it may be anything
        self.limits.append(limit)
        return next(self._behaviours, World.plain)(self._world, state)


def slow(world: World, state: State) -> PlayResult:
    world.now += 0.03
    return world.plain(state)


def answer(make: Callable[[int], object]) -> Behaviour:
    return lambda _, state: make(state.legal_actions[0])


def raising(error: BaseException) -> Behaviour:
    def fail(world: World, _: State) -> NoReturn:
        world.now += 0.004
        raise error

    return fail


def of_any(**fields: Any) -> Behaviour:  # noqa: ANN401 - the point is that it may be anything
    return answer(lambda action: PlayResult(action, **fields))


HARMLESS: dict[str, Behaviour] = {
    "plain": World.plain,
    "slow": slow,
    "numpy": answer(lambda action: PlayResult(np.int64(action))),  # pyright: ignore[reportArgumentType] - bots do
    "own class": answer(Talkative),
    "value": of_any(value=0.5),
    "no number": of_any(value=float("nan")),
    "policy": answer(lambda action: PlayResult(action, policy={action: 1.0})),
    "bad policy": of_any(policy={99: 1.0}),
    "visits": answer(lambda action: PlayResult(action, visits={action: 3})),
    "line": answer(lambda action: PlayResult(action, pv=(action,))),
    "nodes": of_any(nodes=5),
    "depth": of_any(depth=2),
    "text": of_any(text="hm"),
    "not resigning": of_any(resign=0),
}
FATAL: dict[str, Behaviour] = {
    "resigns": of_any(resign=True),
    "resigns somehow": of_any(resign="yes"),
    "unclear": of_any(resign=np.zeros(2)),
    "bool": lambda _, __: PlayResult(True),  # noqa: FBT003 - what it must be caught for
    "float": answer(lambda action: PlayResult(float(action))),  # pyright: ignore[reportArgumentType] - the point
    "nothing": lambda _, __: None,
    "an int": answer(int),
    "no action": lambda _, __: PlayResult(None),  # pyright: ignore[reportArgumentType] - the point
    "negative": lambda _, __: PlayResult(-1),
    "too large": lambda _, __: PlayResult(10**30),
    "illegal": lambda _, state: PlayResult(min({*range(99)}.difference(state.legal_actions))),
    "word": of_any(value="good"),
    "no mapping": of_any(policy=[0.5, 0.5]),
    "late": World.late,
    "late and illegal": World.late_and_illegal,
    "suspended": World.suspended,
    "error": raising(ValueError("odd")),
    "exit": raising(SystemExit(3)),
    "memory": raising(MemoryError()),
    "generator": raising(GeneratorExit()),
    "protocol": raising(ProtocolError("what")),
}
behaviours = st.lists(st.sampled_from([*["plain"] * 8, *HARMLESS]), max_size=12)


class Case(NamedTuple):
    """The parameters of a match."""

    first: list[str]
    second: list[str]
    game: str = "connect-four"
    opening: tuple[int, ...] = ()
    abort_after: int | None = None


class Played(NamedTuple):
    """The result of a match."""

    result: MatchResult
    limits: list[Limit]
    num_abort_asked: int


def ignore(_ply: int, _action: int, _answer: Answer) -> None:
    """A hook that does nothing; with a hook a match does not use the fast path."""


def play(monkeypatch: pytest.MonkeyPatch, case: Case, *, is_fast: bool = True) -> Played:
    """Play with the simulated clock; the returned limits are those that the first bot saw."""
    world = World()
    asked: list[int] = []

    def abort() -> bool:
        asked.append(1)
        return case.abort_after is not None and len(asked) > case.abort_after

    known = HARMLESS | FATAL
    one, other = (Bot(world, iter([known[name] for name in script])) for script in case[:2])
    seats = (
        InProcessSeat(lambda _game, _seed: one, name="one", version="1"),
        InProcessSeat(lambda _game, _seed: other, name="other", version="1"),
    )
    setup = MatchSetup(
        id="m", labels=("A", "B"), seeds=(1, 2), controls=(CONTROL, CONTROL), opening=case.opening
    )
    with monkeypatch.context() as patch:
        patch.setattr("time.monotonic", lambda: world.now)
        patch.setattr("time.time", lambda: world.now)
        patch.setattr("arena.referee.inprocess.suspended_s", lambda: world.asleep)
        on_move = None if is_fast else ignore
        result = play_match(GAMES[case.game], seats, setup, on_move=on_move, abort=abort)
    return Played(without_frames(result), one.limits, len(asked))


def without_frames(result: MatchResult) -> MatchResult:
    """Keep only the error of tracebacks, because the frames of the referee differ."""
    if result.fault is None or "stderr" not in result.fault:
        return result
    last = str(result.fault["stderr"]).splitlines()[-1]
    return msgspec.structs.replace(result, fault=result.fault | {"stderr": last})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    fatal = draw(st.sampled_from([None, *FATAL]))
    game = draw(st.sampled_from(sorted(GAMES)))
    return Case(
        draw(behaviours) + ([] if fatal is None else [fatal]),
        draw(behaviours),
        game,
        draw(st.sampled_from([(), (0,), (4, 4, 1) if game == "connect-four" else (4, 0, 1)])),
        draw(st.sampled_from([None, None, None, 0, 3, 6])),
    )


@given(cases())
def test_a_match_on_the_fast_path_is_the_match_without_it(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        with_it, without = (play(patch, case, is_fast=is_fast) for is_fast in (True, False))
    assert with_it == without
    assert with_it.result.termination is not Termination.ARENA_ERROR


@pytest.mark.parametrize(
    ("fatal", "termination"),
    [
        ("resigns", "resign"),
        ("bool", "bot_error"),
        ("float", "bot_error"),
        ("nothing", "bot_error"),
        ("unclear", "bot_error"),
        ("word", "bot_error"),
        ("illegal", "illegal_move"),
        ("too large", "bot_error"),
        ("late and illegal", "illegal_move"),
        ("late", "time_move"),
        ("suspended", "arena_stall"),
        ("error", "bot_error"),
        ("exit", "crash"),
        ("memory", "oom"),
        ("protocol", "malformed"),
    ],
)
def test_what_is_not_plain_is_judged(monkeypatch: pytest.MonkeyPatch, fatal: str, termination: str) -> None:
    result, limits, _ = play(monkeypatch, Case(["plain", "plain", fatal], []))

    assert (result.termination, len(result.actions)) == (termination, 4)
    assert result.fault_player == (None if fatal in {"resigns", "suspended"} else 0)
    assert limits == [Limit(seconds=0.1, nodes=7)] * 3


def test_times_and_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _, _ = play(monkeypatch, Case(["plain", "slow", "value"], ["text"], opening=(3,)))

    # The opening has one move, by the first player, so the second player begins.
    assert result.times_ms[:6] == (0, 0, 0, 0, 30, 0)
    said = [None if info is None else (info.value, info.text) for info in result.infos]
    assert said[:7] == [
        None,
        (None, "hm"),
        (None, None),
        (None, None),
        (None, None),
        (None, None),
        (0.5, None),
    ]
    assert len(said) == len(result.actions)


def test_only_one_limit_for_all_answers_allows_the_fast_path() -> None:
    fischer = TimeControl.parse("60+1", None, None)
    one, other = (started(CONTROL, player) for player in (0, 1))
    assert fast_seats_of((one, other)) is not None
    assert fast_seats_of((one, started(fischer, 1))) is None
    assert fast_seats_of((started(fischer, 0), other)) is None
    other.close()
    assert fast_seats_of((one, other)) is None


def started(control: TimeControl, player: int) -> InProcessSeat:
    seat = InProcessSeat(lambda _game, _seed: Bot(World(), iter([])), name="bot", version="1")
    game = GAMES["tic-tac-toe"]
    assert seat.start(SeatSetup(match="m", game=game, player=player, seed=1, control=control)) is None
    return seat


def test_the_fast_path_ends_with_the_match() -> None:
    fast_seats = fast_seats_of((started(CONTROL, 0), started(CONTROL, 1)))
    assert fast_seats is not None
    record = Record()
    state, last = play_fast(
        fast_seats, GAMES["tic-tac-toe"].initial_state(), record, GameClock((CONTROL, CONTROL)), None
    )

    assert last is None
    assert state.is_terminal
    assert list(state.history) == record.actions


def test_a_record_needs_no_more_than_the_action() -> None:
    record = Record((5,))
    record.actions += [1, 2]
    record.add(Answer(3, 0.012, Thoughts(value=1.0)))
    record.actions.append(4)

    assert (record.actions, record.num_played) == ([5, 1, 2, 3, 4], 4)
    assert record.times_ms() == (0, 0, 0, 12, 0)
    assert record.infos() == (None, Thoughts(), Thoughts(), Thoughts(value=1.0), Thoughts())
