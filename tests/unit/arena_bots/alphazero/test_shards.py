"""Shards of self-play: the same bytes on every machine, and wrong results are refused before training."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena.games.kernels.layout import layout_of
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train import shards, torch_net
from arena_bots.alphazero.train.games import Lanes, new_lanes
from arena_bots.alphazero.train.nets import Design, Shape, new_net
from arena_bots.alphazero.train.onnx_file import from_onnx, to_onnx
from arena_bots.alphazero.train.plan import TrainingPlan
from arena_bots.alphazero.train.players import find_wrong
from arena_bots.alphazero.train.selfplay import SelfPlay
from arena_bots.alphazero.train.shards import (
    MAX_BYTES,
    Bench,
    NetKind,
    PlayShard,
    pack_shard,
    play_shard,
    rng_of,
    unpack_result,
    unpack_shard,
)
from arena_bots.alphazero.train.torch_net import TorchNet
from arena_plugins.errors import PluginError
from arena_plugins.spec import OptionReader
from arena_plugins.weights import read_arrays, write_arrays
from game_samples import make
from small_nets import small_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from arena_bots.alphazero.train.nets import PolicyValueNet

    Arrays = dict[str, NDArray[Any]]

LANES = 6
KIND = NetKind("1x4", wdl=True, planes=3, logits=9)


def shard_of(spec: str, search: str = "gumbel", *, step: int = 0, moves: int = 7) -> PlayShard:
    """Return a shard of new matches, long enough that some of them end."""
    game = make(spec)
    words = {"search": search, "simulations": "4", "small": "2", "moves": str(moves), "endings": "4"}
    plan = TrainingPlan.read(OptionReader("a test", words)).fitted(game)
    lanes = new_lanes(LANES, game.num_actions, game.max_length)
    kind = KIND._replace(logits=game.num_actions)
    return PlayShard(spec, plan.play, kind, seed=5, step=step, player=2, lanes=lanes)


def arrays_of(result: bytes) -> Arrays:
    return read_arrays(result, "a result", max_bytes=MAX_BYTES)


@pytest.mark.parametrize("search", ["gumbel", "puct", "table"])
def test_a_result_depends_on_its_shard_alone(search: str) -> None:
    model = small_model("tic-tac-toe")
    first, other = (pack_shard(shard_of("tic-tac-toe", search, step=step)) for step in (0, 1))
    found = play_shard(first, (model,), "cpu")
    assert play_shard(other, (model,), "cpu") != found
    assert play_shard(first, (model,), "cpu") == found, "nothing is left of the shard between"
    shards.bench = Bench()  # as in a new process
    assert play_shard(first, (model,), "cpu") == found


def test_a_shard_is_what_a_player_plays_here() -> None:
    game, model = make("tic-tac-toe"), small_model("tic-tac-toe")
    shard = shard_of("tic-tac-toe")
    lanes, harvest = unpack_result(arrays_of(play_shard(pack_shard(shard), (model,), "cpu")))
    net = OnnxNet(model, game)
    player = SelfPlay(game, net, shard.plan, LANES)
    here = player.go_on(net, shard.lanes, rng_of(5, 0, 2))
    assert harvest.matches == here.matches
    assert harvest.asked == here.asked
    for kind, found, wanted in (("samples", harvest.samples, here.samples), ("lanes", lanes, shard.lanes)):
        for name, one, two in zip(wanted._fields, found, wanted, strict=True):
            assert one.tobytes() == two.tobytes(), f"{kind}.{name}"


def test_a_shard_comes_back_as_it_was() -> None:
    shard = shard_of("connect-four", "puct")
    shard.lanes.actions[1, 2] = 3
    found = unpack_shard(pack_shard(shard))
    assert found._replace(lanes=shard.lanes) == shard
    for one, two in zip(found.lanes, shard.lanes, strict=True):
        assert one.dtype == two.dtype
        assert (one == two).all()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", write_arrays({"head": np.zeros(3, np.uint8)})])
def test_what_is_no_shard_is_refused(data: bytes) -> None:
    with pytest.raises(PluginError, match="a shard"):
        play_shard(data, (b"",), "cpu")


@pytest.mark.parametrize(
    ("spec", "search"),
    [
        ("tic-tac-toe", "gumbel"),
        ("tic-tac-toe", "puct"),
        ("tic-tac-toe", "table"),
        ("connect-four", "gumbel"),
    ],
)
def test_honest_results_are_accepted(spec: str, search: str) -> None:
    shard = shard_of(spec, search, moves=30)
    layout = layout_of(make(spec))
    assert layout is not None
    result = play_shard(pack_shard(shard), (small_model(spec),), "cpu")
    assert find_wrong(result, shard.lanes, layout) == ""
    assert len(arrays_of(result)["lengths"]) > 0


def _end(arrays: Arrays) -> None:
    """Change a match in progress so that it is over: the first player has a column of three."""
    arrays["lanes.actions"][0, :5] = (0, 1, 3, 4, 6)
    arrays["lanes.ply"][0] = 5


def _set(name: str, index: int | tuple[int, int], value: object) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][index] = value

    return change


def _put(name: str, changed: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = changed(arrays[name])

    return change


def _bar(name: str) -> Callable[[Arrays], None]:
    """Change a policy so that an occupied cell has the whole probability."""

    def change(arrays: Arrays) -> None:
        if name == "samples.policies":
            row = int(np.flatnonzero(arrays["samples.own"] | arrays["samples.opp"])[0])
            taken = arrays[name][row] == 0
            place: Any = row
        else:
            lane = int(np.flatnonzero(arrays["lanes.searched"].sum(axis=1) > 1)[0])
            ply = int(np.flatnonzero(arrays["lanes.searched"][lane])[-1])
            taken = np.zeros(9, np.bool_)
            taken[arrays["lanes.actions"][lane, 0]] = True
            place = (lane, ply)
        arrays[name][place] = 0
        # The first occupied action.
        stones = [action for action in range(9) if taken[action]]
        arrays[name][place][stones[0]] = 1

    return change


def _go_past_the_end(arrays: Arrays) -> None:
    """Add one more action, on an empty cell, to a match that has ended."""
    match = int(np.flatnonzero(arrays["lengths"] < 9)[0])
    length = int(arrays["lengths"][match])
    played = set(arrays["actions"][match, :length].tolist())
    arrays["actions"][match, length] = min(set(range(9)) - played)
    arrays["lengths"][match] += 1


def _swap_two_samples(arrays: Arrays) -> None:
    """Swap the first two positions of a match."""
    order = np.arange(len(arrays["samples.own"]))
    plies = np.bitwise_count(arrays["samples.own"] | arrays["samples.opp"])
    assert plies[0] < plies[1] < plies[2], "of one match, and not its last position"
    order[:2] = 1, 0
    for name in [name for name in arrays if name.startswith("samples.")]:
        arrays[name] = arrays[name][order]


def _leave_out_a_match(arrays: Arrays) -> None:
    """Leave out the positions of the last match: those since the end of the match before."""
    plies = np.bitwise_count(arrays["samples.own"] | arrays["samples.opp"]).astype(np.int64)
    starts = np.flatnonzero(np.diff(plies, prepend=99) <= 0)
    for name in [name for name in arrays if name.startswith("samples.")]:
        arrays[name] = arrays[name][: starts[-1]]


WRONG: Mapping[str, tuple[Callable[[Arrays], None], str]] = {
    "name": (lambda arrays: arrays.update(more=np.zeros(1)), "it has arrays"),
    "missing": (lambda arrays: arrays.clear(), "it has arrays"),
    "type": (_put("samples.weights", lambda array: array.astype(np.float64)), "samples.weights is float64"),
    "shape": (_put("samples.policies", lambda array: array[:, :8]), "samples.policies is float16"),
    "axes": (_put("lengths", lambda array: array[:, None]), "lengths is int64"),
    "lanes": (_put("lanes.own", lambda array: array[1:]), "lanes.own is uint64"),
    "counts": (_put("samples.own", lambda array: array[1:]), "different lengths"),
    "ends": (_put("outcomes", lambda array: array[1:]), "different lengths"),
    "asked": (_set("asked", 0, -1), "negative number of positions"),
    "length 0": (_set("lengths", 0, 0), "impossible length"),
    "length 10": (_set("lengths", 0, 10), "impossible length"),
    "action 9": (_set("actions", (0, 0), 9), "illegal action or no end"),
    "action -1": (_set("actions", (0, 1), -1), "illegal action or no end"),
    "twice": (
        lambda arrays: _set("actions", (0, 1), arrays["actions"][0, 0])(arrays),
        "illegal action or no",
    ),
    "no end": (
        lambda arrays: _set("lengths", 0, arrays["lengths"][0] - 1)(arrays),
        "illegal action or no end",
    ),
    "outcome": (_set("outcomes", 0, -2), "another result by the rules"),
    "past the end": (_go_past_the_end, "illegal action or no end"),
    "swapped": (_swap_two_samples, "not those of its matches, in order"),
    "left out": (_leave_out_a_match, "not those of its matches, in order"),
    "order": (_put("samples.own", lambda array: array[::-1]), "sample"),
    "position": (_put("samples.opp", lambda array: np.roll(array, 1)), "sample"),
    "last": (_set("samples.last", 0, 1 << 40), "is no position of its match"),
    "policy nan": (_set("samples.policies", (0, 0), np.nan), "a policy is no distribution"),
    "policy sum": (_set("samples.policies", 0, 0.5), "a policy is no distribution"),
    "policy barred": (_bar("samples.policies"), "illegal action a chance"),
    "weight": (_set("samples.weights", 0, 2), "a weight other than 0 and 1"),
    "chances": (_set("samples.chances", 0, 1), "the chances of a sample"),
    "chances negative": (_set("samples.chances", 0, (1.5, 0, -0.5)), "the chances of a sample"),
    "ply": (_set("lanes.ply", 0, 9), "a match in progress has an impossible length"),
    "mixed": (_set("lanes.mixed", 0, 9), "a match in progress has an impossible length"),
    "over": (_end, "illegal action or is over"),
    "stones": (_set("lanes.own", 0, 1 << 40), "another position"),
    "ahead": (_set("lanes.searched", (0, 8), True), "searched ahead"),  # noqa: FBT003 - an element
    "value": (_put("lanes.values", lambda array: array + 2), "not in [-1, 1]"),
    "value nan": (_put("lanes.values", lambda array: array * np.nan), "not in [-1, 1]"),
    "lane's policy": (_put("lanes.policies", lambda array: array / 2), "a policy is no distribution"),
    "lane barred": (_bar("lanes.policies"), "illegal action a chance"),
    "lane's weight": (_put("lanes.weights", lambda array: array + 3), "a weight other than 0 and 1"),
}
"""Changes to a correct result, and the refusal of each."""


@pytest.fixture(scope="module")
def honest() -> tuple[PlayShard, bytes]:
    shard = shard_of("tic-tac-toe")
    return shard, play_shard(pack_shard(shard), (small_model("tic-tac-toe"),), "cpu")


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_result_is_told(honest: tuple[PlayShard, bytes], fault: str) -> None:
    shard, result = honest
    layout = layout_of(make("tic-tac-toe"))
    assert layout is not None
    arrays = arrays_of(result)
    assert find_wrong(write_arrays(arrays), shard.lanes, layout) == ""
    change, words = WRONG[fault]
    change(arrays)
    assert words in find_wrong(write_arrays(arrays), shard.lanes, layout)


@pytest.mark.parametrize("spec", ["tic-tac-toe", "connect-four"])
@pytest.mark.parametrize("moves", [1, 3, 30])
def test_the_result_of_an_earlier_shard_or_another_player_is_told(spec: str, moves: int) -> None:
    model, layout = small_model(spec), layout_of(make(spec))
    assert layout is not None
    steps = [shard_of(spec, moves=3, step=0)]
    results = [play_shard(pack_shard(steps[0]), (model,), "cpu")]
    for step in (1, 2):
        lanes, _ = unpack_result(arrays_of(results[-1]))
        steps.append(shard_of(spec, moves=moves, step=step)._replace(lanes=lanes))
        results.append(play_shard(pack_shard(steps[-1]), (model,), "cpu"))
    for step, shard in enumerate(steps):
        assert find_wrong(results[step], shard.lanes, layout) == ""
        for earlier in results[:step]:
            assert "neither went on nor ended" in find_wrong(earlier, shard.lanes, layout)
    other = shard_of(spec, moves=3)._replace(player=1)
    lanes, _ = unpack_result(arrays_of(play_shard(pack_shard(other), (model,), "cpu")))
    assert "neither went on nor ended" in find_wrong(results[1], lanes, layout)


def test_garbage_and_too_much_are_told(
    honest: tuple[PlayShard, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    shard, result = honest
    layout = layout_of(make("tic-tac-toe"))
    assert layout is not None
    assert "cannot be read" in find_wrong(b"garbage", shard.lanes, layout)
    monkeypatch.setattr("arena_bots.alphazero.train.players.MAX_BYTES", 100)
    assert "more than the 100 allowed" in find_wrong(result, shard.lanes, layout)


def test_a_network_comes_back_from_its_file_exactly() -> None:
    boards = np.random.default_rng(1).integers(0, 2, (20, 3, 3, 3)).astype(np.float32)
    for trunk, wdl in (("2x4", True), ("article", False)):
        design, shape = Design(trunk, wdl), Shape(3, 3, 3, 9)
        net = new_net(design, shape, 1)
        model = to_onnx(net, "tic-tac-toe")
        kept = TorchNet(net, "cpu", is_half=False)(boards)
        back = TorchNet(from_onnx(model, design, shape), "cpu", is_half=False)(boards)
        for one, two in zip(kept, back, strict=True):
            assert one.tobytes() == two.tobytes()
    with pytest.raises(PluginError, match="are not those of 1x4"):
        from_onnx(model, Design("1x4", wdl=True), shape)


class NetOnGpu:
    """Imitates a network on a GPU, which the test machines lack: it computes on the CPU."""

    made: list[str]

    def __init__(self, net: PolicyValueNet, device: str, *, is_half: bool) -> None:
        del is_half
        self.made.append(device)
        self._net = TorchNet(net, "cpu", is_half=False)
        self.planes = self._net.planes

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._net(planes)


@pytest.mark.parametrize(
    ("device", "has_gpu", "made"),
    [("cpu", True, []), ("any", True, ["cuda"]), ("cuda", True, ["cuda"]), ("any", False, [])],
)
def test_a_slot_plays_on_its_device(
    monkeypatch: pytest.MonkeyPatch, device: str, *, has_gpu: bool, made: list[str]
) -> None:
    monkeypatch.setattr(shards, "bench", Bench())
    monkeypatch.setattr(shards, "has_cuda", lambda: has_gpu)
    monkeypatch.setattr(NetOnGpu, "made", [], raising=False)
    monkeypatch.setattr(torch_net, "TorchNet", NetOnGpu)
    shard = shard_of("tic-tac-toe")
    result = play_shard(pack_shard(shard), (small_model("tic-tac-toe"),), device)
    assert NetOnGpu.made == made
    layout = layout_of(make("tic-tac-toe"))
    assert layout is not None
    assert find_wrong(result, shard.lanes, layout) == ""


def test_without_a_gpu_a_shard_for_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "has_cuda", lambda: False)
    shard = pack_shard(shard_of("tic-tac-toe"))
    with pytest.raises(PluginError, match="finds no GPU in this slot"):
        play_shard(shard, (small_model("tic-tac-toe"),), "cuda")


@pytest.mark.parametrize("has_torch", [True, False])
def test_torch_is_asked_for_a_gpu_only_where_it_is(
    monkeypatch: pytest.MonkeyPatch, *, has_torch: bool
) -> None:
    told = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True)) if has_torch else None
    monkeypatch.setitem(sys.modules, "torch", told)
    assert shards.has_cuda() is has_torch


def test_lanes_of_another_size_are_told(honest: tuple[PlayShard, bytes]) -> None:
    shard, result = honest
    layout = layout_of(make("tic-tac-toe"))
    assert layout is not None
    half = Lanes._make(array[:3] for array in shard.lanes)
    assert "lanes.own is uint64[6]" in find_wrong(result, half, layout)
