"""A bot against every reply: all lines to their end, and the same counts for any number of processes."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from arena_bots.keras_wdl.train.replies import exact_chances
from arena_bots.minimax import MinimaxBot
from arena_plugins import Limit, load_bot
from arena_plugins.errors import BotError, OptionError
from children import run_child
from game_samples import make
from pile_game import Pile
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from arena_plugins.contract import Game, State

BENCHMARKS = ROOT / "benchmarks"
SCRIPT = BENCHMARKS / "every_reply.py"
SMALL = "tic-tac-toe"


@pytest.fixture(scope="module")
def replies() -> Iterator[SimpleNamespace]:
    """Yield the modules of the script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = {"walk": "replies.walk", "asking": "replies.asking", "script": "every_reply"}
        yield SimpleNamespace(**{name: importlib.import_module(module) for name, module in names.items()})


@pytest.fixture
def run(
    replies: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Return a function that runs the script in this process, on a small game."""

    def run_here(*arguments: object) -> dict[str, Any]:
        options = ("--game", SMALL, "--processes", 1)
        monkeypatch.setattr(sys, "argv", ["every_reply.py", *map(str, (*arguments, *options))])
        assert replies.script.main() == 0
        return json.loads(capsys.readouterr().out)

    return run_here


def every_position(bot: MinimaxBot, game: Game, side: int) -> tuple[int, dict[str, int]]:
    """Walk the whole tree in another way: return how many positions the bot gets, and how they end."""
    seen: set[tuple[int, ...]] = set()
    asked, ends, waiting = 0, {"won": 0, "drawn": 0, "lost": 0}, [game.initial_state()]
    while waiting:
        state = waiting.pop()
        if state.cells in seen:
            continue
        seen.add(state.cells)
        if state.is_terminal:
            ends[("drawn", "won", "lost")[round(state.returns[side])]] += 1
            continue
        actions = state.legal_actions
        if state.current_player == side:
            asked += 1
            policy = bot.play(state, Limit()).policy
            assert policy is not None
            actions = tuple(action for action, share in policy.items() if share)
        waiting += [state.child(action) for action in actions]
    return asked, ends


@pytest.mark.parametrize("side", [0, 1])
def test_perfect_play_is_walked_whole(run: Callable[..., dict[str, Any]], side: int) -> None:
    game = make(SMALL)
    positions, ends = every_position(MinimaxBot(game, 1, depth=9), game, side)
    options = ("--side", ("first", "second")[side], "--stones-only", "--lots")
    for bot in ("minimax:depth=9", "solver"):
        found = run(bot, *options)
        assert (found["positions"], found["ends"]) == (positions, ends), bot
        assert ends["lost"] == 0
        assert found["first_lost"] is None
        assert len(found["first_drawn"].split()) == found["longest"] == 9
        assert found["proof"] is False


@pytest.mark.parametrize("side", ["first", "second"])
def test_counts_agree_with_exact_chances(run: Callable[..., dict[str, Any]], side: str) -> None:
    """`keras` is deterministic: it can reach exactly the results with a chance against random play."""
    game = make(SMALL)
    chances = exact_chances(load_bot("keras", game, seed=1), game, ("first", "second").index(side))
    ends = run("keras", "--side", side)["ends"]
    assert [bool(count) for count in ends.values()] == [chance > 0 for chance in chances]
    assert ends["lost"] == 0


def test_any_number_of_processes_finds_the_same(run: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    options = ("mcts:playouts=20", "--side", "second", "--seed")
    alone = run(*options, 3)
    command = [sys.executable, SCRIPT, *options, "3", "--game", SMALL, "--processes", "2"]
    assert json.loads(run_child(command, cwd=tmp_path).stdout) == alone
    assert sum(alone["ends"].values()) > 50
    assert {**run(*options, 4), "seed": 3} != alone


def test_lines_that_were_lost_can_be_played_again(
    run: Callable[..., dict[str, Any]], replies: SimpleNamespace
) -> None:
    found = run("random")
    assert found["ends"]["lost"] > 0
    game = make(SMALL)
    asker = replies.asking.Asker(replies.asking.Setup(SMALL, "random", 1, lots=False))
    state: State = game.initial_state()
    for text in found["first_lost"].split():
        action = game.parse_move(state, text)
        if state.current_player == 0:
            line = b"".join(done.to_bytes(2, sys.byteorder) for done in state.history)
            key = bytes((0, *state.cells)) + line[-2:]
            assert asker(replies.walk.Open(key, line)) == (action,)
        state = state.child(action)
    assert state.returns[0] < 0


def test_a_player_may_move_again_or_give_up(replies: SimpleNamespace) -> None:
    """The player with few tokens gives up; otherwise it takes two and moves again."""
    game = Pile()
    asked: set[tuple[int, int]] = set()
    ends: set[tuple[int, int, float]] = set()

    def actions_at(state: State) -> tuple[int, ...]:
        if state.current_player:
            return (1,) if sum(state.cells) > 3 else ()
        return state.legal_actions

    def follow(state: State) -> None:
        place = (len(state.history), sum(state.cells))
        if state.is_terminal:
            ends.add((*place, state.returns[1]))
        elif state.current_player:
            asked.add(place)
        if not state.is_terminal and not actions_at(state):
            ends.add((*place, -1.0))
        for action in actions_at(state):
            follow(state.child(action))

    def ask(positions: Sequence[Any]) -> list[tuple[int, ...]]:
        return [actions_at(replies.walk.state_after(game, position.line)) for position in positions]

    follow(game.initial_state())
    found = replies.walk.Walk(game, 1, sees_last=False, most=100).follow(ask)
    assert found.positions == len(asked) > 5
    assert found.ends["drawn"] == 0
    assert found.ends["won"] == len({end for end in ends if end[2] > 0})
    assert found.ends["lost"] == len({end for end in ends if end[2] < 0}) > 0


def test_an_action_that_is_not_allowed_is_an_error(replies: SimpleNamespace) -> None:
    walk = replies.walk.Walk(make(SMALL), 0, sees_last=True, most=100)

    def always_the_corner(positions: Sequence[Any]) -> list[tuple[int, ...]]:
        return [(0,)] * len(positions)

    with pytest.raises(BotError, match=r"after a3 b3: move a3 is not allowed"):
        walk.follow(always_the_corner)


def test_a_bot_bound_by_time_is_refused(replies: SimpleNamespace) -> None:
    with pytest.raises(OptionError, match="may answer otherwise next time"):
        replies.asking.Asker(replies.asking.Setup(SMALL, "mcts:seconds=1", 1, lots=False))


def test_what_cannot_be_finished_claims_nothing(tmp_path: Path) -> None:
    for processes in (1, 2):
        options = ("--game", "connect-four", "--most-positions", 300, "--processes", processes)
        command = [sys.executable, SCRIPT, "minimax:depth=1", *map(str, options)]
        done = run_child(command, cwd=tmp_path, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        error = "more than 300 positions come up, by ply 6 already; nothing is claimed, "
        assert done.stderr.splitlines()[-1] == f"{error}--most-positions allows more"
    done = run_child([sys.executable, SCRIPT, "minimx"], cwd=tmp_path, check=False)
    assert done.stderr.startswith('no bot "minimx"; did you mean "minimax"?')


def test_an_interrupt_ends_it_and_its_processes(tmp_path: Path) -> None:
    command = [sys.executable, SCRIPT, "random", "--game", "connect-four", "--processes", "2"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell lets background processes ignore interrupts, and this process may be one of them.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - it only sets that
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline().startswith("ply 0: 1 positions")
        # A terminal sends the signal to the whole process group.
        os.killpg(child.pid, signal.SIGINT)
        told, said = child.communicate(timeout=60)
    assert (child.returncode, told) == (130, "")
    assert said.splitlines()[-1] == "interrupted; nothing is claimed"
    assert "Traceback" not in said
