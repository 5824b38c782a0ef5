"""The self-play players: this process, or worker processes that end together with it."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from arena.games.notation import spec_of
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train.games import Lanes, joined, new_lanes, part_of
from arena_bots.alphazero.train.selfplay import SelfPlay
from arena_bots.alphazero.train.table_play import TablePlay
from arena_plugins.errors import ArenaError
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from typing import Any

    from numpy.typing import NDArray

    from arena_bots.alphazero.train.games import Harvest
    from arena_bots.alphazero.train.plan import TrainingPlan
    from arena_bots.search.lockstep.batches import Net
    from arena_plugins.contract import Game


class Player(Protocol):
    """Plays matches with a network."""

    def go_on(self, net: Net, lanes: Lanes, rng: np.random.Generator) -> Harvest:
        """Continue the matches in `lanes`, which are modified, for one period."""
        ...


def new_player(game: Game, net: Net, plan: TrainingPlan) -> Player:
    """Make one of the players of a plan, with its share of the lanes."""
    lanes = plan.lanes // plan.players
    if plan.play.search == "table":
        return TablePlay(game, plan.play, lanes)
    return SelfPlay(game, net, plan.play, lanes)


def rng_of(seed: int, step: int, player: int) -> np.random.Generator:
    """Return the random generator of one player in one step; it does not depend on earlier steps."""
    return np.random.default_rng([seed, step, player])


class Players:
    """All players of a run, and their matches in progress."""

    def __init__(self, game: Game, plan: TrainingPlan, seed: int) -> None:
        self._game = game
        self._plan = plan
        self._seed = seed
        self._own: list[Player] = []
        self._threads = ThreadPoolExecutor(plan.threads)
        self._others: list[tuple[SpawnProcess, Connection]] = []
        self.lanes = new_lanes(plan.lanes, game.num_actions, game.max_length)
        if plan.processes > 1:
            self._others = [_start(str(spec_of(game)), plan) for _ in range(plan.processes)]

    def go_on(self, net: Net | bytes, step: int) -> Harvest:
        """Play one period with a network.

        Args:
            net: its file, or, for players in this process, a network that any thread may call.
            step: the training step, which determines the random seed.

        Raises:
            ArenaError: a player has failed.
        """
        if not self._others:
            return self._play(OnnxNet(net, self._game) if isinstance(net, bytes) else net, step)
        for number, (_process, pipe) in enumerate(self._others):
            part = part_of(self.lanes, number, len(self._others))
            pipe.send((net, part, self._seed, step, number))
        return joined([self._take(number) for number in range(len(self._others))])

    def _play(self, net: Net, step: int) -> Harvest:
        """Play in this process, with several players in threads; kernels and network release the GIL."""
        count = self._plan.threads
        self._own = self._own or [new_player(self._game, net, self._plan) for _ in range(count)]

        def part(number: int) -> Harvest:
            own = part_of(self.lanes, number, count)
            return self._own[number].go_on(net, own, rng_of(self._seed, step, number))

        # A single player runs in this thread, which Ctrl-C interrupts at once.
        return part(0) if count == 1 else joined(list(self._threads.map(part, range(count))))

    def _take(self, number: int) -> Harvest:
        process, pipe = self._others[number]
        try:
            lanes, harvest = pipe.recv()
        except (EOFError, OSError) as error:
            process.join(5)
            raise ArenaError(
                f"player {number + 1} of {len(self._others)} ended with exit code {process.exitcode};"
                " the run goes on from its last checkpoint with --resume"
            ) from error
        for kept, new in zip(part_of(self.lanes, number, len(self._others)), lanes, strict=True):
            kept[:] = new
        return harvest

    def close(self) -> None:
        """End the worker processes and threads."""
        self._threads.shutdown()
        for process, pipe in self._others:
            pipe.close()
            process.join(5)
            if process.is_alive():
                process.terminate()

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the matches in progress."""
        return {f"lanes.{name}": array for name, array in zip(Lanes._fields, self.lanes, strict=True)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the matches in progress."""
        self.lanes = Lanes._make(arrays[f"lanes.{name}"].copy() for name in Lanes._fields)


def _start(game: str, plan: TrainingPlan) -> tuple[SpawnProcess, Connection]:
    # Spawn, because a fork would copy the threads of PyTorch in an undefined state.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, game, plan), daemon=True)
    process.start()
    there.close()
    return process, cast("Connection", here)


def _serve(pipe: Connection, game_spec: str, plan: TrainingPlan) -> None:
    """Serve requests to play until the other end of the pipe closes, for whatever reason."""
    # Ctrl-C reaches all processes of the terminal; the learner decides how to react.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    game = load_game(game_spec)
    player: Player | None = None
    while True:
        try:
            model, lanes, seed, step, number = pipe.recv()
        except (EOFError, OSError):
            return
        # Arrays received through a pipe may be read-only.
        own = Lanes._make(np.array(array) for array in lanes)
        net = OnnxNet(model, game)
        player = player or new_player(game, net, plan)
        harvest = player.go_on(net, own, rng_of(seed, step, number))
        pipe.send((own, harvest))
