"""No bundled bot compiles or loads compiled code once it is ready, because its first move is timed."""

from __future__ import annotations

import json
import subprocess
import sys

from arena_plugins.entries import BOTS, list_plugins

SEARCHED = ["connect-four", "gomoku:size=6,k=4", "gomoku:exact=on"]
"""Games on a 64-bit word, with gravity and without, and one on cells."""
BUNDLED = {
    "random": ["tic-tac-toe"],
    "mcts": SEARCHED,
    "mcts:rollouts=uniform,solver=off,selection=puct": SEARCHED,
    "minimax": SEARCHED,
    "solver": ["connect-four", "tic-tac-toe"],
    "td-lambda": ["connect-four"],
    "td-lambda:recipe=linear": ["connect-four"],
    "keras": ["connect-four"],
    "alphazero:endings=20": ["connect-four"],
    "alphazero:selection=gumbel,noise=0.25,temperature=1": ["gomoku:size=6,k=4"],
}
ADAPTERS = {"exec", "gomocup", "kaggle", "openspiel", "python"}
"""Bots by third parties, whose compilation the arena does not control."""
COUNT = """
import gc, json, os, sys
from arena.games.kernels.compiling import CPUDispatcher
from arena_plugins import Limit, load_bot, load_game
import arena_bots.alphazero.bot, arena_bots.search.uct_compiled, arena_bots.search.alphabeta_compiled
import onnxruntime

def signatures():
    kernels = [each for each in gc.get_objects() if isinstance(each, CPUDispatcher)]
    return {f"{each.py_func.__qualname__} {id(each)}": len(each.overloads) for each in kernels}

def count(spec, game_spec):
    game = load_game(game_spec)
    bot = load_bot(spec, game, seed=1)
    ready = signatures()
    for number in range(2):
        state = game.initial_state()
        while not state.is_terminal and len(state.history) < 6:
            state = state.child(bot.play(state, Limit(nodes=500, seconds=60 * number + 0.1)).action)
        if hasattr(bot, "new_match"):
            bot.new_match(2)
    return {name: number for name, number in signatures().items() if number != ready.get(name, 0)}

# A process of its own for each, which knows no signatures of the others.
for spec, games in json.loads(sys.argv[1]).items():
    for game in games:
        if not os.fork():
            print(json.dumps([spec, game, count(spec, game)]), flush=True)
            os._exit(0)
        if os.wait()[1]:
            sys.exit(f"{spec} failed in {game}")
"""


def test_nothing_is_compiled_or_loaded_between_ready_and_the_end_of_a_match() -> None:
    command = [sys.executable, "-c", COUNT, json.dumps(BUNDLED)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600, check=True)  # noqa: S603 # ours
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each[:2] for each in found] == [[spec, game] for spec, games in BUNDLED.items() for game in games]
    assert [each for each in found if each[2]] == []


def test_every_bundled_bot_is_looked_at() -> None:
    entries = list_plugins(BOTS).entries
    ours = {name for name, entry in entries.items() if entry.value.startswith("arena_bots.")}
    assert {spec.partition(":")[0] for spec in BUNDLED} | ADAPTERS == ours
