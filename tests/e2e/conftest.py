"""The distributions of this checkout, built once without network for all test processes of a run."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from children import run_child
from once import make_once
from source_tree import ROOMS, ROOT


@dataclass(frozen=True)
class Built:
    """Paths of the files of one build."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def wheel_python(built: Built, run_folder: Path) -> Path:
    """Return the interpreter of an environment with pip and the wheel; libraries come from outside it."""
    folder = run_folder / "wheel-only"
    python = folder / "venv" / "bin" / "python"

    def make() -> None:
        # Its pip is that of the test environment: installing another one took four seconds of CPU.
        run_child([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], cwd=folder)
        install = ["--python", python, "install", "--no-deps", "--no-index", built.wheel]
        run_child([sys.executable, "-m", "pip", *install], cwd=folder)
        paths = run_child(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], cwd=folder
        )
        inner = Path(paths.stdout.strip())
        (inner / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        pip = python.with_name("pip")
        pip.write_text(f"#!{python}\nimport runpy\nrunpy.run_module('pip', run_name='__main__')\n")
        pip.chmod(0o755)
        _copy_compiled(inner)

    make_once(folder, make)
    return python


def _copy_compiled(packages: Path) -> None:
    """Copy the compiled kernels of the checkout to the installed packages, which have the same sources.

    Otherwise the pages would compile nearly all of them once more. A kernel checks the digest of its sources
    before it loads its code, so a copy that does not fit is compiled as usual.
    """
    for package, room in ROOMS.items():
        for kernel in room.rglob("__pycache__/*.nb[ci]"):
            place = packages / package / kernel.parent.relative_to(room)
            place.mkdir(exist_ok=True)
            shutil.copy(kernel, place)


@pytest.fixture(scope="session")
def built(run_folder: Path) -> Built:
    """Build the sdist from a copy of the checkout, and the wheel from that sdist."""
    folder = run_folder / "built"

    def make() -> None:
        source = folder / "checkout"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
        run_child(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source],
            cwd=folder,
            deadline=300,
        )

    make_once(folder, make)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)
