"""Shards of self-play: a player's part of the matches for one training step, as pure data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train.games import Harvest, Lanes, Samples
from arena_bots.alphazero.train.selfplay import SelfPlay, SelfPlaySettings
from arena_bots.alphazero.train.table_play import TablePlay
from arena_plugins.errors import PluginError
from arena_plugins.manager import load_game
from arena_plugins.training import TrainingMatch
from arena_plugins.weights import read_arrays, write_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from numpy.typing import NDArray

    from arena_bots.search.lockstep.batches import Net
    from arena_plugins.contract import Game

    class Player(Protocol):
        """Plays matches with a network."""

        def go_on(self, net: Net, lanes: Lanes, rng: np.random.Generator) -> Harvest:
            """Continue the matches in `lanes`, which are modified, for one period."""
            ...


PLAY = f"{__name__}:play_shard"
"""The function of a shard, as `TrainingContext.remote` takes it."""
MAX_BYTES = 1 << 30
"""Maximum bytes of the arrays of a shard or its result."""
_HEAD = "head"


class NetKind(NamedTuple):
    """The architecture of a network, without its weights."""

    trunk: str
    """The hidden layers, as in `Design`."""
    wdl: bool
    """Whether the value head predicts chances of a win, a draw and a loss."""
    planes: int
    """Number of input planes."""
    logits: int
    """Number of outputs of the policy head."""


class PlayShard(NamedTuple):
    """The contents of a shard, without the file of its network."""

    game: str
    """Spec of the game."""
    plan: SelfPlaySettings
    net: NetKind
    seed: int
    """Seed of the run; seed, step and player determine all randomness."""
    step: int
    """Number of the training step."""
    player: int
    """Number of the player."""
    lanes: Lanes
    """The matches in progress."""


def rng_of(seed: int, step: int, player: int) -> np.random.Generator:
    """Return the random generator of one player in one step; it does not depend on earlier steps."""
    return np.random.default_rng([seed, step, player])


def new_player(game: Game, net: Net, plan: SelfPlaySettings, lanes: int) -> Player:
    """Make a player for `lanes` matches; its networks have as many planes as `net`."""
    if plan.search == "table":
        return TablePlay(game, plan, lanes)
    return SelfPlay(game, net, plan, lanes)


def pack_shard(shard: PlayShard) -> bytes:
    """Return a shard as bytes."""
    head = {
        "game": shard.game,
        "plan": shard.plan._asdict(),
        "net": shard.net._asdict(),
        "numbers": [shard.seed, shard.step, shard.player],
    }
    text = np.frombuffer(json.dumps(head).encode(), np.uint8)
    return write_arrays({_HEAD: text, **_named("lanes", shard.lanes)})


def unpack_shard(data: bytes) -> PlayShard:
    """Unpack a shard that `pack_shard` packed.

    Raises:
        PluginError: `data` is not a shard.
    """
    arrays = read_arrays(data, "a shard", max_bytes=MAX_BYTES)
    try:
        head = cast("dict[str, Any]", json.loads(arrays[_HEAD].tobytes()))
        plan: dict[str, Any] = head["plan"]
        # JSON has no tuples, and a kernel takes nothing else.
        plan["scales"] = tuple(plan["scales"])
        seed, step, player = head["numbers"]
        lanes = _taken("lanes", Lanes, arrays)
        return PlayShard(
            head["game"], SelfPlaySettings(**plan), NetKind(**head["net"]), seed, step, player, lanes
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PluginError(f"a shard cannot be read: {error}") from error


def pack_result(lanes: Lanes, harvest: Harvest) -> bytes:
    """Pack the result of a shard: the matches in progress, those that ended, and their samples."""
    matches = harvest.matches
    lengths = np.array([len(match.actions) for match in matches], np.int64)
    actions = np.zeros((len(matches), lanes.actions.shape[1]), np.int16)
    for row, match in zip(actions, matches, strict=True):
        row[: len(match.actions)] = match.actions
    return write_arrays(
        {
            **_named("lanes", lanes),
            **_named("samples", harvest.samples),
            "actions": actions,
            "lengths": lengths,
            "outcomes": np.array([match.outcome for match in matches], np.int8),
            "asked": np.array([harvest.asked], np.int64),
        }
    )


def unpack_result(arrays: Mapping[str, NDArray[Any]]) -> tuple[Lanes, Harvest]:
    """Unpack a result that `pack_result` packed, from arrays that were checked."""
    rows = zip(
        arrays["actions"].tolist(), arrays["lengths"].tolist(), arrays["outcomes"].tolist(), strict=True
    )
    matches = [TrainingMatch(tuple(row[:length]), outcome) for row, length, outcome in rows]
    samples = _taken("samples", Samples, arrays)
    return _taken("lanes", Lanes, arrays), Harvest(samples, matches, int(arrays["asked"][0]))


def play_shard(data: bytes, blobs: Sequence[bytes], device: str) -> bytes:
    """Play a shard with the network in the only blob; the result depends on these and the device alone.

    Raises:
        PluginError: the shard, the network or the device cannot be used here.
    """
    shard = unpack_shard(data)
    player, net = bench.ready(shard, blobs[0], device)
    harvest = player.go_on(net, shard.lanes, rng_of(shard.seed, shard.step, shard.player))
    return pack_result(shard.lanes, harvest)


class Bench:
    """The last player and network of this process: the next shard usually needs the same ones."""

    def __init__(self) -> None:
        self._player: tuple[tuple[object, ...], Player] | None = None
        self._net: tuple[tuple[object, ...], Net] | None = None

    def ready(self, shard: PlayShard, model: bytes, device: str) -> tuple[Player, Net]:
        """Return a player and a network for a shard."""
        game = load_game(shard.game)
        net_key = (shard.game, shard.net, model, device)
        # By content: each training step has another network, but all shards of a step share it.
        if self._net is None or self._net[0] != net_key:
            self._net = net_key, _net_on(device, model, game, shard.net)
        net = self._net[1]
        key = (shard.game, shard.plan, shard.net.planes, len(shard.lanes.own))
        if self._player is None or self._player[0] != key:
            self._player = key, new_player(game, net, shard.plan, len(shard.lanes.own))
        return self._player[1], net


bench = Bench()


def _net_on(device: str, model: bytes, game: Game, kind: NetKind) -> Net:
    """Return a network on `cpu`, on `cuda`, or for `any` on a GPU if PyTorch finds one.

    Raises:
        PluginError: there is no GPU, or the file is not such a network.
    """
    if device != "cpu" and has_cuda():
        # PyTorch takes seconds to import, and a slot without a GPU need not have it.
        from arena_bots.alphazero.train.nets import Design, Shape
        from arena_bots.alphazero.train.onnx_file import from_onnx
        from arena_bots.alphazero.train.torch_net import TorchNet, halves

        shape = Shape(kind.planes, *game.shape, kind.logits)
        net = from_onnx(model, Design(kind.trunk, kind.wdl), shape)
        return TorchNet(net, "cuda", is_half=halves("cuda"))
    if device == "cuda":
        raise PluginError(
            "PyTorch finds no GPU in this slot; install one with CUDA there (bot-arena[train-torch])"
        )
    return OnnxNet(model, game)


def has_cuda() -> bool:
    """Return whether PyTorch is installed and finds a GPU, and ONNX files can be read."""
    try:
        import onnx
        import torch
    except ImportError:
        return False
    del onnx
    return torch.cuda.is_available()


def _named(prefix: str, arrays: Lanes | Samples) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{name}": array for name, array in arrays._asdict().items()}


def _taken(prefix: str, kind: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:  # noqa: ANN401 - Lanes or Samples
    return kind._make(arrays[f"{prefix}.{name}"] for name in kind._fields)
