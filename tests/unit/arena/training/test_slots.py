"""The slots of a training: early refusals, options stored with a run, and loaded modules."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import held_play
from arena.cli.train import TrainingView
from arena.errors import ArenaError, ConfigError
from arena.training import metrics
from arena.training.context import Context, RunObservers, ShardSlots, TrainingRun
from arena.training.runs import RunSettings
from arena.training.stopping import RunOrders
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command_line import CommandLine

NOWHERE = "tls://127.0.0.1:1"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--executor", "spark"), "is none of local, inline and dask:tls://HOST:PORT"),
        (("--executor", "dask:http://127.0.0.1:1"), "not the address of a scheduler; write tls://HOST:PORT"),
        (("--executor", f"dask:{NOWHERE}"), "needs --keys FILE"),
        (("--executor", "dask:tcp://127.0.0.1:1"), "nothing answers at tcp://127.0.0.1:1"),
        (("--cluster", "local:0"), "is not valid; write local:N"),
        (("--cluster", "local:1", "--executor", f"dask:{NOWHERE}"), "name two clusters"),
    ],
)
def test_what_cannot_be_is_refused_before_a_run_begins(
    arena: CommandLine, runs: Path, words: tuple[str, ...], complaint: str
) -> None:
    refused = arena("train", "weigher", *words, status=2)
    assert complaint in " ".join(refused.stderr.split())
    assert not runs.exists()


def test_without_the_extra_the_next_step_is_told(arena: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.machines._NEEDED", ("no_such_library",))
    refused = arena("train", "weigher", "--cluster", "local:1", status=2)
    assert "pip install 'bot-arena[cluster]'" in " ".join(refused.stderr.split())


def test_a_run_keeps_where_it_plays_until_another_place_is_given(arena: CommandLine, runs: Path) -> None:
    def kept() -> dict[str, object]:
        settings = tomllib.loads((runs / "w" / "run.toml").read_text())
        return {key: settings[key] for key in ("executor", "cluster", "keys") if key in settings}

    arena("train", "weigher", "steps=9", "--name", "w", "--budget", 1e-9, "--quiet")
    assert kept() == {}
    # The budget of the run is used up, but its options stay stored.
    arena("train", "--resume", "w", "--executor", "inline", "--quiet", status=2)
    assert kept() == {"executor": "inline"}
    arena("train", "--resume", "w", "--cluster", "local:0", "--quiet", status=2)
    assert kept() == {"executor": "inline"}
    arena("train", "--resume", "w", "--executor", "local", "--budget", 1000, "--quiet")
    assert kept() == {"executor": "local"}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("words", "has_slots"), [((), False), (("--executor", "inline"), True)])
def test_a_trainer_learns_whether_a_place_was_chosen(
    arena: CommandLine, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], *, has_slots: bool
) -> None:
    seen: set[bool] = set()
    tick = Context.tick

    def note(context: Context, *given: Any) -> bool:  # noqa: ANN401 - as they are
        seen.add(context.has_slots)
        return tick(context, *given)

    monkeypatch.setattr(Context, "tick", note)
    arena("train", "weigher", "steps=3", "--quiet", *words)
    assert seen == {has_slots}


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Yield the context of a run that computes shards in this process."""
    held_play.install(monkeypatch, tmp_path / "more")
    folder = tmp_path / "r"
    folder.mkdir()
    with metrics.MetricsWriter(folder) as file:
        yield Context(
            TrainingRun(RunSettings(trainer="held", seed=1, executor="inline"), folder, make("tic-tac-toe")),
            RunObservers(file, TrainingView(quiet=True, live=None), RunOrders(folder)),
            db=None,
            slots=ShardSlots(are_chosen=True),
        )


def test_inline_shards_are_done_at_once(context: Context) -> None:
    future = context.remote("held_play:echo", b"a", blobs=(b"b",), device="any")
    assert future.done()
    assert future.result() == b"a|b|any"
    with pytest.raises(ArenaError, match="shard 7: too short"):
        context.remote("held_play:echo", b"a", device="any", label="shard 7", check=lambda _: "too short")
    with pytest.raises(ValueError, match="failed on purpose"):
        context.remote("held_play:echo", b"fail", device="any")


def test_what_cannot_be_sent_is_refused(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    context.remote("held_play:echo", b"a")
    with pytest.raises(ConfigError, match="a shard is for device cuda, but shards before it were for cpu"):
        context.remote("held_play:echo", b"a", device="cuda")
    monkeypatch.setattr("arena.training.context.MAX_SHARD", 3)
    with pytest.raises(ConfigError, match="make more, smaller shards"):
        context.remote("held_play:echo", b"four")
