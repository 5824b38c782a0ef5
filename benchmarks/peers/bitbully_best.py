"""Finds the best actions of Connect Four positions with BitBully, run by a Python that has it.

JSON lines in: lists of actions, columns from 0, one for each position. JSON lines out: the columns with the
best score of each. It looks up the first twelve plies if the Python also has `bitbully-databases`; its tables
stay from line to line.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Answer each line until the input ends."""
    core: Any = importlib.import_module("bitbully.bitbully_core")
    solver = core.BitBullyCore(*_book())
    for line in sys.stdin:
        best: list[list[int]] = []
        for actions in json.loads(line):
            board = core.BoardCore()
            if not board.play(actions):
                raise ValueError(f"{actions} is no position")
            scores = solver.scoreMoves(board)
            best.append([action for action, score in enumerate(scores) if score == max(scores)])
        sys.stdout.write(json.dumps(best) + "\n")
        sys.stdout.flush()


def _book() -> tuple[str, ...]:
    try:
        package: Any = importlib.import_module("bitbully_databases")
    except ModuleNotFoundError:
        return ()
    return (package.BitBullyDatabases.get_database_path("12-ply-dist"),)


if __name__ == "__main__":
    main()
