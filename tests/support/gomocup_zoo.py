"""The expected behaviour of each engine of `gomocup_engines`, and trials against a fast opponent.

    python tests/support/gomocup_zoo.py --matches 20

plays that many matches with each engine in each tier of this machine.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gomocup_engines
from arena.entrants import resolve
from arena.executor.worker_seats import make_seat
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins import Spec, load_game

if TYPE_CHECKING:
    from collections.abc import Sequence

ENGINES = Path(gomocup_engines.__file__)
OPPONENT = "minimax:depth=1"
"""Answers within a millisecond."""
OPENINGS: tuple[tuple[int, ...], ...] = ((), (112, 113, 127), (112, 96))
"""Openings in turn; the engine moves first in every other match."""
CONTROL = TimeControl(mode="move", move_ms=250, margin_ms=1000)
"""Limits: little time per move, and a long timeout for a busy machine."""
SHIM = '#!/bin/sh\nexec "${0%/*}/engine.sh"\n'
SHELL = """#!/bin/sh
# Plays the first cell from the left that it has not heard of, row by row.
taken=" "; size=15
say() { printf '%s\\r\\n' "$1"; }
move() {
    row=0
    while [ $row -lt $size ]; do
        column=0
        while [ $column -lt $size ]; do
            case $taken in
                *" $column,$row "*) ;;
                *) taken="$taken$column,$row "; say "$column,$row"; return ;;
            esac
            column=$((column + 1))
        done
        row=$((row + 1))
    done
}
while IFS= read -r line; do
    line=${line%?}
    case $line in
        START*) size=${line#* }; taken=" "; say OK ;;
        RESTART) taken=" "; say OK ;;
        ABOUT) say 'name="Shell"' ;;
        TURN*) taken="$taken${line#* } "; move ;;
        BEGIN | DONE) move ;;
        *,*,*) taken="$taken${line%,*} " ;;
    esac
done
"""


class Refusal(NamedTuple):
    """The expected refusal of an engine that cannot be played."""

    termination: str
    words: str
    """Part of the cause, or of the last line of the log."""


PLAYS = (
    "Plain",
    "LateState",
    "UnknownInfo",
    "ErrorInfo",
    "OkInfo",
    "ErrorThenMove",
    "Chatter",
    "LineFeed",
    "CarriageReturn",
    "SlowStart",
    "LastMoment",
    "OneMatch",
    "OneStart",
    "NoRestart",
    "NoAbout",
    "UnknownAbout",
    "Spaces",
    "LowerCase",
    "Pieces",
    "Stderr",
    "Writes",
    "Configured",
    "Shim",
)
"""Engines that play every match without a fault."""
REFUSED = {
    "Silent": Refusal(
        "time_move",
        "the engine has not answered BEGIN; a Gomocup engine reads standard input and "
        "flushes its output after each line",
    ),
    "Mute": Refusal(
        "init_timeout",
        "the engine has not answered START 15 with OK; a Gomocup engine reads standard "
        "input and flushes its output after each line",
    ),
    # This is the answer to the first command: BEGIN in a match, BOARD in a check, which asks about an
    # opening.
    "Algebra": Refusal("malformed", 'the engine answered "a1" to B'),
    "TwoMoves": Refusal("malformed", 'the engine answered "0,0 0,1" to BEGIN; a move is column,row'),
    "TwoLines": Refusal("malformed", 'the engine answered "0,0" and then "0,1"; only one move is allowed'),
    "ErrorMove": Refusal(
        "bot_error", "the engine says: ERROR I would not play 0,0; no move to BEGIN followed"
    ),
    "Large": Refusal(
        "init_crash",
        'the engine does not play on 15x15: it answered "ERROR unsupported size" to '
        "START 15; choose another size, as in --game gomoku:size=15",
    ),
    "NoEngine": Refusal("init_crash", "usage: engine FILE"),
}
"""Engines that cannot be played, with the expected refusal."""


def spec_of(name: str, folder: Path) -> str:
    """Return the spec of an engine; the files it needs are written into the folder."""
    folder.mkdir(exist_ok=True)
    if name == "Shim":
        for file, text in (("shim.sh", SHIM), ("engine.sh", SHELL)):
            (folder / file).write_text(text)
            (folder / file).chmod(0o755)
        return str(Spec("gomocup", {"folder": str(folder), "cmd": "./shim.sh"}))
    command = [sys.executable, "-I", "-S", str(ENGINES), name]
    if name != "Configured":
        return str(Spec("gomocup", {"cmd": shlex.join(command)}))
    (folder / ENGINES.name).write_text(ENGINES.read_text())
    (folder / "engine.cfg").write_text("depth 3\n")
    return str(
        Spec("gomocup", {"folder": str(folder), "cmd": shlex.join([*command[:3], ENGINES.name, name])})
    )


def play(
    spec: str, tier: Tier, num_matches: int, openings: Sequence[tuple[int, ...]] = OPENINGS
) -> list[MatchResult]:
    """Play some matches against the opponent, which plays in this process and so answers at once."""
    game = load_game("gomoku")
    (engine, opponent) = resolve([spec, OPPONENT], margin_ms=0)
    results: list[MatchResult] = []
    with (
        closing(make_seat(engine, game.name, tier)) as ours,
        closing(make_seat(opponent, game.name, Tier.T0)) as other,
    ):
        for number in range(num_matches):
            is_first = number % 2 == 0
            setup = MatchSetup(
                id=f"m{number}",
                labels=("engine", "opponent") if is_first else ("opponent", "engine"),
                seeds=(number, number + 1),
                controls=(CONTROL, CONTROL),
                opening=openings[number // 2 % len(openings)],
            )
            results.append(play_match(game, (ours, other) if is_first else (other, ours), setup))
    return results


def main() -> int:
    """Print one JSON line; return 1 if an engine that should play was at fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--engines", nargs="*", default=PLAYS)
    chosen = parser.parse_args()
    faults: dict[str, list[str]] = {}
    num_matches = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.engines:
            for tier in tiers_to_try():
                if tier is Tier.T0:
                    continue
                results = play(spec_of(name, Path(folder, name)), tier, chosen.matches)
                num_matches += len(results)
                faults[f"{name} {tier}"] = [result.reason for result in results if result.fault is not None]
    bad = {key: reasons for key, reasons in faults.items() if reasons}
    sys.stdout.write(
        json.dumps({"matches": num_matches, "engines and tiers": len(faults), "faults": bad}) + "\n"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
