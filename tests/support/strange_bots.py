"""Bots that die, wait or fail when a test wants them to; `install` makes them discoverable."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arena_plugins import OptionReader, PlayResult, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from arena_plugins import Game, Limit, State

_DEADLINE_S = 300.0
_PREFLIGHT_SEED = 0
"""The seed with which a bot is started before a plan; a match has this seed once in 2^53 times."""


class StrangeBot:
    """Plays the first legal action, unless one of its options says otherwise."""

    deterministic = True

    def __init__(self, seed: int, options: Mapping[str, str]) -> None:
        reader = OptionReader("strange", options)
        self._seed = seed
        self._folder = Path(reader.text("folder", ""))
        self._deadly_seed = reader.integer("kill-seed", None, low=0, high=1 << 53)
        self._dies_once = reader.flag("kill-once", default=False)
        self._waits = reader.flag("wait", default=False) and seed != _PREFLIGHT_SEED
        self._signs = reader.flag("sign", default=False)
        self._talks = reader.flag("talk", default=False)
        self._cheats = reader.flag("cheat", default=False)
        if reader.flag("broken", default=False):
            raise ValueError("broken on purpose")
        reader.done()

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Write the process id, die (for one seed, or as the first bot asked), wait for the gate, play."""
        del limit
        if self._talks:
            print("strange")  # noqa: T201 - output of a bot
        if self._signs:
            (self._folder / f"pid-{os.getpid()}").touch()
        if self._seed == self._deadly_seed or (self._dies_once and self._is_first()):
            os.kill(os.getpid(), signal.SIGKILL)
        deadline = time.monotonic() + _DEADLINE_S
        while self._waits and not (self._folder / "gate").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        return PlayResult(-1 if self._cheats else state.legal_actions[0])

    def _is_first(self) -> bool:
        """Return whether no other bot was asked before, in any process."""
        try:
            (self._folder / "died").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> StrangeBot:
    """Make the bot; it has no `new_match`, so every match has one of its own."""
    del game
    return StrangeBot(seed, options)


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str = "1.0") -> None:
    """Put a distribution with the bot `strange` first on `sys.path`, for the duration of a test."""
    metadata = folder / f"strange-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: strange\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text("[arena.bots]\nstrange = strange_bots\n")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
