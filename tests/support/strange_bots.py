"""Bots that die, wait or fail when a test wants them to; `install` makes them known to the arena."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arena_plugins import OptionReader, PlayResult, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins import Game, Limit, State

_DEADLINE_S = 60.0


class StrangeBot:
    """Plays the first legal action, unless one of its options says otherwise."""

    deterministic = True

    def __init__(self, game: Game, seed: int, options: Mapping[str, str]) -> None:
        reader = OptionReader("strange", options)
        del game
        self._seed = seed
        self._deadly_seed = reader.integer("kill-seed", None, low=0, high=1 << 53)
        self._kill_once = reader.text("kill-once", "")
        self._wait_for = reader.text("wait-for", "")
        self._illegal = reader.flag("illegal", default=False)
        self._pids = reader.text("pids", "")
        reader.text("id", "")
        if reader.flag("broken", default=False):
            raise ValueError("broken on purpose")
        reader.done()

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Kill this process (for a seed, or once: while a file is missing), or wait for a file, or just play."""
        del limit
        if self._pids:
            Path(self._pids, str(os.getpid())).touch()
        if self._seed == self._deadly_seed:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._kill_once and not Path(self._kill_once).exists():
            Path(self._kill_once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        deadline = time.monotonic() + _DEADLINE_S
        while self._wait_for and not Path(self._wait_for).exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        return PlayResult(-1 if self._illegal else state.legal_actions[0])


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> StrangeBot:
    """Make the bot; it has no `new_match`, so every match has one of its own."""
    return StrangeBot(game, seed, options)


def install(folder: Path, version: str = "1.0") -> str:
    """Write the metadata of a distribution that offers the bot `strange`; give the folder for `sys.path`."""
    metadata = folder / f"strange-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: strange\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text("[arena.bots]\nstrange = strange_bots\n")
    return str(folder)
