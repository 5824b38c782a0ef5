"""The work of the searches between two checks of the clock is bounded, whatever the position.

The work is counted where possible, not timed, so that a busy machine does not matter.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from arena_bots import mcts
from arena_bots.search import alphabeta, uct
from arena_bots.search import alphabeta_compiled as compiled
from arena_bots.search.alphabeta_frames import NODES, STONES
from arena_bots.search.budget import Budget
from arena_bots.search.uct_compiled import NEW_NODES, PLIES, CompiledTree
from arena_plugins.contract import Limit
from game_samples import make, seeded
from pile_game import Pile, PileState

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_plugins.contract import Game, State

LOST = "j7 h9 m7 h11 m8 h10 t17 h12"
"""An open four on 20x20: each playout proves a loss, and adds a node for every empty cell."""
TACTICAL = uct.TreeSettings(0.85, is_tactical=True, proves=True)
UNIFORM = uct.TreeSettings(1.4)


class Watched:
    """A budget that is late after some checks, and records at each how much work has been done."""

    nodes = math.inf
    deadline = 1e18

    def __init__(self, work: Callable[[], int], looks: int) -> None:
        self._work = work
        self._looks = looks
        self.seen: list[int] = []

    @property
    def is_late(self) -> bool:
        self.seen.append(self._work())
        return len(self.seen) > self._looks

    @property
    def steps(self) -> list[int]:
        """The work between successive checks."""
        return [after - before for before, after in zip(self.seen, self.seen[1:], strict=False)]


def after(game: Game, moves: str) -> State:
    state = game.initial_state()
    for move in moves.split():
        state = state.child(game.parse_move(state, move))
    return state


@pytest.mark.parametrize("settings", [TACTICAL, UNIFORM])
@pytest.mark.parametrize(
    ("spec", "moves"), [("gomoku:size=20", LOST), ("gomoku:size=26", ""), ("connect-four", "d d d")]
)
def test_compiled_trees_look_after_so_many_nodes_and_plies(
    spec: str, moves: str, settings: uct.TreeSettings
) -> None:
    game = make(spec)
    # Without proofs the search continues in a lost position.
    tree: Any = CompiledTree(game, seeded(1), settings._replace(proves=False))
    for work, bound in (
        (lambda: int(tree._size), NEW_NODES + game.num_actions),  # noqa: SLF001
        (lambda: int(tree._nodes[0]["visits"]) * game.max_length, PLIES),  # noqa: SLF001
    ):
        tree.clear()
        tree.advance(after(game, moves))
        budget: Any = Watched(work, 40)
        tree.run(budget)
        assert 0 < max(budget.steps) <= bound
        assert budget.seen[-1] > 2 * bound


def test_without_a_deadline_nobody_asks_for_the_time() -> None:
    tree: Any = CompiledTree(make("connect-four"), seeded(1), UNIFORM)
    tree.advance(make("connect-four").initial_state())
    budget: Any = Watched(lambda: 0, 10)
    budget.deadline, budget.nodes = math.inf, 20_000
    assert tree.run(budget) == 20_000
    assert len(budget.seen) <= 3


class Endless(Pile):
    """A game in which no rollout ends; it counts the states that are created."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0

    @override
    def initial_state(self) -> State:
        return EndlessState(self, 0)


class EndlessState(PileState):
    """A state with the same actions as every other."""

    def __init__(self, game: Endless, player: int) -> None:
        super().__init__((), player)
        self.current_player = player
        self._game = game

    @override
    def child(self, action: int) -> State:
        self._game.made += 1
        return EndlessState(self._game, 1 - self.current_player)


def test_rollouts_of_plain_rules_look_and_give_up() -> None:
    game = Endless()
    tree = uct.Tree(seeded(1), UNIFORM)
    tree.advance(game.initial_state())
    budget: Any = Watched(lambda: game.made, 30)
    assert tree.run(budget) == 1
    assert set(budget.steps[1:-1]) == {uct.PLIES}
    # The rollout counts as a draw.
    assert [(edge.visits, edge.mean) for edge in tree.edges().values()] == [(1, 0.0)]


def test_plain_alpha_beta_looks_after_some_nodes() -> None:
    game = Endless()
    budget: Any = Watched(lambda: game.made, 200)
    found = alphabeta.AlphaBeta(game).deepen(game.initial_state(), 99, budget)
    assert found is not None
    assert max(budget.steps) <= alphabeta.CLOCK_EVERY


