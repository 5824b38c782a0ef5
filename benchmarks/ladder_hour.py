"""Runs a real ladder while bots join, leave, crash and are edited, and its coordinator is killed.

Bots are small agents of Connect Four, each a file of its own, which play in processes of their own. They join
and leave by the commands that people use. These figures must be 0: matches that were reported and are not
stored, plans that are not in order, bots that waited too long, moves of code that never joined, leftover
processes and files, wrong exit statuses.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Final

from kill_trials import count_orphans
from simulated.ladder_facts import LadderFacts

from arena_db.errors import DatabaseError
from arena_db.store import Store

FAILURES: Final = (
    "wrong_exits",
    "told_but_not_stored",
    "faults_of_the_store",
    "not_once",
    "foreign_moves",
    "unpaired",
    "overdue",
    "orphans",
    "left_files",
)
"""The figures that must be 0."""
_FIRST: Final = 6
"""Number of bots at the start."""
_FEWEST, _MOST = 5, 16
"""Minimum and maximum number of bots at once."""
_STEPS_A_MINUTE: Final = 2
"""Number of joins and leaves per minute."""
_EDITS: Final = 12
_CRASHING, _EDITED = 1, 2
"""The bots that crash now and then, and those whose file is edited."""
_PR_SET_CHILD_SUBREAPER: Final = 36
_DEADLINE_S: Final = 1800
"""Timeout in seconds: long enough for a busy machine, so that only a hang exceeds it."""
_TOLD: Final = re.compile(r"^Finished game (\d+)")
_AGENT: Final = """
import os
import random

SKILL, CRASH, COLUMN = {skill}, {crash}, {column}

def wins(board, rows, columns, column, mark):
    row = max(row for row in range(rows) if not board[row * columns + column])
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        run = 1
        for way in (1, -1):
            for step in range(1, 4):
                r, c = row + way * step * down, column + way * step * right
                if not (0 <= r < rows and 0 <= c < columns and board[r * columns + c] == mark):
                    break
                run += 1
        if run >= 4:
            return True
    return False

def agent(observation, configuration):
    rows, columns, board = configuration.rows, configuration.columns, observation.board
    legal = [column for column in range(columns) if not board[column]]
    global is_first
    if is_first:
        is_first = False
        if COLUMN in legal:
            return COLUMN
    if random.random() < CRASH:
        os._exit(1)
    if random.random() < SKILL:
        for mark in (observation.mark, 3 - observation.mark):
            for column in legal:
                if wins(board, rows, columns, column, mark):
                    return column
    return random.choice(legal)

