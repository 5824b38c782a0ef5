"""Scores Connect Four positions with BitBully, run by a Python that has it: JSON lines in, JSON lines out.

In: `positions`, each a list of columns from 0, and `mode`. Out: `seconds` of CPU, and `scores` for each
position and column: the winner's remaining stones, 0 for a draw, below -100 for a full column; with the mode
"value" one number for each position. With "book" BitBully may look up the first twelve plies, if the Python
also has `bitbully-databases`.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any


def main() -> None:
    """Answer each line until the input ends."""
    core: Any = importlib.import_module("bitbully.bitbully_core")
    for line in sys.stdin:
        asked = json.loads(line)
        solver = core.BitBullyCore(*(_book() if asked.get("book") else ()))
        boards = [_board(core, actions) for actions in asked["positions"]]
        begin = time.process_time()
        if asked["mode"] == "value":
            scores = [solver.mtdf(board, 0) for board in boards]
        else:
            scores = [solver.scoreMoves(board) for board in boards]
        spent = time.process_time() - begin
        sys.stdout.write(json.dumps({"seconds": spent, "scores": scores}) + "\n")
        sys.stdout.flush()


def _book() -> tuple[str, ...]:
    try:
        package: Any = importlib.import_module("bitbully_databases")
    except ModuleNotFoundError:
        return ()
    return (package.BitBullyDatabases.get_database_path("12-ply-dist"),)


def _board(core: Any, actions: list[int]) -> object:  # noqa: ANN401 # the package has no types
    board = core.BoardCore()
    if not board.play(actions):
        raise ValueError(f"{actions} is no position")
    return board


if __name__ == "__main__":
    main()