@pytest.mark.parametrize("spec", ["gomoku:size=26", "gomoku:size=20", "gomoku", "connect-four"])
def test_compiled_alpha_beta_looks_after_so_much_work(spec: str) -> None:
    game = make(spec)
    search: Any = compiled.compiled_search(game, 99)
    numbers = search._search.numbers  # noqa: SLF001
    rng, state = seeded(2), game.initial_state()
    for _ in range(min(20, game.max_length // 4)):
        state = state.child(rng.choice(state.legal_actions))
    budget: Any = Watched(lambda: int(numbers[STONES]), 300)
    search.deepen(state, 99, budget)
    # The last node before a pause may try each of its moves and evaluate each reply.
    assert max(budget.steps) * game.num_actions <= compiled.WORK + 2 * game.num_actions**2
    assert numbers[NODES] > compiled.WORK


def test_a_move_that_is_only_weighed_is_work_too() -> None:
    # Most moves next to the leaves are cut off by their gain: when those were not counted, a slice took 30
    # times as long as others. The minimum of three rounds counts, since other processes use the CPU.
    game = make("gomoku:size=26")
    rng, state = seeded(2), game.initial_state()
    for _ in range(20):
        state = state.child(rng.choice(state.legal_actions))
    search: Any = compiled.compiled_search(game, 99)
    rounds: list[list[int]] = []
    for _ in range(3):
        budget: Any = Watched(time.thread_time_ns, 400)
        search.deepen(state, 99, budget)
        rounds.append(budget.steps)
    quickest = [min(some) for some in zip(*rounds, strict=True)]
    assert max(quickest) < 8_000_000


def test_a_lost_position_on_a_large_board_is_answered_in_time() -> None:
    game = make("gomoku:size=20")
    state = after(game, LOST)
    bots = [mcts.make_bot(game, 1, {"playouts": "1000000000", "solver": solver}) for solver in ("on", "off")]
    for number in range(53):
        bot = bots[number >= 50]
        bot.new_match(number)
        begin = time.thread_time()
        assert bot.play(state, Limit(seconds=0.1)).action in state.legal_actions
        assert time.thread_time() - begin <= 0.11


def naive(state: State, ranked: list[int]) -> int:
    """Choose as `mcts` does, without a clock and without optimisations."""
    player = state.current_player
    for action in ranked:
        child = state.child(action)
        if child.is_terminal or all(child.child(reply).returns[player] >= 0 for reply in child.legal_actions):
            return action
    return ranked[0]


@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=6", "tic-tac-toe"])
def test_the_safest_action_is_that_of_a_full_search(spec: str) -> None:
    game, rng = make(spec), seeded(5)
    seen = Counter[int]()
    for _ in range(150):
        state = game.initial_state()
        for _ in range(rng.randrange(game.max_length)):
            child = state.child(rng.choice(state.legal_actions))
            state = state if child.is_terminal else child
        ranked = list(state.legal_actions)
        rng.shuffle(ranked)
        chosen = mcts.safest(state, ranked, math.inf)
        assert chosen == naive(state, ranked)
        seen[ranked.index(chosen)] += 1
    assert len(seen) > 2


def test_a_reply_that_refutes_one_action_is_tried_first_against_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = make("gomoku:size=20")
    state, made = after(game, LOST), Counter[str]()
    kind: Any = type(state)
    child = kind.child

    def counted(self: Any, action: int) -> State:  # noqa: ANN401
        made["states"] += 1
        return child(self, action)

    monkeypatch.setattr(kind, "child", counted)
    ranked = list(state.legal_actions)
    # Every action loses at once.
    assert mcts.safest(state, ranked, math.inf) == ranked[0]
    assert made["states"] <= 4 * len(ranked)
    made.clear()
    assert mcts.safest(state, ranked, 0.0) == ranked[0]
    assert made["states"] == 2
    made.clear()
    # Each state takes a second: the check of the other actions is stopped halfway.
    monkeypatch.setattr(mcts, "perf_counter", lambda: float(made["states"]))
    assert mcts.safest(state, ranked, 400.0) == ranked[0]
    assert 400 <= made["states"] <= 404


def test_what_follows_the_search_ends_before_the_time_does() -> None:
    budget = Budget.of(Limit(seconds=10.0))
    assert budget.last - budget.deadline == pytest.approx(0.45)
    assert Budget.of(Limit()).last == math.inf
