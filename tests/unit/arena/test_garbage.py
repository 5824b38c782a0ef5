"""Neither commands nor workers collect garbage at their end, and commands rarely do before they run a bot."""

from __future__ import annotations

import gc
import subprocess
from typing import TYPE_CHECKING

import pytest

import held_play
import weigher_plugin
from arena.entrants import resolve
from arena.executor.local import LocalPool
from arena.executor.shards import ShardCall, ShardTask, call_shard
from arena.executor.worker_seats import make_seat
from arena.garbage import collect_as_usual, collect_rarely
from arena.own_python import own_python
from arena.sandbox.tier import Tier
from command_line import CommandLine

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

RUN = """
import atexit, gc, sys
from arena.__main__ import main
sys.argv = ["arena", "--version"]
atexit.register(lambda: print(gc.isenabled(), gc.get_threshold()[0], gc.get_freeze_count() > 10_000))
main()
"""


@pytest.fixture
def usual() -> Generator[tuple[int, int, int]]:
    """Yield the thresholds before the test, which begins like a command."""
    before = gc.get_threshold()
    collect_rarely()
    assert gc.get_threshold() == (50_000, *before[1:])
    yield before
    gc.set_threshold(*before)


def test_a_command_looks_for_garbage_rarely_and_not_when_it_ends() -> None:
    done = subprocess.run(own_python("-c", RUN), capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert done.stdout.splitlines()[-1] == "True 50000 True"


WORK = """
import atexit, gc, pathlib
end = pathlib.Path({end!r})
atexit.register(lambda gc=gc, end=end: end.write_text(str(gc.get_freeze_count() > 10_000)))
"""


def test_a_worker_does_not_look_when_it_ends(tmp_path: Path) -> None:
    pool = LocalPool(1, tmp_path)
    pool.call(exec, WORK.format(end=str(tmp_path / "end"))).result(60)
    pool.close()
    assert (tmp_path / "end").read_text() == "True"


@pytest.mark.parametrize("tier", [Tier.T0, Tier.T1])
def test_a_process_that_plays_bots_itself_collects_as_usual(usual: tuple[int, int, int], tier: Tier) -> None:
    (bot,) = resolve(["random"], margin_ms=0)
    make_seat(bot, "tic-tac-toe", tier)
    assert (gc.get_threshold() == usual) == (tier is Tier.T0)


def test_a_process_that_computes_shards_collects_as_usual(
    usual: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held_play.install(monkeypatch, tmp_path / "site")
    call_shard(ShardCall(ShardTask("held", "held_play:echo", b"", (), "any", "a shard"), ()))
    assert gc.get_threshold() == usual


def test_a_process_that_trains_collects_as_usual(
    usual: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    weigher_plugin.install(tmp_path / "site", monkeypatch)
    CommandLine(tmp_path)("train", "weigher", "steps=1", "--recipe", "few", "--quiet")
    assert gc.get_threshold() == usual


@pytest.mark.usefixtures("usual")
def test_thresholds_that_somebody_else_chose_stay() -> None:
    gc.set_threshold(9_999, 5, 5)
    collect_as_usual()
    assert gc.get_threshold() == (9_999, 5, 5)
