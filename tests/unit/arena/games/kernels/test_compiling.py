"""Compiled code is kept on disk, and not used if one of its sources has changed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from arena.games.kernels import compiling
from children import run_child

if TYPE_CHECKING:
    from pathlib import Path

CALLEE = """
from arena.games.kernels.compiling import kernel

@kernel
def inner(number):
    return number + {added}
"""
CALLER = """
from callee import inner
from arena.games.kernels.compiling import kernel

@kernel
def outer(number):
    return 10 * inner(number)
"""
CONSTANTS = """

@kernel
def several(number):
    return inner(number) + inner(0) + inner(10)
"""
RECURSIVE = """

@kernel
def total(number, least):
    return number + total(number - 1, 0) if number > least else 0

@kernel
def mean(number):
    return total(number, 0) / number
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two modules, one calling the other, and set the usual cache for compiled code."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "source"), *sys.path])
    source = tmp_path / "source"
    source.mkdir()
    write(source, added=1)
    return source


def write(folder: Path, *, added: int) -> None:
    (folder / "callee.py").write_text(CALLEE.format(added=added), encoding="utf-8")
    (folder / "caller.py").write_text(CALLER, encoding="utf-8")


def load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401 # numba has no types
    """Return `outer` as loaded by a fresh process."""
    # Bytecode is validated by size and second of its source, which are equal for two versions here.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    compiling._stamp.cache_clear()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # a process keeps it
    modules: dict[str, Any] = {}
    for name in ("callee", "caller"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec
        assert spec.loader
        modules[name] = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, modules[name])
        spec.loader.exec_module(modules[name])
    return modules["caller"].outer


def loads(kernel: Any) -> int:  # noqa: ANN401 # numba has no types
    """Return how often the code was loaded from disk."""
    return sum(kernel.stats.cache_hits.values())


def refuse(_path: object, _mode: int) -> bool:
    return False


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.nb[ci]")}


def test_code_is_kept_beside_the_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder, monkeypatch)
    assert first(4) == 50
    assert loads(first) == 0
    second = load(folder, monkeypatch)
    assert second(4) == 50
    assert loads(second) == 1
    # The code of the other kernel is inlined into this one.
    assert {name.partition("-")[0] for name in files(folder / "__pycache__")} == {"caller.outer"}


def test_what_kernels_call_python_can_call_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(folder, monkeypatch)(4) == 50
    inner = sys.modules["callee"].inner
    assert inner(4) == 5
    assert inner.py_func(4) == 5


def test_a_constant_is_an_int_like_any_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = CALLER + CONSTANTS
    (folder / "caller.py").write_text(caller, encoding="utf-8")
    load(folder, monkeypatch)
    callers = sys.modules["caller"]
    assert callers.several(7) == 20
    part = callers.inner._part  # noqa: SLF001 # what kernels call
    assert [str(signature[0]) for signature in part.signatures] == ["int64"]


def test_a_kernel_may_call_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "caller.py").write_text(CALLER + RECURSIVE, encoding="utf-8")
    load(folder, monkeypatch)
    callers = sys.modules["caller"]
    assert callers.mean(9) == 5
    assert callers.total(4, 0) == 10


def test_a_change_of_what_is_called_compiles_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(folder, monkeypatch)(4) == 50
    kept = files(folder)
    write(folder, added=2)
    changed = load(folder, monkeypatch)
    assert changed(4) == 60
    assert loads(changed) == 0
    # Outdated code is replaced.
    assert files(folder) == kept


def test_a_change_of_the_kernels_compiles_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(folder, monkeypatch)(4) == 50
    monkeypatch.setattr(compiling, "_KERNELS", tmp_path)
    (tmp_path / "rules.py").write_text("", encoding="utf-8")
    changed = load(folder, monkeypatch)
    assert changed(4) == 50
    assert loads(changed) == 0


def test_a_sandboxed_process_reads_what_others_wrote(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(folder, monkeypatch)(4) == 50
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    inside = load(folder, monkeypatch)
    assert inside(4) == 50
    assert loads(inside) == 1
    # Code that it compiles itself is stored in its own place.
    assert inside(4.5) == 55.0
    assert len(files(tmp_path / "own")) == 2
    again = load(folder, monkeypatch)
    assert again(4.5) == 55.0
    assert loads(again) == 1


def test_a_copy_of_the_sources_uses_what_a_sandboxed_process_compiled(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    assert load(folder, monkeypatch)(4) == 50
    copy = shutil.copytree(folder, tmp_path / "container" / folder.name)
    assert not files(copy)
    inside = load(copy, monkeypatch)
    assert inside(4) == 50
    assert loads(inside) == 1
    write(copy, added=2)
    changed = load(copy, monkeypatch)
    assert changed(4) == 60
    assert loads(changed) == 0


LOADED = """
import sys
from caller import outer
assert outer(4) == 50
print(sum(outer.stats.cache_hits.values()))
print("scipy.linalg" in sys.modules, "numba.cpython.unicode" in sys.modules)
# For another signature the compiler is initialised.
assert outer(4.5) == 55.0
print("numba.cpython.unicode" in sys.modules)
"""


def test_kept_code_is_loaded_without_the_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(folder, monkeypatch)(4) == 50
    monkeypatch.setenv("PYTHONPATH", str(folder))
    done = run_child([sys.executable, "-c", LOADED], cwd=folder)
    assert done.stdout.split() == ["1", "False", "False", "True"]


def test_where_the_source_lies_out_of_reach_the_cache_of_the_arena_serves(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", refuse)
    assert load(folder, monkeypatch)(4) == 50
    assert len(files(tmp_path / "cache")) == 2
    assert not files(folder)


@pytest.mark.parametrize("content", [b"", b"\x80", b"not a pickle"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_files_are_compiled_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, kind: str
) -> None:
    assert load(folder, monkeypatch)(4) == 50
    for path in folder.rglob(f"*.{kind}"):
        path.write_bytes(content)
    damaged = load(folder, monkeypatch)
    assert damaged(4) == 50
    assert loads(damaged) == 0
    repaired = load(folder, monkeypatch)
    assert repaired(4) == 50
    assert loads(repaired) == 1


def test_a_full_disk_costs_the_code_not_the_move(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "__pycache__").write_text("a file where the folder should be", encoding="utf-8")
    assert load(folder, monkeypatch)(4) == 50
