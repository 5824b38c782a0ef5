"""Kernels import numba without the optional libraries that numba looks for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from children import modules_after, run_child

if TYPE_CHECKING:
    from pathlib import Path

UNUSED = {"coverage", "scipy", "yaml"}
KERNELS = "import arena.games.kernels.bits\n"


def test_what_numba_only_looks_for_is_not_imported(tmp_path: Path) -> None:
    assert UNUSED & modules_after(KERNELS, tmp_path) == set()
    # Numba alone does import them; otherwise the test above would test nothing.
    assert modules_after("import numba", tmp_path) >= UNUSED


def test_later_it_is_found_as_usual(tmp_path: Path) -> None:
    assert modules_after(f"{KERNELS}import coverage, scipy, yaml", tmp_path) >= UNUSED


def test_lines_are_reported_to_a_running_coverage(tmp_path: Path) -> None:
    code = f"import coverage\n{KERNELS}from numba.misc.coverage_support import coverage as known\n"
    run_child([sys.executable, "-c", f"{code}assert known is coverage"], cwd=tmp_path)


def test_a_configuration_file_is_read(tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text("boundscheck: 1\n")
    code = f"{KERNELS}import numba\nassert numba.config.BOUNDSCHECK == 1"
    run_child([sys.executable, "-W", "error", "-c", code], cwd=tmp_path)


def test_another_thread_may_import_them_meanwhile(tmp_path: Path) -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from arena.games.kernels.numba_parts import _alone
with _alone(), ThreadPoolExecutor(1) as beside:
    import importlib
    assert beside.submit(importlib.import_module, "yaml").result().safe_load("1") == 1
"""
    run_child([sys.executable, "-c", code], cwd=tmp_path)
