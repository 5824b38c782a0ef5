"""A collection of small Gomocup engines, each with one habit of a real one: `python gomocup_engines.py NAME`.

All play the first empty cell. They use only the standard library, because they run in a sandbox.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Plain:
    """Follows the protocol exactly."""

    end = "\r\n"

    def __init__(self) -> None:
        self.buffer = b""
        self.columns = self.rows = 0
        self.timeout_ms = 0
        self.taken: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Execute commands until the input ends."""
        for line in self.lines():
            word, _, rest = line.partition(" ")
            command = getattr(self, f"do_{word.lower()}", None)
            if command is None:
                self.say("UNKNOWN command")
            else:
                command(rest)

    def lines(self) -> Iterator[str]:
        """Yield the lines that the arena sends; they end in CR LF."""
        while True:
            while b"\n" not in self.buffer:
                chunk = os.read(0, 1 << 16)
                if not chunk:
                    return
                self.buffer += chunk
            line, _, self.buffer = self.buffer.partition(b"\n")
            yield line.decode().removesuffix("\r")

    def say(self, text: str) -> None:
        """Write a line and flush it."""
        os.write(1, (text + self.end).encode())

    def do_start(self, rest: str) -> None:
        self.columns = self.rows = int(rest)
        self.taken.clear()
        self.say("OK")

    def do_restart(self, rest: str) -> None:
        del rest
        self.taken.clear()
        self.say("OK")

    def do_info(self, rest: str) -> None:
        key, _, value = rest.partition(" ")
        if key == "timeout_turn":
            self.timeout_ms = int(value)

    def do_about(self, rest: str) -> None:
        del rest
        self.say(f'name="{type(self).__name__}", version="1"')

    def do_begin(self, rest: str) -> None:
        del rest
        self.move()

    def do_turn(self, rest: str) -> None:
        column, row = map(int, rest.split(","))
        if (column, row) in self.taken:
            return self.say("ERROR cell is taken")
        self.taken.add((column, row))
        return self.move()

    def do_board(self, rest: str) -> None:
        del rest
        for line in self.lines():
            if line == "DONE":
                break
            column, row, _ = map(int, line.split(","))
            self.taken.add((column, row))
        self.move()

    def move(self) -> None:
        """Make a move and print it."""
        cells = ((column, row) for row in range(self.rows) for column in range(self.columns))
        cell = next(cell for cell in cells if cell not in self.taken)
        self.taken.add(cell)
        self.answer(*cell)

    def answer(self, column: int, row: int) -> None:
        """Print a move."""
        self.say(f"{column},{row}")


class LateState(Plain):
    """Clears its state after its move; a command that is already waiting then loses its first word.

    It computes for 0.2 ms before that, or for as many seconds as a second argument says.
    """

    def answer(self, column: int, row: int) -> None:
        super().answer(column, row)
        began = time.process_time()
        seconds = float((*sys.argv[2:], "0.0002")[0])
        while time.process_time() - began < seconds:
            pass
        if select.select([0], [], [], 0)[0]:
            self.buffer += os.read(0, 1 << 16).partition(b" ")[2]


class UnknownInfo(Plain):
    """Does not know INFO."""

    def do_info(self, rest: str) -> None:
        del rest
        self.say("UNKNOWN command")


class ErrorInfo(Plain):
    """Accepts INFO, but answers ERROR to unknown keys."""

    def do_info(self, rest: str) -> None:
        super().do_info(rest)
        self.say(f"ERROR unsupported {rest}")


class OkInfo(Plain):
    """Answers OK to every INFO."""

    def do_info(self, rest: str) -> None:
        super().do_info(rest)
        self.say("OK")


class ErrorThenMove(Plain):
    """Complains about each turn, then plays it."""

    def do_turn(self, rest: str) -> None:
        self.say("ERROR opening book not found")
        super().do_turn(rest)


class Chatter(Plain):
    """Prints much text: a banner, thoughts, remarks before and after its move."""

    def run(self) -> None:
        self.say("Welcome to Chatter 1.0, the talking engine")
        super().run()

    def answer(self, column: int, row: int) -> None:
        self.say("MESSAGE depth 3")
        self.say(f"thinking about {column},{row} ...")
        self.say("DEBUG 12 nodes")
        super().answer(column, row)
        self.say("MESSAGE your turn")
        self.say("that was good")


class LineFeed(Plain):
    """Ends its lines with LF, as Unix does."""

    end = "\n"


class CarriageReturn(Plain):
    """Ends its lines with CR alone."""

    end = "\r"


class SlowStart(Plain):
    """Loads its tables before it reads, and allocates memory when it gets the limit of memory."""

    def run(self) -> None:
        time.sleep(0.5)
        super().run()

    def do_info(self, rest: str) -> None:
        super().do_info(rest)
        if rest.startswith("max_memory"):
            time.sleep(0.3)


