"""A conversation in the Gomocup protocol: what is said to an engine, and which of its lines is the answer."""

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

    from arena_bots.adapters.child import Child

_MOVE = re.compile(rb"(-?[0-9]{1,9})\s*,\s*(-?[0-9]{1,9})")
_MOVES = re.compile(rb"%b(?:[\s,;]+%b)+" % (_MOVE.pattern, _MOVE.pattern))
_SUGGEST = b"SUGGEST"
_REMARKS = (b"MESSAGE", b"DEBUG")
_REFUSALS = (b"ERROR", b"UNKNOWN")
_AGREED = b"OK"
_PATIENCE_S = 1.0
"""Seconds in which a move must follow a refusal, and in which RESTART must be answered."""
_AGAIN_S = 3.0
"""Seconds in which an engine that has played must answer another START; else a fresh process is quicker."""
_SILENCE_S = 3.0
"""Seconds without an answer to START after which the log says what is waited for."""
_MEMORY_S = 2.0
"""Seconds an engine has to take its memory, if it does not answer ABOUT once it has it."""
_LATE_S = 0.025
"""Seconds after the time of a move in which it may still come: half the referee's usual margin, so that the
reason why there is none arrives before the referee's verdict.
"""
_GIVE_UP = 10
"""Times the time of a move after which nobody waits for it any longer, and at least these seconds: in a match
the referee's verdict comes long before, elsewhere nobody else watches the time.
"""
_GIVE_UP_S = 5.0
_HINT_SHARE = 0.9
"""The part of the time of a move after which the log says what is waited for."""
_LEAST_S = 0.1
"""Seconds that every engine gets to follow up what it said: below that the referee's verdict comes first."""


class Engine:
    """A running engine, what it was told, and what stands on its board; points are (column, row)."""

    def __init__(self, child: Child, quiet_s: float) -> None:
        """Wrap a program that was started; after each move its output is read for `quiet_s` seconds."""
        self._child = child
        self._quiet_s = quiet_s
        self._has_started = False
        self._answers_about = True
        self._told: dict[str, str] = {}
        """The settings since the last START."""
        self._num_open = 0
        """Settings that it may still refuse, since it did not say that it had read them."""
        self._has_hinted = False
        self._understood: set[str] = set()
        """Keys of settings that it has once taken without a refusal."""
        self.remark = ""
        """The last MESSAGE or DEBUG that came with the last move."""
        self.board: list[int] | None = []
        """The actions that are on its board; None if that is not known."""

    def start(self, columns: int, rows: int) -> bool:
        """Begin a match on an empty board; False if it has played already and begins no other one.

        Raises:
            PluginError: it refuses the board.
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
        """Empty the board in the middle of a match.

        Raises:
            BotError: it neither does RESTART nor another START.
        """
        self._say("RESTART")
        if self._agrees(time.monotonic() + _PATIENCE_S) or self.start(columns, rows):
            self.board = []
            return
        raise BotError(
            "the engine takes neither RESTART nor a second START, so it cannot jump to another position; "
            "it can play matches, each in a process of its own"
        )

    def inform(self, settings: Mapping[str, str], *, seconds: float = _MEMORY_S) -> None:
        """Send the settings that have changed since they were sent last.

        Where the engine might refuse one, wait until it has done so: a refusal that came later would be taken
        for its answer to the next question. Taking memory must not cost a move its time either.

        Args:
            settings: values by the keys of INFO.
            seconds: how long to wait at most.

        Raises:
            SystemExit: it is gone.
        """
        changed = {key: value for key, value in settings.items() if self._told.get(key) != value}
        self._told |= changed
        self._say(*(f"INFO {key} {value}" for key, value in changed.items()))
        new = changed.keys() - self._understood
        if new and self._settles(len(changed), seconds):
            self._understood |= new

    def listen(self) -> None:
        """Read what the engine said since it was asked last.

        Raises:
            ProtocolError: it made a move that nobody asked for.
            SystemExit: it is gone.
        """
        while (line := self._read(0.0)) is not None:
            if _MOVE.fullmatch(line):
                raise ProtocolError(f'the engine sent "{_text(line)}" though it was not to move')

    def ask(self, *lines: str, seconds: float) -> tuple[int, int]:
        """Send a command that is answered by a move, and return the move.

        Refusals and unknown lines before it are remarks; the engine is at fault when no move follows.

        Args:
            lines: the command and what belongs to it.
            seconds: what is left of the time for this move.

        Raises:
            BotError: it answers ERROR or UNKNOWN, and no move within a second or the time that is left; or
                does not know BOARD; or says nothing for many times as long.
            ProtocolError: it answers several moves at once, or something that Gomocup does not know.
            SystemExit: it is gone.
        """
        self.remark = refusal = chatter = ""
        began = time.monotonic()
        end = began + max(seconds, _LEAST_S) + _LATE_S
        given_up = began + max(_GIVE_UP * seconds, _GIVE_UP_S)
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
        """Keep a line that is a remark; return whether it is one."""
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
        """Return the next line that is OK or a refusal; None if there is none by `until`."""
        while (line := self._read(until)) is not None:
            if line.upper().startswith((_AGREED, *_REFUSALS)):
                return line
        return None

    def _settles(self, num_lines: int, seconds: float) -> bool:
        """Wait until the engine has done what the last lines said; return whether it is known to refuse none.

        ABOUT is answered when they are done. An engine that does not answer it is listened to for a while.
        """
        if self._answers_about:
            self._say("ABOUT")
        until = time.monotonic() + (seconds if self._answers_about else self._quiet_s)
        num_refused = self._num_open = 0
        while num_refused <= num_lines:
            line = self._read(until)
            if line is None:
                self._answers_about = False
                self._num_open = num_lines - num_refused
                return False
            if line.upper().startswith(_REFUSALS):
                num_refused += 1
            elif self._answers_about and not line.upper().startswith((*_REMARKS, _AGREED)):
                break
        # More refusals than settings: ABOUT was refused too, and all are read.
        return num_refused == 0

    def _be_quiet(self, move: bytes) -> None:
        """Leave the engine running for a moment after its move.

        The arena stops a bot as soon as it has answered. Some engines clear their state after they have sent
        their move, and lose the first word of a command that is there before that.

        Raises:
            ProtocolError: another move follows.
        """
        until = time.monotonic() + self._quiet_s
        try:
            while time.monotonic() < until and (line := self._child.read_until(until)) is not None:
                if not self._note(line) and _MOVE.fullmatch(line):
                    raise ProtocolError(
                        f'the engine answered "{_text(move)}" and then "{_text(line)}"; it has one move'
                    )
        except EOFError:
            return  # it may have made the last move of the match; if not, that is found out at the next one

    def _hint(self, message: str) -> None:
        """Write into the log, once, why there is no answer: the referee's verdict may come first."""
        if not self._has_hinted:
            self._has_hinted = True
            sys.stderr.write(f"gomocup: {message}\n")
            sys.stderr.flush()


