"""Running scores equal the final count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.results.encounter import Scores, Ticker, count_match
from arena_db.store import Store
from stores import add_cup, digest

if TYPE_CHECKING:
    from pathlib import Path


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outcomes=st.lists(st.sampled_from(["first", "second", "draw", "void"]), min_size=1, max_size=12))
def test_running_scores_are_those_of_the_end(tmp_path: Path, outcomes: list[str]) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b")
        records = [
            cup.void(number)
            if outcome == "void"
            else cup.match(number, outcome=outcome, match_hash=digest(str(number)))
            for number, outcome in enumerate(outcomes, 1)
        ]
        store.matches.save(records)
        counts = count_match(store, cup.record).counts
        restored = Scores(["a", "b"])
        restored.restore(store, cup.record)
    scores = Scores(["a", "b"])
    for record in records:
        planned = cup.plan[record.number - 1]
        scores.add(record, "ab"[planned.first], "ab"[planned.second])
    a, b, running = scores.encounter("b", "a")
    assert restored.encounter("a", "b") == (a, b, running)
    assert restored.ticker == scores.ticker
    assert (a, b) == ("a", "b")
    assert (running.wins, running.draws, running.losses) == (counts.wins, counts.draws, counts.losses)
    assert counts.num_matches == sum(outcome != "void" for outcome in outcomes)
    assert scores.ticker.of("a") + scores.ticker.of("b") == 3000


def test_a_result_that_is_read_again_is_judged_more_strictly(tmp_path: Path) -> None:
    outcomes = ["first", "first", "draw", "second"] * 3
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b")
        store.matches.save(
            [
                cup.match(number, outcome=outcome, match_hash=digest(str(number)))
                for number, outcome in enumerate(outcomes, 1)
            ]
        )
        once, twice, again = (
            count_match(store, replace(cup.record, config=f"looks = {look}")) for look in (1, 2, 3)
        )
    assert [once.judged, once.look, twice.look, again.look] == [None, 1, 2, 3]
    assert once.gap == twice.gap == again.gap
    assert twice.judged is not None
    assert again.judged is not None
    assert again.judged.low < twice.judged.low < once.gap.low
    assert once.gap.high < twice.judged.high < again.judged.high


def test_the_viewpoint_is_that_of_the_lower_seat(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b")
        store.matches.save([cup.match(1, outcome="first"), cup.match(2, outcome="second")])
        counts = count_match(store, cup.record).counts
    assert (counts.wins, counts.losses) == (2, 0)
    assert counts.ptnml == (0, 0, 0, 0, 1)


def test_equal_bots_move_half_of_k() -> None:
    ticker = Ticker()
    ticker.update("a", "b", 1)
    assert (ticker.of("a"), ticker.of("b"), ticker.of("c")) == (1508, 1492, 1500)


def test_it_depends_on_order_and_keeps_the_sum() -> None:
    matches = [("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", 0.5), ("a", "b", 0.0)]
    one, other = Ticker(), Ticker()
    for match in matches:
        one.update(*match)
    for match in reversed(matches):
        other.update(*match)
    assert one.elo != other.elo
    assert sum(one.elo.values()) == pytest.approx(4500)
    assert sum(other.elo.values()) == pytest.approx(4500)
