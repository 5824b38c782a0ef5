"""The bot `mcts`: its statistics, its tree from move to move, its limits and its strength."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from arena_bots import mcts
from arena_bots import random as random_bot
from arena_bots.search.uct import Tree
from arena_plugins.contract import Limit
from game_samples import make, seeded

if TYPE_CHECKING:
    from arena_bots.search.uct import Node
    from arena_plugins.contract import Game, State

NO_LIMIT = Limit()


def make_tree(game: Game, playouts: int) -> Tree:
    tree = Tree(game.initial_state(), seeded(1), 1.0)
    for _ in range(playouts):
        tree.playout()
    return tree


def check_statistics(node: Node) -> None:
    """Below the root each visit of a node made its own leaf or went on to one of its children."""
    children = node.children.values()
    if children:
        assert node.visits == 1 + sum(child.visits for child in children)
    for action, child in node.children.items():
        assert child.state.history == (*node.state.history, action)
        assert -1 <= child.total / child.visits <= 1
        if child.state.is_terminal:
            assert child.total == child.visits * child.state.returns[node.state.current_player]
        check_statistics(child)


def test_every_playout_adds_one_node_and_is_backed_up() -> None:
    tree = make_tree(make("connect-four"), 300)
    assert tree.root.visits == 300
    assert sum(child.visits for child in tree.root.children.values()) == 300
    for child in tree.root.children.values():
        check_statistics(child)


def test_ends_are_backed_up_exactly(pile: Game) -> None:
    tree = make_tree(pile, 2000)
    for child in tree.root.children.values():
        check_statistics(child)


def test_a_child_is_selected_by_its_upper_confidence_bound() -> None:
    tree = make_tree(make("connect-four"), 200)
    root = tree.root
    before = {action: child.visits for action, child in root.children.items()}
    bounds = {
        action: child.total / child.visits + 1.0 * math.sqrt(2 * math.log(root.visits) / child.visits)
        for action, child in root.children.items()
    }
    tree.playout()
    (chosen,) = (action for action, child in root.children.items() if child.visits != before[action])
    assert chosen == max(bounds, key=bounds.__getitem__)


def test_the_tree_is_kept_along_the_match() -> None:
    tree = make_tree(make("connect-four"), 500)
    kept = tree.root.children[3].children[3]
    visits = kept.visits
    tree.advance(kept.state)
    assert tree.root is kept
    assert tree.root.visits == visits > 1
    tree.playout()
    assert tree.root.visits == visits + 1


def test_a_tree_that_does_not_lead_there_is_given_up() -> None:
    game = make("connect-four")
    tree = make_tree(game, 500)
    state = game.initial_state().child(0)
    tree.advance(state.child(1))
    for other in (state.child(2), game.initial_state(), state.child(1).child(1).child(1).child(1)):
        tree.advance(other)
        assert tree.root.state is other
        assert tree.root.visits == 0


def test_the_bot_carries_visits_over() -> None:
    game = make("connect-four")
    bot = mcts.make_bot(game, 1, {"playouts": "400"})
    state = game.initial_state()
    first = bot.play(state, NO_LIMIT)
    assert first.visits is not None
    assert sum(first.visits.values()) == 400
    second = bot.play(state.child(3).child(3), NO_LIMIT)
    assert second.visits is not None
    assert sum(second.visits.values()) > 400
    assert first.nodes == second.nodes == 400


def test_an_answer_holds_visits_policy_and_value() -> None:
    game = make("connect-four")
    result = mcts.make_bot(game, 1, {}).play(game.initial_state(), NO_LIMIT)
    assert result.nodes == 1000
    assert result.visits is not None
    assert result.policy == {action: count / 1000 for action, count in result.visits.items()}
    assert list(result.visits) == list(range(7))
    assert result.visits[result.action] == max(result.visits.values())
    assert result.pv is not None
    assert result.pv[0] == result.action
    assert result.value is not None
    assert -1 < result.value < 1


@pytest.mark.parametrize(
    ("options", "limit", "playouts"),
    [
        ({}, Limit(nodes=50), 50),
        ({"playouts": "50"}, Limit(nodes=500), 50),
        ({"playouts": "50", "seconds": "60"}, Limit(), 50),
        ({"seconds": "60"}, Limit(nodes=50), 50),
        ({"seconds": "60"}, Limit(seconds=0.0), 1),
        ({}, Limit(nodes=1), 1),
    ],
)
def test_the_first_bound_ends_the_search(options: dict[str, str], limit: Limit, playouts: int) -> None:
    game = make("connect-four")
    result = mcts.make_bot(game, 1, options).play(game.initial_state(), limit)
    assert result.nodes == playouts
    assert result.visits is not None
    assert sum(result.visits.values()) == playouts


def test_thinking_by_time_is_not_bound_by_playouts() -> None:
    game = make("tic-tac-toe")
    state = game.initial_state()
    for action in (4, 0, 8, 2, 1, 7, 3):
        state = state.child(action)
    bot = mcts.make_bot(game, 1, {"seconds": "0.2"})
    result = bot.play(state, NO_LIMIT)
    assert not bot.deterministic
    assert result.nodes is not None
    assert result.nodes > 1000
    assert mcts.make_bot(game, 1, {}).deterministic


def test_most_visits_then_value_decide(pile: Game) -> None:
    # Two playouts try two of three actions once: the value decides, and the third has no visit.
    for seed in range(20):
        bot = mcts.make_bot(pile, seed, {"playouts": "2"})
        result = bot.play(pile.initial_state(), NO_LIMIT)
        assert result.visits is not None
        assert sorted(result.visits.values()) == [0, 1, 1]
        assert result.visits[result.action] == 1
        assert result.policy is not None
        assert sum(result.policy.values()) == 1


def outcome(state: State) -> float:
    """Give the result for player 0 of perfect play."""
    if state.is_terminal:
        return state.returns[0]
    outcomes = [outcome(state.child(action)) for action in state.legal_actions]
    return min(outcomes) if state.current_player else max(outcomes)


@pytest.mark.parametrize("opening", [(), (0,), (2,), (1, 1), (2, 2)])
def test_plays_perfectly_where_a_player_may_move_again(pile: Game, opening: tuple[int, ...]) -> None:
    state = pile.initial_state()
    for action in opening:
        state = state.child(action)
    sign = -1 if state.current_player else 1
    outcomes = {action: sign * outcome(state.child(action)) for action in state.legal_actions}
    assert len(set(outcomes.values())) > 1
    result = mcts.make_bot(pile, 1, {"playouts": "3000"}).play(state, NO_LIMIT)
    assert outcomes[result.action] == max(outcomes.values())


def test_passes_over_what_loses_at_once() -> None:
    # Three playouts rarely find the one reply that wins.
    game = make("connect-four")
    state = game.initial_state()
    for action in (0, 1, 0, 1, 0):
        state = state.child(action)
    for seed in range(20):
        bot = mcts.make_bot(game, seed, {"playouts": "3"})
        result = bot.play(state, NO_LIMIT)
        assert result.visits is not None
        assert (result.action == 0) == (result.visits[0] > 0)


def test_a_quarter_of_the_playouts_wins_every_match_against_random() -> None:
    game = make("connect-four")
    bots = (mcts.make_bot(game, 1, {"playouts": "250"}), random_bot.make_bot(game, 2, {}))
    won = 0
    for match in range(20):
        for bot in bots:
            bot.new_match(match)
        side = match % 2
        state = game.initial_state()
        while not state.is_terminal:
            state = state.child(bots[state.current_player ^ side].play(state, NO_LIMIT).action)
        won += state.returns[side] == 1
    assert won == 20
