"""Shards on worker machines: real slots on this machine, one of which is killed while it plays."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

import held_play
from arena.cli.train import TrainingView
from arena.executor.cluster.coordinator_link import ask_status
from arena.executor.cluster.facts import wanted_of_shards
from arena.executor.cluster.messages import PIECE
from arena.executor.cluster.private import PrivateCluster
from arena.executor.cluster.sent_work import SentWork
from arena.executor.cluster.setups import BUSY, CONNECTED, FREE, PLAYED
from arena.executor.cluster.shard_run import ClusterShards
from arena.executor.shards import ShardCall, ShardTask, blob_hash
from arena.executor.slots import ShardFailedError, UnplayedError, WorkerLostError, WrongResultError
from arena.training import context
from arena.training import training_session as session
from arena.training.runs import RunSettings
from arena_bots.alphazero.train import players
from arena_bots.alphazero.train.players import find_wrong
from rogue_slots import honest, rogue
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from arena.coordinator.machines import ShardPlan
    from arena.games.kernels.layout import Layout
    from arena_bots.alphazero.train.games import Lanes

DEADLINE_S = 120.0
WORDS = {BUSY, CONNECTED, FREE, PLAYED}
OPTIONS = {
    "net": "1x4",
    "lanes": "8",
    "moves": "6",
    "simulations": "6",
    "small": "3",
    "batch": "16",
    "steps": "5",
    "test_every": "0",
    "processes": "4",
    "window_most": "500",
    "window_least": "50",
}


def await_true(is_true: Callable[[], object], what: str) -> None:
    ends_at = time.monotonic() + DEADLINE_S
    while not is_true():
        assert time.monotonic() < ends_at, what
        time.sleep(0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shards")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[PrivateCluster]:
    """Run a cluster whose slots know the trainer `held`."""
    with pytest.MonkeyPatch.context() as patch:
        held_play.install(patch, folder / "site")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder / "site"), str(ROOT / "tests" / "support")]))
        patch.setenv("ARENA_HOME", str(folder / "home"))
        patch.setenv(held_play.FOLDER, str(folder))
        with closing(PrivateCluster(2, folder)) as found:
            patch.delenv(held_play.FOLDER)
            yield found


@contextmanager
def joined(cluster: PrivateCluster, device: str = "cpu", *, slots: int = 2) -> Generator[ClusterShards]:
    """Connect a training to a cluster, and wait for its slots."""
    wanted = wanted_of_shards("held", "tic-tac-toe", device)
    with closing(ClusterShards(cluster.place, wanted, resume_command="arena train --resume x")) as pool:
        await_true(lambda: len(pool.slots()) >= slots, "slots do not join")
        yield pool


@pytest.fixture
def pool(cluster: PrivateCluster) -> Iterator[ClusterShards]:
    with joined(cluster) as found:
        yield found


def call(data: bytes, *blobs: bytes, device: str = "cpu") -> ShardCall:
    named = tuple((blob_hash(blob), len(blob)) for blob in blobs)
    return ShardCall(ShardTask("held", "held_play:echo", data, named, device, "a shard"), blobs)


def test_blobs_and_results_of_several_pieces_come_whole(pool: ClusterShards) -> None:
    blobs = bytes(range(256)) * (PIECE // 256) + b"rest", b"", b"small"
    for slot in pool.slots():
        for _ in range(2):
            result = pool.submit(call(b"data", *blobs), slot).result(DEADLINE_S)
            assert result == b"|".join([b"data", *blobs, b"cpu"])


class WatchedWork(dict[int, SentWork]):
    """Work of a run that records whether the lock was held at each removal."""

    def __init__(self, lock: threading.Lock) -> None:
        super().__init__()
        self._lock = lock
        self.were_locked: list[bool] = []

    @override
    def __delitem__(self, number: int, /) -> None:
        self.were_locked.append(self._lock.locked())
        super().__delitem__(number)


def test_work_is_removed_only_under_the_lock(pool: ClusterShards, monkeypatch: pytest.MonkeyPatch) -> None:
    # `submit` iterates over the work in another thread than the connection's, which removes from it.
    work = WatchedWork(pool._lock)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - two threads cannot be made to meet there
    monkeypatch.setattr(pool, "_work", work)
    slot = pool.slots()[0]
    assert pool.submit(call(b"data", b"blob"), slot).result(DEADLINE_S) == b"data|blob|cpu"
    assert isinstance(pool.submit(call(b"fail"), slot).exception(DEADLINE_S), ShardFailedError)
    assert work.were_locked == [True, True]
    assert not work


def test_a_slot_without_a_gpu_computes_on_its_processor(cluster: PrivateCluster) -> None:
    with joined(cluster, "any") as pool:
        assert pool.submit(call(b"a", device="any"), pool.slots()[0]).result(DEADLINE_S) == b"a|cpu"


def test_an_exception_is_told_and_the_slot_goes_on(pool: ClusterShards) -> None:
    slot = pool.slots()[0]
    error = pool.submit(call(b"fail"), slot).exception(DEADLINE_S)
    assert isinstance(error, ShardFailedError)
    assert str(error) == "ValueError: failed on purpose"
    assert pool.submit(call(b"a"), slot).result(DEADLINE_S) == b"a|cpu"


@pytest.mark.usefixtures("cluster")  # which knows the trainer
def test_programs_of_a_shard_do_not_read_the_orders_to_the_slot(tmp_path: Path) -> None:
    with closing(PrivateCluster(1, tmp_path)) as own, joined(own, slots=1) as pool:
        task = ShardTask("held", "held_play:listen", b"", (), "cpu", "a shard")
        assert pool.submit(ShardCall(task, ()), pool.slots()[0]).result(DEADLINE_S) == b"''\n"


def test_a_slot_that_dies_by_the_work_of_another_run_loses_no_shard_that_waits(
    cluster: PrivateCluster, folder: Path
) -> None:
    with joined(cluster) as ours, joined(cluster) as theirs:
        slot = ours.slots()[0]
        lingers = ShardTask("held", "held_play:linger", b"", (), "cpu", "a shard")
        running = theirs.submit(ShardCall(lingers, ()), slot)
        await_true((folder / "lingers").exists, "their shard does not begin")
        waiting = ours.submit(call(b"a"), slot)
        # It does not end by itself, so the slot ends with it.
        theirs.abort()
        assert isinstance(waiting.exception(DEADLINE_S), UnplayedError)
        assert isinstance(running.exception(DEADLINE_S), WorkerLostError)


def test_after_a_stop_no_shard_begins(pool: ClusterShards) -> None:
    pool.stop()
    assert isinstance(pool.submit(call(b"a"), pool.slots()[0]).exception(DEADLINE_S), UnplayedError)
    pool.go()
    assert pool.submit(call(b"a"), pool.slots()[0]).result(DEADLINE_S) == b"a|cpu"


def test_a_machine_that_lacks_a_library_is_refused(cluster: PrivateCluster, pool: ClusterShards) -> None:
    future = pool.submit(call(b"lack"), pool.slots()[0])
    assert isinstance(future.exception(DEADLINE_S), UnplayedError)
    assert pool.slots() == []
    (machine,) = ask_status(cluster.place)
    assert (machine.state, machine.note) == ("refused", "ModuleNotFoundError: No module named 'nowhere'")


def test_a_slot_that_lies_is_not_believed(
    cluster: PrivateCluster, pool: ClusterShards, tmp_path: Path
) -> None:
    with rogue(cluster, tmp_path) as slot:
        await_true(lambda: slot in pool.slots(), "the rogue does not join")
        for vice, words in ((b"hash", "damaged in transit"), (b"order", "came as number 0")):
            error = pool.submit(call(vice), slot).exception(DEADLINE_S)
            assert isinstance(error, WrongResultError)
            assert words in str(error)
            assert error.slot == slot


def test_a_slot_tells_its_supervisor_when_it_works(
    cluster: PrivateCluster, pool: ClusterShards, tmp_path: Path
) -> None:
    with honest(cluster, tmp_path) as (slot, process):
        await_true(lambda: slot in pool.slots(), "the slot does not join")
        for data in (b"fail", b"a"):
            pool.submit(call(data), slot).exception(DEADLINE_S)
        # The output ends with the process; SIGTERM lets the process finish.
        process.terminate()
        assert process.stdout is not None
        said = [line for line in process.stdout.read().splitlines() if line in WORDS]
    assert said == [CONNECTED, BUSY, PLAYED, FREE, BUSY, FREE]


@pytest.mark.usefixtures("cluster")  # which knows the trainer
def test_a_slot_that_hears_no_signal_ends_with_its_supervisor(tmp_path: Path) -> None:
    with closing(PrivateCluster(1, tmp_path)) as own, joined(own, slots=1) as pool:
        deaf = call(b"a")._replace(task=ShardTask("held", "held_play:deafen", b"a", (), "cpu", "a shard"))
        assert pool.submit(deaf, pool.slots()[0]).result(DEADLINE_S) == b"a|cpu"
        os.kill(own.pids[1], signal.SIGTERM)
        await_true(lambda: "ended with 0" in own.find_death(), "the supervisor waits for its slot")


class BrokenOffError(BaseException):
    """The training ends here, without a chance to save anything."""


def trained(
    folder: Path, patch: pytest.MonkeyPatch, cluster: PrivateCluster | None, *, most: int = 1000
) -> tuple[bytes, list[str], list[str]]:
    """Train five steps, or resume; return the weights, the hashes of the samples, and the output.

    Raises:
        BrokenOffError: with the hashes so far, after the samples of `most` shards have come.
    """
    folder.mkdir(exist_ok=True)
    hashes: list[str] = []
    view = TrainingView(quiet=False, live=None)
    said: list[str] = []

    def look(result: bytes, lanes: Lanes, layout: Layout) -> str:
        if len(hashes) == most:
            raise BrokenOffError(hashes)
        hashes.append(blob_hash(result))
        return find_wrong(result, lanes, layout)

    def open_here(plan: ShardPlan, device: str, _: Path) -> ClusterShards:
        assert cluster is not None
        wanted = wanted_of_shards(plan.trainer, plan.game, device)
        return ClusterShards(cluster.place, wanted, resume_command="arena train --resume x")

    patch.setattr(players, "find_wrong", look)
    patch.setattr(players, "PLAY", "held_play:hold")
    patch.setattr(session, "open_shards", open_here)
    patch.setattr(view, "say", said.append)
    settings = RunSettings(
        trainer="held",
        options=OPTIONS,
        game="tic-tac-toe",
        seed=3,
        executor="inline" if cluster is None else None,
        cluster=None if cluster is None else "local:2",
    )
    product = session.sit(folder, settings, view)
    return product.weights.read_bytes(), sorted(hashes), said


def test_a_killed_slot_changes_no_sample_and_no_weight(
    cluster: PrivateCluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, samples, _ = trained(tmp_path / "here", monkeypatch, None)
    assert len(samples) == 5 * 4
    signed = folder / "pid"

    def strike() -> None:
        await_true(signed.exists, "no shard waits")
        os.kill(int(signed.read_text()), signal.SIGKILL)

    striking = threading.Thread(target=strike)
    striking.start()
    there, theirs, said = trained(tmp_path / "there", monkeypatch, cluster)
    striking.join()
    assert any(text.endswith("of step 1 is computed again: its slot died") for text in said)
    assert theirs == samples
    assert there == here


def test_a_broken_off_training_goes_on_with_the_same_samples(
    cluster: PrivateCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "EVERY_S", 0.0)
    here, samples, _ = trained(tmp_path / "here", monkeypatch, None)
    there = tmp_path / "there"
    # In the middle of the third step, which has four shards.
    with pytest.raises(BrokenOffError) as broken:
        trained(there, monkeypatch, cluster, most=9)
    weights, later, _ = trained(there, monkeypatch, cluster)
    assert len(later) == 3 * 4
    assert sorted({*broken.value.args[0], *later}) == sorted(samples)
    assert weights == here
