"""Whole runs with workers, including deaths of workers and stops."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.run_events import MatchFinished, MatchStarted
from arena.errors import ConfigError
from arena.executor.workspace import workspace
from arena.removal import remove
from arena_db.owner import Owner
from arena_db.records import MatchFilter
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.run_events import Event

    Begin = Callable[[TournamentConfig], Sitting]


pytestmark = pytest.mark.usefixtures("compiled_bots")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder for temporary files, in which a run must leave nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def processes() -> dict[int, tuple[str, int]]:
    """Return state and parent of every process, by its id."""
    found: dict[int, tuple[str, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            found[int(path.parent.name)] = state, int(parent)
    return found


def descendants(mark: str) -> set[int]:
    """Return the descendants of this process with `mark` in their command lines."""
    parents = {pid: parent for pid, (_, parent) in processes().items()}
    found: set[int] = set()
    generation = {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        for pid in generation:
            with suppress(OSError):
                if mark in Path(f"/proc/{pid}/cmdline").read_text():
                    found.add(pid)
    return found


DEADLINE_S = 120.0
"""Timeout in seconds, far above the usual milliseconds, so that only a hang reaches it."""


def await_hosts(num: int) -> set[int]:
    """Wait until `num` bots are running; return their processes."""
    deadline = time.monotonic() + DEADLINE_S
    while len(found := descendants("bootstrap.py")) < num and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(found) >= num
    return found


def assert_dead(pids: set[int]) -> None:
    """Assert that processes have ended, or end as soon as a busy machine allows."""
    deadline = time.monotonic() + DEADLINE_S
    while left := {pid for pid, (state, _) in processes().items() if pid in pids and state != "Z"}:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four"])
def test_results_do_not_depend_on_where_matches_run(begin: Begin, game: str) -> None:
    ways = (("inline", "none", 1), ("inline", "T1", 1), ("local", "none", 2), ("local", "T1", 1))
    results: list[object] = []
    for executor, isolation, num_workers in ways:
        sitting = begin(config(*TRIO, game=game, rounds=2, executor=executor, isolation=isolation))
        ended = sitting.play(num_workers)
        assert (ended.state, ended.reason, ended.num_done, ended.total) == ("finished", "", 12, 12)
        sitting.assert_whole()
        tallies = sitting.store.sums.tallies(MatchFilter())
        results.append((sitting.results(), [(t.first, t.outcome, t.num_matches) for t in tallies]))
    assert all(result == results[0] for result in results)


def test_a_worker_that_dies_costs_nothing(begin: Begin, tmp_path: Path) -> None:
    killer = f"strange:folder={tmp_path},kill-once=on"
    sitting = begin(config("random", killer, "minimax:depth=1", rounds=10, executor="local"))
    ended = sitting.play(2)

    assert ended.state == "finished"
    sitting.assert_whole()
    assert [match.attempt for match in sitting.matches()] == [0] * 60
    assert len(sitting.notices()) == 1
    # The bot played on as it would have done without the death of the worker.
    again = begin(config("random", killer, "minimax:depth=1", rounds=10))
    again.play()
    assert again.results() == sitting.results()


def test_a_match_that_kills_its_workers_is_void(begin: Begin, tmp_path: Path) -> None:
    bots = ("random", "strange", "minimax:depth=1")
    seed = begin(config(*bots, rounds=2)).jobs()[0].seed_second
    sitting = begin(
        config("random", f"strange:folder={tmp_path},kill-seed={seed}", bots[2], rounds=2, executor="local")
    )
    ended = sitting.play(2)

    assert (ended.state, ended.num_done) == ("finished", 12)
    sitting.assert_whole()
    terminations = {match.number: match.termination for match in sitting.matches()}
    assert terminations == {number: "arena_error" if number == 1 else "rules" for number in range(1, 13)}
    (void,) = [match for match in sitting.matches() if match.number == 1]
    assert (void.rated, void.outcome, void.attempt) == (False, "void", 0)
    assert "3 workers died" in void.fault
    assert any("match rr-1/1 is not tried again" in text for text in sitting.notices())


def strike(when: int, *signals: int) -> Callable[[Event], None]:
    """Return a callback that sends signals to this process when match number `when` begins."""

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted) and event.number == when:
            for number in signals:
                signal.raise_signal(number)

    return on_event


@pytest.mark.parametrize("executor", ["inline", "local"])
def test_ctrl_c_lets_running_matches_end(begin: Begin, tmp_path: Path, executor: str) -> None:
    gate = tmp_path / "gate"
    sitting = begin(config("random", f"strange:folder={tmp_path},wait=on", rounds=20, executor=executor))
    before = signal.getsignal(signal.SIGINT)
    if executor == "inline":
        # The bot plays in the process that gets the signal.
        gate.touch()
    ended = sitting.play(1, on_event=strike(1, signal.SIGINT), on_words=lambda _: gate.touch())

    assert signal.getsignal(signal.SIGINT) == before
    assert (ended.state, ended.reason, ended.num_done) == ("stopped", "a stop was requested", 1)
    assert sitting.said == ["stopping: running matches end and are stored; Ctrl-C again ends them now"]
    assert [match.termination for match in sitting.matches()] == ["rules"]
    assert sitting.state() == "stopped"

    assert sitting.play().state == "finished"
    sitting.assert_whole()
    assert {match.attempt for match in sitting.matches()} == {0}


SLOW = """
import time
from arena_plugins import PlayResult, hookimpl

