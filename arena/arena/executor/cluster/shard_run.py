"""The shards of a run on worker machines: sent to chosen slots, their results put together and verified."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from arena.executor.cluster.messages import (
    PIECE,
    Begun,
    ContentPiece,
    RunShard,
    ShardOver,
    ShardPart,
    ToSlot,
    encode,
)
from arena.executor.cluster.run_link import ClusterRun
from arena.executor.cluster.sent_work import SentWork
from arena.executor.shards import MAX_RESULT
from arena.executor.slots import ShardFailedError, UnplayedError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from arena.executor.cluster.facts import Wanted
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import SlotSays, Want
    from arena.executor.cluster.private import PrivateCluster
    from arena.executor.shards import ShardCall
    from arena.executor.slots import Slot

_KEPT_BLOBS: Final = 8
"""Number of blobs kept for slots that ask for them, besides those of running shards."""


class _SentShard(SentWork):
    """A shard at a slot, with the part of its result that has arrived."""

    def __init__(self, number: int, slot: Slot, blobs: Sequence[str]) -> None:
        super().__init__(number, slot)
        self.blobs = blobs
        self.parts: list[bytes] = []
        self.size = 0
        self.digest = hashlib.sha256()
        self.has_begun = False

    def take(self, part: ShardPart) -> str:
        """Add bytes of the result; return what is wrong with them, or an empty string."""
        # Both connections keep the order, so a gap means that the slot or the hub is at fault.
        if part.number != len(self.parts):
            return f"part {part.number} of a result came as number {len(self.parts)}"
        self.size += len(part.data)
        if self.size > MAX_RESULT:
            return f"a result of more than {MAX_RESULT >> 20} MiB"
        self.parts.append(part.data)
        # Hashed on arrival, so that the result need not be read again when the slot's hash arrives.
        self.digest.update(part.data)
        return ""

    @override
    def lose(self) -> None:
        # A slot serves several runs. If it dies while this shard waits behind the work of another run, for
        # example because that run was aborted, this shard is not to blame.
        if self.has_begun:
            super().lose()
        else:
            self.give_back()

    @override
    def give_back(self) -> None:
        self.set_exception(UnplayedError())


class ClusterShards(ClusterRun):
    """Computes shards on worker machines."""

    replays = "shards in progress are played again"

    def __init__(
        self,
        place: SchedulerPlace,
        wanted: Wanted,
        *,
        resume_command: str,
        cluster: PrivateCluster | None = None,
        expected: int = 1,
    ) -> None:
        """Connect in the background; `resume_command` continues the run. See `ClusterRun` for the rest."""
        super().__init__(place, wanted, cluster=cluster, expected=expected)
        self.resume_command = resume_command
        self._blobs: OrderedDict[str, bytes] = OrderedDict()
        self._connect()

    def submit(self, call: ShardCall, slot: Slot) -> Future[bytes]:
        """Send a shard to a slot; its future fails as those of `ShardPool`."""
        hashes = [sha256 for sha256, _ in call.task.blobs]
        with self._lock:
            self._roster.settle()
            self._num_sent += 1
            shard = _SentShard(self._num_sent, slot, hashes)
            if slot not in self._roster:
                # The slot left before it could get the shard, so the shard is not to blame.
                shard.give_back()
                return shard
            self._work[shard.number] = shard
            self._keep_blobs(dict(zip(hashes, call.blobs, strict=True)))
            self._link.send(ToSlot(slot, encode(RunShard(self._run, shard.number, call.task))))
        return shard

    def grow(self, num: int) -> None:
        """Do nothing: worker machines set their numbers of slots."""

    def _keep_blobs(self, blobs: dict[str, bytes]) -> None:
        for sha256, data in blobs.items():
            self._blobs[sha256] = data
            self._blobs.move_to_end(sha256)
        needed = {
            sha256 for work in self._work.values() if isinstance(work, _SentShard) for sha256 in work.blobs
        }
        # The next shards usually need the newest blobs, such as the present network.
        for sha256 in list(self._blobs)[:-_KEPT_BLOBS]:
            if sha256 not in needed:
                del self._blobs[sha256]

    @override
    def _forget(self, slot: Slot | None) -> None:
        """Do nothing: a slot asks for each blob that it does not have."""

    @override
    def _piece(self, want: Want) -> ContentPiece:
        with self._lock:
            data = self._blobs.get(want.content)
        if data is None:
            return ContentPiece(want.content, want.piece, b"", "it belongs to no shard of this run")
        start = want.piece * PIECE
        if not 0 <= start < max(1, len(data)):
            return ContentPiece(want.content, want.piece, b"", f"it has no piece {want.piece}")
        return ContentPiece(want.content, want.piece, data[start : start + PIECE])

    @override
    def _said(self, slot: Slot, message: SlotSays, size: int) -> None:
        if isinstance(message, ShardPart):
            # Each part is taken at once, so a slot waits only for the network.
            self._taken(size)
        if not isinstance(message, Begun | ShardPart | ShardOver) or message.run != self._run:
            return
        shard = self._work.get(message.batch)
        # Messages about shards that were lost or rejected are ignored.
        if not isinstance(shard, _SentShard) or shard.slot != slot:
            return
        if isinstance(message, Begun):
            shard.has_begun = True
            return
        wrong = ""
        if isinstance(message, ShardPart):
            wrong = shard.take(message)
            if not wrong:
                return
        # `submit` iterates over this dictionary in the thread of the run.
        with self._lock:
            del self._work[shard.number]
        if not wrong and isinstance(message, ShardOver):
            self._end(shard, message)
        else:
            shard.set_exception(WrongResultError(slot, wrong))

    def _end(self, shard: _SentShard, over: ShardOver) -> None:
        if over.lack:
            self._lacks(shard.slot, over.lack)
        if over.failure:
            shard.set_exception(ShardFailedError(over.failure))
        elif not over.sha256:
            shard.give_back()
        elif over.sha256 != shard.digest.hexdigest():
            shard.set_exception(WrongResultError(shard.slot, "its result was damaged in transit"))
        else:
            shard.set_result(b"".join(shard.parts))
