"""Fresh interpreters load few modules: help, lists and play import nothing they do not need."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from arena_plugins.command import host_path
from children import arena_call, arena_environment, modules_after, run_child
from small_nets import small_model
from source_tree import ROOT
from wheels import BOT

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = {"distributed", "dask", "tornado", "cryptography"}
HEAVY = {
    "sqlalchemy",
    "alembic",
    "psycopg",
    "textual",
    "numba",
    "onnxruntime",
    "torch",
    "tensorflow",
    "keras",
}
NUMERIC = {"numpy", "scipy"}
FRAMEWORKS = {"torch", "tensorflow", "keras"}
BUNDLED = sorted(
    point.name for point in entry_points(group="arena.bots") if point.dist and point.dist.name == "bot-arena"
)
HELP_CPU = 0.5
"""Maximum seconds of CPU of `arena --help`; the target is 0.2, and the bound allows for a busy machine."""

ENGINE = ROOT / "tests" / "unit" / "arena_bots" / "adapters" / "fake_engine.py"
FOREIGN: dict[str, tuple[str, dict[str, str]]] = {
    "alphazero": ("tic-tac-toe", {"weights": "net.onnx"}),
    "exec": ("tic-tac-toe", {"cmd": f"sh {ROOT / 'docs' / 'examples' / 'first-legal.sh'}"}),
    "gomocup": ("gomoku", {"cmd": f"{sys.executable} {ENGINE} {os.devnull} lf"}),
    "kaggle": ("connect-four", {"file": "agent.py"}),
    "python": ("tic-tac-toe", {"file": "bot.py"}),
    "td-lambda": ("connect-four", {}),
}
"""Bots that need a particular game or options."""


def _first_names(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_help_is_light(tmp_path: Path) -> None:
    loaded = _first_names(modules_after(arena_call("--help"), tmp_path))
    assert loaded & (HEAVY | NUMERIC | CLUSTER) == set()
    assert "arena" in loaded


def test_a_worker_has_no_command_line(tmp_path: Path) -> None:
    # multiprocessing makes a worker import the main module of the run.
    loaded = modules_after("import arena.__main__, arena.executor.worker", tmp_path)
    assert _first_names(loaded) & (HEAVY | NUMERIC | {"click", "rich_click", "rich", "packaging"}) == set()
    assert "arena.cli" not in loaded


def test_matches_on_this_machine_load_nothing_of_a_cluster(tmp_path: Path) -> None:
    words = ("match", "random", "random", "--game", "tic-tac-toe", "--rounds", "1", "--isolation", "none")
    for executor in ("inline", "local"):
        loaded = modules_after(arena_call(*words, "--executor", executor, "--concurrency", "1"), tmp_path)
        assert _first_names(loaded) & CLUSTER == set()
        assert not any(module.startswith("arena.executor.cluster") for module in loaded)


def test_training_on_this_machine_loads_nothing_of_a_cluster(tmp_path: Path) -> None:
    words = ("train", "td-lambda", "games=40", "--recipe", "article", "--seed", "1", "--quiet")
    loaded = modules_after(arena_call(*words), tmp_path)
    assert _first_names(loaded) & CLUSTER == set()
    assert not any(module.startswith("arena.executor.cluster") for module in loaded)


def test_a_slot_plays_shards_without_frameworks(tmp_path: Path) -> None:
    loaded = modules_after("import arena_bots.alphazero.train.shards", tmp_path)
    assert _first_names(loaded) & (FRAMEWORKS | {"onnx"}) == set()


def test_a_host_has_no_lists(tmp_path: Path) -> None:
    loaded = modules_after("import arena_plugins.host", tmp_path)
    assert _first_names(loaded) & (HEAVY | NUMERIC) == set()
    assert "importlib.metadata" not in loaded


def test_contract_is_light(tmp_path: Path) -> None:
    loaded = _first_names(modules_after("import arena_plugins", tmp_path))
    assert loaded & (HEAVY | {"scipy"}) == set()
    assert loaded.isdisjoint({"arena", "arena_bots", "arena_db"})


def test_listing_imports_no_bot(tmp_path: Path) -> None:
    loaded = modules_after(arena_call("bots", "list"), tmp_path)
    assert {module for module in loaded if module.startswith("arena_bots")} == set()
    assert _first_names(loaded) & (HEAVY | FRAMEWORKS | NUMERIC | {"packaging"}) == set()
    assert "arena.executor.preflight" not in loaded


@pytest.mark.parametrize("name", BUNDLED)
def test_playing_needs_no_framework(name: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def agent(): return 3", encoding="utf-8")
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "net.onnx").write_bytes(small_model("tic-tac-toe"))
    game, options = FOREIGN.get(name, ("tic-tac-toe", {}))
    code = f"""
from importlib.metadata import entry_points
from arena_plugins.contract import Limit
game = next(iter(entry_points(group="arena.games", name={game!r}))).load().make_game({{}})
bot = next(iter(entry_points(group="arena.bots", name={name!r}))).load().make_bot(game, 1, {options!r})
state = game.initial_state()
assert bot.play(state, Limit(seconds=0.2, nodes=20)).action in state.legal_actions
"""
    assert _first_names(modules_after(code, tmp_path)) & FRAMEWORKS == set()


SLOW_TO_IMPORT = {"difflib", "hashlib", "pathlib", "numpy", "urllib"}
"""Modules that are slow to import, which every start of a bot would pay for."""
START = """
import sys
before = set(sys.modules)
sys.path += {path!r}
import arena_plugins.host, arena.games.tic_tac_toe, arena_bots.random
print(*set(sys.modules) - before)
"""
STARTER = """
import resource, select, socket, sys
sys.path.append({code!r})
from arena.sandbox.launch import kernel, landlock, namespaces, privileges, seccomp, view
print(*sys.modules)
"""
"""What `arena.sandbox.launcher` imports before it starts bots."""


def _loaded(code: str, *options: str) -> set[str]:
    done = run_child([sys.executable, "-P", "-s", "-S", "-B", *options, "-c", code], cwd=ROOT)
    return _first_names(set(done.stdout.split()))


def test_a_bot_does_not_wait_for_imports() -> None:
    loaded = _loaded(START.format(path=host_path()), "-X", "utf8")
    assert "msgspec" in loaded
    assert loaded & SLOW_TO_IMPORT == set()


def test_a_starter_does_not_wait_for_imports() -> None:
    loaded = _loaded(STARTER.format(code=str(ROOT / "arena")), "-I")
    assert "ctypes" in loaded
    assert loaded & {"contextlib", "pathlib", "re", "typing"} == set()


def _cpu_seconds(code: str, folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603 - this interpreter with a text of this test
        [sys.executable, "-c", code],
        cwd=folder,
        env=arena_environment(folder),
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_costs_little(tmp_path: Path) -> None:
    help_code = "import sys\n" + arena_call("--help")
    bare = min(_cpu_seconds("pass", tmp_path) for _ in range(3))
    cost = min(_cpu_seconds(help_code, tmp_path) for _ in range(3))
    print(f"arena --help: {cost:.3f} s CPU, {cost / bare:.1f} times bare Python")  # noqa: T201 - for -rP
    assert cost - bare < HELP_CPU
    assert list(tmp_path.iterdir()) == []
