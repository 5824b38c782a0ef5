"""A command line where the trainer and the bot `weigher` are installed, as a stranger's plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import weigher_plugin
from command_line import CommandLine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    weigher_plugin.install(tmp_path / "site", monkeypatch)
    return CommandLine(tmp_path)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Give the folder of the runs of `arena`."""
    return tmp_path / "home" / "runs"
