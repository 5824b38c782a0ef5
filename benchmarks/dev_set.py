"""Makes a set of labelled Connect Four positions from stored matches, for tuning and comparing bots.

    arena tournament random minimax:depth=1 minimax:depth=5 mcts --rounds 200 --db mixed.db
    python benchmarks/dev_set.py --store mixed.db --positions 6000 --out dev.npz

Each phase gets a third, each difficulty of a phase an equal share of it, half of that decisive, as far as
there are enough positions. Without a store it first plays some matches. labelled/positions.py describes the
format.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from labelled.positions import PHASES, Positions, difficulty_of, is_decisive, phase_of

from arena.games.connect_four import ConnectFour
from arena.games.solver.find import solver_for
from arena.games.solver.solved import ILLEGAL, UNSOLVED
from arena.home import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arena.games.k_in_a_row import KInARowState
    from arena_db.records import StoredMatch

    Labeller = Callable[[KInARowState], tuple[list[int], list[int]]]
    """Returns outcome and distance of each action, or `ILLEGAL` or `UNSOLVED`."""

GAME = ConnectFour()
BOTS = ("random", *(f"minimax:depth={depth}" for depth in range(1, 6)), "mcts:playouts=200")
STRATA = {"begin": 3, "middle": 2, "end": 1}
"""Difficulties that occur in each phase: after 28 plies no position is hard."""
_FEW = 60
_NODES = 50_000_000
"""Nodes of the solver per position: some seconds."""
REGULAR = frozenset({"rules", "adjudicated", "resign"})


class Candidate(NamedTuple):
    """A position of a stored match, or its mirror image if that comes first."""

    actions: tuple[int, ...]
    match: str


class Labelled(NamedTuple):
    """A position that was solved."""

    candidate: Candidate
    outcome: list[int]
    distance: list[int]


def main() -> None:
    """Print one JSON line; write the set if --out is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="store of `arena tournament`; without it matches are played first")
    parser.add_argument("--positions", type=int, default=_FEW)
    parser.add_argument("--nodes", type=int, default=_NODES, help="maximum nodes of the solver per position")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    start = time.process_time()
    if chosen.store:
        positions = build(chosen.store, exact_labels(chosen.nodes), chosen.positions, chosen.seed)
    else:
        positions = sample(chosen.positions)
    if chosen.out:
        positions.save(chosen.out)
    print(json.dumps(summary(positions, time.process_time() - start)))


def sample(size: int = _FEW) -> Positions:
    """Play some matches, and return labelled positions from them."""
    with tempfile.TemporaryDirectory() as folder:
        return build(play_matches(Path(folder) / "mixed.db"), exact_labels(_NODES), size, 1)


