"""The bot `gomocup`: an engine that speaks the Gomocup protocol, unmodified."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from arena_bots.adapters.child import open_child
from arena_plugins.contract import PlayResult
from arena_plugins.errors import BotError, PluginError, ProtocolError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.program import command_words
from arena_plugins.spec import OptionReader
from arena_plugins.text import clean_text
from arena_plugins.wire import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_plugins.contract import Game, Limit, State

_GAME = "gomoku"
_FIVE = 5
_EXACT_FIVE = 1
_AGAINST_A_PROGRAM = 1
"""The values of INFO rule and INFO game_type."""
_NO_LIMIT_MS = 2**31 - 1
"""What Gomocup's time_left says where there is none."""
_MEMORY_MB = 350
"""As in Gomocup; engines take more than they are told, and adapter and engine share a bot's gigabyte."""
_MOVE = re.compile(rb"([0-9]{1,9})\s*,\s*([0-9]{1,9})")
_SUGGEST = b"SUGGEST"
_REMARKS = (b"MESSAGE", b"DEBUG")
_FAILURES = (b"ERROR", b"UNKNOWN")


class Engine:
    """A conversation with one engine; coordinates are (column, row), row 0 on top."""

    def __init__(self, command: Sequence[str]) -> None:
        self._child = open_child(command)
        self.remark = ""
        """The last MESSAGE or DEBUG since the last command that is answered."""

    def say(self, *lines: str) -> None:
        """Send lines that are not answered."""
        self._child.send("".join(f"{line}\r\n" for line in lines).encode())

    def order(self, line: str) -> bool:
        """Send a command that is answered OK, and tell whether it was."""
        answer = self._answer(line)
        return answer[:2].upper() == b"OK"

    def settle(self) -> None:
        """Wait until the engine has done what it was told; getting memory must not cost a move its time."""
        self._answer("ABOUT")

    def ask(self, *lines: str) -> tuple[int, int]:
        """Send a command that is answered by a move, and give it.

        Raises:
            BotError: the engine answers ERROR or UNKNOWN.
            ProtocolError: it answers something that Gomocup does not know.
            SystemExit: it is gone.
        """
        answer = self._answer(*lines)
        if answer.upper().startswith(_SUGGEST):
            answer = answer[len(_SUGGEST) :].strip()
        found = _MOVE.fullmatch(answer)
        if found is not None:
            return int(found[1]), int(found[2])
        text = clean_text(answer.decode("utf-8", "replace"), MAX_TEXT)
        if answer.upper().startswith(_FAILURES):
            raise BotError(f"the engine says: {text}")
        raise ProtocolError(f'the engine answered "{text}" to {lines[0]}; a move is column,row')

    def close(self) -> None:
        """End the engine."""
        self._child.close()

    def _answer(self, *lines: str) -> bytes:
        self.remark = ""
        self.say(*lines)
        while (line := self._child.read()).upper().startswith(_REMARKS):
            word, _, rest = line.partition(b" ")
            self.remark = clean_text((rest.strip() or word).decode("utf-8", "replace"), MAX_TEXT)
        return line


class GomocupBot:
    """Plays with the engine that the arena started, or else with a new one for every match."""

    def __init__(self, game: Game, command: Sequence[str], memory_mb: int) -> None:
        self._rows, self._columns = game.shape
        self._engine = Engine(command)
        self._known: list[int] = []
        """The actions that are on the engine's board."""
        self._start()
        self._engine.say(
            f"INFO max_memory {memory_mb << 20}",
            "INFO timeout_match 0",
            f"INFO game_type {_AGAINST_A_PROGRAM}",
            f"INFO rule {_EXACT_FIVE if game.params['exact'] == 'on' else 0}",
            f"INFO folder {Path.cwd()}",
        )
        self._engine.settle()

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Give the engine's move; what it says beside it becomes the text."""
        history = list(state.history)
        time_ms = _NO_LIMIT_MS if limit.seconds is None else round(limit.seconds * 1000)
        if history[:-1] != self._known and self._known:
            self._clear()
        self._engine.say(f"INFO timeout_turn {time_ms}", f"INFO time_left {_NO_LIMIT_MS}")
        column, row = self._engine.ask(*self._question(history))
        is_cell = column < self._columns and row < self._rows
        # Beyond the board there is no cell: -1 is no action either, and the referee says so.
        action = row * self._columns + column if is_cell else -1
        self._known = [*history, action]
        return PlayResult(action, text=self._engine.remark or None)

    def close(self) -> None:
        """End the engine."""
        self._engine.close()

    def _question(self, history: Sequence[int]) -> list[str]:
        if not history:
            return ["BEGIN"]
        if history[:-1] == self._known:
            return [f"TURN {self._point(history[-1])}"]
        # 1 is the engine's own stone, and the last one is the opponent's.
        colours = (1 + distance % 2 for distance in range(len(history), 0, -1))
        stones = [f"{self._point(action)},{c}" for action, c in zip(history, colours, strict=True)]
        return ["BOARD", *stones, "DONE"]

    def _start(self) -> None:
        square = self._rows == self._columns
        line = f"START {self._rows}" if square else f"RECTSTART {self._columns},{self._rows}"
        if not self._engine.order(line):
            raise PluginError(f"the engine does not play on {self._columns}x{self._rows}")

    def _clear(self) -> None:
        self._known = []
        if not self._engine.order("RESTART"):
            self._start()

    def _point(self, action: int) -> str:
        row, column = divmod(action, self._columns)
        return f"{column},{row}"


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> GomocupBot:  # noqa: ARG001 - Gomocup has no seeds
    """Make the bot; options `cmd`, the engine, and `memory`, the megabytes that it is told to take.

    Raises:
        OptionError: an option is refused.
        PluginError: the game is not five in a row, or the engine does not start.
    """
    reader = OptionReader("gomocup", options)
    reader.text("cmd", "")
    memory_mb = reader.integer("memory", _MEMORY_MB, low=1, high=1 << 20)
    reader.done()
    command = command_words("gomocup", options)
    if game.name != _GAME or game.params["k"] != _FIVE:
        k = game.params.get("k")
        raise PluginError(
            f"Gomocup engines play five in a row only, not {game.name}{f' with k={k}' if k else ''}"
        )
    return GomocupBot(game, command, memory_mb)
