"""Computes shards in the process of a slot: fetches their blobs, calls the function, sends the result."""

from __future__ import annotations

import traceback
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ArenaError, PluginError
from arena.executor.cluster.contents import SpoiltError
from arena.executor.cluster.messages import PIECE, Spoilt
from arena.executor.shards import ShardCall, blob_hash, call_shard

if TYPE_CHECKING:
    from arena.executor.cluster.messages import RunShard
    from arena.executor.cluster.slot_link import SlotLink

_MAX_KEPT: Final = 256 << 20
"""Bytes of blobs that a slot keeps in memory; the least recently used ones are dropped first."""
_TRIES: Final = 2
"""Attempts to fetch a blob; the second one bypasses the hub's cache."""
_LINE: Final = 500


class ShardRunner:
    """The shards of a slot, one after the other."""

    def __init__(self, link: SlotLink, *, has_gpu: bool) -> None:
        """Start without blobs.

        Args:
            link: the connection of the slot.
            has_gpu: whether the slot has a GPU of its own.
        """
        self._link = link
        self._has_gpu = has_gpu
        self._blobs: OrderedDict[str, bytes] = OrderedDict()

    def run(self, shard: RunShard) -> None:
        """Compute a shard and send its result, or why there is none; return it uncomputed after a stop."""
        link, task = self._link, shard.task
        if link.must_stop():
            link.finish_shard()
            return
        if task.device == "any" and not self._has_gpu:
            task = msgspec.structs.replace(task, device="cpu")
        try:
            blobs = tuple(self._blob(*each) for each in task.blobs)
            result = call_shard(ShardCall(task, blobs))
        except (PluginError, ModuleNotFoundError) as error:
            link.finish_shard(lack=_line(error))
        except ArenaError as error:
            # A blob did not come, which after a stop says nothing about this machine.
            link.finish_shard(failure="" if link.must_stop() else _line(error))
        except Exception as error:  # noqa: BLE001 - the coordinator decides what follows from any exception
            traceback.print_exc()
            link.finish_shard(failure=_line(error))
        else:
            link.deliver_shard(result)
            link.finish_shard(sha256=blob_hash(result))

    def _blob(self, sha256: str, size: int) -> bytes:
        """Return a blob; fetch it if it is not kept.

        Raises:
            ArenaError: it does not come, or is damaged in transit twice.
        """
        if sha256 in self._blobs:
            self._blobs.move_to_end(sha256)
            return self._blobs[sha256]
        for _ in range(_TRIES):
            pieces = range(-(-size // PIECE))
            data = b"".join(self._link.ask_piece(sha256, piece) for piece in pieces)
            if blob_hash(data) == sha256:
                self._keep(sha256, data)
                return data
            self._link.say(Spoilt(sha256))
        raise SpoiltError(f"blob {sha256[:8]} was damaged in transit")

    def _keep(self, sha256: str, data: bytes) -> None:
        self._blobs[sha256] = data
        while len(self._blobs) > 1 and sum(map(len, self._blobs.values())) > _MAX_KEPT:
            self._blobs.popitem(last=False)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_LINE] if not isinstance(error, ArenaError) else str(error)
