from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import msgspec

from arena_plugins.command import Start
from arena_plugins.kit import main, main_by_entry

if TYPE_CHECKING:
    import pytest


def test_what_the_bot_prints_is_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    main(["minimax:depth=1", "tic-tac-toe", "0.5"])
    by_name = [json.loads(line)[:3] for line in capfd.readouterr().out.splitlines()]
    assert len(by_name) > 5
    assert all(passed for _, _, passed in by_name)
    os.write(1, b"from a bot")
    assert capfd.readouterr() == ("", "from a bot")


def test_nothing_is_looked_for(capfd: pytest.CaptureFixture[str]) -> None:
    start = Start(
        entry="arena_bots.minimax:nothing",
        name="strange",
        version="1",
        options={},
        games={"own": "arena.games.tic_tac_toe"},
        path=[],
    )
    main_by_entry([msgspec.json.encode(start).decode(), "own", "0.5"])
    first = json.loads(capfd.readouterr().out.splitlines()[0])
    assert first[:3] == [1, "The bot can be made and has a method play", False]
    assert 'the bot "strange" (arena_bots.minimax:nothing) cannot be imported' in first[3]
