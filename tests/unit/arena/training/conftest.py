"""A command line with the trainer and the bot `weigher` installed, as a third-party plugin."""

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
    """Return the folder of the arena's training runs."""
    return tmp_path / "home" / "runs"
