"""A T1 bot that can kill the worker that referees it: no match is lost, and the cause is found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.sandbox.tier import Tier
from arena.sandbox.tier_grades import grade
from tournaments import Sitting, config

if TYPE_CHECKING:
    from arena_db.records import StoredMatch

CAN_KILL = 9 in grade(Tier.T1).failed
"""Whether bots can signal the arena; not if they have a separate user."""
MODULE = """
import os, signal
from arena_plugins import PlayResult, hookimpl

class Bot:
    def play(self, state, limit):
        if state.current_player == 1 and len(state.history) > 3:
            try:
                os.kill(os.getppid(), signal.SIGKILL)
            except PermissionError:
                pass
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""


@pytest.fixture(autouse=True)
def assassin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    metadata = site / "assassin-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assassin\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[arena.bots]\nassassin = assassin\n")
    (site / "assassin.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])


def is_by_assassin_as_second(match: StoredMatch) -> bool:
    return match.second_label == "assassin"


def hosts() -> list[str]:
    """Return the commands of the running hosts of this test's bots."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text()
        except OSError:
            continue
        if "bootstrap.py" in command and "assassin" in command:
            found.append(command)
    return found


def test_whoever_kills_its_workers_voids_its_match_and_no_other(tmp_path: Path) -> None:
    sitting = Sitting(
        tmp_path / "arena.db",
        config("random", "assassin", executor="local", isolation="T1", require_tier="T1"),
    )
    ended = sitting.play(1)
    sitting.assert_whole()

    assert (ended.state, ended.num_done) == ("finished", 2)
    expected = "arena_error" if CAN_KILL else "rules"
    for match in sitting.matches():
        assert match.termination == (expected if is_by_assassin_as_second(match) else "rules")
        assert match.tier == "T1"
    voids = [match for match in sitting.matches() if match.termination == "arena_error"]
    assert all("3 workers died while they played it" in match.fault for match in voids)
    assert not any(match.rated for match in voids)
    told = [text for text in sitting.notices() if "is not tried again" in text]
    assert len(told) == len(voids)
    assert hosts() == []
    sitting.store.close()
