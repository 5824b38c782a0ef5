"""Plans equal those recorded when their plan version was new, so stored tournaments can be continued."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena.pairing.schedule import FixedPlan, PlanVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENINGS = [(0,), (1, 2), ()]
EVENTS: dict[str, dict[str, Any]] = {
    "match": {"kind": "match", "num_bots": 2, "rounds": 5, "games": 2},
    "match of single games": {"kind": "match", "num_bots": 2, "rounds": 3, "games": 1},
    "match, reversed": {"kind": "match", "num_bots": 2, "rounds": 2, "games": 2, "reverse": True},
    "match, sides kept": {"kind": "match", "num_bots": 2, "rounds": 2, "games": 2, "swap": False},
    "round robin of 3": {"kind": "round-robin", "num_bots": 3, "rounds": 2, "games": 1},
    "round robin of 4": {"kind": "round-robin", "num_bots": 4, "rounds": 2, "games": 2},
    "round robin of 7": {"kind": "round-robin", "num_bots": 7, "rounds": 1, "games": 2},
    "round robin of 8": {"kind": "round-robin", "num_bots": 8, "rounds": 2, "games": 1},
    "gauntlet of 5": {"kind": "gauntlet", "num_bots": 5, "rounds": 2, "games": 2},
    "gauntlet of 6, 2 seeds": {"kind": "gauntlet", "num_bots": 6, "rounds": 2, "games": 1, "seeds": 2},
}


@pytest.mark.parametrize("version", [1, 2])
def test_plans_are_as_stored(version: PlanVersion, request: pytest.FixtureRequest) -> None:
    path = Path(__file__).with_name(f"plans-{version}.txt")
    text = "\n".join(plans(version)) + "\n"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} is rewritten; read its diff, then run again without --update-golden")
    assert text == path.read_text(encoding="utf-8"), "a new order is a new version; this one stays"


def plans(version: PlanVersion) -> Iterator[str]:
    for name, event in EVENTS.items():
        yield f"# {name}: number encounter/match_no first-second opening"
        for match in FixedPlan(**event, openings=OPENINGS, version=version).matches():
            opening = " ".join(map(str, match.opening)) or "-"
            yield (
                f"{match.number} {match.encounter}/{match.match_no} {match.first}-{match.second} {opening}"
            )
