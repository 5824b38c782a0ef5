"""The bot `alphazero`: contract, options, weights, and what a search adds to an untrained net."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from arena_bots.alphazero.bot import find_weights, make_bot
from arena_plugins.conformance import assert_conforms, check_bot
from arena_plugins.contract import Limit
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.manager import load_bot
from game_samples import make
from small_nets import small_model, small_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_bots.alphazero.bot import AlphaZeroBot

GAMES = ("connect-four", "gomoku:k=4,size=6", "tic-tac-toe")
FOUR = "connect-four"


def after(game: KInARow, actions: Sequence[int]) -> KInARowState:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def made(folder: Path, spec: str = FOUR, *, seed: int = 1, **options: object) -> AlphaZeroBot:
    weights = small_weights(spec, folder).partition("=")[2]
    texts = {key: str(value) for key, value in options.items()}
    return make_bot(make(spec), seed, {"weights": weights, **texts})


def played(bot: AlphaZeroBot, game: KInARow) -> list[int]:
    state, actions = game.initial_state(), list[int]()
    while not state.is_terminal:
        actions.append(bot.play(state, Limit()).action)
        state = state.child(actions[-1])
    return actions


@pytest.mark.parametrize("options", ["", ",simulations=0", ",selection=gumbel,simulations=20"])
@pytest.mark.parametrize("spec", GAMES)
def test_keeps_the_contract(spec: str, options: str, tmp_path: Path) -> None:
    assert_conforms(check_bot(small_weights(spec, tmp_path) + options, spec, seconds=0.05, nodes=30))


def test_the_seed_decides_and_a_warm_bot_plays_as_a_fresh_one(tmp_path: Path) -> None:
    game = make(FOUR)

    def drawing(seed: int) -> AlphaZeroBot:
        return made(tmp_path, seed=seed, simulations=16, temperature=1, noise=0.25)

    first, same, other = (played(drawing(seed), game) for seed in (1, 1, 2))
    warm = drawing(2)
    assert played(warm, game) == other
    warm.new_match(1)
    assert first == same == played(warm, game)
    assert first != other


@pytest.mark.parametrize(
    ("spec", "actions", "winning"),
    [
        (FOUR, (0, 1, 0, 1, 0, 1), 0),
        (FOUR, (6, 0, 6, 0, 5, 0, 3), 0),
        ("gomoku:k=4,size=6", (0, 30, 1, 31, 2, 32), 3),
        ("tic-tac-toe", (0, 3, 1, 4), 2),
    ],
)
def test_takes_a_win_in_one(spec: str, actions: tuple[int, ...], winning: int, tmp_path: Path) -> None:
    for temperature in (0, 1):
        bot = made(tmp_path, spec, simulations=20, temperature=temperature)
        result = bot.play(after(make(spec), actions), Limit())
        assert (result.action, result.value) == (winning, 1)


@pytest.mark.parametrize(
    ("spec", "actions", "blocking"),
    [
        (FOUR, (0, 1, 0, 1, 0), 0),
        ("gomoku:k=4,size=6", (0, 30, 1, 31, 2), 3),
        ("tic-tac-toe", (0, 3, 1), 2),
    ],
)
def test_blocks_a_loss_in_one(spec: str, actions: tuple[int, ...], blocking: int, tmp_path: Path) -> None:
    assert made(tmp_path, spec, simulations=20).play(after(make(spec), actions), Limit()).action == blocking


def test_it_says_what_it_saw(tmp_path: Path) -> None:
    game = make(FOUR)
    result = made(tmp_path, simulations=50, temperature=0.5).play(game.initial_state(), Limit())
    assert result.visits is not None
    assert result.policy is not None
    assert result.pv is not None
    assert sum(result.visits.values()) == result.nodes == 50
    assert sum(result.policy.values()) == pytest.approx(1)
    assert result.pv[0] == result.action
    assert len(result.pv) > 1
    assert result.value is not None
    assert -1 <= result.value <= 1


def test_without_simulations_the_net_alone_chooses(tmp_path: Path) -> None:
    # An untrained net does not even see a win in one move.
    game = make(FOUR)
    state = after(game, (0, 1, 0, 1, 0, 1))
    result = made(tmp_path, simulations=0).play(state, Limit())
    assert result.policy is not None
    assert result.action == max(result.policy, key=lambda action: (result.policy or {})[action])
    assert all(0.05 < share < 0.5 for share in result.policy.values())
    assert (result.visits, result.nodes) == (None, 1)


def test_a_temperature_draws_by_powers_of_the_policy(tmp_path: Path) -> None:
    state = make(FOUR).initial_state()
    bot = made(tmp_path, simulations=0, temperature=0.05)
    shares = bot.play(state, Limit()).policy
    assert shares is not None
    drawn = Counter(bot.play(state, Limit()).action for _ in range(2000))
    total = sum(share**20 for share in shares.values())
    for action, share in shares.items():
        # Four standard errors of a proportion of 2,000 draws are at most 0.045.
        assert drawn[action] / 2000 == pytest.approx(share**20 / total, abs=0.045)


def test_noise_changes_what_is_visited_by_the_seed_alone(tmp_path: Path) -> None:
    state = make(FOUR).initial_state()

    def visits(seed: int, noise: float) -> Mapping[int, int] | None:
        return made(tmp_path, seed=seed, simulations=60, noise=noise).play(state, Limit()).visits

    assert visits(1, 0.0) == visits(2, 0.0)
    assert len({str(visits(seed, 0.9)) for seed in (1, 2, 3)}) == 3
    assert visits(1, 0.9) == visits(1, 0.9)


def test_nodes_bound_a_search_and_the_tree_is_kept(tmp_path: Path) -> None:
    game = make(FOUR)
    bot = made(tmp_path)
    state = game.initial_state()
    first = bot.play(state, Limit(nodes=60))
    assert first.nodes is not None
    assert 30 < first.nodes <= 60
    state = state.child(first.action)
    assert first.pv is not None
    reply = first.pv[1]
    second = bot.play(state.child(reply), Limit(nodes=60))
    assert second.nodes is not None
    assert second.nodes > 60
    # An unrelated position starts a new tree.
    assert (bot.play(after(game, (3, 3, 3)), Limit(nodes=20)).nodes or 0) <= 20


def test_a_mirrored_position_gets_the_mirrored_answer(tmp_path: Path) -> None:
    game = make(FOUR)
    one = made(tmp_path, simulations=0).play(after(game, (0, 1, 5)), Limit())
    other = made(tmp_path, simulations=0).play(after(game, (6, 5, 1)), Limit())
    assert one.policy is not None
    assert other.policy is not None
    for action, share in one.policy.items():
        assert other.policy[6 - action] == pytest.approx(share, abs=1e-5)
    assert one.value == pytest.approx(other.value, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "game", "complaint"),
    [
        ("recipe=best,weights=x.onnx", FOUR, "alphazero: give recipe or weights, not both"),
        ("simulation=5", FOUR, 'alphazero has no option "simulation"; did you mean "simulations"?'),
        ("simulations=-1", FOUR, "alphazero: simulations=-1 is not a whole number from 0 to 1000000"),
        (
            "weights=x.onnx",
            "gomoku",
            "alphazero plays connect-four, gomoku:k=4,size=6, tic-tac-toe, not gomoku",
        ),
        ("endings=13", "tic-tac-toe", "endings=13 is only for connect-four; tic-tac-toe allows at most 12"),
        ("recipe=bets", FOUR, "alphazero: recipe=bets is not one of , best, article, article-selfplay"),
    ],
)
def test_refuses_an_option_in_plain_words(text: str, game: str, complaint: str) -> None:
    with pytest.raises(OptionError) as caught:
        load_bot(f"alphazero:{text}", make(game), seed=1)
    assert complaint in str(caught.value)


def test_without_weights_it_says_how_to_come_by_some() -> None:
    with pytest.raises(OptionError) as caught:
        find_weights(make("connect-four:cols=8"), "article")
    assert str(caught.value) == (
        "alphazero has no weights of the recipe article for connect-four:cols=8 yet: train some with"
        ' "arena train alphazero --recipe article --game connect-four:cols=8 --out my.onnx"'
        " and enter alphazero:weights=my.onnx"
    )


def test_foreign_and_damaged_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    game = make(FOUR)
    for content, complaint in (
        (small_model("tic-tac-toe"), 'the net was trained for "tic-tac-toe", not for connect-four'),
        (small_model(FOUR)[:-200], "ONNX Runtime refuses the model"),
        (b"PK\x03\x04", "is not an ONNX model but an archive"),
    ):
        path.write_bytes(content)
        with pytest.raises(PluginError, match=r"net\.onnx") as caught:
            make_bot(game, 1, {"weights": str(path)})
        assert complaint in str(caught.value)
    with pytest.raises(PluginError, match="cannot read the weights"):
        make_bot(game, 1, {"weights": str(tmp_path / "none.onnx")})


@pytest.mark.parametrize(("planes", "by_cell"), [(2, True), (4, False)])
def test_nets_of_other_forms_play(planes: int, by_cell: bool, tmp_path: Path) -> None:  # noqa: FBT001 # a parameter
    path = tmp_path / "net.onnx"
    path.write_bytes(
        small_model(FOUR, trunk="article" if planes == 4 else "1x4", planes=planes, by_cell=by_cell)
    )
    bot = make_bot(make(FOUR), 1, {"weights": str(path), "simulations": "30"})
    state = after(make(FOUR), (3, 3, 3, 3, 3, 3))
    result = bot.play(state, Limit())
    assert set(result.visits or ()) == {0, 1, 2, 4, 5, 6}
