"""The bot `gomocup`: an unmodified engine that speaks the Gomocup protocol."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from arena_bots.adapters.gomocup_engine import engine_of
from arena_plugins.contract import PlayResult
from arena_plugins.errors import PluginError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.program import command_words
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_plugins.contract import Game, Limit, State

_GAME = "gomoku"
_FIVE = 5
_EXACT_FIVE = 1
"""Value of INFO rule for exactly five in a row."""
_AGAINST_A_PROGRAM = 1
"""Value of INFO game_type if the opponent is a program."""
_NO_LIMIT_MS = 2**31 - 1
"""Milliseconds that Gomocup sends as time_left if there is no limit."""
_UNTIMED_S = 1.0
"""Seconds sent for a move without a time limit: the protocol has no node limit, so a search would not end."""
_MEMORY_MB = 350
"""Megabytes, as in Gomocup; engines exceed this value, and engine and adapter share a bot's gigabyte."""
_QUIET_MS = 5
"""Milliseconds of pause after a move; Rapfi 0.43 needs less than one, and five suffice on a busy machine."""
_SETTINGS_S = 0.5
"""Seconds of a move's time within which an engine must have accepted new settings."""


class GomocupBot:
    """Plays with the engine that the arena started, or with a new one for every match."""

    def __init__(self, game: Game, command: Sequence[str], memory_mb: int, quiet_ms: int) -> None:
        """Begin a match.

        Raises:
            PluginError: the engine cannot be started, or does not support this board.
            SystemExit: the engine has ended; the code is 0 if it has played a match and cannot play another.
        """
        self._rows, self._columns = game.shape
        self._quiet_ms = quiet_ms
        self._engine = engine_of(command, quiet_ms / 1000)
        self._settings = {
            "max_memory": str(memory_mb << 20),
            "timeout_match": "0",
            "game_type": str(_AGAINST_A_PROGRAM),
            "rule": str(_EXACT_FIVE if game.params["exact"] == "on" else 0),
            "folder": str(Path.cwd()),
            "time_left": str(_NO_LIMIT_MS),
        }
        if not self._engine.start(self._columns, self._rows):
            # Only the arena can start another engine process, and it does so when this process exits with 0.
            raise SystemExit(0)
        self._engine.inform(self._settings)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the engine's move, with the engine's message as the text."""
        began, engine = time.monotonic(), self._engine
        history = list(state.history)
        engine.listen()
        # Until the engine has moved, the content of its board is unknown.
        known, engine.board = engine.board, None
        if known is None or (known and history[:-1] != known):
            engine.clear(self._columns, self._rows)
            known = []
        seconds = _UNTIMED_S if limit.seconds is None else limit.seconds
        settings = self._settings | {"timeout_turn": str(max(1, round(seconds * 1000) - self._quiet_ms))}
        engine.inform(settings, seconds=_SETTINGS_S)
        column, row = engine.ask(*self._question(history, known), seconds=began + seconds - time.monotonic())
        is_cell = 0 <= column < self._columns and 0 <= row < self._rows
        # A point outside the board becomes -1, which is no action; the referee reports it.
        action = row * self._columns + column if is_cell else -1
        engine.board = [*history, action]
        return PlayResult(action, text=engine.remark or None)

    def close(self) -> None:
        """End the engine."""
        self._engine.close()

    def _question(self, history: Sequence[int], known: Sequence[int]) -> list[str]:
        if not history:
            return ["BEGIN"]
        if history[:-1] == known:
            return [f"TURN {self._point(history[-1])}"]
        # Field 1 means the engine's own stone, 2 the opponent's; the last stone is the opponent's.
        colours = (1 + distance % 2 for distance in range(len(history), 0, -1))
        stones = [f"{self._point(action)},{c}" for action, c in zip(history, colours, strict=True)]
        return ["BOARD", *stones, "DONE"]

    def _point(self, action: int) -> str:
        row, column = divmod(action, self._columns)
        return f"{column},{row}"


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> GomocupBot:  # noqa: ARG001 - Gomocup has no seeds
    """Make the bot.

    Options: `cmd`, the engine; `memory`, the megabytes it may use; `quiet`, the milliseconds to wait after
    each move, in which the engine can prepare for the next command.

    Raises:
        OptionError: an option is rejected.
        PluginError: the game is not five in a row, or the engine does not start.
    """
    reader = OptionReader("gomocup", options)
    reader.text("cmd", "")
    memory_mb = reader.integer("memory", _MEMORY_MB, low=1, high=1 << 20)
    quiet_ms = reader.integer("quiet", _QUIET_MS, low=0, high=1000)
    reader.done()
    command = command_words("gomocup", options)
    if game.name != _GAME or game.params["k"] != _FIVE:
        k = game.params.get("k")
        raise PluginError(
            f"Gomocup engines play five in a row only, not {game.name}{f' with k={k}' if k else ''}"
        )
    return GomocupBot(game, command, memory_mb, quiet_ms)
