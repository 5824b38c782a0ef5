"""Bots that are kept in their present state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.errors import PluginError, StoreError
from arena.shelf import kept as shelf
from arena.shelf.kept import KeptBot, drop_kept, find_kept, keep_bot, kept_bots, last_other
from arena_db.records import BotRecord

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up an empty home, and a clock that advances by a second at each reading."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path))
    times = iter(range(1, 1000))
    monkeypatch.setattr(shelf.time, "time", lambda: float(next(times)))


def _record(digit: str, *, version: str = "0.1.0", spec: str = "my-bot", content: str = "") -> BotRecord:
    return BotRecord(
        identity=digit * 64,
        name=spec.partition(":")[0],
        spec=spec,
        distribution="my-bots",
        version=version,
        files="{}",
        content=content or digit * 64,
    )


def test_nothing_is_kept_at_first() -> None:
    assert kept_bots() == []
    assert last_other(_record("a")) is None
    assert find_kept("my-bot", "0.1.0", {}) is None


def test_the_last_other_bot_of_the_name() -> None:
    one, two, stranger = _record("a"), _record("b"), _record("c", spec="other")
    keep_bot(one)
    keep_bot(two)
    keep_bot(stranger)
    assert [kept.record for kept in kept_bots()] == [stranger, two, one]
    assert last_other(two) == KeptBot(record=one, kept_at=1.0)
    assert last_other(one) == KeptBot(record=two, kept_at=2.0)
    third = last_other(_record("d"))
    assert third is not None
    assert third.record == two
    # Keeping it again makes it the bot that was kept last.
    keep_bot(one)
    newest = last_other(_record("d"))
    assert newest is not None
    assert newest.record == one
    assert len(kept_bots()) == 3


def test_a_spec_finds_it_by_version_or_by_digits() -> None:
    one, two = _record("a"), _record("b", version="0.2.0", spec="my-bot:depth=4")
    keep_bot(one)
    keep_bot(two)
    for version in ("0.1", "0.1.0", "aaaa", "AAAAAAAA", "0.1.0+aaaa"):
        found = find_kept("my-bot", version, {})
        assert found is not None
        assert found.record == one
    found = find_kept("my-bot", "bbbb", {"depth": "4"})
    assert found is not None
    assert found.address == "my-bot@bbbbbbbb:depth=4"
    assert find_kept("my-bot", "bbbb", {"depth": "5"}) is None
    assert find_kept("my-bot", "aaa", {}) is None
    assert find_kept("my-bot", "0.3", {}) is None
    assert find_kept("my", "aaaa", {}) is None


def test_several_that_fit_are_named() -> None:
    keep_bot(_record("a", spec="my-bot:depth=2", content="f" * 64))
    keep_bot(_record("b", spec="my-bot:depth=4", content="f" * 64))
    with pytest.raises(PluginError, match="fits 2 kept bots; write one of my-bot@ffffffff:depth=4, my-bot@"):
        find_kept("my-bot", "ffff", {})
    assert find_kept("my-bot", "ffff", {"depth": "2"}) is not None


def test_a_bot_that_is_kept_no_more(tmp_path: Path) -> None:
    kept = keep_bot(_record("a"))
    drop_kept(kept)
    drop_kept(kept)
    assert kept_bots() == []
    assert list((tmp_path / "kept").iterdir()) == []


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    keep_bot(_record("a"))
    (tmp_path / "kept" / "b.json").write_text("{")
    (tmp_path / "kept" / "c.json").write_text('{"record": 3}')
    assert [kept.record.identity for kept in kept_bots()] == ["a" * 64]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot write .*kept"):
        keep_bot(_record("a"))
    with pytest.raises(StoreError, match="cannot write"):
        drop_kept(KeptBot(record=replace(_record("a")), kept_at=0.0))
