"""The jobs of a slot: bots start from files of its own machine, whatever earlier runs requested."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from arena.entrants import resolve
from arena.executor.cluster.contents import BotLackError, read_piece
from arena.executor.cluster.messages import JobRow, PlayBatch
from arena.executor.cluster.slot import Jobs
from arena.home import home
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.entrants import Competitor
    from arena.executor.cluster.slot_link import SlotLink
    from arena.executor.job import Job


class Coordinator:
    """The other end of a slot's link, with a home of its own."""

    def __init__(self, home: Path, be_at: Callable[[Path], None]) -> None:
        self.num_asked = 0
        self.ended: set[str] = set()
        self._home, self._be_at = home, be_at

    def ask_piece(self, content: str, piece: int) -> bytes:
        self.num_asked += 1
        self._be_at(self._home / "coordinator")
        data = read_piece(content, piece)
        self._be_at(self._home / "slot")
        return data

    def was_aborted(self, run: str) -> bool:
        return run in self.ended

    def say(self, _: object) -> None:
        raise AssertionError("nothing was damaged")


class Slot:
    """A slot that repeatedly gets the first job of a tournament, for different runs."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *bots: str) -> None:
        def be_at(home: Path) -> None:
            monkeypatch.setenv("ARENA_HOME", str(home))

        be_at(tmp_path / "coordinator")
        self._bots = bots or ("random:st=0.5", "minimax:depth=1")
        sitting = Sitting(tmp_path / "arena.db", config(*self._bots, isolation="T1", require_tier="T1"))
        self._job: Job = sitting.jobs()[0]
        sitting.store.close()
        be_at(tmp_path / "slot")
        self.coordinator = Coordinator(tmp_path, be_at)
        self._jobs = Jobs(cast("SlotLink", self.coordinator), 1 << 40, None)
        self._num_runs = 0

    def kept_runs(self) -> set[str]:
        return {run for run, _ in self._jobs._templates}  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its memory is not seen otherwise

    def first_of(self, tier: str, margin_ms: int = 0) -> Competitor:
        """Return the first bot of the job, as the slot starts it for another run."""
        self._num_runs += 1
        bots: list[Any] = [
            msgspec.structs.replace(
                bot, place="", state="", limit=None if bot.limit is None else _with_margin(bot, margin_ms)
            )
            for bot in (self._job.first, self._job.second)
        ]
        job = msgspec.structs.replace(self._job, first=bots[0], second=bots[1], tier=tier)
        row = JobRow(0, job.number, 0, job.match, (), 1, 2, stalls_count=False)
        run = f"run {self._num_runs}"
        (here,) = self._jobs.of(PlayBatch(run, 1, {0: msgspec.msgpack.encode(job)}, (row,)))
        return here.first


def _with_margin(bot: Competitor, margin_ms: int) -> Any:  # noqa: ANN401 - of msgspec
    assert bot.limit is not None
    return msgspec.structs.replace(bot.limit, margin_ms=margin_ms)


@pytest.fixture
def slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slot:
    return Slot(tmp_path, monkeypatch)


def test_a_bot_of_an_earlier_run_without_isolation_is_fetched(slot: Slot) -> None:
    assert slot.first_of("T0").place == ""
    place = slot.first_of("T1").place
    assert place.startswith(str(home()))
    assert Path(place).is_dir()
    assert slot.first_of("T0").place == ""


def test_templates_of_runs_that_ended_are_dropped(slot: Slot) -> None:
    for _ in range(3):
        slot.first_of("T0")
    slot.coordinator.ended |= {"run 1", "run 3"}
    assert slot.kept_runs() == {"run 1", "run 2", "run 3"}
    slot.first_of("T0")
    assert slot.kept_runs() == {"run 2", "run 4"}


def test_a_bot_that_was_fetched_must_still_be_installed_to_run_in_process(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot.first_of("T1")

    def other(*texts: object, **changes: Any) -> list[Competitor]:  # noqa: ANN401 - of any name
        del texts
        return resolve(["minimax:depth=2"], **changes)

    monkeypatch.setattr("arena.executor.cluster.slot.resolve", other)
    with pytest.raises(BotLackError, match="is another bot here"):
        slot.first_of("T0")


def test_a_content_that_made_room_for_others_is_fetched_again(slot: Slot) -> None:
    bot = slot.first_of("T1")
    num_asked = slot.coordinator.num_asked
    assert slot.first_of("T1") == bot
    assert slot.coordinator.num_asked == num_asked, "it is asked for once"
    shutil.rmtree(bot.place)
    again = slot.first_of("T1")
    assert Path(again.place).is_dir()
    assert slot.coordinator.num_asked > num_asked
    assert again.state != bot.state


def test_the_limit_of_a_bot_is_that_of_its_run(slot: Slot) -> None:
    limits = [slot.first_of("T1", margin_ms).limit for margin_ms in (50, 500)]
    assert [None if limit is None else limit.margin_ms for limit in limits] == [50, 500]


_BOT = """
from arena_plugins import PlayResult, hookimpl
from helper import CHOOSE
{needs}
try:
    import a_library_to_be_quicker
