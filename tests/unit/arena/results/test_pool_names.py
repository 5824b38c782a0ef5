"""Texts that users write for a pool or a limit."""

from __future__ import annotations

import pytest

from arena.referee.timecontrol import TimeControl
from arena.results.values import is_pool, written_limit

LIMITS = (
    "5/move",
    "60+0.6",
    "40/60+0.5",
    "2/move bank 60",
    "1000 nodes",
    "10+0.1 1000 nodes",
    "2/move 5 nodes",
)


@pytest.mark.parametrize("text", LIMITS)
@pytest.mark.parametrize("is_hosted", [True, False])
def test_a_limit_comes_back_from_the_name(text: str, *, is_hosted: bool) -> None:
    limit = TimeControl.from_text(text)
    name = limit.pool(is_hosted=is_hosted).name
    assert name == f"{text} {'hosted' if is_hosted else 'in-process'}"
    assert is_pool(name)
    assert written_limit(name) == text


@pytest.mark.parametrize("text", ["1000 nodes", "club night", ""])
def test_a_name_without_a_kind_is_the_limit_itself(text: str) -> None:
    assert not is_pool(text)
    assert written_limit(text) == text
