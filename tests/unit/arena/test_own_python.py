from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from arena.own_python import interpreter, own_python, safe_path

if TYPE_CHECKING:
    from pathlib import Path

_PATH = "import json, sys; print(json.dumps(sys.path))"


def path_of(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - our own code
    return json.loads(done.stdout)


def test_the_current_folder_is_not_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    path = path_of(own_python("-c", _PATH))
    assert "" not in path
    assert str(tmp_path) not in path
    with safe_path():
        assert path_of([sys.executable, "-c", _PATH]) == path
    assert "" in path_of([sys.executable, "-c", _PATH])
    assert own_python()[0] == interpreter() == sys.executable


def test_workers_read_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("random", "tempfile", "pickle", "json"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'a').write({name!r})")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with safe_path(), ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("before", [None, "", "1"])
def test_the_environment_is_put_back(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    with safe_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ.get("PYTHONSAFEPATH") == before