def build(store: str, label: Labeller, size: int, seed: int) -> Positions:
    """Sample `size` positions from a store, fewer where a stratum is too small, and label them."""
    rng = Random(seed)  # noqa: S311 - sampling needs no secrets
    found: list[Labelled] = []
    for phase, candidates in enumerate(candidates_of(store, rng)):
        found += fill(phase, candidates, label, size // len(PHASES))
    rng.shuffle(found)
    return gather(found)


def play_matches(path: Path) -> str:
    """Play a small tournament of mixed bots into a store."""
    options = ["--game", GAME.name, "--rounds", "4", "--isolation", "none", "--srand", "1", "--quiet"]
    command = [sys.executable, "-m", "arena", "tournament", *BOTS, *options, "--db", str(path)]
    subprocess.run(command, check=True, stdout=sys.stderr)  # noqa: S603 - our own command
    return str(path)


def candidates_of(store: str, rng: Random) -> list[list[Candidate]]:
    """Return the distinct positions of all regular matches by phase, each list in random order."""
    found: dict[tuple[int, ...], Candidate] = {}
    matches = list(stored_matches(store))
    rng.shuffle(matches)
    for match in matches:
        for state in states_of(match.actions):
            cells, actions = first_image(state)
            found.setdefault(cells, Candidate(actions, match.match_hash))
    phases: list[list[Candidate]] = [[] for _ in PHASES]
    for candidate in found.values():
        phases[phase_of(len(candidate.actions))].append(candidate)
    for phase in phases:
        rng.shuffle(phase)
    return phases


def stored_matches(path: str) -> Iterator[StoredMatch]:
    with open_store(path, read_only=True) as store:
        for tournament in store.tournaments.newest(limit=1000):
            for match in store.matches.of_tournament(tournament.id):
                if match.game == GAME.name and match.termination in REGULAR:
                    yield match


def states_of(actions: Iterable[int]) -> Iterator[KInARowState]:
    """Return each state of a match except the last, which is final."""
    state = GAME.initial_state()
    for action in actions:
        yield state
        state = state.child(action)


def first_image(state: KInARowState) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return cells and actions of the mirror image of a position that comes first."""
    images: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for symmetry in GAME.symmetries:
        cells = [0] * len(state.cells)
        for cell, target in enumerate(symmetry.cells):
            cells[target] = state.cells[cell]
        images.append((tuple(cells), tuple(symmetry.actions[action] for action in state.history)))
    return min(images)


def exact_labels(nodes: int) -> Labeller:
    """Return a function that solves a position by the project's own solver."""
    solver = solver_for(GAME)
    if solver is None:
        raise SystemExit(f"there is no solver of {GAME}")

    def label(state: KInARowState) -> tuple[list[int], list[int]]:
        outcomes, distances = solver.label([state], nodes=nodes)
        return outcomes[0].tolist(), distances[0].tolist()

    return label


def fill(phase: int, candidates: list[Candidate], label: Labeller, size: int) -> list[Labelled]:
    """Label candidates until each difficulty has its share of both kinds, or no more are left."""
    share = size // (2 * STRATA[PHASES[phase]])
    taken: Counter[tuple[int, bool]] = Counter()
    kept: list[Labelled] = []
    for candidate in candidates:
        if len(kept) == 2 * share * STRATA[PHASES[phase]]:
            break
        outcome, distance = label(replay(candidate.actions))
        if UNSOLVED in outcome:
            continue
        kind = (difficulty_of(outcome, distance), is_decisive(outcome))
        if kind[0] < STRATA[PHASES[phase]] and taken[kind] < share:
            taken[kind] += 1
            kept.append(Labelled(candidate, outcome, distance))
    return kept


def replay(actions: Iterable[int]) -> KInARowState:
    state = GAME.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def gather(found: list[Labelled]) -> Positions:
    """Make the arrays."""
    states = [replay(labelled.candidate.actions) for labelled in found]
    actions = np.full((len(found), GAME.max_length), -1, np.int8)
    for row, labelled in zip(actions, found, strict=True):
        row[: len(labelled.candidate.actions)] = labelled.candidate.actions
    return Positions(
        own=np.array([state.own for state in states], np.uint64),
        opp=np.array([state.opp for state in states], np.uint64),
        ply=np.array([len(labelled.candidate.actions) for labelled in found], np.int16),
        actions=actions,
        outcome=np.array([labelled.outcome for labelled in found], np.int8),
        distance=np.array([labelled.distance for labelled in found], np.int8),
        phase=np.array([phase_of(len(labelled.candidate.actions)) for labelled in found], np.int8),
        difficulty=np.array([difficulty_of(*labelled[1:]) for labelled in found], np.int8),
        decisive=np.array([is_decisive(labelled.outcome) for labelled in found]),
        match=np.array([labelled.candidate.match for labelled in found]),
    )


def summary(positions: Positions, cpu_s: float) -> dict[str, object]:
    """Return the number of positions of each kind."""
    return {
        "benchmark": "dev_set",
        "positions": len(positions.own),
        "matches": len(set(positions.match.tolist())),
        "decisive": int(positions.decisive.sum()),
        "strata": dict(sorted(Counter(positions.strata).items())),
        "legal_share": round(float((positions.outcome != ILLEGAL).mean()), 3),
        "cpu_s": round(cpu_s, 1),
    }


if __name__ == "__main__":
    main()
