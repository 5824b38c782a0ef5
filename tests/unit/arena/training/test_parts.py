"""The parts of a training run: checkpoints, metrics, curves, provenance, matches, files, the view."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from arena.cli.train import TrainingView
from arena.errors import ArenaError, ConfigError
from arena.live.run_views import is_paused
from arena.training import checkpoints, metrics
from arena.training.context import Context, RunObservers, TrainingRun
from arena.training.files import held, toml_lines, write_whole
from arena.training.runs import RunSettings
from arena.training.stopping import RunOrders, Stopped
from arena.training.training_matches import entrants_in_the_making, keep, play, stored_matches
from arena.training.training_session import Measured, provenance
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_plugins import Checkpoint, Score, TrainingMatch
from game_samples import make

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

TIC_TAC_TOE = make("tic-tac-toe")
SEATS = entrants_in_the_making("weigher", "r")
WON = TrainingMatch((0, 3, 1, 4, 2), 1)
KILLED = "import arena.training.context as c\nc.EVERY_S = 0\nfrom arena.__main__ import main\nmain()"


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    arrays = {"weights": np.linspace(0, 1, 5), "blob": np.frombuffer(b"any bytes", np.uint8)}
    checkpoints.save(tmp_path, Checkpoint(7, arrays, {"note": "x", "on": True}), 2.5)
    loaded = checkpoints.load(tmp_path)
    assert loaded is not None
    found, seconds = loaded
    assert (found.step, dict(found.facts), seconds) == (7, {"note": "x", "on": True}, 2.5)
    assert (found.arrays["weights"] == arrays["weights"]).all()
    assert found.arrays["blob"].tobytes() == b"any bytes"
    assert [path.name for path in tmp_path.iterdir()] == [checkpoints.NAME]


def test_objects_are_not_kept_and_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'x' that cannot be kept"):
        checkpoints.save(tmp_path, Checkpoint(1, {"x": np.array([object()])}, {}), 0)
    assert checkpoints.load(tmp_path) is None
    (tmp_path / checkpoints.NAME).write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(ConfigError, match="is damaged"):
        checkpoints.load(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a", "no bytes")  # pyright: ignore[reportArgumentType] # what is tested
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_run_is_held_once(tmp_path: Path) -> None:
    with held(tmp_path), pytest.raises(ConfigError, match="in use by another process"), held(tmp_path):
        pass
    with held(tmp_path):
        pass


def test_toml_survives_any_text() -> None:
    values: dict[str, str | int | float | bool] = {
        "score vs x:y=1": 'a "quoted" \\ \x7f é\n',
        "n": 3,
        "x": 0.5,
        "on": True,
    }
    assert tomllib.loads(toml_lines(values)) == values


def test_figures_that_are_no_numbers_are_null_and_cut_lines_left_out(tmp_path: Path) -> None:
    with metrics.MetricsWriter(tmp_path) as file:
        file.add(1, "loss", float("nan"))
        file.add(2, "loss", 0.25)
    with (tmp_path / metrics.NAME).open("a") as raw:
        raw.write('{"step":3,"na')
    assert [(f.step, f.value) for f in metrics.read(tmp_path)] == [(1, None), (2, 0.25)]
    with metrics.MetricsWriter(tmp_path, last_step=1) as file:
        file.add(2, "loss", 0.5)
    assert [(f.step, f.value) for f in metrics.read(tmp_path)] == [(1, None), (2, 0.5)]


def test_curves_need_figures_and_hold_many(tmp_path: Path) -> None:
    metrics.draw(tmp_path)
    assert list(tmp_path.iterdir()) == []
    charts = metrics.charts_of({"a<b": [(1, 2.0)], "loss": [(step, 1 / step) for step in range(1, 5000)]})
    picture = metrics.svg(charts)
    assert "a&lt;b" in picture
    assert picture.count("<polyline") == 4, "axes and a curve each"
    assert "4,999" in picture


def test_curves_are_drawn_as_png_too_where_pillow_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with metrics.MetricsWriter(tmp_path) as file:
        for step in range(1, 20):
            file.add(step, "loss", 1 / step)
    metrics.draw(tmp_path)
    with Image.open(tmp_path / "curves.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (960, 400))
        colours = {colour for _, colour in picture.getcolors(1 << 16) or []}
    assert {(255, 255, 255), (0x1F, 0x6F, 0xEB), (0x88, 0x88, 0x88), (0, 0, 0)} <= colours
    for path in tmp_path.glob("curves.*"):
        path.unlink()

    def absent(name: str) -> None:
        del name

    monkeypatch.setattr(metrics, "find_spec", absent)
    metrics.draw(tmp_path)
    assert [path.name for path in tmp_path.glob("curves.*")] == ["curves.svg"]


def test_provenance_tells_what_the_file_is() -> None:
    score = Score((5, 1, 4), (0, 0, 10), 19)
    told = tomllib.loads(
        provenance(b"weights", {"seed": 1}, {"alpha": "0.1"}, {"matches": 3}, [Measured("random", score, 2)])
    )
    assert told["bytes"] == 7
    [row] = told["measured"]
    assert (row["first_wins"], row["second_losses"], row["distinct"]) == (5, 10, 19)
    assert row["first_win_low"] < 50 < row["first_win_high"]
    assert score.percent == pytest.approx(27.5)


def test_bots_meet_in_pairs_from_equal_openings() -> None:
    score, played = play(TIC_TAC_TOE, ("minimax:depth=2", "random"), 20, plies=2, seed=3)
    assert sum(score.first) == sum(score.second) == 10
    assert all(a.actions[:2] == b.actions[:2] for a, b in zip(played[::2], played[1::2], strict=True))
    assert score.percent > 60
    again, _ = play(TIC_TAC_TOE, ("minimax:depth=2", "random"), 20, plies=2, seed=3)
    assert again == score


def test_kept_matches_can_be_learnt_from(arena: CommandLine) -> None:
    db = str(arena.db)
    drawn = TrainingMatch((0, 1, 2, 4, 3, 5, 7, 6, 8), 0)
    assert keep(db, TIC_TAC_TOE, SEATS, "train-r", [WON, drawn]) == 2
    assert keep(db, TIC_TAC_TOE, SEATS, "train-r", []) == 0
    # The claimed result is ignored: the rules decide who won.
    keep(db, TIC_TAC_TOE, SEATS, "train-r", [WON._replace(outcome=-1)])
    found = list(stored_matches(TIC_TAC_TOE, db))
    assert [(match.actions, match.outcome) for match in found] == [WON[:2], WON[:2], drawn[:2]]
    assert all(len(match.match_hash) == 64 for match in found)
    assert list(stored_matches(make("connect-four"), db)) == []
    assert "no stored match fits" in arena("leaderboard", status=2).stderr
    with Store.open(arena.db) as store:
        assert store.matches.newest(MatchFilter()) == [], "none is rated"
        assert len(store.matches.newest(MatchFilter(rated_only=False))) == 3


@pytest.mark.parametrize("actions", [(0, 1, 2), (0, 0), (0, 9)])
def test_what_is_no_match_is_not_stored(arena: CommandLine, actions: tuple[int, ...]) -> None:
    with pytest.raises(ArenaError):
        keep(str(arena.db), TIC_TAC_TOE, SEATS, "x", [WON, TrainingMatch(actions, 0)])
    assert not arena.db.exists()


def test_files_of_the_run_itself_are_not_written_over(tmp_path: Path) -> None:
    with metrics.MetricsWriter(tmp_path) as file:
        context = Context(
            TrainingRun(RunSettings(trainer="weigher", seed=1), tmp_path, TIC_TAC_TOE),
            RunObservers(file, TrainingView(quiet=True, live=None), RunOrders(tmp_path)),
            db=None,
        )
        assert context.write("weights-1.npz", b"x").read_bytes() == b"x"
        for name in ("run.toml", "../x", "", checkpoints.NAME):
            with pytest.raises(ConfigError, match="cannot be the name of a file"):
                context.write(name, b"x")


def test_plain_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter(range(0, 1000, 4))
    view = TrainingView(quiet=False, live=None, clock=lambda: float(next(seconds)))
    for step in range(1, 8):
        view.figure(metrics.Figure(step, "loss", 1 / step, 0.0))
        view.progress(step, 10, 2.0 * step)
    view.say("done\x1b[31m")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "step 3/10 (30%)  0.5/s  ETA 0:00:14  loss 0.3333"
    assert len(lines) == 3
    assert lines[-1] == "done[31m"


@pytest.mark.usefixtures("arena")
def test_a_killed_run_goes_on_at_its_last_checkpoint(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    env = {
        **os.environ,
        "PYTHONPATH": str(arena.folder / "site"),
        "ARENA_HOME": str(runs.parent),
        "ARENA_DB": str(arena.db),
    }
    command = [
        sys.executable,
        "-c",
        KILLED,
        "train",
        "weigher",
        "kill-at=9",
        "--recipe",
        "few",
        "--name",
        "r",
    ]
    killed = subprocess.run(command, env=env, timeout=120, check=False, capture_output=True)  # noqa: S603 - our own command
    assert killed.returncode == -signal.SIGKILL
    assert not (runs / "r" / "weights.npz").exists()
    arena("train", "--resume", "r")
    assert (runs / "r" / "weights.npz").read_bytes() == (runs / "whole" / "weights.npz").read_bytes()
    assert [figure.step for figure in metrics.read(runs / "r")] == list(range(1, 13))
    told = tomllib.loads((runs / "r" / "weights.provenance.toml").read_text())
    assert told["resumed_from_step"] == 8


def test_a_pause_is_no_time_of_training_and_keeps_a_checkpoint(tmp_path: Path) -> None:
    clock = [0.0]

    class Pausing(RunOrders):
        def wait(self) -> None:
            assert checkpoints.load(tmp_path) is not None
            clock[0] += 500.0
            (tmp_path / "order").write_bytes(b"resume")
            self.take()

    orders = Pausing(tmp_path)
    with metrics.MetricsWriter(tmp_path) as file:
        context = Context(
            TrainingRun(RunSettings(trainer="weigher", seed=1, budget=100.0), tmp_path, TIC_TAC_TOE),
            RunObservers(file, TrainingView(quiet=True, live=None), orders),
            db=None,
            clock=lambda: clock[0],
        )
        (tmp_path / "order").write_bytes(b"pause")
        assert not orders.take()
        assert orders.is_pausing
        clock[0] = 10.0
        assert context.tick(1, 9, lambda: Checkpoint(1, {}, {}))
        assert context.seconds == pytest.approx(10)
        assert not orders.is_pausing
        orders.stop()
        with pytest.raises(Stopped):
            context.tick(2, 9, lambda: Checkpoint(2, {}, {}))


def test_a_paused_run_that_is_stopped_waits_no_longer(tmp_path: Path) -> None:
    orders = RunOrders(tmp_path)
    (tmp_path / "order").write_bytes(b"pause")
    orders.take()
    orders.stop()
    orders.wait()
    assert not orders.is_pausing
    assert not is_paused(tmp_path, time.time())


def test_a_run_whose_process_was_killed_is_not_paused(tmp_path: Path) -> None:
    (tmp_path / "paused").touch()
    os.utime(tmp_path / "paused", (1000.0, 1000.0))
    assert is_paused(tmp_path, 1009.0)
    assert not is_paused(tmp_path, 1011.0)
    RunOrders(tmp_path)
    assert not is_paused(tmp_path, 1009.0)
