"""Computes the table of Connect Four positions beyond the book that take long: `make book-answers`.

The positions of a ply are searched in shards. Those with scores near a draw come first: they take longest.
Each finished shard is a file, so an interrupted run continues with the next one, and several processes can
share the work. The shipped table already contains the shards that its provenance counts: they need no file,
and a fresh checkout continues after them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
import tomllib
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arena.games.connect_four import ConnectFour
from arena.games.solver._layers import make_layers
from arena.games.solver.book import shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.stored_answers import SHIPPED, Answers
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.games.solver._layers import PlyPositions
    from arena_plugins.contract import State

PLIES = (8, 9, 10)
"""Plies at which single positions take more than half a second."""
SHARD = 100
"""Positions of a shard: half a minute where they take longest."""
LEAST_NODES = 2_000_000
"""Positions that take fewer nodes, about a tenth of a second, are left out."""
GAME = ConnectFour()


class Searched(NamedTuple):
    """One position of a shard; a position that ends at once has zero nodes."""

    key: int
    score: int
    action: int
    """The best action, on the board that the key describes (the position or its mirror image)."""
    nodes: int


def shards(ply: int) -> list[list[int]]:
    """Return the places in the layer of a ply, in the order in which they are searched, by shards."""
    layer = make_layers(ply)[-1]
    order = np.argsort(_urgency(layer, ply), kind="stable").tolist()
    return [order[begin : begin + SHARD] for begin in range(0, len(order), SHARD)]


def _urgency(layer: PlyPositions, ply: int) -> list[float]:
    """Return the distance of each position's score, or bound by the book, from those of the longest searches.

    Of 723 random positions at ply 9, the longest four searches had bounds of -1, 0, 1 and 1, and none with a
    bound below -2 or above 2 took 6 million nodes.
    """
    book = shipped_book()
    near: list[float] = []
    for own, mask in zip(layer.own.tolist(), layer.mask.tolist(), strict=True):
        score = book.score(own, mask, ply)
        if score is not None:
            near.append(abs(score - 0.75))
        else:
            near.append(abs(book.least(own, mask) - 0.4) if ply == book.plies + 1 else 0)
    return near


def search(solver: ConnectFourSolver, layer: PlyPositions, places: Iterable[int], ply: int) -> list[Searched]:
    """Search the positions at these places, each with empty tables, as a bot starting there would."""
    found: list[Searched] = []
    for place in places:
        own, mask = int(layer.own[place]), int(layer.mask[place])
        state = state_of(own, mask, ply)
        solver.clear()
        solved = solver.solve(state, distances="best")
        found.append(
            Searched(int(layer.keys[place]), score_of(solved.worth, ply), solved.best[0], solved.nodes)
        )
    return found


def score_of(worth: tuple[int | None, int | None], ply: int) -> int:
    """Convert a value to the winner's n-th last stone, negative for a loss."""
    outcome, distance = worth
    if outcome is None or distance is None:
        raise RuntimeError("a position was not solved")
    return outcome * ((44 - ply - distance) // 2)


def state_of(own: int, mask: int, ply: int) -> State:
    """Return the state with these stones, which some match reaches."""
    actions = _history(own, mask, ply)
    if actions is None:
        raise RuntimeError("no match comes to a position of the layer")
    state: State = GAME.initial_state()
    for action in reversed(actions):
        state = state.child(action)
    return state


def _history(own: int, mask: int, ply: int) -> list[int] | None:
    """Return the actions of a match that reaches a position, last one first; None if there is none."""
    if ply == 0:
        return []
    mover = own ^ mask
    for column in range(7):
        lane = mask & (127 << 7 * column)
        top = 1 << lane.bit_length() - 1 if lane else 0
        if top & mover:
            before = _history(mover ^ top, mask ^ top, ply - 1)
            if before is not None:
                return [column, *before]
    return None


def run(folder: Path, ply: int, seconds: float) -> None:
    """Search unclaimed shards, until none are left or so many seconds of CPU are used."""
    folder.mkdir(parents=True, exist_ok=True)
    layer = make_layers(ply)[-1]
    done = num_searched(ply)
    solver = ConnectFourSolver(GAME, shipped_book(), answers=None)
    # Equally good actions are not needed.
    solver.usual_nodes = 0
    begin = time.process_time()
    for number, places in enumerate(shards(ply)):
        if time.process_time() - begin > seconds:
            return
        path = folder / f"{ply}-{number:05}.json"
        is_shipped = number * SHARD + len(places) <= done
        if is_shipped or path.exists() or not _claim(path.with_suffix(".claim")):
            continue
        before = time.process_time()
        found = search(solver, layer, places, ply)
        spent = time.process_time() - before
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps({"cpu_seconds": spent, "positions": found}), "ascii")
        fresh.replace(path)
        path.with_suffix(".claim").unlink()
        _say(f"{path.name}: {spent:.0f} s of CPU, most {max(each.nodes for each in found):,} nodes")


