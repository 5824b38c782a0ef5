"""Rules that the contract itself checks."""

from __future__ import annotations

import arena_plugins
from arena_plugins import Game, Termination, load_game


def test_every_termination_is_of_one_kind() -> None:
    kinds = {t: (t.is_regular, t.is_void, t.is_fault) for t in Termination}
    assert kinds.pop(Termination.WALKOVER) == (False, False, False)
    assert all(sum(kind) == 1 for kind in kinds.values())
    assert [t.value for t, kind in kinds.items() if kind[0]] == ["rules", "adjudicated", "resign"]
    assert [t.value for t, kind in kinds.items() if kind[1]] == ["arena_stall", "arena_error", "aborted"]


def test_a_game_need_not_put_its_end_in_words() -> None:
    game = load_game("tic-tac-toe")
    assert Game.ending(game, game.initial_state()) == "the rules"


def test_the_public_names_exist_and_are_sorted() -> None:
    assert sorted(arena_plugins.__all__) == arena_plugins.__all__
    assert all(hasattr(arena_plugins, name) for name in arena_plugins.__all__)