_FLUSH = "a Gomocup engine reads standard input and flushes its output after each line"


def engine_of(command: Sequence[str], quiet_s: float) -> Engine:
    """Return the engine that the arena started for this process, or else start one.

    Raises:
        PluginError: it cannot be started.
    """
    inherited = os.environ.get(ENGINE_FDS)
    return (
        Engine(open_child(command), quiet_s) if inherited is None else _shared(inherited, command[0], quiet_s)
    )


@cache
def _shared(descriptors: str, name: str, quiet_s: float) -> Engine:
    """Return the engine behind inherited descriptors; all bots of a process share its board and output."""
    del descriptors
    return Engine(open_child([name]), quiet_s)


def _move_of(line: bytes) -> tuple[int, int] | None:
    """Return the point that a line names; None if it is no move."""
    if line.upper().startswith(_SUGGEST):
        line = line[len(_SUGGEST) :].strip()
    found = _MOVE.fullmatch(line)
    return None if found is None else (int(found[1]), int(found[2]))


def _no_move(question: str, refusal: str, chatter: str) -> BotError | ProtocolError:
    """Return why there is no move: the engine refused, said something else, or nothing at all."""
    if refusal:
        return BotError(f"the engine says: {refusal}; no move to {question} followed")
    if chatter:
        return ProtocolError(_not_a_move(chatter, question))
    return BotTimeoutError(f"the engine has not answered {question}; {_FLUSH}")


def _not_a_move(said: str, question: str) -> str:
    return f'the engine answered "{said}" to {question}; a move is column,row'


def _no_board(said: str) -> str:
    return (
        f'the engine answered "{said}" to BOARD, by which openings are set up; '
        "play it from the empty board, with --openings none"
    )


def _text(line: bytes) -> str:
    return clean_text(line.decode("utf-8", "replace"), MAX_TEXT)
