"""A bot in one file: how it plays, what it may import, and a one-sentence message for each error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.sandbox.tier import Tier
from arena_bots.adapters.python import make_bot
from arena_plugins.contract import Limit, Termination
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.match import MatchResult

    Play = Callable[..., list[MatchResult]]
    Write = Callable[..., Path]

GAME = load_game("tic-tac-toe")
SOURCE = """
from arena_plugins import OptionReader, PlayResult, hookimpl
{imports}

class Bot:
    def __init__(self, number):
        self.number = number

    def play(self, state, limit):
        return PlayResult(state.legal_actions[self.number])

@hookimpl
def make_bot(game, seed, options):
    reader = OptionReader("file", options)
    number = reader.integer("number", {default}, low=-9, high=8)
    reader.done()
    return Bot(number)
"""


@pytest.fixture(autouse=True)
def unchanged_imports() -> Iterator[None]:
    """Remove what helpers add to the imports of this process."""
    path, finders, modules = list(sys.path), list(sys.meta_path), set(sys.modules)
    yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def source(default: str = "0", imports: str = "") -> str:
    return SOURCE.format(default=default, imports=imports)


def first_action(path: Path, **options: str) -> int:
    bot = make_bot(GAME, 1, {"file": str(path), **options})
    return bot.play(GAME.initial_state(), Limit()).action


def test_further_options_are_those_of_the_bot(write: Write) -> None:
    path = write(source())
    assert [first_action(path), first_action(path, number="4")] == [0, 4]
    with pytest.raises(OptionError, match='file has no option "numbers"; did you mean "number"'):
        first_action(path, numbers="4")


def test_the_file_runs_once_for_a_process(write: Write, tmp_path: Path) -> None:
    """The file is executed once, as a module is imported once, although bots are created for every match."""
    trace = tmp_path / "trace"
    path = write(source() + f"\nwith open({str(trace)!r}, 'a') as file: file.write('x')\n")
    first_action(path)
    first_action(path, number="1")
    assert trace.read_text() == "x"


@pytest.mark.parametrize("tier", [Tier.T1, Tier.T2])
def test_two_files_meet(play: Play, write: Write, tier: Tier) -> None:
    old, new = write(source("0"), "old.py"), write(source("-1"), "new.py")
    (result,) = play(f"python:file={old}", f"python:file={new}", "tic-tac-toe", tier=tier)
    assert result.actions == (0, 8, 1, 7, 2)
    assert result.termination == Termination.RULES


def test_two_files_are_two_competitors(write: Write) -> None:
    old, new = write(source("0"), "old.py"), write(source("1"), "new.py")
    one, two = resolve([f"python:file={old}", f"python:file={new}"], margin_ms=0)
    assert (one.label, two.label) == ("python:file=old.py", "python:file=new.py")
    assert one.record.identity != two.record.identity
    assert one.is_foreign


def test_helpers_are_imported(write: Write, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from package.inner import THREE")
    (tmp_path / "package" / "inner.py").write_text("THREE = 3")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "helper_in_folder.py").write_text("TWO = 2")
    helper = write("ONE = 1", "helper_file.py")
    imports = (
        "from helper_file import ONE\nfrom helper_in_folder import TWO\nfrom package.inner import THREE\n"
        "import package"
    )
    options = {
        "with": str(helper),
        "with2": str(tmp_path / "folder"),
        "with10": str(tmp_path / "package"),
    }
    path = write(source("ONE + TWO + package.THREE", imports))
    assert first_action(path, **options) == 6


def test_a_helper_is_imported_in_a_sandbox(play: Play, write: Write) -> None:
    helper = write("ONE = 1", "helper_file.py")
    path = write(source("ONE", "from helper_file import ONE"))
    (result,) = play(f"python:file={path},with={helper}", "random", "tic-tac-toe", tier=Tier.T2)
    assert result.actions[0] == 1
    (alone,) = play(f"python:file={path}", "random", "tic-tac-toe", tier=Tier.T1)
    assert alone.termination == Termination.INIT_CRASH


@pytest.mark.parametrize("main", ["bot.py", "main.py"])
def test_a_folder_plays_with_all_that_lies_in_it(
    main: str, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "anna"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "number.txt").write_text("3")
    (folder / "anna_helper.py").write_text("ONE = 1")
    imports = (
        "from anna_helper import ONE\nfrom pathlib import Path\n"
        "THREE = int((Path(__file__).parent / 'data' / 'number.txt').read_text())"
    )
    (folder / main).write_text(source("ONE + THREE", imports))
    if main == "bot.py":
        # Beside bot.py, main.py is one module of the bot among others, and nothing imports it.
        (folder / "main.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    (result,) = play("python:file=anna", "random", "tic-tac-toe", tier=Tier.T2)
    assert result.actions[0] == 4
    (before,) = resolve(["python:file=anna"], margin_ms=0)
    assert before.label == "python:file=anna"
    (folder / "data" / "number.txt").write_text("2")
    assert resolve(["python:file=anna/"], margin_ms=0)[0].record.identity != before.record.identity


def test_a_folder_without_a_bot_says_so(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"folder .* has no bot\.py or main\.py; name the file in it"):
        first_action(tmp_path)


def test_a_helper_may_not_be_called_as_a_library(write: Write) -> None:
    helper = write("", "random.py")
    with pytest.raises(
        OptionError, match=r"with=random\.py cannot be imported, .* module random is installed"
    ):
        first_action(write(source()), **{"with": str(helper)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef f(:\n", r"agent\.py is not valid Python: invalid syntax \(line 2\)"),
        (
            "x = '\0'",
            r"agent\.py is not valid Python: source code string cannot contain null bytes( \(line \d+\))?$",
        ),
        ("x = 1", r"agent\.py defines no bot: .* no hook make_bot; mark a function of that name @hookimpl"),
        ("def make_bot(game, seed, options): pass", r"agent\.py defines no bot: "),
        (
            "import no_such",
            r"agent\.py fails: ModuleNotFoundError: .*no_such'; with=PATH adds what it imports",
        ),
        ("1 / 0", r"agent\.py fails: ZeroDivisionError: division by zero$"),
        ("raise SystemExit(3)", r"agent\.py fails: SystemExit: 3$"),
        ("assert 1 > 2", r"agent\.py fails: AssertionError$"),
    ],
)
def test_a_file_that_is_no_bot(text: str, message: str, write: Write) -> None:
    with pytest.raises(PluginError, match=message):
        first_action(write(text))


def test_an_error_in_a_helper_is_not_taken_for_one_of_the_file(write: Write) -> None:
    helper = write("x = 1\ny = (\n", "tables.py")
    with pytest.raises(PluginError, match=r"agent\.py fails: SyntaxError: '\(' was never closed$"):
        first_action(write("import tables"), **{"with": str(helper)})


def test_a_file_that_is_missing(write: Write) -> None:
    for text in ("", "nowhere.py"):
        with pytest.raises(OptionError, match=r'there is no file or folder ".*"; write python:file=BOT\.py'):
            make_bot(GAME, 1, {"file": text} if text else {})
    for text in ("", "nowhere.py"):
        with pytest.raises(OptionError, match=r'python: with2 is not a file or folder: "'):
            first_action(write(source()), with2=text)


def test_within_the_arena_its_code_counts_as_foreign(write: Write) -> None:
    """So the tournament requires tier T2, and refuses `--isolation none`."""
    from arena.coordinator.plan import choose_tier
    from arena.errors import ArenaError

    (bot,) = resolve([f"python:file={write(source())}"], margin_ms=0)
    with pytest.raises(ArenaError, match=r"tier T2 is required for python:file=agent\.py"):
        choose_tier("none", None, [bot])
