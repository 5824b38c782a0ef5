"""A dialogue in the Gomocup protocol: sending commands to an engine, and finding the answer in its output."""

from __future__ import annotations

import os
import re
import sys
import time
from functools import cache
from typing import TYPE_CHECKING

from arena_bots.adapters.child import ENGINE_FDS, open_child
from arena_plugins.errors import BotError, BotTimeoutError, PluginError, ProtocolError
from arena_plugins.text import clean_text
from arena_plugins.wire import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_bots.adapters.child import EngineProcess

_MOVE = re.compile(rb"(-?[0-9]{1,9})\s*,\s*(-?[0-9]{1,9})")
_MOVES = re.compile(rb"%b(?:[\s,;]+%b)+" % (_MOVE.pattern, _MOVE.pattern))
_SUGGEST = b"SUGGEST"
_REMARKS = (b"MESSAGE", b"DEBUG")
_REFUSALS = (b"ERROR", b"UNKNOWN")
_AGREED = b"OK"
_PATIENCE_S = 1.0
"""Seconds within which a move must follow a refusal, and RESTART must be answered."""
_AGAIN_S = 3.0
"""Seconds within which a used engine must answer a second START; beyond that a new process is quicker."""
_SILENCE_S = 3.0
"""Seconds without an answer to START after which the log says what the adapter waits for."""
_MEMORY_S = 2.0
"""Seconds for an engine to allocate its memory, if it does not answer ABOUT to show that it has."""
_LATE_S = 0.025
"""Seconds after the time of a move in which it may still arrive: half of the referee's usual margin, so
that the reason for a missing move is reported before the referee's verdict.
"""
_GIVE_UP = 10
"""The adapter stops waiting after this many times the time of a move, at least `_GIVE_UP_S` seconds. In a
match the referee decides long before; outside of matches nothing else enforces the time.
"""
_GIVE_UP_S = 5.0
_HINT_SHARE = 0.9
"""Share of a move's time after which the log says what the adapter waits for."""
_LEAST_S = 0.1
"""Minimum seconds for an engine to add to its output; with less, the referee's verdict would come first."""


