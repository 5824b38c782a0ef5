"""A bot installed into its own folder: what its processes import and read; the arena never loads it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from arena.content.packages import shared_path
from arena.coordinator.config import TournamentConfig
from arena.coordinator.plan import make_plan
from arena.entrants import Competitor, resolve
from arena.errors import ConfigError, OptionError, PluginError
from arena.executor import sandbox_trial, sandboxed
from arena.executor.sandbox_trial import run_kit
from arena.executor.sandboxed import Done, load_statuses, run_sandboxed, strongest_usual_tier
from arena.executor.worker_seats import make_seat, start_of
from arena.referee.seats import SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.readable import python_readable
from arena.sandbox.tier import Tier
from arena.shelf.install import install
from arena.shelf.listing import find_bot
from arena_plugins import load_game
from arena_plugins.command import host_path
from arena_plugins.entries import BOTS
from wheels import BOT, make_wheel

GAME = load_game("tic-tac-toe")
NOSY = (
    BOT
    + """
import json, os, sys
import numpy, nosy_inner
own = os.path.dirname(__file__)
other = GOOD
def seen(path):
    try:
        return len(os.listdir(path))
    except OSError as error:
        return type(error).__name__
comes_first = sys.path.index(own) < sys.path.index(os.path.dirname(os.path.dirname(numpy.__file__)))
is_own = os.path.dirname(nosy_inner.__file__) == own
facts = [comes_first, is_own, other in sys.path, seen(own) == 3]
raise RuntimeError(json.dumps([*facts, seen(other), os.getpid()]))
"""
)
DRIVER = (
    BOT.replace("return PlayResult(", "return PlayResult(asked(").replace("[0])", "[0]))")
    + """
import os
reader, writer = map(int, os.environ["ARENA_ENGINE_FDS"].split(","))

def asked(action):
    os.write(writer, f"{action}\\n".encode())
    return int(os.read(reader, 100))
"""
)
LIAR = (
    BOT
    + """
import os, sys
if "arena_plugins.host" not in sys.modules:
    for fd in range(3, 10):
        try:
            os.write(fd, b'[1, "x"')
        except OSError:
            pass
    os._exit(3)
"""
)
"""A bot that behaves in a host, and in any other process writes garbage and exits."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the bots of this file, each with a module of its own and a file that must never run."""
    folder = tmp_path_factory.mktemp("apart")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_HOME", str(folder / "home"))
        for name, module in (("good", BOT), ("driver", DRIVER), ("nosy", NOSY), ("liar", LIAR)):
            good = "" if name == "good" else f"{resolve(['good'], margin_ms=0)[0].place}/lib"
            source = module.replace("GOOD", repr(good))
            files = {f"{name}.py": source, f"{name}_inner.py": "", "evil.pth": "import no_such_module\n"}
            install(str(make_wheel(folder, name, {name: name}, files)))
    return folder / "home"


