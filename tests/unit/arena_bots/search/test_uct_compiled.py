"""The compiled tree: its statistics, its selection, its proofs, its memory, on boards of both kinds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena_bots.search.budget import Budget
from arena_bots.search.uct import TreeSettings
from arena_bots.search.uct_compiled import MOST, CellBoard, CompiledTree, WordBoard
from arena_bots.search.uct_tree import DRAW, LOSS, NODE, UNKNOWN, WIN, selection
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_plugins.contract import Game

UCT, PUCT = TreeSettings(1.0), TreeSettings(5.0, is_puct=True)
TACTICAL = TreeSettings(1.0, is_tactical=True)
SOLVER = TreeSettings(1.0, is_tactical=True, proves=True)
GAMES = ("connect-four", "gomoku:k=4,size=6", "tic-tac-toe", "gomoku", "connect-four:cols=9,rows=8")
LARGE = "connect-four:cols=5,rows=14"
"""Too large for a word of 64 bits, with few actions: its trees grow deep."""


def make_tree(
    game: KInARow, settings: TreeSettings = UCT, *, state: KInARowState | None = None, most: int = MOST
) -> CompiledTree:
    tree = CompiledTree(game, seeded(1), settings, most=most)
    tree.advance(state or game.initial_state())
    return tree


def grown(game: KInARow, playouts: int, settings: TreeSettings = UCT, *, most: int = MOST) -> CompiledTree:
    tree = make_tree(game, settings, most=most)
    assert run(tree, playouts) == playouts
    return tree


def run(tree: CompiledTree, playouts: int) -> int:
    return tree.run(Budget(playouts, math.inf))


def nodes_of(tree: CompiledTree) -> NDArray[np.void]:
    inside: Any = tree
    return inside._nodes[: inside._size]  # noqa: SLF001 # what the kernels wrote


def children(nodes: NDArray[np.void], node: int) -> range:
    first = int(nodes[node]["first"])
    return range(first, first + int(nodes[node]["count"]))


def states(nodes: NDArray[np.void], root: KInARowState) -> Iterator[tuple[int, KInARowState]]:
    """Yield each visited node with its state."""
    waiting = [(0, root)]
    while waiting:
        node, state = waiting.pop()
        yield node, state
        waiting += [
            (child, state.child(int(nodes[child]["action"])))
            for child in children(nodes, node)
            if nodes[child]["visits"]
        ]


@pytest.mark.parametrize("settings", [UCT, PUCT, TACTICAL, SOLVER])
@pytest.mark.parametrize("spec", GAMES)
def test_the_numbers_of_a_tree_agree(spec: str, settings: TreeSettings) -> None:
    game = make(spec)
    nodes = nodes_of(grown(game, 600, settings))
    owned: list[int] = []
    for node in range(len(nodes)):
        below = children(nodes, node)
        assert [int(nodes[child]["parent"]) for child in below] == [node] * len(below)
        owned += below
        if below:
            own = 1 if node else 0
            assert int(nodes[node]["visits"]) == own + sum(int(nodes[child]["visits"]) for child in below)
        if nodes[node]["visits"]:
            mean = int(nodes[node]["total"]) / int(nodes[node]["visits"])
            assert nodes[node]["value"] == np.float32(mean)
            assert -1 <= mean <= 1
    assert sorted(owned) == list(range(1, len(nodes)))


@pytest.mark.parametrize("settings", [UCT, PUCT, SOLVER])
@pytest.mark.parametrize("spec", [*GAMES, LARGE])
def test_nodes_are_positions_of_the_rules(spec: str, settings: TreeSettings) -> None:
    game = make(spec)
    nodes = nodes_of(grown(game, 400, settings))
    for node, state in states(nodes, game.initial_state()):
        below = children(nodes, node)
        if below:
            assert sorted(int(nodes[child]["action"]) for child in below) == list(state.legal_actions)
        if state.is_terminal:
            result = state.returns[1 - state.current_player]
            assert nodes[node]["proof"] == (WIN if result else DRAW)
            assert nodes[node]["total"] == nodes[node]["visits"] * result


@pytest.mark.parametrize("spec", ["connect-four", "gomoku"])
def test_uct_selects_the_largest_bound(spec: str) -> None:
    tree = grown(make(spec), 700)
    for _ in range(100):
        before = nodes_of(tree)[:1000].copy()
        run(tree, 1)
        chosen = changed(before, nodes_of(tree))
        total = int(before[0]["visits"])
        bounds = [
            edge["value"] + math.sqrt(2 * math.log(total) / edge["visits"])
            for edge in before[1 : 1 + count(before)]
        ]
        assert bounds[chosen] == pytest.approx(max(bounds), abs=1e-5)


def count(nodes: NDArray[np.void]) -> int:
    return int(nodes[0]["count"])


def changed(before: NDArray[np.void], after: NDArray[np.void]) -> int:
    (found,) = np.flatnonzero(
        before["visits"][1 : 1 + count(before)] != after["visits"][1 : 1 + count(before)]
    )
    return int(found)


@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=6"])
def test_puct_selects_with_equal_priors(spec: str) -> None:
    tree = grown(make(spec), 20, PUCT)
    for _ in range(200):
        before = dict(tree.edges())
        nodes = nodes_of(tree)
        scale = 5 / count(nodes) * math.sqrt(int(nodes[0]["visits"]))
        bounds = {action: edge.mean + scale / (1 + edge.visits) for action, edge in before.items()}
        # Children without visits all have the bound `scale`.
        best = max([*bounds.values(), *[scale] * (len(bounds) < count(nodes))])
        run(tree, 1)
        (chosen,) = (
            action
            for action, edge in tree.edges().items()
            if action not in before or edge.visits != before[action].visits
        )
        assert bounds.get(chosen, scale) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("is_puct", [False, True])
def test_formulas_go_on_where_their_tables_end(*, is_puct: bool) -> None:
    # Tic-tac-toe has few nodes: after 40,000 playouts many have more visits than the tables cover.
    settings = TreeSettings(0.1, is_puct=is_puct)
    nodes = nodes_of(grown(make("tic-tac-toe"), 40_000, settings))
    size = len(selection(1.0, is_puct=is_puct).bonus)
    many = [node for node in nodes if node["visits"] >= size]
    assert len(many) >= 2
    for node in many[1:]:
        visits = int(node["visits"])
        bonus = 1 / (1 + visits) if is_puct else 1 / math.sqrt(visits)
        assert node["bonus"] == pytest.approx(bonus, rel=1e-5)


@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=6", LARGE])
@pytest.mark.parametrize("settings", [UCT, SOLVER])
def test_proofs_change_no_selection(spec: str, settings: TreeSettings) -> None:
    game = make(spec)
    plain, proving = (grown(game, 500, settings._replace(proves=proves)).edges() for proves in (False, True))
    assert {action: edge.visits for action, edge in plain.items()} == {
        action: edge.visits for action, edge in proving.items()
    }


def no_layout(_game: Game) -> None:
    """Make every board a cell board."""


def outcome(state: KInARowState, known: dict[tuple[int, int], float]) -> float:
    """Return the result of perfect play for the side to move."""
    key = (state.own, state.opp)
    if key not in known:
        player = state.current_player
        known[key] = (
            state.returns[player]
            if state.is_terminal
            else max(-outcome(state.child(action), known) for action in state.legal_actions)
        )
    return known[key]


@pytest.mark.parametrize(
    ("spec", "opening"),
    [
        ("tic-tac-toe", (4, 0)),
        ("tic-tac-toe", (4, 1)),
        ("connect-four:cols=4,k=3,rows=4", ()),
        ("gomoku:exact=on,k=3,size=3", (0, 4)),
    ],
)
@pytest.mark.parametrize("board", [WordBoard, CellBoard])
def test_what_is_proven_is_true(
    spec: str,
    opening: tuple[int, ...],
    board: type[WordBoard | CellBoard],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if board is CellBoard:
        monkeypatch.setattr("arena_bots.search.uct_compiled.layout_of", no_layout)
    game = make(spec)
    root = game.initial_state()
    for action in opening:
        root = root.child(action)
    # Proofs do not affect the selection, so a search of the whole tree needs much exploration.
    tree = make_tree(game, SOLVER._replace(c=5.0), state=root)
    run(tree, 60_000)
    nodes, known, proven = nodes_of(tree), dict[tuple[int, int], float](), 0
    for node, state in states(nodes, root):
        proof = int(nodes[node]["proof"])
        if proof != UNKNOWN:
            assert DRAW - proof == -outcome(state, known)
            proven += 1
    assert proven > 100
    # The whole tree was searched: the root is proven, and by the right action.
    assert nodes[0]["proof"] in {WIN, DRAW, LOSS}
    best = max(edge.proof for edge in tree.edges().values() if edge.proof is not None)
    assert best == outcome(root, known)
    assert run(tree, 100) == 0


@pytest.mark.parametrize("spec", ["connect-four", "gomoku", LARGE])
def test_the_tree_is_kept_along_the_match(spec: str) -> None:
    game = make(spec)
    tree = grown(game, 3000, TACTICAL)
    before = nodes_of(tree).copy()
    state = game.initial_state()
    node = 0
    for _ in range(2):
        node = max(children(before, node), key=lambda child: before[child]["visits"])
        state = state.child(int(before[node]["action"]))
    tree.advance(state)
    after = nodes_of(tree)
    assert_same(before, node, after, 0)
    assert len(after) == size_below(before, node)
    visits = int(after[0]["visits"])
    run(tree, 500)
    assert int(nodes_of(tree)[0]["visits"]) == visits + 500
    tree.advance(state)
    assert int(nodes_of(tree)[0]["visits"]) == visits + 500


def assert_same(before: NDArray[np.void], old: int, after: NDArray[np.void], new: int) -> None:
    for name in NODE.names or ():
        if name not in {"first", "parent"}:
            assert before[old][name] == after[new][name]
    for old_child, new_child in zip(children(before, old), children(after, new), strict=True):
        assert after[new_child]["parent"] == new
        assert_same(before, old_child, after, new_child)


def size_below(nodes: NDArray[np.void], node: int) -> int:
    return 1 + sum(size_below(nodes, child) for child in children(nodes, node))


def test_a_tree_that_does_not_lead_there_is_given_up() -> None:
    game = make("connect-four")
    tree = grown(game, 500)
    state = game.initial_state().child(0)
    tree.advance(state.child(1))
    for other in (state.child(2), game.initial_state(), state.child(1).child(1).child(1).child(1)):
        tree.advance(other)
        assert tree.edges() == {}
        assert run(tree, 20) == 20
    tree.clear()
    tree.advance(other)
    assert tree.edges() == {}
    inside: Any = tree
    assert not inside._nodes[1:].view(np.uint8).any()  # noqa: SLF001 # all is 0 behind the last node


@pytest.mark.parametrize("spec", ["connect-four", "gomoku"])
def test_a_tree_that_grows_is_the_same_as_one_with_room(spec: str) -> None:
    game = make(spec)
    edges = grown(game, 9000, TACTICAL).edges()
    assert len(nodes_of(grown(game, 9000, TACTICAL))) > 1 << 13
    tree = make_tree(game, TACTICAL)
    for _ in range(9):
        run(tree, 1000)
    assert tree.edges() == edges


@pytest.mark.parametrize("spec", ["connect-four", "gomoku"])
def test_a_tree_that_is_full_plays_on(spec: str) -> None:
    game = make(spec)
    tree = make_tree(game, UCT, most=600)
    assert run(tree, 4000) == 4000
    assert len(nodes_of(tree)) <= 600
    assert sum(edge.visits for edge in tree.edges().values()) == 4000


def test_the_line_follows_the_most_visits() -> None:
    game = make("connect-four")
    tree = grown(game, 2000, TACTICAL)
    edges = tree.edges()
    best = max(edges, key=lambda action: edges[action].visits)
    line = tree.line(best)
    assert line[0] == best
    assert len(line) > 3
    state = game.initial_state()
    for action in line:
        state = state.child(action)
