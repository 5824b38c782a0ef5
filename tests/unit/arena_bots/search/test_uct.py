"""The tree of states, for any game: its statistics, its selection, and its reuse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from arena_bots.search.budget import Budget
from arena_bots.search.uct import Tree, TreeSettings
from game_samples import make, seeded

if TYPE_CHECKING:
    from arena_bots.search.uct import Node
    from arena_plugins.contract import Game

ENDLESS = Budget(math.inf, math.inf)
BOTH = (TreeSettings(1.0), TreeSettings(5.0, is_puct=True))


def make_tree(game: Game, playouts: int, settings: TreeSettings = BOTH[0]) -> Tree:
    tree = Tree(seeded(1), settings)
    tree.advance(game.initial_state())
    for _ in range(playouts):
        tree.playout(ENDLESS)
    return tree


def check_statistics(node: Node) -> None:
    """Check the visits: below the root, the first creates a node, and each other one visits a child."""
    children = node.children.values()
    if children:
        assert node.visits == 1 + sum(child.visits for child in children)
    for action, child in node.children.items():
        assert child.state.history == (*node.state.history, action)
        assert -1 <= child.total / child.visits <= 1
        if child.state.is_terminal:
            assert child.total == child.visits * child.state.returns[node.state.current_player]
        check_statistics(child)


@pytest.mark.parametrize("settings", BOTH)
def test_every_playout_adds_one_node_and_is_backed_up(settings: TreeSettings) -> None:
    tree = make_tree(make("connect-four"), 300, settings)
    assert tree.root.visits == 300
    assert sum(child.visits for child in tree.root.children.values()) == 300
    for child in tree.root.children.values():
        check_statistics(child)


@pytest.mark.parametrize("settings", BOTH)
def test_ends_are_backed_up_exactly(pile: Game, settings: TreeSettings) -> None:
    tree = make_tree(pile, 2000, settings)
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
    tree.playout(ENDLESS)
    (chosen,) = (action for action, child in root.children.items() if child.visits != before[action])
    assert chosen == max(bounds, key=bounds.__getitem__)


def test_puct_selects_with_equal_priors() -> None:
    tree = make_tree(make("gomoku:k=4,size=6"), 100, BOTH[1])
    root = tree.root
    for _ in range(200):
        before = {action: child.visits for action, child in root.children.items()}
        scale = 5 / 36 * math.sqrt(root.visits)
        bounds = {
            action: child.total / child.visits + scale / (1 + child.visits)
            for action, child in root.children.items()
        }
        tree.playout(ENDLESS)
        (chosen,) = (
            action for action, child in root.children.items() if child.visits != before.get(action, 0)
        )
        # A new child had the bound of all children without visits.
        assert bounds.get(chosen, scale) == max([*bounds.values(), *[scale] * (len(bounds) < 36)])


def test_the_tree_is_kept_along_the_match() -> None:
    tree = make_tree(make("connect-four"), 500)
    kept = tree.root.children[3].children[3]
    visits = kept.visits
    tree.advance(kept.state)
    assert tree.root is kept
    assert tree.root.visits == visits > 1
    tree.playout(ENDLESS)
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
    tree.playout(ENDLESS)
    tree.clear()
    tree.advance(tree.root.state)
    assert tree.root.visits == 0