def _claim(path: Path) -> bool:
    """Claim a shard for this process; return whether no living process has claimed it."""
    try:
        with path.open("x", encoding="ascii") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        owner = path.read_text("ascii")
        if not owner or Path(f"/proc/{owner}").exists():
            return False
        path.write_text(str(os.getpid()), "ascii")
    return True


def num_searched(ply: int) -> int:
    """Return how many positions of a ply, in the order of `shards`, the shipped table was made from."""
    return int(_shipped_facts().get(f"searched_ply_{ply}", 0))


def _shipped_facts() -> dict[str, Any]:
    """Return the provenance of the shipped table; empty where there is none."""
    path = _provenance()
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def _provenance() -> Path:
    return SHIPPED.with_suffix(".answers.provenance.toml")


def assemble(folder: Path) -> None:
    """Add the finished shards to the shipped table and to its provenance.

    Only shards with no missing shard before them are added, so that a later run searches the missing one.
    """
    spent, hard = float(_shipped_facts().get("cpu_seconds", 0)), _shipped_answers()
    facts: dict[str, object] = {}
    for ply in PLIES:
        searched, total = num_searched(ply), len(make_layers(ply)[-1].keys)
        while (path := folder / f"{ply}-{searched // SHARD:05}.json").exists() and searched < total:
            shard = json.loads(path.read_text("ascii"))
            searched = min(searched + SHARD, total)
            spent += shard["cpu_seconds"]
            found = [Searched(*each) for each in shard["positions"]]
            hard |= {each.key: (each.score, each.action) for each in found if each.nodes >= LEAST_NODES}
        facts |= {f"searched_ply_{ply}": searched, f"positions_ply_{ply}": total}
    Answers.of([(key, *answer) for key, answer in hard.items()]).write(SHIPPED)
    facts = {
        "sha256": hashlib.sha256(SHIPPED.read_bytes()).hexdigest(),
        "command": "make book-answers",
        "answers": len(hard),
        "least_nodes": LEAST_NODES,
        **facts,
        "solver": f"bot-arena {version('bot-arena')}, arena.games.solver, no other program's data",
        "cpu_seconds": round(spent),
        "python": platform.python_version(),
        "numba": version("numba"),
        "processor": platform.machine(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    _provenance().write_text(
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in facts.items()), "utf-8"
    )
    _say(f"{SHIPPED}: {len(hard)} answers, {SHIPPED.stat().st_size} bytes, {spent:.0f} s of CPU so far")


def _shipped_answers() -> dict[int, tuple[int, int]]:
    """Return score and action of each key of the shipped table; empty where there is none."""
    return Answers.read(SHIPPED).to_dict() if SHIPPED.exists() else {}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Search, then write the table from what is finished."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plies", type=int, nargs="*", default=PLIES)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of CPU per ply")
    parser.add_argument("--shards", type=Path, default=ROOT / "build" / "answers")
    arguments = parser.parse_args()
    for ply in arguments.plies:
        run(arguments.shards, ply, arguments.seconds)
    assemble(arguments.shards)
    return 0


if __name__ == "__main__":
    sys.exit(main())
