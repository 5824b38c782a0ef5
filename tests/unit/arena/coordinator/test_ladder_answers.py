"""The replies of the coordinator to `arena ladder join` and `leave`."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import joining, planner
from arena.coordinator.joining import LadderStatus, answer_to_join, answer_to_leave
from arena.live.events import RunState, pack
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from stores import tamper
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.planner import Planner
    from arena_db.records import Entrant

    Begin = Callable[[TournamentConfig], Sitting]

PAUSED = RunState(state="paused", planned=None, done=0)
HURRY = 0.0
"""Seconds to wait in tests without a reply."""


@pytest.fixture
def sitting(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> Sitting:
    monkeypatch.setattr(planner, "_LOOK_S", 0.0)
    return begin(config(*TRIO, type="ladder", name="main"))


def run(sitting: Sitting) -> Planner:
    """Claim the ladder; return its planner after the first matches were handed out."""
    held = sitting.store.claim(sitting.tournament.id, current_owner())
    assert held is not None
    plan = sitting.planner(1, held)
    assert len(plan.more(0, [])) == 16
    return plan


def enter(sitting: Sitting, spec: str) -> Entrant:
    plan = joining.plan_join(sitting.store, sitting.tournament, spec)
    return joining.join(sitting.store, sitting.tournament, plan, reason="")


def test_the_next_batch_is_the_answer(sitting: Sitting) -> None:
    plan = run(sitting)
    one = enter(sitting, "mcts:playouts=5")
    answer = answer_to_join(sitting.store, sitting.tournament, one, HURRY)
    assert answer.startswith("no answer yet from pid ")
    assert answer.endswith(", which plays it from its next batch on")
    first = plan.more(16, [])[0]
    others = {first.first.label, first.second.label} - {one.label}
    assert answer_to_join(sitting.store, sitting.tournament, one) == (
        f"its first match is 17, against {others.pop()}"
    )
    joining.leave(sitting.store, sitting.tournament, "mcts:playouts=5", reason="")
    answer = answer_to_leave(sitting.store, sitting.tournament, HURRY)
    assert answer.endswith(", which plans without it from its next batch on")
    following = plan.more(20, [])[0].number
    assert following == 21
    expected = "from match 21 on it is not paired"
    assert answer_to_leave(sitting.store, sitting.tournament) == expected


def test_the_first_match_after_a_return_counts(sitting: Sitting) -> None:
    plan = run(sitting)
    joining.leave(sitting.store, sitting.tournament, "random", reason="")
    plan.more(16, [])
    again = enter(sitting, "random")
    assert answer_to_join(sitting.store, sitting.tournament, again, HURRY).startswith("no answer yet")


def test_all_that_join_at_once_play_before_one_that_comes_back(sitting: Sitting) -> None:
    plan = run(sitting)
    specs = [f"mcts:playouts={number}" for number in range(30, 50)]
    joined = [enter(sitting, spec) for spec in specs]
    plan.more(16, [])
    answers = [answer_to_join(sitting.store, sitting.tournament, each, HURRY) for each in joined]
    assert all(answer.startswith("its first match is ") for answer in answers), answers
    joining.leave(sitting.store, sitting.tournament, specs[5], reason="")
    plan.more(16, [])
    again, other = enter(sitting, specs[5]), enter(sitting, "mcts:playouts=50")
    plan.more(16, [])
    assert answer_to_join(sitting.store, sitting.tournament, other, HURRY).startswith("its first match is ")
    assert answer_to_join(sitting.store, sitting.tournament, again, HURRY) == "others that joined go first"


def test_nobody_runs_it(sitting: Sitting) -> None:
    one = enter(sitting, "mcts:playouts=5")
    assert answer_to_join(sitting.store, sitting.tournament, one) == (
        "main is not being run; arena ladder run main lets it play"
    )
    assert answer_to_leave(sitting.store, sitting.tournament) == "main is not being run"


def test_a_silent_coordinator_is_named(sitting: Sitting) -> None:
    run(sitting)
    one = enter(sitting, "mcts:playouts=5")
    tamper(sitting.store.path, "UPDATE leases SET beat_at = beat_at - 720")
    assert "silent for 12 min" in answer_to_join(sitting.store, sitting.tournament, one, HURRY)


def test_a_paused_ladder_answers_when_it_goes_on(sitting: Sitting) -> None:
    run(sitting)
    one = enter(sitting, "mcts:playouts=5")
    sitting.store.tournaments.set_state(1, "running")
    state = LiveEvent(tournament=1, number=None, kind="state", payload=pack(PAUSED), t=1.0)
    sitting.store.events.append([state])
    answer = answer_to_join(sitting.store, sitting.tournament, one, HURRY)
    assert answer == "main is paused and plays it when it is resumed"
    answer = answer_to_leave(sitting.store, sitting.tournament, HURRY)
    assert answer == "main is paused and plans without it when it is resumed"


def test_a_ladder_without_bots_says_so() -> None:
    left = LadderStatus("main", "running", (), (), ("a", "b"), 20, inf, 60.0)
    assert str(left) == "main is running: 20 matches; goal 60 Elo\nno bot plays; left: a, b"
    assert left.goal_line() == "no bot plays, 2 left; goal 60 Elo"
    one = left._replace(playing=("a",), left=("b",))
    assert one.goal_line() == "1 play, 1 left; not all are rated yet, goal 60 Elo"
