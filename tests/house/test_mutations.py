"""Mutations fit the code and cover every package, and their runner notices tests that miss a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutation_runs import Copy, Verdict, try_all
from mutations import Mutation, StaleError, chosen, mutated, read_table
from source_tree import ROOT

FEWEST = 200
ROOMS = (
    *sorted(path.parent for path in (ROOT / "arena" / "arena").glob("*/__init__.py")),
    *(ROOT / name for name in ("plugins/arena_plugins", "db/arena_db", "alembic/versions")),
    *sorted(path.parent for path in (ROOT / "bots" / "arena_bots").glob("*/__init__.py")),
)
CODE = "LIMIT = 3\n\n\ndef is_allowed(number):\n    return number <= LIMIT\n"
TESTS = """import pathlib

import arena


def test_the_copy_is_what_runs():
    assert pathlib.Path(arena.__file__).is_relative_to(pathlib.Path(__file__).parent)


def test_the_limit_is_allowed():
    assert arena.is_allowed(3)


def test_more_is_not_allowed():
    assert not arena.is_allowed(9)


def test_that_always_fails():
    assert not arena.is_allowed(3)
"""


def test_no_entry_is_stale() -> None:
    stale: list[str] = []
    for entry in read_table():
        try:
            mutated(entry)
        except StaleError as error:
            stale.append(f"tests/mutations/{entry.room}.toml, {entry}: {error}")
    assert stale == []


def test_there_are_enough_and_every_room_has_some() -> None:
    table = read_table()
    assert len({(entry.file, entry.old, entry.new) for entry in table}) == len(table) >= FEWEST
    files = {ROOT / entry.file for entry in table}
    assert [room for room in ROOMS if not any(file.is_relative_to(room) for file in files)] == []


def entry(old: str, new: str, test: str, file: str = "arena/arena/__init__.py") -> Mutation:
    return Mutation(file=file, old=old, new=new, fault="a fault", test=f"test_code.py{test}")


def is_of(cmdline: Path, folder: Path) -> bool:
    try:
        return bytes(folder) in cmdline.read_bytes()
    except OSError:
        return False


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tiny tree whose package shadows the real one."""
    package = tmp_path / "tree" / "arena" / "arena"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "tree" / "test_code.py").write_text(TESTS, encoding="utf-8")
    return tmp_path / "tree"


def test_the_runner_tells_tests_that_notice_from_tests_that_do_not(tree: Path) -> None:
    killed = entry("<=", "<", "::test_the_limit_is_allowed")
    survived = entry("<=", "<", "::test_more_is_not_allowed")
    copied = entry("= 3", "= 4", "::test_the_copy_is_what_runs")
    stale = entry("> LIMIT", ">= LIMIT", "::test_the_limit_is_allowed")
    found = list(try_all([killed, survived, copied, stale], tree, 1))
    assert {trial.entry: trial.verdict for trial in found} == {
        killed: Verdict.KILLED,
        survived: Verdict.SURVIVED,
        copied: Verdict.SURVIVED,
        stale: Verdict.STALE,
    }
    assert [trial.detail for trial in found if trial.entry == killed] == [killed.test]
    assert (tree / "arena" / "arena" / "__init__.py").read_text(encoding="utf-8") == CODE


def test_a_test_that_fails_without_the_fault_proves_nothing(tree: Path) -> None:
    broken = entry("<=", "<", "::test_that_always_fails")
    (trial,) = try_all([broken], tree, 1)
    assert trial.verdict is Verdict.UNUSABLE
    assert trial.detail == f"without the fault: {broken.test}"


def test_a_fault_that_never_ends_is_ended_and_taken_out_again(tree: Path, tmp_path: Path) -> None:
    left = (
        "import subprocess as s, sys; s.Popen([sys.executable, '-c', 'while 1: 1'], start_new_session=True)"
    )
    endless = entry(
        "    return", f"    {left}\n    while True: pass\n    return", "::test_the_limit_is_allowed"
    )
    copy = Copy(tree, tmp_path / "copy")
    trial = copy.attempt(endless, 2.0)
    assert (trial.verdict, trial.detail) == (Verdict.TIMED_OUT, "after 2 s")
    assert (tmp_path / "copy" / endless.file).read_text(encoding="utf-8") == CODE
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if is_of(path, tmp_path / "copy")] == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (entry("=", "<", ""), "occurs 2 times"),
        (entry("3", "3", ""), "changes nothing"),
        (entry("3", "(", ""), "is no Python"),
        (entry("3", "4", "::test_that_is_gone"), "has no test test_that_is_gone"),
        (entry("3", "4", "", file="arena/gone.py"), "file does not exist"),
        (entry("3", "4", "x.py"), "no test file"),
    ],
)
def test_what_no_longer_fits_is_stale(wrong: Mutation, why: str, tree: Path) -> None:
    with pytest.raises(StaleError, match=why):
        mutated(wrong, tree)


def test_a_part_of_the_table_can_be_chosen() -> None:
    one, other = (
        Mutation(file=f"{name}.py", old="a", new="b", fault="f", test="t.py", room=name)
        for name in ("x", "y")
    )
    assert chosen([one, other], [], "") == [one, other]
    assert chosen([one, other], ["y"], "") == [other]
    assert chosen([one, other], [], "x.py: f") == [one]
    assert chosen([one, other], ["x"], "y.py") == []
