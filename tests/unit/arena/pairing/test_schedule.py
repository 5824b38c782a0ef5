"""The schedule: totals, sides, openings, order; more rounds only append matches."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.pairing.schedule import FixedPlan, count_pairs, stable_encounter

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch

OPENINGS = [(0,), (1,), (2,)]


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    kind: Literal["round-robin", "gauntlet", "match"] = draw(
        st.sampled_from(["round-robin", "gauntlet", "match"])
    )
    num_bots = 2 if kind == "match" else draw(st.integers(2, 9))
    return {
        "kind": kind,
        "num_bots": num_bots,
        "rounds": draw(st.integers(1, 6)),
        "games": draw(st.sampled_from([1, 2])),
        "seeds": draw(st.integers(1, num_bots - 1)),
        "swap": draw(st.booleans()),
        "reverse": draw(st.booleans()),
        "openings": [(k,) for k in range(draw(st.integers(1, 5)))],
    }


def num_encounters(event: dict[str, Any]) -> int:
    n, seeds = event["num_bots"], event["seeds"]
    return seeds * (n - seeds) if event["kind"] == "gauntlet" else n * (n - 1) // 2


def schedule(event: dict[str, Any], **change: object) -> list[PlannedMatch]:
    arguments: dict[str, Any] = event | change
    return list(FixedPlan(**arguments).matches())


def by_place(plan: list[PlannedMatch]) -> dict[tuple[int, int], tuple[int, int, tuple[int, ...]]]:
    return {(m.encounter, m.match_no): (m.first, m.second, m.opening) for m in plan}


@given(events())
def test_total_is_encounters_times_rounds_times_games(event: dict[str, Any]) -> None:
    plan = schedule(event)
    assert len(plan) == num_encounters(event) * event["rounds"] * event["games"]
    assert [match.number for match in plan] == list(range(1, len(plan) + 1))
    assert set(by_place(plan)) == set(
        product(range(num_encounters(event)), range(event["rounds"] * event["games"]))
    )


@given(events(), st.integers(1, 5))
def test_more_rounds_only_append(event: dict[str, Any], extra: int) -> None:
    plan = schedule(event)
    larger = schedule(event, rounds=event["rounds"] + extra)
    assert larger[: len(plan)] == plan
    assert len(larger) > len(plan)


@given(events())
def test_pair_k_of_every_encounter_starts_from_opening_k(event: dict[str, Any]) -> None:
    openings = event["openings"]
    for match in schedule(event):
        assert match.opening == openings[match.match_no // 2 % len(openings)]


@given(events())
def test_sides_change_within_each_pair_unless_told_otherwise(event: dict[str, Any]) -> None:
    for match in schedule(event):
        lower_first = not event["swap"] or match.match_no % 2 == 0
        assert (match.first < match.second) is (lower_first != event["reverse"])


@given(events(), st.data())
def test_a_stopped_run_is_balanced_to_one_round(event: dict[str, Any], data: st.DataObject) -> None:
    plan = schedule(event)
    done = plan[: data.draw(st.integers(0, len(plan)))]
    played = Counter(match.encounter for match in done)
    counts = [played[encounter] for encounter in range(num_encounters(event))]
    assert max(counts) - min(counts) <= event["games"]


@given(events())
def test_reverse_exchanges_the_sides_and_nothing_else(event: dict[str, Any]) -> None:
    ahead = by_place(schedule(event, reverse=False))
    back = by_place(schedule(event, reverse=True))
    assert back == {place: (second, first, opening) for place, (first, second, opening) in ahead.items()}


@given(events())
def test_two_rounds_of_one_game_hold_the_pairs_of_one_round_of_two(event: dict[str, Any]) -> None:
    rounds = event["rounds"]
    single = schedule(event, games=1, rounds=2 * rounds)
    double = schedule(event, games=2, rounds=rounds)
    assert by_place(single) == by_place(double)
    assert count_pairs(2 * rounds, 1) == count_pairs(rounds, 2) == rounds
    assert count_pairs(2 * rounds - 1, 1) == rounds


@given(st.integers(2, 12))
def test_everybody_plays_once_before_anybody_plays_twice(num_bots: int) -> None:
    plan = schedule({"kind": "round-robin", "num_bots": num_bots, "rounds": 1, "games": 1, "openings": [()]})
    meetings = [(match.first, match.second) for match in plan]
    assert sorted(meetings) == list(combinations(range(num_bots), 2))
    assert meetings[0] == (0, 1)
    at_once = num_bots // 2
    for start in range(0, len(meetings), at_once):
        seats = [seat for meeting in meetings[start : start + at_once] for seat in meeting]
        assert len(set(seats)) == 2 * at_once


def test_numbers_of_encounters_follow_one_another_and_stay_when_a_bot_joins() -> None:
    numbers = [stable_encounter(low, high) for high in range(9) for low in range(high)]
    assert numbers == list(range(9 * 8 // 2))


def test_seeds_of_a_gauntlet_meet_all_but_each_other() -> None:
    plan = schedule(
        {"kind": "gauntlet", "num_bots": 5, "seeds": 2, "rounds": 1, "games": 1, "openings": [()]}
    )
    assert [(m.first, m.second) for m in plan] == [(0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4)]


def test_a_match_as_it_is_played() -> None:
    plan = schedule({"kind": "match", "num_bots": 2, "rounds": 4, "games": 2, "openings": OPENINGS})
    assert [(m.first, m.second) for m in plan] == [(0, 1), (1, 0)] * 4
    assert [m.opening for m in plan] == [(0,), (0,), (1,), (1,), (2,), (2,), (0,), (0,)]
    assert {m.attempt for m in plan} == {0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_bots": 1}, "at least two bots; 1 given"),
        ({"num_bots": 0}, "at least two bots; 0 given"),
        ({"kind": "match", "num_bots": 3}, "between two bots; 3 given"),
        ({"kind": "gauntlet", "seeds": 0}, "1 to 3 seeds, not 0"),
        ({"kind": "gauntlet", "seeds": 4}, "1 to 3 seeds, not 4"),
        ({"rounds": 0}, "rounds=0"),
        ({"games": 3}, "games=3"),
        ({"openings": []}, "no opening"),
    ],
)
def test_refuses_what_is_no_tournament(change: dict[str, Any], message: str) -> None:
    event: dict[str, Any] = {"kind": "round-robin", "num_bots": 4, "rounds": 1, "games": 2, "openings": [()]}
    with pytest.raises(ConfigError, match=message):
        schedule(event, **change)