class Engine:
    """A running engine, the settings it was sent and the stones on its board; points are (column, row)."""

    def __init__(self, child: EngineProcess, quiet_s: float) -> None:
        """Wrap a started program; after each move its output is read for `quiet_s` more seconds."""
        self._child = child
        self._quiet_s = quiet_s
        self._has_started = False
        self._answers_about = True
        self._told: dict[str, str] = {}
        """The settings sent since the last START."""
        self._num_open = 0
        """Number of settings that it may still refuse, because it has not confirmed reading them."""
        self._has_hinted = False
        self._understood: set[str] = set()
        """Keys of settings that it has accepted before."""
        self.remark = ""
        """The last MESSAGE or DEBUG before the last move."""
        self.board: list[int] | None = []
        """The actions on its board; None if unknown."""

    def start(self, columns: int, rows: int) -> bool:
        """Begin a match on an empty board; return False if the engine has played and cannot begin another.

        Raises:
            PluginError: it refuses the board size.
            SystemExit: it ended before it had played.
        """
        line = f"START {rows}" if columns == rows else f"RECTSTART {columns},{rows}"
        if self._has_started:
            is_ready = self._start_again(line)
        else:
            is_ready = self._has_started = self._start_first(line, f"{columns}x{rows}")
        self._told.clear()
        self.board = []
        return is_ready

    def clear(self, columns: int, rows: int) -> None:
        """Clear the board in the middle of a match.

        Raises:
            BotError: the engine accepts neither RESTART nor another START.
        """
        self._say("RESTART")
        if self._agrees(time.monotonic() + _PATIENCE_S) or self.start(columns, rows):
            self.board = []
            return
        raise BotError(
            "the engine supports neither RESTART nor a second START, so it cannot jump to another position; "
            "it can still play matches, each in its own process"
        )

    def inform(self, settings: Mapping[str, str], *, seconds: float = _MEMORY_S) -> None:
        """Send the settings that have changed since they were last sent.

        If the engine might refuse one, wait for the refusal: a later one would be mistaken for the answer to
        the next question. Waiting also keeps the allocation of memory out of the time of a move.

        Args:
            settings: values by the keys of INFO.
            seconds: maximum time to wait.

        Raises:
            SystemExit: the engine has ended.
        """
        changed = {key: value for key, value in settings.items() if self._told.get(key) != value}
        self._told |= changed
        self._say(*(f"INFO {key} {value}" for key, value in changed.items()))
        new = changed.keys() - self._understood
        if new and self._settles(len(changed), seconds):
            self._understood |= new

    def listen(self) -> None:
        """Read the engine's output since the last question.

        Raises:
            ProtocolError: it contains a move, although none was asked for.
            SystemExit: the engine has ended.
        """
        while (line := self._read(0.0)) is not None:
            if _MOVE.fullmatch(line):
                raise ProtocolError(f'the engine sent "{_text(line)}" although it was not its turn')

    def ask(self, *lines: str, seconds: float) -> tuple[int, int]:
        """Send a command that is answered by a move, and return the move.

        Refusals and unknown lines before the move are treated as remarks; if no move follows, the engine is
        at fault.

        Args:
            lines: the command and the lines that belong to it.
            seconds: the remaining time for this move.

        Raises:
            BotError: it answers ERROR or UNKNOWN without a move within a second or the remaining time, does
                not know BOARD, or stays silent for many times the time.
            ProtocolError: it answers with several moves, or with something that is not part of the protocol.
            SystemExit: the engine has ended.
        """
        self.remark = refusal = chatter = ""
        began = time.monotonic()
        end = began + max(seconds, _LEAST_S) + _LATE_S
        given_up = began + max(_GIVE_UP * seconds, _GIVE_UP_S)
        # Three waits in turn: until the hint, until the time is over, and until the answer is no longer
        # wanted.
        until = began + _HINT_SHARE * seconds
        self._say(*lines)
        while True:
            line = self._read(until)
            if line is None:
                reason = _no_move(lines[0], refusal, chatter)
                if until >= given_up or (until >= end and not isinstance(reason, BotTimeoutError)):
                    raise reason
                self._hint(str(reason))
                until = end if until < end else given_up
            elif (move := _move_of(line)) is not None:
                self._be_quiet(line)
                return move
            elif _MOVES.fullmatch(line):
                raise ProtocolError(_not_a_move(_text(line), lines[0]))
            elif line.upper().startswith(_REFUSALS):
                refusal = refusal or _text(line)
                if self._num_open:
                    self._num_open -= 1
                elif lines[0] == "BOARD":
                    raise BotError(_no_board(_text(line)))
                else:
                    # After a refusal a move still counts, but it is not waited for as long as for an engine
                    # that thinks.
                    end = until = min(end, time.monotonic() + _PATIENCE_S)
            elif not self._note(line) and not line.upper().startswith(_AGREED):
                chatter = _text(line)

    def close(self) -> None:
        """End the engine if it was started here."""
        self._child.close()

    def _say(self, *lines: str) -> None:
        if lines:
            self._child.send("".join(f"{line}\r\n" for line in lines).encode())

    def _read(self, until: float | None) -> bytes | None:
        try:
            return self._child.read_until(until)
        except EOFError:
            self._child.gone()

    def _note(self, line: bytes) -> bool:
        """Store a line if it is a remark; return whether it is one."""
        if not line.upper().startswith(_REMARKS):
            return False
        word, _, rest = line.partition(b" ")
        self.remark = _text(rest.strip() or word)
        return True

    def _start_first(self, line: str, size: str) -> bool:
        self._say(line)
        answer = self._verdict(time.monotonic() + _SILENCE_S)
        if answer is None:
            self._hint(f"the engine has not answered {line} with OK; {_FLUSH}")
            answer = self._verdict(None)
        if answer is not None and answer.upper().startswith(_REFUSALS):
            raise PluginError(
                f'the engine does not play on {size}: it answered "{_text(answer)}" to {line}; '
                "choose another size, as in --game gomoku:size=15"
            )
        return True

    def _start_again(self, line: str) -> bool:
        try:
            self._say(line)
            return self._agrees(time.monotonic() + _AGAIN_S)
        except SystemExit:
            return False

    def _agrees(self, until: float) -> bool:
        answer = self._verdict(until)
        return answer is not None and answer.upper().startswith(_AGREED)

    def _verdict(self, until: float | None) -> bytes | None:
        """Return the next line that is OK or a refusal, or None if there is none by `until`."""
        while (line := self._read(until)) is not None:
            if line.upper().startswith((_AGREED, *_REFUSALS)):
                return line
        return None

    def _settles(self, num_lines: int, seconds: float) -> bool:
        """Wait until the engine has processed the last lines; return whether it surely refused none of them.

        It answers ABOUT after processing them. If it does not answer, its output is read for a while.
        """
        if self._answers_about:
            self._say("ABOUT")
        until = time.monotonic() + (seconds if self._answers_about else self._quiet_s)
        num_refused = self._num_open = 0
        while num_refused <= num_lines:
            line = self._read(until)
            if line is None:
                # From now on the shorter wait: an engine that ignores ABOUT once does so always.
                self._answers_about = False
                self._num_open = num_lines - num_refused
                return False
            if line.upper().startswith(_REFUSALS):
                num_refused += 1
            elif self._answers_about and not line.upper().startswith((*_REMARKS, _AGREED)):
                break
        # With more refusals than settings, ABOUT was refused too, so all lines have been read.
        return num_refused == 0

    def _be_quiet(self, move: bytes) -> None:
        """Let the engine run for a moment after its move.

        The arena stops a bot as soon as it has answered. Some engines clear their state after sending a move,
        and would lose the first word of a command that has already arrived.

        Raises:
            ProtocolError: another move follows.
        """
        until = time.monotonic() + self._quiet_s
        try:
            while time.monotonic() < until and (line := self._child.read_until(until)) is not None:
                if not self._note(line) and _MOVE.fullmatch(line):
                    raise ProtocolError(
                        f'the engine answered "{_text(move)}" and then "{_text(line)}"; '
                        "only one move is allowed"
                    )
        except EOFError:
            return  # it may have been the last move of the match; if not, the next command fails

    def _hint(self, message: str) -> None:
        """Write once to the log why there is no answer yet, because the referee's verdict may come first."""
        if not self._has_hinted:
            self._has_hinted = True
            sys.stderr.write(f"gomocup: {message}\n")
            sys.stderr.flush()


