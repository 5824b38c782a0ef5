"""Bots in control groups: joined before anything else, stopped by the freezer, removed at the end."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena.errors import ArenaError, ConfigError
from arena.referee.hosted import HostedSeat
from arena.referee.pause import Pause
from arena.referee.seats import Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.family import members
from arena.sandbox.limits import exact
from arena.sandbox.limits.cgroup import Leaf, NoSubtreeError, Subtree, Toll
from arena.sandbox.limits.exact import check_limits, describe_limits, own_subtree
from arena.sandbox.process import Process, spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins import Termination, load_game
from groups import new_group, words

if TYPE_CHECKING:
    from collections.abc import Iterator

TIERS = pytest.mark.parametrize("tier", sorted(tiers_to_try()))
SEES = "import json, os\nprint(json.dumps([os.path.exists('/sys/fs/cgroup'), os.getpid()]), flush=True)\n"
WAIT = "import time\ntime.sleep(600)\n"
CHILD_BURNS = """
import os, time
if os.fork() == 0:
    while time.process_time() < 0.05:
        pass
    os._exit(0)
os.wait()
print(flush=True)
"""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    os.environ.clear()
    os.execl("/bin/sleep", "sleep", "600")
"""


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path | None]:
    """Yield a group for the bots of a test; None, with polled limits, if none can be made."""
    with new_group() as made:
        # This process stays in its group, and the tests here need no controller.
        subtree = None if made is None else Subtree(made, ())
        monkeypatch.setattr("arena.sandbox.process.own_subtree", lambda: subtree)
        yield made


def start(script: str, tier: Tier = Tier.T1, engine: str | None = None) -> Process:
    command = [sys.executable, "-I", "-S", "-c"]
    process = spawn(
        ProcessSettings([*command, script], tier, engine=None if engine is None else [*command, engine])
    )
    for fd in (process.stdout, process.stderr):
        os.set_blocking(fd, True)
    return process


def is_polled(process: Process, group: Path | None) -> bool:
    """Return whether limits are polled; assert that the kernel enforces them if groups can be made."""
    assert process.limits == ("polled" if group is None else "kernel")
    assert (process.leaf is None) == (group is None)
    return group is None


def leaf_of(process: Process) -> Leaf:
    assert process.leaf is not None
    return process.leaf


@TIERS
def test_all_of_a_bot_is_in_its_group_and_sees_none_in_a_container(tier: Tier, group: Path | None) -> None:
    process = start(SEES + WAIT, tier, engine=WAIT)
    sees: list[Any] = json.loads(os.read(process.stdout, 100))
    if not is_polled(process, group):
        assert sees[0] == (tier < Tier.T3)
        path = Path(leaf_of(process).path)
        inside = [int(word) for word in words(path / "cgroup.procs")]
        family = list(members(process.pid))
        assert len(family) == (3 if tier is Tier.T3 else 2)
        assert sorted(inside) == sorted(family)
        assert leaf_of(process).cpu_s() > 0.001
        process.kill()
        process.close()
        assert not path.exists()
    process.kill()
    process.close()


@TIERS
def test_a_bot_that_cannot_join_its_group_is_not_started(tier: Tier, group: Path | None) -> None:
    if group is not None:
        # A group that contains groups with controllers, or a threaded one, accepts no processes; nor does a
        # removed one.
        (group / "gone").mkdir()
        leaf = Leaf(str(group / "gone"))
        assert leaf.remove()
        with pytest.MonkeyPatch.context() as patch:

            def make_leaf(*_: object) -> Leaf:
                return leaf

            patch.setattr(Subtree, "make_leaf", make_leaf)
            process = start(SEES, tier)
            assert b"cannot start the bot with exact limits: [Errno 2]" in os.read(process.stderr, 1000)
            assert os.read(process.stdout, 100) == b""
            process.kill()
            process.close()
        return
    with pytest.raises(NoSubtreeError):
        exact.enter(())