is_first = True
"""
"""Source of an agent that can be recognised by its first move."""


def main() -> None:
    """Run the ladder, print its figures as one line of JSON, and fail if one that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kills", type=int, default=5, help="of the coordinator")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the order of joins and leaves, and of their times"
    )
    parser.add_argument("--keep", type=Path, help="keep the store and the output in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        hour = LadderHour(folder, arguments.seed)
        try:
            figures = hour.hold(60 * arguments.minutes, arguments.kills)
        finally:
            hour.end()
    print(json.dumps(figures))
    sys.exit(any(figures[key] for key in FAILURES))


class LadderHour:
    """A ladder and the disturbances of its trial."""

    name = "hour"

    def __init__(self, folder: Path, seed: int) -> None:
        # Orphans of a killed coordinator become children of this process, which can then count them.
        if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1):
            raise OSError("this system has no subreapers; the trials need Linux")
        self._folder = folder
        self.store = folder / "arena.db"
        self._temporary = folder / "temporary"
        self._bots = folder / "bots"
        for made in (self._temporary, self._bots):
            made.mkdir()
        self._chance = random.Random(seed)  # noqa: S311 - moments, not secrets
        self._figures: Counter[str] = Counter()
        self._columns: dict[str, int] = {}
        """First move of each bot, by label."""
        self._playing: list[str] = []
        self._left: list[str] = []
        self.specs: dict[str, str] = {}
        self._join_s: list[float] = []
        self._deaths: list[tuple[float, float]] = []
        """Times at which the coordinator was killed, and at which the next one had stored a match."""
        self._num_edits = 0
        self._runs: list[subprocess.Popen[bytes]] = []
        """Coordinators; only the last one can be running."""

    def hold(self, seconds: float, num_kills: int) -> dict[str, object]:
        """Run the ladder for some seconds; return its figures."""
        began = self.begin()
        acts = {"kill": self._kill, "edit": self._edit, "step": self._come_or_go}
        for at, act in self._acts(seconds, num_kills):
            time.sleep(max(0.0, began + at - time.monotonic()))
            if self._runs[-1].poll() is not None:
                self._figures["wrong_exits"] += 1
                print(f"the coordinator ended with {self._runs[-1].returncode}", file=sys.stderr)
                self._run()
            acts[act]()
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        self.stop()
        return self.judge()

    def begin(self) -> float:
        """Start the ladder and wait for its first match; return when it was started."""
        for number in range(_FIRST):
            self._playing.append(self.write(number))
        specs = [self.specs[label] for label in self._playing]
        options = ("--game", "connect-four", "--srand", "7", "--rating-interval", "0", "--st", "30")
        self._run(*specs, *options)
        began = time.monotonic()
        self._await_match(0)
        return began

    def stop(self) -> None:
        """Stop the ladder as its users do; count what it leaves behind."""
        self._arena("stop", self.name)
        self._expect(self._runs[-1].wait(timeout=_DEADLINE_S), 3, "the coordinator")
        self._figures["orphans"] += count_orphans()
        self._figures["left_files"] = len(list(self._temporary.iterdir()))

    def end(self) -> None:
        """Kill the coordinator, if it is still running."""
        for run in self._runs:
            run.kill()
            run.wait()

    def _acts(self, seconds: float, num_kills: int) -> list[tuple[float, str]]:
        """Return the disturbances and their times, in order, in seconds from the beginning."""
        kills = [seconds * (place + self._chance.random()) / num_kills for place in range(num_kills)]
        edits = [seconds * (place + self._chance.random()) / _EDITS for place in range(_EDITS)]
        num_steps = round(seconds / 60 * _STEPS_A_MINUTE)
        steps = [seconds * self._chance.random() for _ in range(num_steps)]
        acts = {"kill": kills, "edit": edits, "step": steps}
        return sorted((at, act) for act, moments in acts.items() for at in moments)

    def write(self, number: int, name: str = "") -> str:
        """Write the file of a new agent; return its label."""
        label = name or f"bot-{number}"
        self._columns[label] = number % 7
        crash = 0.004 if number == _CRASHING else 0.0
        skill = round(self._chance.random(), 2)
        file = f"bot-{_EDITED if name else number}.py"
        text = f"# number {number}\n" + _AGENT.format(skill=skill, crash=crash, column=self._columns[label])
        (self._bots / file).write_text(text, encoding="utf-8")
        self.specs[label] = f"kaggle:file={self._bots / file},name={label}"
        return label

    def _come_or_go(self) -> None:
        """Join a new bot, or one that left before, or withdraw one."""
        if len(self._playing) > _FEWEST and self._chance.random() < len(self._playing) / _MOST:
            label = self._chance.choice([each for each in self._playing if each != f"bot-{_CRASHING}"])
            self._arena("ladder", "leave", self.name, label)
            self._playing.remove(label)
            # An agent whose file was edited is another bot now.
            if not label.startswith(("edit", f"bot-{_EDITED}")):
                self._left.append(label)
            self._figures["leaves"] += 1
        elif self._left and self._chance.random() < 1 / 3:
            label = self._left.pop(self._chance.randrange(len(self._left)))
            self._join(label)
            self._figures["returns"] += 1
        else:
            self._join(self.write(100 + self._figures["newcomers"]))
            self._figures["newcomers"] += 1

    def _edit(self) -> None:
        """Edit the file of a bot that may be playing: it becomes another bot, and needs a name of its own."""
        self._num_edits += 1
        earlier = (f"edit-{self._num_edits - 1}", f"bot-{_EDITED}")
        before = next(label for label in earlier if label in self.specs)
        label = self.write(200 + self._num_edits, f"edit-{self._num_edits}")
        self._arena("ladder", "join", self.name, self.specs[before], status=2)
        self._join(label)
        self._figures["edits"] += 1

    def _join(self, label: str) -> None:
        began = time.monotonic()
        self._arena("ladder", "join", self.name, self.specs[label])
        self._join_s.append(time.monotonic() - began)
        self._playing.append(label)

    def _kill(self) -> None:
        """Kill the coordinator, and start the ladder again."""
        run = self._runs[-1]
        run.kill()
        run.wait()
        died = time.time()
        self._figures["kills"] += 1
        self._figures["orphans"] += count_orphans()
        last = self._last_match()
        self._run()
        self._await_match(last)
        self._deaths.append((died, time.time()))

    def _run(self, *more: str) -> None:
        """Start a coordinator."""
        told = self._folder / f"told-{len(self._runs)}.txt"
        command = ("ladder", "run", self.name, *more, "--concurrency", "2", "--force-concurrency")
        with told.open("wb") as out, told.with_suffix(".err").open("wb") as errors:
            run = subprocess.Popen(  # noqa: S603 - our own code
                [sys.executable, "-P", "-m", "arena", *command, "--db", str(self.store)],
                env=self.environment(),
                start_new_session=True,
                stdout=out,
                stderr=errors,
            )
        self._runs.append(run)

    def _arena(self, *command: str, status: int = 0) -> None:
        result = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-P", "-m", "arena", *command, "--db", str(self.store)],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=_DEADLINE_S,
        )
        self._expect(result.returncode, status, f"{' '.join(command)}: {result.stderr}")

    def environment(self) -> dict[str, str]:
        """Return the environment of all commands: nothing is kept outside the folder."""
        own = {
            "TMPDIR": self._temporary,
            "ARENA_HOME": self._folder / "home",
            "ARENA_CACHE": self._folder / "cache",
        }
        return {**os.environ, **{key: str(path) for key, path in own.items()}}

    def _expect(self, found: int, wanted: int, what: str) -> None:
        if found != wanted:
            self._figures["wrong_exits"] += 1
            print(f"exit status {found} instead of {wanted}: {what}", file=sys.stderr)

    def _last_match(self) -> int:
        try:
            with Store.open(self.store, read_only=True) as store:
                record = store.tournaments.find(self.name)
                return 0 if record is None else store.matches.last_id(record.id)
        except DatabaseError:
            return 0

    def _await_match(self, last: int) -> None:
        """Wait until a further match is stored."""
        deadline = time.monotonic() + _DEADLINE_S
        while self._last_match() == last:
            if time.monotonic() > deadline:
                raise RuntimeError("the ladder does not play")
            time.sleep(0.1)

    def judge(self) -> dict[str, object]:
        """Return the figures of the ladder after it has ended."""
        with Store.open(self.store, read_only=True) as store:
            faults = store.integrity.check()
            facts = LadderFacts.of(store, self.name)
        for fault in faults[:10]:
            print(f"the store: {fault}", file=sys.stderr)
        self._figures["faults_of_the_store"] = len(faults)
        self._arena("db", "check")
        told = [int(found[1]) for line in self._told() if (found := _TOLD.match(line))]
        waits = facts.longest_waits()
        first = facts.first_matches(self._deaths)
        figures: dict[str, object] = {
            "matches": facts.num_done,
            "bots": len(facts.entrants),
            "batches": len(facts.batches),
            **{key: self._figures[key] for key in ("newcomers", "returns", "leaves", "edits", "kills")},
            "forfeits": facts.num_forfeits,
            "join_command_s": _spread(self._join_s),
            "join_to_first_match_s": _spread([each.wait_s for each in first]),
            "free_worker_to_first_match_s": _spread([each.after_free_s for each in first]),
            "longest_wait_in_means": round(max(waits.values(), default=0.0), 2),
            "resumed_s": _spread([again - died for died, again in self._deaths]),
        }
        self._figures["told_but_not_stored"] = len(set(told) - facts.done) + len(told) - len(set(told))
        self._figures["not_once"] = facts.num_not_once
        self._figures["foreign_moves"] = facts.num_foreign_moves(self._columns)
        self._figures["unpaired"] = facts.num_unpaired
        self._figures["overdue"] = sum(wait > 3 for wait in waits.values())  # noqa: PLR2004 - promised
        return figures | {key: self._figures[key] for key in FAILURES}

    def _told(self) -> list[str]:
        """Return the lines that the coordinators printed, without an unfinished last line of a killed one."""
        lines: list[str] = []
        for number in range(len(self._runs)):
            text = (self._folder / f"told-{number}.txt").read_text(encoding="utf-8", errors="replace")
            lines += text[: text.rfind("\n") + 1].splitlines()
        return lines


def _spread(values: list[float]) -> dict[str, float]:
    """Return the number of values, their median and the largest."""
    if not values:
        return {"num": 0}
    return {"num": len(values), "median": round(median(values), 3), "most": round(max(values), 3)}


if __name__ == "__main__":
    main()