_FLUSH = "a Gomocup engine reads standard input and flushes its output after each line"


def engine_of(command: Sequence[str], quiet_s: float) -> Engine:
    """Return the engine that the arena started for this process, or start one.

    Raises:
        PluginError: it cannot be started.
    """
    inherited = os.environ.get(ENGINE_FDS)
    return (
        Engine(open_child(command), quiet_s) if inherited is None else _shared(inherited, command[0], quiet_s)
    )


@cache
def _shared(descriptors: str, name: str, quiet_s: float) -> Engine:
    """Return the engine behind inherited descriptors, shared by all bots of this process."""
    del descriptors
    return Engine(open_child([name]), quiet_s)


def _move_of(line: bytes) -> tuple[int, int] | None:
    """Return the point that a line names, or None if the line is not a move."""
    if line.upper().startswith(_SUGGEST):
        line = line[len(_SUGGEST) :].strip()
    found = _MOVE.fullmatch(line)
    return None if found is None else (int(found[1]), int(found[2]))


def _no_move(question: str, refusal: str, chatter: str) -> BotError | ProtocolError:
    """Return the error for a missing move: the engine refused, said something else, or said nothing."""
    if refusal:
        return BotError(f"the engine says: {refusal}; no move to {question} followed")
    if chatter:
        return ProtocolError(_not_a_move(chatter, question))
    return BotTimeoutError(f"the engine has not answered {question}; {_FLUSH}")


def _not_a_move(said: str, question: str) -> str:
    return f'the engine answered "{said}" to {question}; a move is column,row'


def _no_board(said: str) -> str:
    return (
        f'the engine answered "{said}" to BOARD, which sets up openings; '
        "play it from the empty board, with --openings none"
    )


def _text(line: bytes) -> str:
    return clean_text(line.decode("utf-8", "replace"), MAX_TEXT)
