"""Plays random matches of Connect Four with pgx, in a Python that has it; imports nothing of the arena.

It finds the best batch size, prints it as a JSON object, then answers each line, a number of matches, with
the seconds of CPU and the number of matches played: batches end only as a whole.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 64
"""Moves per lane in one call of compiled code."""


def player(batch: int) -> Callable[[], int]:
    """Return a function that plays `STEPS` moves in all lanes, restarts ended matches, and counts them."""
    jax, pgx, more = (load(name) for name in ("jax", "pgx", "pgx.experimental"))
    env = pgx.make("connect_four")
    step = jax.vmap(more.auto_reset(env.step, env.init))

    def move(carry: Any, _: object) -> Any:  # noqa: ANN401 - JAX has no types that say more
        state, key = carry
        key, draw, renew = jax.random.split(key, 3)
        actions = more.act_randomly(draw, state.legal_action_mask)
        state = step(state, actions, jax.random.split(renew, batch))
        return (state, key), state.terminated.sum()

    @jax.jit
    def play(state: object, key: object) -> Any:  # noqa: ANN401 - as above
        (state, key), ended = jax.lax.scan(move, (state, key), None, STEPS)
        return state, key, ended.sum()

    key = jax.random.PRNGKey(1)
    now: list[Any] = [jax.vmap(env.init)(jax.random.split(key, batch)), key]

    def turn() -> int:
        now[0], now[1], ended = play(*now)
        return int(ended)

    turn()  # compiles
    return turn


def rate(turn: Callable[[], int], num_matches: int) -> tuple[float, int]:
    """Return the seconds of CPU for at least so many matches, and how many there were."""
    began, played = time.process_time(), 0
    while played < num_matches:
        played += turn()
    return time.process_time() - began, played


def load(name: str) -> Any:  # noqa: ANN401 - peers are optional and have no types
    """Import and return a module."""
    return importlib.import_module(name)


def main() -> None:
    """Answer lines until the input ends."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    fastest, chosen = 0.0, 0
    turns = {int(size): player(int(size)) for size in sys.argv[1:]}
    for size, turn in turns.items():
        seconds, played = rate(turn, 4 * size)
        if (fast := played / seconds) > fastest:
            fastest, chosen = fast, size
    print(json.dumps({"batch": chosen}), flush=True)
    for line in sys.stdin:
        answer = rate(turns[chosen], int(line))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