except ImportError:
    pass


class First:
    def play(self, state, limit):
        return PlayResult(CHOOSE(state.legal_actions))


@hookimpl
def make_bot(game, seed):
    return First()
"""


@pytest.mark.parametrize(
    ("needs", "helper", "lacks"),
    [
        ("import numpy.linalg", "", ""),
        ("import a_library_at_home", "", "a_library_at_home"),
        ("from a_library_at_home.part import name", "", "a_library_at_home"),
        ("", "import a_library_at_home as lib", "a_library_at_home"),
        ("this is no Python", "", ""),
    ],
)
def test_a_file_whose_library_is_not_installed_here_is_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: str, helper: str, lacks: str
) -> None:
    (tmp_path / "bot.py").write_text(_BOT.format(needs=needs))
    (tmp_path / "helper.py").write_text(f"{helper}\nCHOOSE = min\n")
    spec = f"python:file={tmp_path / 'bot.py'},with={tmp_path / 'helper.py'}"
    slot = Slot(tmp_path, monkeypatch, spec, "random")
    if not lacks:
        assert slot.first_of("T1").place
        return
    with pytest.raises(BotLackError, match=f"imports {lacks}, which is not installed there; install it"):
        slot.first_of("T1")


@pytest.mark.parametrize(("init", "lacks"), [("", ""), ("import a_library_at_home\n", "a_library_at_home")])
def test_modules_that_came_with_the_file_are_no_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init: str, lacks: str
) -> None:
    folder = tmp_path / "agent"
    for package in ("parts", "without_init"):
        (folder / package).mkdir(parents=True)
    (folder / "bot.py").write_text(_BOT.format(needs="import _compiled, parts, without_init.part"))
    (folder / "helper.py").write_text("CHOOSE = min\n")
    (folder / "_compiled.cpython-311-x86_64-linux-gnu.so").touch()
    (folder / "without_init" / "part.py").touch()
    (folder / "parts" / "__init__.py").write_text(init)
    # No file of the bot imports the first, and the second is not executed, as there is a bot.py.
    for unused in (folder / "parts" / "trainer.py", folder / "main.py"):
        unused.write_text("import another_library_at_home\n")
    slot = Slot(tmp_path, monkeypatch, f"python:file={folder}", "random")
    if not lacks:
        assert slot.first_of("T1").place
        return
    with pytest.raises(BotLackError, match=f"imports {lacks}, "):
        slot.first_of("T1")


def test_a_machine_that_cannot_keep_bots_says_where(slot: Slot) -> None:
    home().mkdir()
    (home() / "content").write_text("in the way")
    with pytest.raises(BotLackError, match=r"cannot keep bots in \S+/slot/content: .+; make room there"):
        slot.first_of("T1")
