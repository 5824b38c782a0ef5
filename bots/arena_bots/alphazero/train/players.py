"""The self-play players: this process and its threads, or shards that are played elsewhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from arena.games.kernels.layout import layout_of
from arena.games.notation import spec_of
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train.games import Lanes, joined, new_lanes, part_of
from arena_bots.alphazero.train.shard_checks import find_wrong
from arena_bots.alphazero.train.shards import (
    MAX_BYTES,
    PLAY,
    NetKind,
    PlayShard,
    new_player,
    pack_shard,
    rng_of,
    unpack_result,
)
from arena_plugins.weights import read_arrays

if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Any

    from numpy.typing import NDArray

    from arena_bots.alphazero.train.games import Harvest
    from arena_bots.alphazero.train.plan import TrainingPlan
    from arena_bots.alphazero.train.shards import Player
    from arena_bots.search.lockstep.batches import Net
    from arena_plugins.training import TrainingContext


class Players:
    """All players of a run, and their matches in progress."""

    def __init__(self, context: TrainingContext, plan: TrainingPlan, kind: NetKind) -> None:
        layout = layout_of(context.game)
        if layout is None:
            raise ValueError(f"there are no kernels for {context.game.name} of this size")
        self._context = context
        self._game = context.game
        self._layout = layout
        self._plan = plan
        self._kind = kind
        self._own: list[Player] = []
        self._threads = ThreadPoolExecutor(plan.threads)
        self._sent: list[Future[bytes]] = []
        self.are_elsewhere = plan.processes > 1 or context.has_slots
        """Whether matches are played in other processes, which takes the file of a network."""
        self.lanes = new_lanes(plan.lanes, self._game.num_actions, self._game.max_length)
        if context.has_slots and plan.players == 1:
            context.say("all matches form one shard, so one slot plays them; processes=N makes N shards")

    def go_on(self, net: Net | bytes, step: int) -> Harvest:
        """Play one period with a network.

        Args:
            net: its file, or, for players in this process, a network that any thread may call.
            step: the training step, which determines the random seed.

        Raises:
            ArenaError: a player has failed.
        """
        if self.are_elsewhere and isinstance(net, bytes):
            return self._play_elsewhere(net, step)
        return self._play(OnnxNet(net, self._game) if isinstance(net, bytes) else net, step)

    def _play(self, net: Net, step: int) -> Harvest:
        """Play in this process, with several players in threads; kernels and network release the GIL."""
        count, plan = self._plan.threads, self._plan
        self._own = self._own or [
            new_player(self._game, net, plan.play, plan.lanes // count) for _ in range(count)
        ]

        def part(number: int) -> Harvest:
            own = part_of(self.lanes, number, count)
            return self._own[number].go_on(net, own, rng_of(self._context.seed, step, number))

        # A single player runs in this thread, which Ctrl-C interrupts at once.
        return part(0) if count == 1 else joined(list(self._threads.map(part, range(count))))

    def _play_elsewhere(self, model: bytes, step: int) -> Harvest:
        """Play each player's part as a shard; the order of the results is that of the players."""
        count = self._plan.players
        self._sent = [self._send(model, step, number) for number in range(count)]
        harvests: list[Harvest] = []
        for number, future in enumerate(self._sent):
            arrays = read_arrays(future.result(), "the result of a shard", max_bytes=MAX_BYTES)
            lanes, harvest = unpack_result(arrays)
            for kept, new in zip(part_of(self.lanes, number, count), lanes, strict=True):
                kept[:] = new
            harvests.append(harvest)
        return joined(harvests)

    def _send(self, model: bytes, step: int, number: int) -> Future[bytes]:
        part = part_of(self.lanes, number, self._plan.players)
        shard = PlayShard(
            str(spec_of(self._game)), self._plan.play, self._kind, self._context.seed, step, number, part
        )
        return self._context.remote(
            PLAY,
            pack_shard(shard),
            blobs=(model,),
            device=self._plan.play_on,
            label=f"shard {number + 1} of {self._plan.players} of step {step + 1}",
            check=lambda result: find_wrong(result, part, self._layout),
        )

    def cancel(self) -> None:
        """Wait no longer for shards that are being played."""
        for future in self._sent:
            future.cancel()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the matches in progress."""
        return {f"lanes.{name}": array for name, array in zip(Lanes._fields, self.lanes, strict=True)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the matches in progress."""
        self.lanes = Lanes._make(arrays[f"lanes.{name}"].copy() for name in Lanes._fields)
