"""Computes the opening book of Connect Four, and from it the lists of drawn openings: `make book` runs it.

An interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.connect_four import ConnectFour
from arena.games.solver._counters import BUDGET, NODES
from arena.games.solver._four import narrow
from arena.games.solver._layers import make_layers
from arena.games.solver._memory import new_memory
from arena.games.solver._ordering import shipped_order
from arena.games.solver.book import SHIPPED, Book
from arena.games.solver.connect_four_solver import SMALL_BITS, ConnectFourSolver
from arena.pairing.openings import SHIPPED_PLIES, drawn_path, enumerate_positions
from source_tree import ROOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.solver._layers import PlyPositions

PLIES = 8
TOP_BITS = 24
"""Binary logarithm of the number of table entries: 128 MB."""
UNKNOWN = -128
SAVE_EVERY = 60.0
"""Seconds between two checkpoints."""


class Checkpoint(NamedTuple):
    """Files of a run that may be interrupted."""

    scores: Path
    seconds: Path

    @classmethod
    def of(cls, folder: Path, plies: int) -> Checkpoint:
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder / f"book{plies}.npy", folder / f"book{plies}.npy.cpu")

    def load(self, number: int) -> tuple[NDArray[np.int8], float]:
        if not self.scores.exists():
            return np.full(number, UNKNOWN, np.int8), 0.0
        return np.load(self.scores), float(self.seconds.read_text("ascii"))

    def save(self, scores: NDArray[np.int8], seconds: float) -> None:
        fresh = self.scores.with_suffix(".tmp.npy")
        np.save(fresh, scores)
        fresh.replace(self.scores)
        self.seconds.write_text(str(seconds), "ascii")


def solve(layer: PlyPositions, checkpoint: Checkpoint) -> tuple[NDArray[np.int8], float]:
    """Score a layer; return the scores and their seconds of CPU, including earlier runs."""
    scores, before = checkpoint.load(len(layer.keys))
    memory = new_memory(TOP_BITS, shipped_order())
    memory[BUDGET] = np.iinfo(np.int64).max
    begin, saved = time.process_time(), time.monotonic()
    for position in np.flatnonzero(scores == UNKNOWN).tolist():
        bounds = np.array([-64, 64], np.int64)
        narrow(memory, bounds, int(layer.own[position]), int(layer.mask[position]), True)  # noqa: FBT003 # a kernel
        scores[position] = bounds[0]
        if time.monotonic() - saved > SAVE_EVERY:
            saved = time.monotonic()
            spent = before + time.process_time() - begin
            checkpoint.save(scores, spent)
            done = int((scores != UNKNOWN).sum())
            _say(f"{done}/{len(scores)} positions, {spent:.0f} s of CPU, {memory[NODES]:,} nodes")
    spent = before + time.process_time() - begin
    checkpoint.save(scores, spent)
    return scores, spent


def provenance(book: Book, plies: int, seconds: float) -> str:
    """Return a description of how the book was made, as TOML."""
    facts = {
        "sha256": hashlib.sha256(SHIPPED.read_bytes()).hexdigest(),
        "command": f"make book BOOK_PLIES={plies}",
        "plies": book.plies,
        "positions": sum(book.sizes),
        "solver": f"bot-arena {version('bot-arena')}, arena.games.solver, no other program's data",
        "cpu_seconds": round(seconds),
        "python": platform.python_version(),
        "numba": version("numba"),
        "processor": platform.machine(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in facts.items())


def drawn_text(book: Book, plies: int) -> str:
    """Return the drawn positions after so many plies as a file of openings."""
    game = ConnectFour()
    checked = ConnectFourSolver(game, book, top_bits=SMALL_BITS).checked
    lines: list[str] = []
    for state in enumerate_positions(game, plies):
        found = checked(state)
        if not found.is_terminal and book.score(found.own, found.own | found.opp, plies) == 0:
            lines.append("".join(str(action + 1) for action in found.history))
    head = (
        f"# Connect Four 6x7: all {len(lines)} drawn positions after {plies} actions, one per mirror pair, in"
        " canonical order.\n# Columns from 1; by the opening book of arena.games.solver.\n"
    )
    return head + "".join(f"{line}\n" for line in lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Compute; write the book and its provenance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plies", type=int, default=PLIES)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "build" / "book")
    arguments = parser.parse_args()
    layers = make_layers(arguments.plies)
    checkpoint = Checkpoint.of(arguments.checkpoints, arguments.plies)
    scores, seconds = solve(layers[-1], checkpoint)
    book = Book.from_last(layers, scores)
    SHIPPED.parent.mkdir(exist_ok=True)
    book.write(SHIPPED)
    SHIPPED.with_suffix(".provenance.toml").write_text(provenance(book, arguments.plies, seconds), "utf-8")
    _say(f"{SHIPPED}: {sum(book.sizes)} positions, {SHIPPED.stat().st_size} bytes")
    for drawn_plies in (plies for plies in SHIPPED_PLIES if plies <= book.plies):
        path = drawn_path(drawn_plies)
        path.write_text(drawn_text(book, drawn_plies), "ascii")
        _say(f"{path}: rebuilt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
