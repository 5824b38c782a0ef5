"""Shards: calls of a trainer's function with pure data, in any process of any machine."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import msgspec

from arena.errors import PluginError
from arena.garbage import collect_as_usual
from arena_plugins.entries import TRAINERS, find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    ShardFunction = Callable[[bytes, Sequence[bytes], str], bytes]

MAX_SHARD: Final = 48 << 20
"""Maximum bytes of the data of a shard, which is sent in one message of at most 64 MiB."""
MAX_RESULT: Final = 1 << 30
"""Maximum bytes of the result of a shard, which the run holds in memory as a whole."""


class ShardTask(msgspec.Struct, frozen=True, array_like=True):
    """One call, as it is sent to a slot; the blobs it uses are named by their hashes."""

    trainer: str
    """Name of the trainer's entry point."""
    function: str
    """`module:name`."""
    data: bytes
    """First argument of the function."""
    blobs: tuple[tuple[str, int], ...]
    """SHA-256 in hex and number of bytes of each blob."""
    device: str
    """cpu, cuda or any."""
    label: str
    """Names the shard in messages."""


class ShardCall(NamedTuple):
    """A task with its blobs."""

    task: ShardTask
    blobs: tuple[bytes, ...]


def blob_hash(data: bytes) -> str:
    """Return the SHA-256 of a blob in hex, which identifies it."""
    return hashlib.sha256(data).hexdigest()


def find_function(trainer: str, function: str) -> ShardFunction:
    """Return the function of a shard.

    The check of the package is not a security boundary: a peer with a key can run any code. It only keeps a
    faulty message from calling a function that was not meant to be a shard.

    Raises:
        PluginError: the trainer is not installed, or the function is not one of its package.
    """
    entry = find(TRAINERS, trainer)
    module, _, name = function.partition(":")
    own = entry.value.partition(":")[0].partition(".")[0]
    if module.partition(".")[0] != own or not name.isidentifier():
        raise PluginError(f"the trainer {trainer} cannot call {function}: it is no function of {own}")
    try:
        found = vars(importlib.import_module(module)).get(name)
    except ImportError as error:
        raise PluginError(f"the trainer {trainer} cannot import {module}: {error}") from error
    if not inspect.isfunction(found) or found.__module__ != module:
        raise PluginError(f"the trainer {trainer} has no function {function}")
    return found


def call_shard(call: ShardCall) -> bytes:
    """Compute a shard in this process.

    Raises:
        PluginError: it cannot be computed here.
        TypeError: the function returns something else than bytes.
        Exception: as the function raises.
    """
    task = call.task
    compute = find_function(task.trainer, task.function)
    collect_as_usual()
    # A function of a plugin, which may return anything.
    result = cast("object", compute(task.data, call.blobs, task.device))
    if not isinstance(result, bytes):
        raise TypeError(f"{task.function} returned {type(result).__name__}, not bytes")
    if len(result) > MAX_RESULT:
        raise ValueError(f"{task.label} has a result of {len(result) >> 20} MiB")
    return result
