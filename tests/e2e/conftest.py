"""The distributions of this checkout, built once for a session, without network."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from children import run_child
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Built:
    """Where the files of one build lie."""

    sdist: Path
    wheel: Path


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
