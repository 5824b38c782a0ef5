"""The self-play players: threads of this process, or shards played elsewhere, whose results are checked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.compiling import kernel
from arena.games.kernels.layout import layout_of
from arena.games.kernels.rules import has_line, land, landings
from arena.games.notation import spec_of
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train.games import (
    DRAWN,
    GOING,
    WON,
    Lanes,
    Samples,
    joined,
    new_lanes,
    no_samples,
    part_of,
)
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
from arena_plugins.errors import PluginError
from arena_plugins.weights import read_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future
    from typing import Any

    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout
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
        """Stop waiting for shards that are being played."""
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


ILLEGAL = 3
"""The end of a match with an illegal action, or with actions after its end."""
_ROUNDING = 0.01
"""Tolerance for sums of policies, which are stored in half precision."""


class WrongShardError(PluginError):
    """The result of a shard is malformed, or contradicts the rules."""


class Retraced(NamedTuple):
    """Positions of matches, from their actions alone."""

    own: NDArray[np.uint64]
    """Stones of the side to move before each action and at the end; `[matches, plies + 1]`, as the next."""
    opp: NDArray[np.uint64]
    last: NDArray[np.uint64]
    ends: NDArray[np.int8]
    """GOING, WON by the side that moved last, DRAWN or ILLEGAL; `[matches]`."""


@kernel
def retrace(actions: NDArray[np.int16], lengths: NDArray[np.int64], layout: Layout, found: Retraced) -> None:
    """Replay matches by the rules into `found`; `actions` is `[matches, plies]`, `lengths` `[matches]`."""
    for match in range(len(lengths)):
        mover, other, stone = np.uint64(0), np.uint64(0), np.uint64(0)
        found.ends[match] = GOING
        for ply in range(lengths[match]):
            found.own[match, ply], found.opp[match, ply], found.last[match, ply] = mover, other, stone
            action = actions[match, ply]
            if found.ends[match] != GOING or action < 0 or action >= layout.num_actions:
                found.ends[match] = ILLEGAL
                break
            stone = land(mover | other, action, layout)
            if not stone:
                found.ends[match] = ILLEGAL
                break
            mover, other = other, mover | stone
            if has_line(other, layout):
                found.ends[match] = WON
            elif not landings(mover | other, layout):
                found.ends[match] = DRAWN
        ply = lengths[match]
        found.own[match, ply], found.opp[match, ply], found.last[match, ply] = mover, other, stone


@kernel
def count_barred(
    own: NDArray[np.uint64], opp: NDArray[np.uint64], policies: NDArray[np.float32], layout: Layout
) -> int:
    """Return how often policies, `[n, num_actions]`, give an illegal action a chance."""
    count = 0
    for row in range(len(own)):
        for action in range(layout.num_actions):
            if policies[row, action] > 0 and not land(own[row] | opp[row], action, layout):
                count += 1
    return count


def find_wrong(result: bytes, lanes: Lanes, layout: Layout) -> str:
    """Return what is malformed in a result, or contradicts the rules; empty if nothing is wrong.

    Every match is replayed, and all positions follow from its actions; matches in progress must have gone on,
    so the result of another shard is noticed. This protects against faulty machines, not against an attacker
    who holds a key: a wrong but possible policy cannot be noticed.

    Args:
        result: as `shards.pack_result` packed it.
        lanes: the matches in progress that the shard was given.
        layout: the game.
    """
    try:
        arrays = read_arrays(result, "the result", max_bytes=MAX_BYTES)
        _check_form(arrays, lanes, layout)
        samples = Samples._make(arrays[f"samples.{name}"] for name in Samples._fields)
        _check_matches(arrays, samples, layout)
        _check_searches(samples, layout)
        _require(_are_shares(samples.chances), "the chances of a sample are no distribution")
        found = Lanes._make(arrays[f"lanes.{name}"] for name in Lanes._fields)
        _check_lanes(found, layout)
        _check_sequel(lanes, found, arrays["actions"], arrays["lengths"])
    except PluginError as error:
        return str(error)
    return ""


def _require(is_right: bool | np.bool_, wrong: str) -> None:  # noqa: FBT001 - what is checked
    if not is_right:
        raise WrongShardError(wrong)


def _check_form(arrays: Mapping[str, NDArray[Any]], lanes: Lanes, layout: Layout) -> None:
    """Compare names, types and shapes; the numbers of matches and samples are free."""
    num, plies = lanes.actions.shape
    fixed = _named("lanes", new_lanes(num, layout.num_actions, plies)) | {"asked": np.zeros(1, np.int64)}
    samples = _named("samples", no_samples(layout.num_actions))
    ended = {
        "actions": np.zeros((0, plies), np.int16),
        "lengths": np.zeros(0, np.int64),
        "outcomes": np.zeros(0, np.int8),
    }
    names = {*fixed, *samples, *ended}
    _require(set(arrays) == names, f"it has arrays {', '.join(sorted(arrays))}")
    for like, is_free in ((fixed, False), (samples, True), (ended, True)):
        for name, wanted in like.items():
            array = arrays[name]
            is_right = array.dtype == wanted.dtype and array.ndim == wanted.ndim
            is_right = is_right and array.shape[is_free:] == wanted.shape[is_free:]
            _require(is_right, f"{name} is {array.dtype}{list(array.shape)}")
    for like in (samples, ended):
        _require(len({len(arrays[name]) for name in like}) == 1, "its arrays have different lengths")
    _require(arrays["asked"][0] >= 0, "it asked for a negative number of positions")


def _named(prefix: str, arrays: Lanes | Samples) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{name}": array for name, array in arrays._asdict().items()}


def _retraced(actions: NDArray[np.int16], lengths: NDArray[np.int64], layout: Layout) -> Retraced:
    own, opp, last = (np.zeros((len(lengths), actions.shape[1] + 1), np.uint64) for _ in range(3))
    found = Retraced(own, opp, last, np.zeros(len(lengths), np.int8))
    retrace(actions, lengths, layout, found)
    return found


def _check_matches(arrays: Mapping[str, NDArray[Any]], samples: Samples, layout: Layout) -> None:
    """Replay the matches that ended; the samples must be positions of theirs, in order."""
    actions, lengths = arrays["actions"], arrays["lengths"]
    _require(((lengths >= 1) & (lengths <= actions.shape[1])).all(), "a match has an impossible length")
    found = _retraced(actions, lengths, layout)
    _require(np.isin(found.ends, (WON, DRAWN)).all(), "a match has an illegal action or no end")
    # The first player makes the last move of a match with an odd number of moves.
    by_rules = np.where(found.ends == WON, np.where(lengths % 2, 1, -1), 0)
    _require((arrays["outcomes"] == by_rules).all(), "a match has another result by the rules")
    # The number of stones is the ply of the position.
    plies = np.bitwise_count(samples.own | samples.opp).astype(np.int64)
    rows = np.array(_matches_of(plies.tolist(), lengths.tolist()), np.int64)
    for name in ("own", "opp", "last"):
        positions = getattr(found, name)[rows, plies]
        _require((positions == getattr(samples, name)).all(), "a sample is no position of its match")


def _matches_of(plies: list[int], lengths: list[int]) -> list[int]:
    """Return the match of each sample, given the number of stones of each.

    The last action of a match is always searched, so it has the last sample of that match.

    Raises:
        WrongShardError: the samples are not those of the matches, in order.
    """
    rows: list[int] = []
    before = -1
    match = 0
    for ply in plies:
        is_right = match < len(lengths) and before < ply < lengths[match]
        _require(is_right, "the samples are not those of its matches, in order")
        rows.append(match)
        before = ply
        if ply == lengths[match] - 1:
            match, before = match + 1, -1
    _require(match == len(lengths), "the samples are not those of its matches, in order")
    return rows


def _check_searches(found: Samples, layout: Layout) -> None:
    """Check that policies of samples are distributions over legal actions, with a weight of 0 or 1."""
    policies = found.policies.astype(np.float32)
    _require(_are_shares(policies), "a policy is no distribution")
    barred = count_barred(found.own, found.opp, policies, layout)
    _require(not barred, "a policy gives an illegal action a chance")
    _require(np.isin(found.weights, (0, 1)).all(), "a policy has a weight other than 0 and 1")


def _are_shares(rows: NDArray[np.float32]) -> bool:
    """Return whether all rows, `[n, k]`, have no negative number and the sum 1."""
    return bool((rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) <= _ROUNDING).all())


def _check_lanes(lanes: Lanes, layout: Layout) -> None:
    """Replay the matches in progress, and check their stored searches, which become samples later."""
    most = lanes.actions.shape[1]
    is_right = (lanes.mixed >= 0) & (lanes.mixed <= lanes.ply) & (lanes.ply < most)
    _require(is_right.all(), "a match in progress has an impossible length")
    found = _retraced(lanes.actions, lanes.ply, layout)
    _require((found.ends == GOING).all(), "a match in progress has an illegal action or is over")
    rows, searched = np.arange(len(lanes.ply)), lanes.searched
    for name in ("own", "opp", "last"):
        positions = getattr(found, name)[rows, lanes.ply]
        _require((positions == getattr(lanes, name)).all(), "a match in progress has another position")
    ahead = any(row[ply:].any() for row, ply in zip(searched, lanes.ply.tolist(), strict=True))
    _require(not ahead, "a match in progress was searched ahead")
    values = lanes.values[searched]
    _require((np.abs(values) <= 1 + _ROUNDING).all(), "a value of a match in progress is not in [-1, 1]")
    own, opp, last = (array[:, :most][searched] for array in (found.own, found.opp, found.last))
    policies, weights = lanes.policies[searched], lanes.weights[searched]
    none = np.zeros((len(own), 3), np.float32)
    _check_searches(Samples(own, opp, last, policies, weights, none), layout)


def _check_sequel(given: Lanes, found: Lanes, actions: NDArray[np.int16], lengths: NDArray[np.int64]) -> None:
    """Check that each match in progress that the shard was given went on with the same start, or has ended.

    Args:
        given: the matches in progress before the shard.
        found: those after it.
        actions: the matches that ended, `[matches, plies]`.
        lengths: their lengths, `[matches]`.
    """
    plies = np.arange(int(actions.shape[1]))
    played: NDArray[np.bool_] = plies < given.ply[:, None]
    went_on: NDArray[np.bool_] = found.ply > given.ply
    for name in ("actions", "searched", "weights", "values", "policies"):
        is_kept = getattr(found, name) == getattr(given, name)
        went_on &= (is_kept.reshape(*played.shape, -1).all(axis=2) | ~played).all(axis=1)
    # Its lane plays another match now, so it is among those that ended. By length, because of each length the
    # starts of all matches are compared at once.
    for ply in np.unique(given.ply[~went_on & (given.ply > 0)]).tolist():
        starts = {row[:ply].tobytes() for row in actions[lengths > ply]}
        lost = [
            row for row in given.actions[~went_on & (given.ply == ply), :ply] if row.tobytes() not in starts
        ]
        _require(not lost, "a match in progress neither went on nor ended")
