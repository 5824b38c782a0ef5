"""Whole runs: with workers, through deaths and stops."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.executor.workspace import workspace
from arena.tournament.events import MatchFinished, MatchStarted
from arena_db.records import MatchFilter, Owner
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.tournament.config import TournamentConfig
    from arena.tournament.events import Event

    Begin = Callable[[TournamentConfig], Sitting]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder for temporary files, in which a run leaves nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_dead(pids: Path) -> None:
    """See that all bots that left their process id have ended, or end within two seconds."""
    left = [int(path.name) for path in pids.iterdir()]
    assert left
    deadline = time.monotonic() + 2
    while any(map(is_alive, left)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, left))


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four"])
def test_results_do_not_depend_on_where_matches_run(begin: Begin, game: str) -> None:
    ways = (("inline", "none", 1), ("local", "none", 2), ("local", "auto", 1), ("local", "auto", 2))
    results: list[object] = []
    for executor, isolation, num_workers in ways:
        sitting = begin(config(*TRIO, game=game, rounds=3, executor=executor, isolation=isolation))
        ended = sitting.play(num_workers)
        assert (ended.state, ended.reason, ended.num_done, ended.total) == ("finished", "", 18, 18)
        sitting.assert_whole()
        tallies = sitting.store.tallies(MatchFilter())
        results.append((sitting.results(), [(t.first, t.outcome, t.num_matches) for t in tallies]))
    assert all(result == results[0] for result in results)


def test_a_worker_that_dies_costs_nothing(begin: Begin, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    killer = f"strange:kill-once={mark}"
    sitting = begin(config("random", killer, "minimax:depth=1", rounds=10, executor="local"))
    ended = sitting.play(2)

    assert ended.state == "finished"
    sitting.assert_whole()
    assert [match.attempt for match in sitting.matches()] == [0] * 60
    assert len(sitting.notices()) == 1
    # The bot played on as it would have done without the death.
    again = begin(config("random", killer, "minimax:depth=1", rounds=10))
    again.play()
    assert again.results() == sitting.results()


def test_a_match_that_kills_its_workers_is_void(begin: Begin) -> None:
    bots = ("random", "strange", "minimax:depth=1")
    seed = begin(config(*bots, rounds=2)).jobs()[0].seed_second
    sitting = begin(config("random", f"strange:kill-seed={seed}", bots[2], rounds=2, executor="local"))
    ended = sitting.play(2)

    assert (ended.state, ended.num_done) == ("finished", 12)
    sitting.assert_whole()
    terminations = {match.number: match.termination for match in sitting.matches()}
    assert terminations == {number: "arena_error" if number == 1 else "rules" for number in range(1, 13)}
    (void,) = [match for match in sitting.matches() if match.number == 1]
    assert (void.rated, void.outcome, void.attempt) == (False, "void", 0)
    assert "3 workers died" in void.fault
    assert any("match 1 is not tried again" in text for text in sitting.notices())


def strike(when: int, *signals: int) -> Callable[[Event], None]:
    """Send signals to this process when match number `when` begins."""

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted) and event.number == when:
            for number in signals:
                signal.raise_signal(number)

    return on_event


@pytest.mark.parametrize("executor", ["inline", "local"])
def test_ctrl_c_lets_running_matches_end(begin: Begin, tmp_path: Path, executor: str) -> None:
    gate = tmp_path / "gate"
    sitting = begin(config("random", f"strange:wait-for={gate}", rounds=20, executor=executor))
    before = signal.getsignal(signal.SIGINT)
    on_words = lambda _: gate.touch()  # noqa: E731
    if executor == "inline":
        # The bot plays in the process that is to hear the signal.
        gate.touch()
    ended = sitting.play(1, on_event=strike(1, signal.SIGINT), on_words=on_words)

    assert signal.getsignal(signal.SIGINT) == before
    assert (ended.state, ended.reason, ended.num_done) == ("stopped", "stopped on request", 1)
    assert sitting.said == ["stopping: running matches end and are stored; Ctrl-C again ends them now"]
    assert [match.termination for match in sitting.matches()] == ["rules"]
    assert sitting.store.tournament(1).state == "stopped"

    assert sitting.play().state == "finished"
    sitting.assert_whole()
    assert {match.attempt for match in sitting.matches()} == {0}


@pytest.mark.parametrize(
    "signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)], ids=str
)
def test_hard_signals_end_running_matches(begin: Begin, tmp_path: Path, signals: tuple[int, ...]) -> None:
    gate, pids = tmp_path / "gate", tmp_path / "pids"
    pids.mkdir()
    bot = f"strange:wait-for={gate},pids={pids}"
    sitting = begin(config("random", bot, rounds=2, executor="local", isolation="auto"))

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted):
            deadline = time.monotonic() + 20
            while not any(pids.iterdir()) and time.monotonic() < deadline:
                time.sleep(0.01)
            strike(event.number, *signals)(event)

    began = time.monotonic()
    ended = sitting.play(1, on_event=on_event)
    assert time.monotonic() - began < 20
    assert_dead(pids)
    assert (ended.state, ended.num_done) == ("stopped", 0)
    (void,) = sitting.matches()
    assert (void.number, void.attempt, void.termination, void.rated) == (1, 0, "aborted", False)

    gate.touch()
    assert sitting.play().state == "finished"
    sitting.assert_whole()
    again = sitting.matches()[1]
    assert (again.number, again.attempt, again.termination) == (1, 1, "rules")
    assert (again.seed_first, again.seed_second) == (void.seed_first, void.seed_second)


def test_an_abort_in_this_process_is_heard_between_moves(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=2))
    ended = sitting.play(on_event=strike(3, signal.SIGTERM))

    assert (ended.state, ended.num_done, ended.reason) == ("stopped", 2, "running matches were ended")
    assert [match.termination for match in sitting.matches()] == ["rules", "rules", "aborted"]
    assert len(sitting.matches()[2].actions) == sitting.matches()[2].num_opening
    assert sitting.play().state == "finished"
    sitting.assert_whole()


@pytest.mark.parametrize(("kind", "last"), [("stop", "rules"), ("abort", "aborted")])
def test_requests_from_another_shell(begin: Begin, kind: str, last: str) -> None:
    sitting = begin(config(*TRIO, rounds=50))
    sitting.store.request(sitting.tournament.id, "abort")  # left before the run, so out of date

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted) and event.number == 2:
            sitting.store.request(sitting.tournament.id, kind)

    ended = sitting.play(on_event=on_event)
    assert ended.state == "stopped"
    assert 2 <= len(sitting.matches()) < 300
    assert sitting.matches()[-1].termination == last


def test_one_process_runs_a_tournament(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    other = Owner(uuid="other", host="elsewhere", boot_id="b", pid=1, pid_start=1)
    assert sitting.store.claim(sitting.tournament.id, other)

    with pytest.raises(ConfigError, match="is being run by another process"):
        sitting.play()
    assert sitting.matches() == []
    sitting.store.release(sitting.tournament.id, other)
    assert sitting.play().state == "finished"


def test_nothing_is_left_to_play(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    sitting.play()
    assert sitting.play(2).state == "finished"
    sitting.assert_whole()


def test_a_store_that_fails_ends_the_run_and_its_bots(begin: Begin, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    sitting = begin(config("random", f"strange:pids={pids}", rounds=30, executor="local", isolation="auto"))

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        sitting.play(on_event=on_event)
    assert_dead(pids)
    # What was stored before it was told of is kept.
    assert len(sitting.matches()) > 0
    sitting.events.clear()
    assert sitting.play().state == "finished"
    assert len(sitting.results()) == 60


def test_the_next_run_removes_what_a_killed_one_left(temporary: Path) -> None:
    left = temporary / "arena-run-killed"
    left.mkdir()
    (left / "file").touch()
    with workspace() as folder:
        assert not left.exists()
        assert (folder.parent, tempfile.gettempdir()) == (temporary, str(folder))
        with workspace() as inner:
            assert inner.parent == folder
        assert os.listdir(folder) == []  # noqa: PTH208 - names only
