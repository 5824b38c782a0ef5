"""Output of bots is stored in a file per bot: with match and ply, bounded, safe for terminals, private."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from arena.executor import logs, worker
from arena.executor.prints import keep_failure, prints_path, read_prints
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_batch
from arena.home import home
from arena.referee.bot_output import MAX_BYTES
from tournaments import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena.executor.worker import Control
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]
    Play = Callable[..., list[MatchRecord]]

BOT = """
import os, sys
from arena_plugins import PlayResult, hookimpl

class Bot:
    def play(self, state, limit):
        ply = len(state.history) + 1
        {in_play}
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    print("made")
    return Bot()
"""
TALK = 'print("ply", ply); print("oops", file=sys.stderr)'
FLOOD = r"""os.write(2, b"\xff\x1b[2J\x07bad\n"); os.write(1, b"x" * 10_000_000)"""
FAIL = '{}["d"]'


@pytest.fixture
def play(jobs_of: JobsOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Yield a function that plays matches of `loud`, which runs given code in each move, against `random`."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(worker, "BATCH_S", 600.0)
    controls: list[Control] = []

    def played(in_play: str, tier: str, matches: int = 1, **settings: object) -> list[MatchRecord]:
        file = tmp_path / "loud.py"
        file.write_text(BOT.format(in_play=in_play))
        isolation = "none" if tier == "T0" else tier
        controls.append(make_control(SlotCallbacks(Slot.here(0))))
        bots = (f"python:file={file},name=loud", "random")
        given = config(*bots, isolation=isolation, require_tier=tier, openings="none", **settings)
        return play_batch(jobs_of(given)[:matches], controls[-1])

    yield played
    for control in controls:
        control.close()


@pytest.mark.parametrize("tier", ["T0", "T1"])
def test_lines_have_match_and_ply(play: Play, tier: str) -> None:
    first, second = play(TALK, tier, matches=2)
    expected: list[str] = []
    for number, record in ((1, first), (2, second)):
        # In the first match the bot moves first.
        own = range(number, len(record.actions) + 1, 2)
        said = [f"{number} {ply}| {text}" for ply in own for text in (f"ply {ply}", "oops")]
        expected += [f"{number} 0| made", *said]
    lines = list(read_prints("rr-1", "loud"))
    assert lines == expected, "in the order in which they were printed"
    assert list(read_prints("rr-1", "loud", 2)) == [line for line in lines if line.startswith("2 ")]
    assert not prints_path("rr-1", "random").exists(), "who prints nothing has no file"


def test_a_flood_is_bounded_and_cleaned_and_the_match_goes_on(play: Play) -> None:
    (record,) = play(FLOOD, "T1")
    assert record.termination == "rules"
    path = prints_path("rr-1", "loud")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    lines = path.read_text().splitlines()
    assert lines[:2] == ["1 0| made", "1 1| \N{REPLACEMENT CHARACTER}[2Jbad"]
    assert all(line.isprintable() for line in lines)
    assert MAX_BYTES * 0.95 < path.stat().st_size < MAX_BYTES + 200
    assert lines[-1].endswith(f" more bytes were printed; at most {MAX_BYTES} per match are kept")
    num_plies = len(range(1, len(record.actions) + 1, 2))
    assert int(lines[-1].split()[2]) > num_plies * 10_000_000 - MAX_BYTES


def test_a_traceback_of_a_killed_match_is_there_line_by_line(play: Play) -> None:
    (record,) = play(FAIL, "T1", bot_output="faults")
    assert record.reason == "loud forfeits at ply 1: KeyError: 'd' in loud.py:8 (bot_error)"
    lines = list(read_prints("rr-1", "loud"))
    assert lines[:2] == ["1 0| made", "1 1| Traceback (most recent call last):"]
    assert '1 1|     {}["d"]' in lines
    assert lines[-1] == "1 1| KeyError: 'd'"


def test_of_what_is_kept_decides_the_option(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    play(TALK, "T0", bot_output="faults")
    assert (list(read_prints("rr-1", "loud")), capsys.readouterr().out) == ([], "")
    play(TALK, "T0", bot_output="none")
    assert list(read_prints("rr-1", "loud")) == []
    assert "ply 1" in capsys.readouterr().out, "it prints where the arena does, as to a debugger"


@pytest.mark.parametrize(("rounds", "kept"), [(25, "all"), (26, "faults")])
def test_without_the_option_the_number_of_matches_decides(jobs_of: JobsOf, rounds: int, kept: str) -> None:
    settings = config("random", "minimax:depth=1", rounds=rounds)
    assert {job.bot_output for job in jobs_of(settings)} == {kept}


def test_a_file_that_is_full_says_so_once(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_FILE", 60)
    play(TALK, "T0", matches=4)
    text = prints_path("rr-1", "loud").read_text()
    note = "* *| the file is full: at most 60 bytes of a bot's output are kept per tournament\n"
    assert text.endswith(note)
    assert len(text) == 60 + len("\n") + len(note)
    assert list(read_prints("rr-1", "loud", 4))[-1] + "\n" == note, (
        "whoever asks for a later match learns why"
    )


def test_where_nothing_can_be_written_no_match_suffers(play: Play) -> None:
    home().mkdir()
    (home() / "logs").write_text("no folder")
    assert play(TALK, "T0")[0].termination == "rules"


def test_a_link_is_not_followed(play: Play, tmp_path: Path) -> None:
    prints_path("rr-1", "loud").parent.mkdir(parents=True)
    prints_path("rr-1", "loud").symlink_to(tmp_path / "elsewhere")
    play(TALK, "T0")
    assert not (tmp_path / "elsewhere").exists()


def test_every_label_has_a_file_of_its_own_in_the_folder() -> None:
    labels = ["a", "A", "mcts:playouts=20", "mcts;playouts=20", "..", "../a", "a/b", "x" * 300, "x" * 301, ""]
    paths = {prints_path("cup", label) for label in labels}
    assert len({str(path).lower() for path in paths}) == len(labels)
    assert {path.parent for path in paths} == {prints_path("cup", "a").parent}
    assert all(len(path.name) < 100 and path.name.isprintable() for path in paths)


def test_the_end_of_a_failure_is_shown_and_all_of_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path))
    assert keep_failure("a", "\n\n") == ([], None)
    shown, path = keep_failure("a", "".join(f"line {number}\x1b[0m\n" for number in range(30)))
    assert shown == [f"line {number}[0m" for number in range(10, 30)]
    assert path is not None
    assert path.read_text().splitlines() == [f"line {number}[0m" for number in range(30)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keep_failure("a", "again")
    assert path.read_text() == "again\n"
