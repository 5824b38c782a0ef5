"""The distributions of this checkout, built once for a session, without network."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from children import run_child
from source_tree import ROOT


@dataclass(frozen=True)
class Built:
    """Where the files of one build lie."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def wheel_python(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with pip and the wheel; libraries come from outside."""
    folder = tmp_path_factory.mktemp("wheel-only")
    run_child([sys.executable, "-m", "venv", folder / "venv"], cwd=folder)
    python = folder / "venv" / "bin" / "python"
    run_child([python, "-m", "pip", "install", "--no-deps", "--no-index", built.wheel], cwd=folder)
    paths = run_child([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], cwd=folder)
    outer = Path(paths.stdout.strip()) / "outer.pth"
    outer.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the sdist from a copy of the checkout, and the wheel from that sdist."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "checkout"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
    run_child(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source],
        cwd=folder,
        deadline=300,
    )
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)
