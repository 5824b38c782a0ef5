"""The name of a pool and its limit: each is the other's way back."""

from __future__ import annotations

import pytest

from arena.referee.timecontrol import TimeControl
from arena.results.pools import limit_of, limit_text, pool_name

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
    pool = pool_name(limit, is_hosted=is_hosted)
    assert pool == f"{text} {'hosted' if is_hosted else 'in-process'}"
    assert limit_text(pool) == text
    assert limit_of(pool) == limit


def test_a_name_without_a_kind_is_the_limit_itself() -> None:
    assert limit_text("1000 nodes") == "1000 nodes"
    assert limit_of("1000 nodes") == TimeControl.from_text("1000 nodes")
    assert limit_text("club night") == "club night"
    assert limit_of("club night hosted") is limit_of("") is None
