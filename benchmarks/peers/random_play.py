"""Plays random matches in other frameworks, each in its recommended way; imports nothing of the arena.

It prints the games of each installed framework as one JSON object, then answers each line `framework game
matches` with the seconds of CPU that they took.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
from random import random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1


def openspiel_loop(game_name: str, num_matches: int) -> None:
    """Play over OpenSpiel's C++ states in a bare Python loop: no bots, no referee, no clock."""
    game = load("pyspiel").load_game(game_name)
    for _ in range(num_matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(random() * len(legal))])  # noqa: S311 - play needs no secrets
        state.returns()


def openspiel_bots(game_name: str, num_matches: int) -> None:
    """Play with OpenSpiel's Python bots and its Python `evaluate_bots`."""
    game = load("pyspiel").load_game(game_name)
    bots = load("open_spiel.python.bots.uniform_random")
    evaluate = load("open_spiel.python.algorithms.evaluate_bots").evaluate_bots
    rng = load("numpy").random.RandomState(SEED)
    pair = [bots.UniformRandomBot(player, rng) for player in (0, 1)]
    for _ in range(num_matches):
        evaluate(game.new_initial_state(), pair, rng)


def pettingzoo(game_name: str, num_matches: int) -> None:
    """Play with PettingZoo's loop over agents."""
    env = load(f"pettingzoo.classic.{game_name}").env()
    for number in range(num_matches):
        env.reset(seed=number)
        for _ in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(random() * len(legal))]))  # noqa: S311 - play needs no secrets
    env.close()


def kaggle(game_name: str, num_matches: int) -> None:
    """Play with `env.run` of kaggle-environments and its own random agents."""
    env = load("kaggle_environments").make(game_name)
    for _ in range(num_matches):
        env.reset()
        env.run(["random", "random"])


def load(name: str) -> Any:  # noqa: ANN401 - peers are optional and have no types
    """Import and return a module."""
    return importlib.import_module(name)


class Peer(NamedTuple):
    """Random play with another framework."""

    module: str
    """The module that must be installed."""
    play: Callable[[str, int], None]
    """Plays a number of matches of a game, given the framework's own name of it."""
    games: dict[str, str]
    """The framework's names of the games it has."""


_OPENSPIEL = {"connect-four": "connect_four", "tic-tac-toe": "tic_tac_toe"}
PEERS = {
    "openspiel_loop": Peer("pyspiel", openspiel_loop, _OPENSPIEL),
    "openspiel_python_bots": Peer("pyspiel", openspiel_bots, _OPENSPIEL),
    "pettingzoo": Peer(
        "pettingzoo.classic", pettingzoo, {"connect-four": "connect_four_v3", "tic-tac-toe": "tictactoe_v3"}
    ),
    # This framework dropped its tic-tac-toe.
    "kaggle_environments": Peer("kaggle_environments", kaggle, {"connect-four": "connectx"}),
}


def is_installed(module: str) -> bool:
    """Return whether a module can be imported."""
    try:
        load(module)
    except ImportError:
        return False
    return True


def main() -> None:
    """Answer lines until the input ends."""
    # Some peers print when they are imported, so stdout is redirected and answers go to the original one.
    answers, sys.stdout = sys.stdout, sys.stderr
    logging.disable()
    known = {name: list(peer.games) for name, peer in PEERS.items() if is_installed(peer.module)}
    print(json.dumps(known), file=answers, flush=True)
    for line in sys.stdin:
        name, game, num_matches = line.split()
        peer = PEERS[name]
        began = time.process_time()
        peer.play(peer.games[game], int(num_matches))
        print(time.process_time() - began, file=answers, flush=True)


if __name__ == "__main__":
    main()
