"""A Gomocup engine for tests: plays the first empty cell, and logs the commands that it receives.

Arguments: the file to write to, the line end, then what it does wrong.
"""

from __future__ import annotations

import os
import sys

END = {"crlf": "\r\n", "lf": "\n", "cr": "\r"}


class Engine:
    def __init__(self, log: str, end: str, fault: str) -> None:
        self.log = log
        self.end = END[end]
        self.fault = fault
        self.size = (0, 0)
        self.taken: set[tuple[int, int]] = set()

    def say(self, line: str) -> None:
        os.write(1, (line + self.end).encode())

    def move(self) -> None:
        columns, rows = self.size
        cell = next((c, r) for r in range(rows) for c in range(columns) if (c, r) not in self.taken)
        self.taken.add(cell)
        self.say("MESSAGE depth 3 ev 7")
        self.say("DEBUG   \x1b[1m cell")
        answers = {
            "": f"{cell[0]},{cell[1]}",
            "blank": f" {cell[0]} , {cell[1]} ",
            "suggest": f"suggest {cell[0]},{cell[1]}",
            "error": "ERROR I am lost",
            "unknown": "unknown command",
            "junk": "I would like e5",
            "outside": f"{columns + 1},0",
            "long": "x" * 200_000,
        }
        if self.fault == "die":
            sys.exit(7)
        if self.fault == "kill":
            os.kill(os.getpid(), 11)
        if self.fault == "deaf":
            os.close(1)
            sys.stdin.read()
        self.say(answers.get(self.fault, answers[""]))

    def hear(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "START" | "RECTSTART":
                numbers = [int(number) for number in rest.split(",")]
                self.size = (numbers[0], numbers[-1])
                self.taken.clear()
                self.say("ERROR too large" if self.size[0] > 20 else "OK - ready")
            case "RESTART" if self.fault == "no-restart":
                self.say("UNKNOWN RESTART")
            case "RESTART":
                self.taken.clear()
                self.say("OK")
            case "TURN":
                column, row = rest.split(",")
                self.taken.add((int(column), int(row)))
                self.move()
            case "BEGIN" | "DONE":
                self.move()
            case "ABOUT":
                self.say('name="Fake", version="1"')
            case "BOARD" | "INFO":
                pass
            case _:
                column, row, _ = line.split(",")
                self.taken.add((int(column), int(row)))


def main() -> None:
    engine = Engine(sys.argv[1], sys.argv[2], (*sys.argv[3:], "")[0])
    with open(engine.log, "ab", buffering=0) as log:  # noqa: PTH123 - unbuffered
        for line in sys.stdin.buffer:
            log.write(line)
            engine.hear(line.decode().rstrip("\r\n"))


if __name__ == "__main__":
    main()