class Slow:
    def __init__(self, seconds):
        self.seconds = seconds

    def play(self, state, limit):
        if state.current_player == 1:
            time.sleep(self.seconds)
            self.seconds = 0.0
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    return Slow(5.0 if seed else 0.0)  # the check before the plan has seed 0
"""


def slow_bot(folder: Path) -> str:
    """Return a bot with one slow move, in its first match: a signal comes before that match is over.

    A sandboxed bot sees no gate, and quick matches may be over before a busy machine sends the signal.
    """
    (folder / "slow.py").write_text(SLOW)
    return f"python:file={folder / 'slow.py'}"


@pytest.mark.parametrize(
    "signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)], ids=str
)
def test_hard_signals_end_running_matches(begin: Begin, tmp_path: Path, signals: tuple[int, ...]) -> None:
    sitting = begin(config("random", slow_bot(tmp_path), executor="local", isolation="T1"))
    bots: set[int] = set()

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted):
            bots.update(await_hosts(2), descendants("multiprocessing.spawn"))
            strike(event.number, *signals)(event)

    ended = sitting.play(1, on_event=on_event)
    assert_dead(bots)
    assert (ended.state, ended.num_done) == ("stopped", 0)
    (void,) = sitting.matches()
    assert (void.number, void.attempt, void.termination, void.rated) == (1, 0, "aborted", False)

    assert sitting.play().state == "finished"
    sitting.assert_whole()
    again = sitting.matches()[1]
    assert (again.number, again.attempt, again.termination) == (1, 1, "rules")
    assert (again.seed_first, again.seed_second) == (void.seed_first, void.seed_second)


def test_no_bot_is_blamed_for_a_signal_that_all_processes_get(begin: Begin, tmp_path: Path) -> None:
    # A service manager that stops a tournament sends SIGTERM to its workers and bots as well. Workers come
    # first here: one that lives for some milliseconds longer than a bot could report its death.
    sitting = begin(config("random", slow_bot(tmp_path), executor="local", isolation="T1"))

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted):
            bots = await_hosts(2)
            for pid in [*descendants("multiprocessing.spawn"), *bots]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            strike(event.number, signal.SIGTERM)(event)

    assert sitting.play(1, on_event=on_event).state == "stopped"
    assert {match.termination for match in sitting.matches()} <= {"aborted"}
    assert sitting.play().state == "finished"
    sitting.assert_whole()
    assert sitting.matches()[-1].termination == "rules"


def test_an_abort_in_this_process_is_heard_between_moves(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=2))
    ended = sitting.play(on_event=strike(3, signal.SIGTERM))

    assert (ended.state, ended.num_done, ended.reason) == ("stopped", 2, "an immediate stop was requested")
    assert [match.termination for match in sitting.matches()] == ["rules", "rules", "aborted"]
    assert len(sitting.matches()[2].actions) == sitting.matches()[2].num_opening
    assert sitting.play().state == "finished"
    sitting.assert_whole()


@pytest.mark.parametrize(("kind", "last"), [("stop", "rules"), ("abort", "aborted")])
def test_commands_from_another_shell(begin: Begin, tmp_path: Path, kind: str, last: str) -> None:
    bot = f"strange:folder={tmp_path},wait=on"
    sitting = begin(config("random", bot, rounds=2, executor="local"))
    outdated = sitting.store.commands.send(
        sitting.tournament.id, "abort"
    )  # left before the run, so out of date
    asked: list[int] = []

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted):
            asked.append(sitting.store.commands.send(sitting.tournament.id, kind))

    ended = sitting.play(on_event=on_event, on_words=lambda _: (tmp_path / "gate").touch())
    assert ended.state == "stopped"
    assert [match.termination for match in sitting.matches()] == [last]
    first, *later = (sitting.store.commands.find(number) for number in (outdated, *asked))
    assert first is not None
    assert first.answer == "sent before this run began"
    assert all(command is not None and "running" in command.answer for command in later), later


def test_temporary_files_are_cleared_away_before_a_stop(
    begin: Begin, tmp_path: Path, temporary: Path
) -> None:
    sitting = begin(config("random", f"strange:folder={tmp_path},wait=on", rounds=2, executor="local"))

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted):
            for folder in temporary.glob("arena-run-*"):
                remove(folder)
            sitting.store.commands.send(sitting.tournament.id, "stop")

    ended = sitting.play(on_event=on_event, on_words=lambda _: (tmp_path / "gate").touch())
    assert (ended.state, ended.reason, sitting.notices()) == ("stopped", "a stop was requested", [])
    assert [match.termination for match in sitting.matches()] == ["rules"], "in flight, and stored"


def test_bots_are_started_after_temporary_files_were_cleared_away(begin: Begin, temporary: Path) -> None:
    sitting = begin(config(*TRIO, rounds=3, executor="local", isolation="T1"))

    def on_event(event: Event) -> None:
        if isinstance(event, MatchStarted) and event.number == 3:
            for folder in temporary.glob("arena-run-*"):
                remove(folder)

    assert sitting.play(1, on_event=on_event).state == "finished"
    sitting.assert_whole()
    # A bot that was just starting, or writing to its folder, is not to blame.
    assert {match.termination for match in sitting.matches() if match.is_final} == {"rules"}


def test_one_process_runs_a_tournament(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    other = Owner(uuid="other", host="elsewhere", boot_id="b", pid=1, pid_start=1)
    held = sitting.store.claim(sitting.tournament.id, other)
    assert held is not None

    with pytest.raises(ConfigError, match=r"rr-1 is being run by pid 1 on elsewhere, heard \d+ s ago"):
        sitting.play()
    assert sitting.matches() == []
    held.leases.release()
    assert sitting.play().state == "finished"


def test_nothing_is_left_to_play(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    sitting.play()
    assert sitting.play(2).state == "finished"
    sitting.assert_whole()


def test_a_store_that_fails_ends_the_run_and_its_bots(begin: Begin) -> None:
    sitting = begin(config("random", "minimax:depth=1", rounds=30, executor="local", isolation="T1"))
    bots: set[int] = set()

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished):
            bots.update(await_hosts(2))
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        sitting.play(on_event=on_event)
    assert_dead(bots)
    # Every result was stored before it was reported.
    assert len(sitting.matches()) > 0
    assert sitting.play().state == "finished"
    assert len(sitting.results()) == 60


def test_bots_end_with_the_run(begin: Begin) -> None:
    sitting = begin(config("random", "minimax:depth=1", executor="local", isolation="T1"))
    bots: set[int] = set()

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished):
            bots.update(await_hosts(2))

    sitting.play(on_event=on_event)
    assert not bots & set(processes())
    assert not descendants("multiprocessing.spawn")


def test_the_next_run_removes_what_a_killed_one_left(temporary: Path) -> None:
    left = temporary / "arena-run-killed"
    left.mkdir()
    (left / "file").touch()
    with workspace() as folder:
        assert not left.exists()
        assert (folder.parent, tempfile.gettempdir()) == (temporary, str(folder))
        with workspace() as inner:
            assert inner.parent == temporary
        assert os.listdir(folder) == []  # noqa: PTH208 - names only
