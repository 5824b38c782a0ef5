"""Messages of matches are stored in files: of all matches if requested, else of those with a fault."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from arena.coordinator.plan import make_plan
from arena.errors import ConfigError
from arena.executor import logs, worker
from arena.executor.logs import log_folder
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_batch
from tournaments import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena.executor.worker import Control
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]
    Play = Callable[..., tuple[list[MatchRecord], list[list[dict[str, Any]]]]]


@pytest.fixture
def play(
    jobs_of: JobsOf, compiled_bots: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Play]:
    """Yield a function that plays the first matches of two hosted bots; it returns records and files."""
    del compiled_bots
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(worker, "BATCH_S", 600.0)
    controls: list[Control] = []

    def played(
        *bots: str, matches: int = 1, log: bool = False
    ) -> tuple[list[MatchRecord], list[list[dict[str, Any]]]]:
        controls.append(make_control(SlotCallbacks(Slot.here(0))))
        jobs = jobs_of(config(*bots, isolation="T1", require_tier="T1", log=log))
        records = play_batch(jobs[:matches], controls[-1])
        files = sorted(log_folder("rr-1").glob("*")) if log_folder("rr-1").exists() else []
        return records, [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    yield played
    for control in controls:
        control.close()


def test_every_match_has_a_file_where_that_is_wished(play: Play) -> None:
    (record,), (lines,) = play("random", "minimax:depth=1", log=True)
    head, *said, end = lines
    assert (head["type"], head["schema"], head["match"]) == ("match", "arena-log/1", "rr-1/1")
    assert (head["first"], head["second"]) == ("random", "minimax:depth=1")
    assert head["dropped"] == {"first": 0, "second": 0}
    assert (end["outcome"], end["termination"], end["fault"]) == (record.outcome, "rules", None)
    times = [datetime.fromisoformat(entry["t"]) for entry in said]
    assert times == sorted(times)
    for side in ("first", "second"):
        words = [(entry["type"], json.loads(entry["line"])["type"]) for entry in said if entry["bot"] == side]
        assert words[:4] == [("to", "hello"), ("from", "hello"), ("to", "new_match"), ("from", "ready")]
        assert words[-1] == ("to", "match_over")
        assert words.count(("to", "go")) == words.count(("from", "action"))
    answers = [json.loads(entry["line"]) for entry in said if entry["type"] == "from"]
    moves = [answer for answer in answers if answer["type"] == "action"]
    assert [move["action"] for move in moves] == list(record.actions[record.num_opening :])


def test_a_fault_has_one_anyway_and_others_none(play: Play) -> None:
    (record,), (lines,) = play("strange:cheat=on", "random")
    assert record.termination == "illegal_move"
    assert lines[-1]["fault"]["cause"] == "its action is not a legal one"
    assert json.loads(lines[-3]["line"])["action"] == -1
    assert play("random", "minimax:depth=1")[1] == [lines], "a match in order leaves none"


def test_what_is_said_is_cleaned_and_the_faults_are_bounded(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FAULTS", 1)
    records, files = play("strange:cheat=on", "random", matches=2)
    assert [record.termination for record in records] == ["illegal_move"] * 2
    assert len(files) == 1
    assert "\\u001b" not in json.dumps(files)


def test_a_log_that_cannot_be_written_costs_no_match(play: Play, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "logs").write_text("no folder")
    assert play("random", "minimax:depth=1", log=True)[0][0].termination == "rules"


def test_without_a_wire_there_is_nothing_to_keep() -> None:
    with pytest.raises(ConfigError, match="exchange no messages; omit --isolation none"):
        make_plan(config("random", "minimax:depth=1", isolation="none", require_tier="T0", log=True))


@pytest.mark.parametrize("name", ["..", "a/b", "x y\x1b", ""])
def test_a_tournament_has_a_folder_below_logs_whatever_it_is_called(name: str) -> None:
    folder = log_folder(name)
    assert folder.parent == log_folder("cup").parent
    assert folder.name.strip("._ ") in {"", folder.name.strip("_")}