def test_a_group_that_cannot_be_made_starts_nothing(
    group: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = Subtree(Path("/nowhere") if group is None else group / "missing", ())
    monkeypatch.setattr("arena.sandbox.process.own_subtree", lambda: missing)
    with pytest.raises(FileNotFoundError):
        spawn(ProcessSettings([sys.executable], Tier.T1))


@TIERS
def test_a_bot_gets_its_own_limits(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def make_leaf(_: Subtree, memory_bytes: int, tasks: int) -> Leaf:
        asked.append((memory_bytes, tasks))
        raise FileNotFoundError

    monkeypatch.setattr("arena.sandbox.process.own_subtree", lambda: Subtree(Path("/nowhere")))
    monkeypatch.setattr(Subtree, "make_leaf", make_leaf)
    with pytest.raises(FileNotFoundError):
        spawn(ProcessSettings([sys.executable], tier, Resources(memory_bytes=12345678, tasks=9)))
    # The first process of a container belongs to the arena, not to the bot.
    assert asked == [(12345678, 10 if tier is Tier.T3 else 9)]


def test_a_start_that_fails_leaves_no_group(group: Path | None) -> None:
    with pytest.raises(ValueError, match="null byte"):
        spawn(ProcessSettings([sys.executable, "\0"], Tier.T1))
    assert group is None or list(group.glob("arena-bot-*")) == []


def test_ended_children_count(group: Path | None) -> None:
    process = start(CHILD_BURNS + WAIT)
    os.read(process.stdout, 1)
    if not is_polled(process, group):
        assert Pause(process.pid, leaf=process.leaf).cpu_s() >= 0.05
    process.kill()
    process.close()


def test_a_child_that_left_the_group_of_processes_is_killed_too(group: Path | None) -> None:
    process = start(DAEMON + WAIT)
    if not is_polled(process, group):
        path = Path(leaf_of(process).path)
        while "sleep" not in (found := {pid: _name(pid) for pid in words(path / "cgroup.procs")}).values():
            pass
        daemon = next(pid for pid, name in found.items() if name == "sleep")
        assert os.getsid(int(daemon)) == int(daemon)
        process.kill()
        process.close()
        assert not path.exists()
        # Its new parent may not have reaped it yet, or may do so between two checks.
        assert "\nState:\tZ" in _status(daemon) or _name(daemon) != "sleep"
    process.kill()
    process.close()


def _status(pid: str) -> str:
    with suppress(OSError):
        return Path("/proc", pid, "status").read_text()
    return ""


def _name(pid: str) -> str:
    return "".join(words(Path("/proc", pid, "comm")))


@TIERS
def test_a_paused_bot_cannot_be_woken(tier: Tier, group: Path | None) -> None:
    process = start("print(flush=True)\nwhile True: pass", tier)
    os.read(process.stdout, 1)
    if not is_polled(process, group):
        leaf = leaf_of(process)
        pause = Pause(process.pid, leaf=leaf)
        pause.stop()
        while "frozen 0" in (Path(leaf.path) / "cgroup.events").read_text():
            pass
        frozen = pause.cpu_s()
        os.killpg(process.pid, signal.SIGCONT)
        for pid in words(Path(leaf.path) / "cgroup.procs"):
            os.kill(int(pid), signal.SIGCONT)
        here = sum(os.times()[:2])
        while sum(os.times()[:2]) < here + 0.1:
            pass
        assert pause.resume() <= frozen + 0.001
        while pause.cpu_s() < frozen + 0.02:
            pass
        # A bot with permission to ponder is left running.
        Pause(process.pid, is_allowed=False, leaf=leaf).stop()
        assert "frozen 0" in (Path(leaf.path) / "cgroup.events").read_text()
        leaf.freeze()
    process.kill()
    process.close()


def test_the_group_is_stopped_last_and_runs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []

    class Recorder(Leaf):
        def __init__(self) -> None:
            """Open nothing."""

        def freeze(self) -> None:
            done.append("freeze")

        def thaw(self) -> None:
            done.append("thaw")

        def cpu_s(self) -> float:
            return float(len(done))

    def killpg(group: int, number: int) -> None:
        assert group == 1
        done.append(number)

    monkeypatch.setattr(os, "killpg", killpg)
    pause = Pause(1, leaf=Recorder())
    pause.stop()
    done.append("waits")
    assert pause.resume() == 3.0
    assert done == [signal.SIGSTOP, "freeze", "waits", "thaw", signal.SIGCONT]
    assert pause.idle_cpu_s == 1.0
    assert pause.cpu_s() == 5.0
    pause.end()
    assert pause.cpu_s() == 0.0


@pytest.mark.parametrize(
    ("toll", "expected"),
    [
        (Toll(123456789, 2), Termination.OOM),
        # The kernel says that memory did not kill it, however close to the limit it was.
        (Toll((1 << 27) - 1, 0), Termination.INIT_CRASH),
    ],
)
def test_the_kernel_says_who_ran_out_of_memory(
    toll: Toll, expected: Termination, group: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted(_: Leaf) -> Toll:
        return toll

    monkeypatch.setattr(Leaf, "toll", counted)
    seat = HostedSeat(
        ProcessSettings(
            [sys.executable, "-I", "-S", "-c", "import os; os.kill(os.getpid(), 9)"],
            resources=Resources(memory_bytes=1 << 27),
        ),
        name="bad",
        version="1",
    )
    assert seat.limits == ""
    control = TimeControl.parse(None, 1.0, None)
    setup = SeatSetup(match="m", game=load_game("tic-tac-toe"), player=0, seed=0, control=control)
    fault = seat.start(setup)
    seat.close()
    assert isinstance(fault, Forfeit)
    if group is None:
        assert (seat.limits, fault.termination) == ("polled", Termination.INIT_CRASH)
        return
    assert (seat.limits, fault.termination) == ("kernel", expected)
    assert fault.detail["max_rss"] == toll.peak_bytes
    assert fault.detail["signal"] == signal.SIGKILL
    assert list(group.glob("arena-bot-*")) == []


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[object]:
    """Make the search for a group end in the way that the test's parameter says."""
    answer: Subtree | NoSubtreeError = request.param

    def search() -> Subtree:
        if isinstance(answer, Subtree):
            return answer
        raise answer

    exact._find.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(exact, "enter", search)
    yield answer
    exact._find.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


HERE = Subtree(Path("/sys/fs/cgroup/run-1.scope"))
ALIEN = NoSubtreeError("/x/cgroup.procs cannot be written: this cgroup is not delegated to the arena")
OLD = NoSubtreeError("/x/cgroup.controllers lacks memory", is_delegable=False)
BOOT = "boot with systemd.unified_cgroup_hierarchy=1"


@pytest.mark.parametrize("found", [HERE], indirect=True)
def test_exact_limits_are_had(found: object) -> None:
    assert own_subtree() is found
    assert describe_limits() == f"kernel: each bot gets a cgroup of its own below {HERE.root}"
    for tier in (Tier.T1, Tier.T2, Tier.T3):
        check_limits("kernel", tier)
    with pytest.raises(ConfigError, match="have no limits; leave out --isolation none"):
        check_limits("kernel", Tier.T0)


@pytest.mark.parametrize(
    ("user", "command"),
    [
        (0, "systemd-run --scope -p Delegate=yes arena …"),
        (1000, "systemd-run --user --scope -p Delegate=yes arena …"),
    ],
)
@pytest.mark.parametrize("found", [ALIEN], indirect=True)
def test_the_way_to_exact_limits_is_named(
    found: object, user: int, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(sys, "platform", "linux")
    assert own_subtree() is None
    assert describe_limits() == f"polled (exact ones: {command}): {found}"
    with pytest.raises(ArenaError) as caught:
        check_limits("kernel", Tier.T3)
    assert str(caught.value) == (
        f"--require-limits kernel: exact limits are not available here, {found}; exact ones: {command}"
    )
    for required in (None, "polled"):
        check_limits(required, Tier.T3)
        check_limits(required, Tier.T0)


@pytest.mark.parametrize("found", [OLD], indirect=True)
def test_a_machine_of_another_time_is_told_what_to_become(
    found: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert BOOT in describe_limits()
    assert str(found) in describe_limits()
    with pytest.raises(ArenaError, match=BOOT):
        check_limits("kernel", Tier.T2)


@pytest.mark.parametrize("found", [HERE], indirect=True)
def test_elsewhere_limits_are_polled(found: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert own_subtree() is not found
    assert describe_limits() == "polled (exact ones need Linux): darwin has no cgroups"


def test_what_is_found_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = own_subtree()
    monkeypatch.setattr(exact, "enter", lambda: None)
    with suppress(ArenaError):
        check_limits("kernel", Tier.T3)
    assert own_subtree() is kept