class LastMoment(Plain):
    """Uses all of its time, and 10 ms more."""

    def move(self) -> None:
        time.sleep(self.timeout_ms / 1000 + 0.01)
        super().move()


class OneMatch(Plain):
    """Plays one match and exits when another one begins."""

    def do_start(self, rest: str) -> None:
        if self.columns:
            sys.exit(3)
        super().do_start(rest)

    def do_restart(self, rest: str) -> None:
        del rest
        sys.exit(3)


class OneStart(Plain):
    """Refuses a second START, and does not know RESTART."""

    def do_start(self, rest: str) -> None:
        if self.columns:
            self.say("ERROR already started")
        else:
            super().do_start(rest)

    def do_restart(self, rest: str) -> None:
        del rest
        self.say("UNKNOWN command")


class NoRestart(Plain):
    """Does not answer RESTART."""

    def do_restart(self, rest: str) -> None:
        """Do nothing."""


class NoAbout(Plain):
    """Does not answer ABOUT."""

    def do_about(self, rest: str) -> None:
        """Do nothing."""


class UnknownAbout(UnknownInfo):
    """Knows neither INFO nor ABOUT."""

    do_about = UnknownInfo.do_info


class SlowRefusal(NoAbout):
    """Does not answer ABOUT, and takes a while to refuse an unknown INFO."""

    def do_info(self, rest: str) -> None:
        if rest.startswith("timeout_turn"):
            time.sleep(0.1)
            self.say("UNKNOWN command")


class Ends(Plain):
    """Exits with its move."""

    def answer(self, column: int, row: int) -> None:
        super().answer(column, row)
        sys.exit()


class Spaces(Plain):
    """Writes a space after the comma, and around the move."""

    def answer(self, column: int, row: int) -> None:
        self.say(f" {column}, {row} ")


class LowerCase(Plain):
    """Writes in lower case, and suggests its moves."""

    def do_start(self, rest: str) -> None:
        super().do_start(rest)
        self.say("message ready")

    def say(self, text: str) -> None:
        super().say(text.lower())

    def answer(self, column: int, row: int) -> None:
        self.say(f"suggest {column},{row}")


class Pieces(Plain):
    """Writes its move in two parts."""

    def answer(self, column: int, row: int) -> None:
        os.write(1, f"{column},".encode())
        time.sleep(0.001)
        self.say(str(row))


class Stderr(Plain):
    """Logs a hundred kilobytes to stderr with each move."""

    def answer(self, column: int, row: int) -> None:
        os.write(2, b"a line of the log\n" * 6000)
        super().answer(column, row)


class Writes(Plain):
    """Writes into its working folder, and into the one that INFO names; both files must persist."""

    def do_info(self, rest: str) -> None:
        super().do_info(rest)
        if rest.startswith("folder "):
            Path(rest.partition(" ")[2], "learnt").write_text("nothing\n")

    def answer(self, column: int, row: int) -> None:
        with open("log", "a+") as log:  # noqa: PTH123 - as such engines do
            log.write(f"{column},{row}\n")
            log.seek(0)
            assert log.read().endswith(f"{column},{row}\n")
        super().answer(column, row)


class Configured(Plain):
    """Reads a file beside it; without this file it does not start."""

    def run(self) -> None:
        assert Path(__file__).with_name("engine.cfg").read_text().split() == ["depth", "3"]
        super().run()


class Silent(Plain):
    """Never flushes its output."""

    def answer(self, column: int, row: int) -> None:
        """Keep the answer in the buffer."""


class Mute(Silent):
    """Never writes anything."""

    def say(self, text: str) -> None:
        """Keep the line."""


class Algebra(Plain):
    """Answers in chess notation, such as h8."""

    def answer(self, column: int, row: int) -> None:
        self.say(f"{chr(ord('a') + column)}{row + 1}")


class TwoMoves(Plain):
    """Makes two moves in one line."""

    def answer(self, column: int, row: int) -> None:
        self.say(f"{column},{row} {column},{row + 1}")


class TwoLines(Plain):
    """Makes two moves, one line each."""

    def answer(self, column: int, row: int) -> None:
        self.say(f"{column},{row}{self.end}{column},{row + 1}")


class ErrorMove(Plain):
    """Answers only ERROR."""

    def answer(self, column: int, row: int) -> None:
        self.say(f"ERROR I would not play {column},{row}")


class NoBoard(Plain):
    """Cannot begin in the middle of a match."""

    def do_board(self, rest: str) -> None:
        del rest
        self.say("UNKNOWN command")


class Large(Plain):
    """Plays only on a board of 20x20."""

    def do_start(self, rest: str) -> None:
        if int(rest) == 20:
            super().do_start(rest)
        else:
            self.say("ERROR unsupported size")


class NoEngine(Plain):
    """Is another kind of program: prints its usage and exits."""

    def run(self) -> None:
        sys.exit("usage: engine FILE")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        globals()[sys.argv[1]]().run()
