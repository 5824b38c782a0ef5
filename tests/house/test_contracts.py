"""The import contracts of pyproject are kept, and each fails for a planted violation."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from typing import TYPE_CHECKING, cast

import pytest

from children import run_child
from source_tree import ROOMS, ROOT

if TYPE_CHECKING:
    from pathlib import Path

LINT = (sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-logo")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = cast("list[dict[str, str]]", PYPROJECT["tool"]["importlinter"]["contracts"])

PLANTED = {
    "packages": {"db/arena_db/planted.py": "import arena.errors"},
    "layers": {"arena/arena/games/planted.py": "import arena.referee"},
    "layers: a module in no layer": {"arena/arena/planted.py": ""},
    "bots": {"bots/arena_bots/planted.py": "from arena import errors"},
    "strangers": {
        "bots/arena_bots/planted.py": "def lazy():\n    import arena_bots.other",
        "bots/arena_bots/other.py": "",
    },
    "frameworks": {"arena/arena/games/planted.py": "def lazy():\n    import torch"},
    "screen": {"arena/arena/cli/planted.py": "if TYPE_CHECKING:\n    import textual"},
    "server": {"arena/arena/pages/planted.py": "def lazy():\n    import uvicorn"},
    "machines": {"arena/arena/coordinator/planted.py": "def lazy():\n    import distributed"},
    "machines: keys": {"arena/arena/executor/cluster/planted.py": "import cryptography"},
    "sql": {"plugins/arena_plugins/planted.py": "import sqlalchemy"},
    "driver": {"db/arena_db/planted.py": "def lazy():\n    import psycopg"},
    "acyclic": {
        "db/arena_db/planted.py": "import arena_db.other",
        "db/arena_db/other.py": "def lazy():\n    import arena_db.planted",
    },
}
"""For each contract the files that violate it."""


def _lint(root: Path, *options: str) -> tuple[int, str]:
    done = run_child(
        [*LINT, "--config", root / "pyproject.toml", "--no-cache", *options],
        cwd=root,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(str(root / room.parent.name) for room in ROOMS.values())},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_contracts_are_kept() -> None:
    code, output = _lint(ROOT)
    assert code == 0, output


def test_every_contract_has_a_planted_violation() -> None:
    assert {contract["id"] for contract in CONTRACTS} == {name.partition(":")[0] for name in PLANTED}


@pytest.mark.parametrize("name", PLANTED)
def test_contract_breaks(name: str, tmp_path: Path) -> None:
    for room in ROOMS.values():
        shutil.copytree(
            room.parent, tmp_path / room.parent.name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, text in PLANTED[name].items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    code, output = _lint(tmp_path, "--contract", name.partition(":")[0])
    assert code == 1, output
    assert re.search(r"Contracts: 0 kept, 1 broken", output), output
