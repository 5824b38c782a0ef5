"""Kills tournaments with `kill -9` after every k-th transaction, with 1 and 4 workers; compares their plans.

A match and a sequential test are compared with undisturbed ones. Each batch of a ladder must follow from its
own basis.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import killed_plans


def main() -> None:
    """Print the figures as one line of JSON, and fail if a plan, a result or a decision differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=20, help="largest k; k starts at 1")
    parser.add_argument("kinds", nargs="*", default=killed_plans.KINDS, help="of events")
    arguments = parser.parse_args()
    began = time.monotonic()
    figures = {"runs": 0, "kills": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.kinds:
            for num_workers in (1, 4):
                whole = Path(folder) / f"{kind}-{num_workers}.db"
                if kind != "ladder":
                    killed_plans.main(whole, kind, num_workers, 10**9, are_workers=True)
                for killed_after in range(1, arguments.most + 1):
                    path = Path(folder) / f"{kind}-{num_workers}-{killed_after}.db"
                    figures["kills"] += killed_plans.main(
                        path, kind, num_workers, killed_after, are_workers=True
                    )
                    figures["runs"] += 1
                    is_right = (
                        killed_plans.is_ladder_whole(path)
                        if kind == "ladder"
                        else killed_plans.are_same(whole, path)
                    )
                    figures["wrong"] += not is_right
                    path.unlink()
    print(json.dumps(figures | {"seconds": round(time.monotonic() - began)}))
    sys.exit(figures["wrong"] > 0)


if __name__ == "__main__":
    main()
