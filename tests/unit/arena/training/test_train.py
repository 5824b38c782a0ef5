"""`arena train` with a third-party trainer: runs, recipes, stops, resumption, stored files."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from typing import TYPE_CHECKING

import pytest

from arena.errors import ArenaError
from arena.training import context, metrics, stopping, training_session
from arena.training.files import held
from arena.training.runs import drop_if_empty
from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path


def weights_of(run: Path) -> str:
    return hashlib.sha256((run / "weights.npz").read_bytes()).hexdigest()


def test_a_trained_bot_is_entered_at_once(arena: CommandLine, runs: Path) -> None:
    told = arena.lines("train", "weigher", "steps=20", "--recipe", "few", "--quiet", "--out", "mine.npz")
    assert told[-1] == f"Enter it: arena match weigher:weights={arena.folder / 'mine.npz'} minimax"
    played = arena.lines(
        "match",
        f"weigher:weights={arena.folder / 'mine.npz'}",
        "random",
        *("--game", "tic-tac-toe", "--isolation", "none", "--require-tier", "T0", "--executor", "inline"),
        *("--rounds", "1"),
    )
    assert any(line.startswith("Score of weigher:weights=mine.npz vs random") for line in played)
    told = tomllib.loads((arena.folder / "mine.provenance.toml").read_text())
    assert told["sha256"] == weights_of(runs / "weigher-1")
    assert (told["trainer"], told["recipe"], told["game"], told["seed"]) == (
        "weigher",
        "few",
        "tic-tac-toe",
        7,
    )
    assert told["command"] == "arena train weigher steps=20 --recipe few"
    assert told["is_complete"]
    assert told["options"] == {"steps": "20"}
    assert told["data"] == {"matches": 20, "source": "random play"}
    assert {"bot-arena", "python", "numpy"} <= set(told["versions"])


def test_figures_are_lines_and_curves(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "--game", "tic-tac-toe", "--seed", 1)
    lines = (runs / "weigher-1" / "metrics.jsonl").read_text().splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"step", "name", "value", "t"}] * 5
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 5]
    picture = (runs / "weigher-1" / "curves.svg").read_text()
    assert picture.startswith("<svg xmlns=")
    assert ">weight</text>" in picture


def test_the_same_seed_gives_the_same_weights(arena: CommandLine, runs: Path) -> None:
    for name in ("a", "b"):
        arena("train", "weigher", "--recipe", "few", "--name", name)
    arena("train", "weigher", "--recipe", "few", "--name", "c", "--seed", 8)
    assert weights_of(runs / "a") == weights_of(runs / "b") != weights_of(runs / "c")


def test_ctrl_c_keeps_a_checkpoint_and_resume_goes_on_exactly(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    stopped = arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "parts", status=3)
    assert "arena train --resume parts" in stopped.stderr
    assert not (runs / "parts" / "weights.npz").exists()
    arena("train", "--resume", "parts")
    assert weights_of(runs / "parts") == weights_of(runs / "whole")
    for name in ("whole", "parts"):
        assert [figure.step for figure in metrics.read(runs / name)] == list(range(1, 13))
    told = tomllib.loads((runs / "parts" / "weights.provenance.toml").read_text())
    assert told["resumed_from_step"] == 5
    refused = arena("train", "--resume", "parts", status=2)
    assert "the run parts is finished" in refused.stderr


def test_another_shell_stops_a_run_at_its_next_step(arena: CommandLine, runs: Path) -> None:
    stopped = arena("train", "weigher", "order-at=5", "--recipe", "few", "--name", "parts", status=3)
    assert (
        "parts writes a checkpoint at its next step and ends; to continue later: arena train --resume parts"
        in (stopped.stdout)
    )
    assert [figure.step for figure in metrics.read(runs / "parts")] == list(range(1, 6))
    arena("train", "--resume", "parts")
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    assert weights_of(runs / "parts") == weights_of(runs / "whole")


def test_another_shell_ends_a_run_at_once(arena: CommandLine, runs: Path) -> None:
    ended = arena("train", "weigher", "abort-at=5", "--recipe", "few", "--name", "parts", status=1)
    assert "parts ends at once, without another checkpoint" in ended.stdout
    # Nothing was saved, and no file is left that would stop the next run.
    assert not (runs / "parts" / "checkpoint.npz").exists()
    assert not (runs / "parts" / "order").exists()
    assert not (runs / "parts" / "weights.npz").exists()


def test_another_shell_pauses_a_run_and_lets_it_go_on(arena: CommandLine, runs: Path) -> None:
    paused = arena("train", "weigher", "pause-at=3", "--recipe", "few", "--name", "parts")
    answer = "parts writes a checkpoint at its next step and waits there; to continue: arena resume parts"
    assert answer in paused.stdout
    assert "parts is paused at step 3 of" in paused.stderr
    assert "parts continues" in paused.stderr
    assert not (runs / "parts" / "paused").exists()
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    assert weights_of(runs / "parts") == weights_of(runs / "whole")
    refused = arena("resume", "parts", status=2)
    assert "the training run parts is not paused; arena train --resume parts continues it" in refused.stderr


def test_an_order_that_nobody_takes_is_withdrawn(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    assert not stopping.leave_order(runs / "whole", "stop", patience_s=0.0)
    assert not (runs / "whole" / "order").exists()
    told = arena("stop", "nobody", status=2)
    assert "nobody" in told.stderr


def test_a_run_begins_though_an_order_was_left(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "parts", status=3)
    (runs / "parts" / "order").write_bytes(b"stop")
    arena("train", "--resume", "parts")
    assert (runs / "parts" / "weights.npz").exists()


def test_a_resumed_run_keeps_what_was_asked_of_it(arena: CommandLine, runs: Path) -> None:
    asked = ("--out", "mine.npz", "--evaluate", "random", "--matches", 4, "--store")
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "r", *asked, status=3)
    out = arena.folder / "mine.npz"
    assert not out.exists()
    told = arena("train", "--resume", "r").output
    assert out.read_bytes() == (runs / "r" / "weights.npz").read_bytes()
    assert (arena.folder / "mine.provenance.toml").exists()
    assert f"weigher:weights={out} vs random" in told
    assert "of 4 matches" in told
    assert len(arena.objects("matches", "--unrated", "--limit", 100)) >= 7


def test_a_resumed_run_takes_new_wishes(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "r", "--out", "old.npz", status=3)
    refused = arena("train", "--resume", "r", "--out", "nowhere/new.npz", status=2)
    assert "--out" in refused.stderr
    arena("train", "--resume", "r", "--out", "new.npz")
    assert (arena.folder / "new.npz").read_bytes() == (runs / "r" / "weights.npz").read_bytes()
    assert not (arena.folder / "old.npz").exists()


def test_a_run_of_before_is_resumed(arena: CommandLine, runs: Path) -> None:
    """Runs of earlier versions have no stored files, opponents and numbers of matches."""
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "r", status=3)
    settings = runs / "r" / "run.toml"
    new = ("out", "opponents", "matches", "keeps_matches")
    lines = settings.read_text().splitlines(keepends=True)
    settings.write_text("".join(line for line in lines if not line.startswith(new)))
    assert len(settings.read_text().splitlines()) == len(lines) - len(new)
    arena("train", "--resume", "r")
    assert (runs / "r" / "weights.npz").exists()


def test_a_run_that_failed_before_a_checkpoint_begins_anew(arena: CommandLine, runs: Path) -> None:
    with pytest.raises(RuntimeError, match="on purpose"):
        arena("train", "weigher", "fail-at=3", "--recipe", "few", "--name", "r")
    assert len(list(metrics.read(runs / "r"))) == 3
    with pytest.raises(RuntimeError, match="on purpose"):
        arena("train", "--resume", "r")
    assert [figure.step for figure in metrics.read(runs / "r")] == [1, 2, 3]


def test_a_run_in_its_first_step_survives_an_attempt_to_resume_it(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "stop-at=1", "--recipe", "few", "--name", "r", status=3)
    for path in [path for path in (runs / "r").iterdir() if path.name != "run.toml"]:
        path.unlink()
    with held(runs / "r"):
        assert "is in use by another process" in arena("train", "--resume", "r", status=2).stderr
        # A new run whose folder another process resumed before it was locked.
        drop_if_empty(runs / "r")
    assert (runs / "r" / "run.toml").exists()
    # It stops itself after its first step, as before.
    arena("train", "--resume", "r", status=3)


def test_a_run_stays_if_its_first_step_fails_for_a_reason_that_passes(
    arena: CommandLine, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ArenaError("the scheduler is gone; continue with arena train --resume r")

    with monkeypatch.context() as patch:
        patch.setattr(training_session, "sit", fail)
        arena("train", "weigher", "--recipe", "few", "--name", "r", status=1)
    arena("train", "--resume", "r")
    assert (runs / "r" / "weights.npz").exists()


def test_a_full_disk_ends_a_run_that_goes_on_later(
    arena: CommandLine, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "parts", status=3)
    monkeypatch.setattr(context, "EVERY_S", 0.0)
    (runs / "parts" / ".checkpoint.npz.part").symlink_to("/dev/full")
    ended = arena("train", "--resume", "parts", status=1)
    (told,) = ended.stderr.splitlines()[-1:]
    assert told == (
        f"arena: {runs / 'parts' / 'checkpoint.npz'} cannot be written: No space left on device; make room, "
        "then arena train --resume parts continues at the last checkpoint"
    )
    arena("train", "--resume", "parts")
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    assert weights_of(runs / "parts") == weights_of(runs / "whole")


def test_only_a_full_disk_is_called_so(
    arena: CommandLine, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "parts", status=3)
    monkeypatch.setattr(context, "EVERY_S", 0.0)
    (runs / "parts" / ".checkpoint.npz.part").mkdir()
    ended = arena("train", "--resume", "parts", status=1)
    assert "Is a directory" in ended.stderr
    assert "make room" not in ended.stderr


def test_curves_that_cannot_be_drawn_keep_no_weights_from_being_written(
    arena: CommandLine, runs: Path
) -> None:
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "parts", status=3)
    (runs / "parts" / ".curves.svg.part").symlink_to("/dev/full")
    arena("train", "--resume", "parts")
    assert (runs / "parts" / "weights.npz").exists()


def test_time_that_is_used_up_gives_weights_and_more_time_goes_on(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    arena("train", "weigher", "--recipe", "few", "--name", "r", "--budget", 1e-9)
    assert not tomllib.loads((runs / "r" / "weights.provenance.toml").read_text())["is_complete"]
    assert "has used up its" in arena("train", "--resume", "r", status=2).stderr
    arena("train", "--resume", "r", "--budget", 1000)
    assert weights_of(runs / "r") == weights_of(runs / "whole")


def test_weights_are_measured_and_matches_kept_where_asked(arena: CommandLine, runs: Path) -> None:
    options = ("--recipe", "few", "--evaluate", "random", "--evaluate", "minimax:depth=1", "--matches", 4)
    told = arena.lines("train", "weigher", *options, "--store")
    assert sum(" % of 4 matches; first " in line for line in told) == 2
    measured = tomllib.loads((runs / "weigher-1" / "weights.provenance.toml").read_text())["measured"]
    assert [one["opponent"] for one in measured] == ["random", "minimax:depth=1"]
    assert all(one["first_matches"] == one["second_matches"] == 2 for one in measured)
    assert all(one["first_win_low"] <= one["first_win_percent"] <= one["first_win_high"] for one in measured)
    stored = arena.objects("matches", "--unrated", "--limit", 100)
    # One match per step, and four against each opponent.
    assert len(stored) == 12 + 8
    assert arena("db", "check").exit_code == 0


def test_a_strangers_bot_is_trained_from_an_export_and_entered(arena: CommandLine) -> None:
    teachers = ("random", "minimax:depth=2")
    arena("tournament", *teachers, *FAST, "--rounds", 6, "--srand", 1, "--quiet", "--name", "lessons")
    arena("export", "lessons", "--format", "npz", "--tournament", "less*", "--bot", "mini*", "--quiet")
    arena("train", "weigher", "--game", "tic-tac-toe", "--data", "lessons", "--out", "mine.npz")
    told = tomllib.loads((arena.folder / "mine.provenance.toml").read_text())
    assert told["data"] == {"source": "export lessons", "positions": told["data"]["positions"]}
    assert told["data"]["positions"] > 12 * 5
    rules = (*FAST, "--rounds", 2, "--srand", 1, "--quiet")
    arena("tournament", "weigher:weights=mine.npz", "random", *rules, "--name", "exam")
    rows = arena.objects("leaderboard", "--tournament", "exam")
    assert {row["name"] for row in rows} == {"weigher:weights=mine.npz", "random"}
    assert {row["games"] for row in rows} == {4}


def test_nothing_is_stored_unless_asked(arena: CommandLine) -> None:
    arena("train", "weigher", "--recipe", "few", "--evaluate", "random", "--matches", 2)
    assert not arena.db.exists()


def test_trainers_are_listed(arena: CommandLine) -> None:
    rows = [line.split() for line in arena.lines("train")]
    assert ["weigher", "few", "weigher"] in rows


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["weiger"], 'no trainer "weiger"; did you mean "weigher"?'),
        (["weigher", "steps"], "steps is not OPTION=VALUE"),
        (["weigher", "steps=1", "steps=2"], "steps=2 is given twice"),
        (["weigher", "step=1"], 'no option "step"; did you mean "steps"?'),
        (["weigher", "steps=x"], "steps=x is not a whole number"),
        (["weigher", "--recipe", "fee"], 'no recipe "fee"; did you mean "few"?'),
        (["weigher", "--recipe", "none.toml"], "cannot read the recipe none.toml"),
        (["weigher", "--game", "chess"], 'no game "chess"'),
        (["weigher", "--seed", "-1"], "--seed -1 is not a whole number"),
        (["weigher", "--budget", "0"], "--budget 0 is not a positive number"),
        (["weigher", "--name", "a/b"], '"a/b" cannot be the name of a run'),
        (["weigher", "--data", "nowhere"], "--data nowhere is not a folder"),
        (["weigher", "--out", "no/where.npz"], "cannot be written: name a file"),
        (["--resume", "weigher-9"], 'there is no run "weigher-9"'),
    ],
)
def test_bad_input_is_refused_before_anything_is_made(
    arena: CommandLine, runs: Path, words: list[str], complaint: str
) -> None:
    assert complaint in arena("train", *words, status=2).stderr
    assert not runs.exists()


def test_a_run_is_not_begun_twice_nor_changed(arena: CommandLine) -> None:
    arena("train", "weigher", "stop-at=2", "--recipe", "few", "--name", "r", status=3)
    assert 'there is a run "r" already' in arena("train", "weigher", "--name", "r", status=2).stderr
    assert "begun with --seed 7" in arena("train", "--resume", "r", "--seed", 3, status=2).stderr
    assert 'begun with steps="12"' in arena("train", "weigher", "steps=3", "--resume", "r", status=2).stderr


@pytest.mark.parametrize("step", ["write_settings", "write_whole"])
def test_of_a_run_that_is_killed_as_it_begins_nothing_is_left(
    arena: CommandLine, runs: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    arena("train", "weigher", "stop-at=2", "--recipe", "few", "--name", "first", status=3)
    begun = ("train", "weigher", "--from", "first", "--recipe", "few", "--name", "r")

    def die(*_: object) -> None:
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr(f"arena.training.runs.{step}", die)
        arena(*begun, status=9)
    assert {path.name for path in runs.iterdir()} == {"first"}
    # After SIGKILL the incomplete copy stays.
    shutil.copytree(runs / "first", runs / ".new-1" / "r")
    shutil.copytree(runs / "first", runs / ".new-2")
    assert "no run" in arena("train", "--resume", "r", status=2).stderr
    assert "(runs: first)" in arena("train", "--resume", "x", status=2).stderr
    (runs / "r").mkdir()  # as earlier versions left it
    assert "r:" in arena(*begun).stdout
    assert (runs / "r" / "weights.npz").exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("games = 3", "unknown field `games`"), ("= 3", "line 1"), ("seed = 'x'", "$.seed")],
)
def test_a_wrong_recipe_is_refused(arena: CommandLine, text: str, complaint: str) -> None:
    (arena.folder / "mine.toml").write_text(text)
    assert complaint in arena("train", "weigher", "--recipe", "mine.toml", status=2).stderr


def test_a_recipe_of_ones_own_is_read(arena: CommandLine, runs: Path) -> None:
    (arena.folder / "mine.toml").write_text('game = "tic-tac-toe"\nseed = 3\n[options]\nsteps = 2\n')
    arena("train", "weigher", "--recipe", "mine.toml")
    assert len(list(metrics.read(runs / "weigher-1"))) == 2


def test_a_run_begins_from_the_checkpoint_of_another(arena: CommandLine, runs: Path) -> None:
    arena("train", "weigher", "--recipe", "few", "--name", "whole")
    arena("train", "weigher", "stop-at=5", "--recipe", "few", "--name", "a", status=3)
    arena("train", "weigher", "--recipe", "few", "--name", "b", "--from", "a")
    assert weights_of(runs / "b") == weights_of(runs / "whole")
    told = tomllib.loads((runs / "b" / "weights.provenance.toml").read_text())
    assert (told["start_checkpoint"], told["resumed_from_step"]) == ("a step 5", 5)
    assert told["command"].endswith("--from a")
    refused = arena("train", "weigher", "--recipe", "few", "--from", "a", "--seed", 1, status=2)
    assert "is one of weigher with seed 7" in refused.stderr
    refused = arena("train", "weigher", "--recipe", "few", "--from", "whole", status=2)
    assert "has no checkpoint to begin from" in refused.stderr
    assert sorted(path.name for path in runs.iterdir()) == ["a", "b", "whole"]