@pytest.fixture(autouse=True)
def shelf(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARENA_HOME", str(home))
    return home / "bots"


@pytest.fixture
def good() -> Competitor:
    return resolve(["good"], margin_ms=50)[0]


def test_it_plays_in_a_host_of_its_own(good: Competitor) -> None:
    seat = make_seat(good, GAME.name, strongest_usual_tier())
    control = TimeControl.parse(None, 30, None)
    assert seat.start(SeatSetup(match="m", game=GAME, player=0, seed=1, control=control)) is None
    assert seat.deterministic
    seat.close()
    assert "good" not in sys.modules


def test_it_runs_in_no_process_of_the_arena(good: Competitor) -> None:
    with pytest.raises(
        PluginError, match="came by `arena bots install`; such bots never run in a process of the arena"
    ):
        make_seat(good, GAME.name, Tier.T0)
    config = TournamentConfig(bots=("good", "random"), isolation="none", require_tier="T0")
    with pytest.raises(ConfigError, match=r"always run sandboxed.*: good; omit --isolation none"):
        make_plan(config)


def test_its_path_and_files(good: Competitor, shelf: Path) -> None:
    assert Path(good.folder).is_relative_to(shelf / "good")
    setup = start_of(good, good.place)
    assert setup.path == [f"{good.place}/lib", *shared_path()]
    assert Path(good.place, "lib", "good.py").read_text() == BOT
    assert os.path.realpath(good.place) in setup.readable.paths
    assert not any(Path(path).is_relative_to(shelf) for path in setup.readable.paths)
    everybody = python_readable(tuple(host_path()))
    assert not any(Path(path).is_relative_to(shelf.parent) for path in everybody.paths)
    ours = next(path for path in sys.path if Path(path, "arena_bots").is_dir())
    (bundled,) = resolve(["random"], margin_ms=0)
    for bot in (good, bundled):
        paths = start_of(bot, bot.place).readable.paths
        assert str(Path(ours, "arena_bots", "random.py")) not in paths
    assert Path(bundled.place, "lib", "arena_bots", "random.py").is_file()


def test_what_it_sees_while_it_loads() -> None:
    """Its folder comes first and is readable; in T2 and T3 another bot's folder is not readable."""
    status = load_statuses(BOTS, [find_bot("nosy")])[0]
    *facts, others, pid = json.loads(status.partition("RuntimeError: ")[2])
    assert facts == [True, True, False, True]
    assert others == {Tier.T3: "FileNotFoundError", Tier.T2: "PermissionError"}.get(
        strongest_usual_tier(), others
    )
    assert pid != os.getpid()
    assert "nosy" not in sys.modules


def test_the_trial_of_a_good_one() -> None:
    assert load_statuses(BOTS, [find_bot("good")])[0] == "ok"
    checks = run_kit("good", "tic-tac-toe", 0.1)
    assert len(checks) > 5
    # The bot fails one check, because it accepts any option.
    assert [check.title for check in checks if not check.passed] == ["An unknown option raises OptionError"]


def test_the_trial_of_one_with_an_engine(tmp_path: Path) -> None:
    echo = tmp_path / "echo.py"
    echo.write_text("import sys\nfor line in sys.stdin: print(line, end='', flush=True)\n")
    checks = run_kit(f"driver:cmd={sys.executable} -I -S {echo}", "tic-tac-toe", 0.1)
    assert len(checks) > 5
    assert [check.title for check in checks if not check.passed] == ["An unknown option raises OptionError"]
    with pytest.raises(OptionError, match="driver needs a program"):
        run_kit('driver:cmd=""', "tic-tac-toe", 0.1)


def test_the_trial_of_a_bad_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_statuses(BOTS, [find_bot("liar")])[0] == "no reason given"
    said, ended = run_kit("liar", "tic-tac-toe", 0.1)
    assert (said.passed, ended.passed) == (False, False)
    assert ended.detail == "its process ended with 3: no reason given"
    monkeypatch.setattr(sandboxed, "_LOAD_S", 0.0)
    monkeypatch.setattr(sandbox_trial, "_KIT_S", 0.0)
    assert load_statuses(BOTS, [find_bot("liar")])[0] == "does not load within 0 s"
    (check,) = run_kit("liar", "tic-tac-toe", 0.1)
    assert (check.passed, check.detail) == (False, "no end within 0 s")


def test_without_a_sandbox_none_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.sandbox.launch_recipe.tiers_to_try", list[Tier])
    status = load_statuses(BOTS, [find_bot("good")])[0]
    assert status.startswith("not tried: tier T")
    assert "is not available on this system" in status


@pytest.mark.parametrize(
    ("code", "done"),
    [
        ("print('a'); import sys; sys.exit(3)", Done(3, b"a\n", b"")),
        ("import os; os.write(2, b'x' * 300_000); os.kill(os.getpid(), 9)", Done(-9, b"", b"x" * 300_000)),
        ("import sys; sys.stdout.write('x' * 3_000_000)", Done(0, b"x" * (1 << 20), b"")),
    ],
)
def test_a_program_runs_to_its_end(code: str, done: Done) -> None:
    readable = python_readable(tuple(host_path()))
    assert run_sandboxed([sys.executable, "-I", "-S", "-c", code], readable, 60.0) == done
