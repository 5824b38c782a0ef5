"""The functions that a shard may name, and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import held_play
from arena.errors import PluginError
from arena.executor import shards
from arena.executor.shards import ShardCall, ShardTask, blob_hash, call_shard, find_function

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    held_play.install(monkeypatch, tmp_path / "site")


def call(data: bytes, *blobs: bytes) -> ShardCall:
    named = tuple((blob_hash(blob), len(blob)) for blob in blobs)
    return ShardCall(ShardTask("held", "held_play:echo", data, named, "any", "a shard"), blobs)


def test_a_function_gets_its_data_its_blobs_and_its_device() -> None:
    assert call_shard(call(b"a", b"b", b"c")) == b"a|b|c|any"


def test_a_bundled_trainer_has_its_function() -> None:
    assert find_function("alphazero", "arena_bots.alphazero.train.shards:play_shard").__name__ == "play_shard"


@pytest.mark.parametrize(
    ("trainer", "function", "complaint"),
    [
        ("nobody", "held_play:echo", 'no trainer "nobody"'),
        ("held", "os:system", "it is no function of held_play"),
        ("held", "held_playing:echo", "it is no function of held_play"),
        ("alphazero", "arena.own:own_python", "it is no function of arena_bots"),
        ("held", "held_play", "it is no function of held_play"),
        ("held", "held_play:os.kill", "it is no function of held_play"),
        ("held", "held_play:_NOT_HERE", "has no function"),
        ("held", "held_play:FOLDER", "has no function"),
        ("held", "held_play:missing", "has no function"),
        ("held", "held_play.missing:echo", "cannot import held_play.missing"),
    ],
)
def test_other_functions_are_refused(trainer: str, function: str, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        find_function(trainer, function)


def test_a_result_is_bytes() -> None:
    named = ShardTask("held", "held_play:name_device", b"", (), "any", "a shard")
    with pytest.raises(TypeError, match="held_play:name_device returned str, not bytes"):
        call_shard(ShardCall(named, ()))


def test_a_result_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_RESULT", 4)
    with pytest.raises(ValueError, match="a shard has a result of"):
        call_shard(call(b"abcd"))
