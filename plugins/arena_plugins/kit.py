"""Runs the conformance kit in a process of its own: `python -m arena_plugins.kit SPEC GAME SECONDS`."""

from __future__ import annotations

import json
import os
import sys

from arena_plugins.conformance import check_bot


def main(arguments: list[str]) -> None:
    """Print one JSON array (number, title, passed, detail) a check."""
    bot, game, seconds = arguments
    # What the bot prints must not mix with the results.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for check in check_bot(bot, game, seconds=float(seconds)):
        out.write(json.dumps(check) + "\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
