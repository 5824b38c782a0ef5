from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from arena.pairing.schedule import FixedPlan, stable_encounter
from arena.schedules.fixed import FixedSchedule, plan_for
from arena.schedules.protocol import Closed, Participant, PlannedBatch, View
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch

OPENINGS = [(0,), (1,), (2,)]


@st.composite
def fixed_plans(draw: st.DrawFn) -> FixedPlan:
    kind: Literal["round-robin", "gauntlet", "match"] = draw(
        st.sampled_from(["round-robin", "gauntlet", "match"])
    )
    num_bots = 2 if kind == "match" else draw(st.integers(2, 9))
    return FixedPlan(
        kind=kind,
        num_bots=num_bots,
        rounds=draw(st.integers(1, 4)),
        games=draw(st.sampled_from([1, 2])),
        openings=OPENINGS,
        seeds=draw(st.integers(1, num_bots - 1)),
        swap=draw(st.booleans()),
        reverse=draw(st.booleans()),
        version=draw(st.sampled_from([1, 2])),
    )


def _view(plan: list[PlannedMatch]) -> View:
    return View(seats=(), plan=plan, results={})


@given(fixed_plans(), st.data())
def test_the_plan_is_the_same_from_every_prefix_of_batches(fixed: FixedPlan, data: st.DataObject) -> None:
    schedule, whole = FixedSchedule(fixed), list(fixed.matches())
    plan: list[PlannedMatch] = []
    while isinstance(batch := schedule.next(_view(plan), data.draw(st.integers(2, 40))), PlannedBatch):
        assert batch.total == fixed.total == len(whole)
        plan += batch.matches
        assert plan == whole[: len(plan)]
    assert batch == Closed()
    assert plan == whole


@given(fixed_plans(), st.integers(0, 50), st.integers(0, 50))
def test_any_part_is_computed_without_the_matches_before(fixed: FixedPlan, start: int, more: int) -> None:
    assert list(fixed.matches(start, start + more)) == list(fixed.matches())[start : start + more]


@given(fixed_plans())
def test_versions_differ_in_the_numbers_of_encounters_alone(fixed: FixedPlan) -> None:
    encounters: dict[tuple[int, int], int] = {}
    for match in fixed.matches():
        low, high = sorted((match.first, match.second))
        assert encounters.setdefault((low, high), match.encounter) == match.encounter
        if fixed.version == 2:
            assert match.encounter == low + high * (high - 1) // 2
    assert len(set(encounters.values())) == len(encounters) == fixed.num_encounters


def test_a_new_seat_renumbers_nobody() -> None:
    pairs = sorted(combinations(range(12), 2), key=lambda seats: (seats[1], seats[0]))
    assert [stable_encounter(low, high) for low, high in pairs] == list(range(66))


def test_a_match_of_two_bots_is_the_same_in_both_versions() -> None:
    plans = [
        FixedPlan(kind="match", num_bots=2, rounds=9, games=2, openings=OPENINGS, version=version)
        for version in (1, 2)
    ]
    assert list(plans[0].matches()) == list(plans[1].matches())


@pytest.mark.parametrize("num_bots", [2, 3, 4, 5, 8, 9, 31, 32])
def test_in_each_turn_everybody_meets_one_other(num_bots: int) -> None:
    matches = list(
        FixedPlan(kind="round-robin", num_bots=num_bots, rounds=1, games=1, openings=[()]).matches()
    )
    seats = [tuple(sorted((match.first, match.second))) for match in matches]
    assert sorted(seats) == sorted(combinations(range(num_bots), 2))
    for begin in range(0, len(seats), num_bots // 2):
        turn = [seat for pair in seats[begin : begin + num_bots // 2] for seat in pair]
        assert len(set(turn)) == len(turn) == num_bots // 2 * 2


class _Unread(Sequence["PlannedMatch"]):
    """A number of stored rows, none of which may be read."""

    def __init__(self, num: int) -> None:
        self.num = num

    @override
    def __len__(self) -> int:
        return self.num

    @override
    def __getitem__(self, place: object) -> NoReturn:
        raise AssertionError(place)


class _Counted(list[tuple[int, ...]]):
    """Openings that count how often one is requested: once for each match that is made."""

    taken = 0

    @override
    def __getitem__(self, place: Any) -> Any:
        self.taken += 1
        return cast("Any", super().__getitem__(place))


@pytest.mark.parametrize("begin", [0, 1_000_000])
def test_of_a_million_matches_only_the_window_is_made(begin: int) -> None:
    openings = _Counted(OPENINGS)
    fixed = FixedPlan(kind="round-robin", num_bots=200, rounds=26, games=2, openings=openings)
    assert fixed.total == 1_034_800
    batch = FixedSchedule(fixed).next(View(seats=(), plan=_Unread(begin), results={}), 256)
    assert isinstance(batch, PlannedBatch)
    assert [match.number for match in batch.matches] == list(range(begin + 1, begin + 257))
    assert openings.taken == 256


def test_results_change_nothing() -> None:
    fixed = FixedPlan(kind="round-robin", num_bots=4, rounds=2, games=2, openings=OPENINGS, version=2)
    event = SimulatedEvent(FixedSchedule(fixed), 4)
    play_all(event, 5, lambda match: None if match.number % 3 else 1.0)
    assert event.plan == list(fixed.matches())
    assert not event.decision


@given(fixed_plans(), st.data())
def test_bots_that_come_and_go_change_the_rest_of_the_plan(fixed: FixedPlan, data: st.DataObject) -> None:
    schedule = FixedSchedule(fixed)
    seats = [Participant(f"bot-{seat}") for seat in range(fixed.num_bots)]
    plan: list[PlannedMatch] = []
    for change in range(1, 4):
        for _ in range(data.draw(st.integers(0, 3))):
            found = schedule.next(
                View(seats=seats, plan=plan, results={}), data.draw(st.sampled_from([2, 6, 40]))
            )
            plan += found.matches if isinstance(found, PlannedBatch) else ()
        if fixed.kind != "match" and fixed.version == 2 and data.draw(st.booleans()):
            seats.append(Participant(f"new-{change}", joined=change))
        else:
            gone = data.draw(st.integers(0, len(seats) - 1))
            seats[gone] = seats[gone]._replace(state=data.draw(st.sampled_from(["left", "out"])))
    before = list(plan)
    while isinstance(
        found := schedule.next(
            View(seats=seats, plan=plan, results={}), data.draw(st.sampled_from([2, 10, 40]))
        ),
        PlannedBatch,
    ):
        assert found.total is not None
        total = found.total
        plan += found.matches
        assert len(plan) <= total
    assert found == Closed()
    assert [match.number for match in plan] == list(range(1, len(plan) + 1))
    # Brute force: each bot meets all its opponents, as often as in a plan without changes.
    is_here = [who.state == "playing" for who in seats]
    per_pair = fixed.rounds * fixed.games
    first = fixed.seeds if fixed.kind == "gauntlet" else len(seats)
    for low, high in combinations(range(len(seats)), 2):
        own = [match for match in plan if {match.first, match.second} == {low, high}]
        meets = fixed.kind != "gauntlet" or low < first <= high
        if is_here[low] and is_here[high]:
            assert len(own) == (per_pair if meets else 0)
        assert [match.match_no for match in own] == list(range(len(own)))
        assert len({match.encounter for match in own}) <= 1
        late = [match for match in own if match.number > len(before)]
        assert not late or (is_here[low] and is_here[high])
        whole = plan_for(fixed, len(seats))
        assert all(whole.as_planned(match) == match for match in own)
        for match in own:
            turned = fixed.reverse != (fixed.swap and match.match_no % 2 == 1)
            assert (match.first, match.second) == ((high, low) if turned else (low, high))
            assert match.opening == OPENINGS[match.match_no // 2 % 3]
    # Encounters with fewer played matches come first.
    counts = Counter(match.encounter for match in before)
    for match in plan[len(before) :]:
        behind = [
            encounter
            for encounter, low, high in plan_for(fixed, len(seats)).round_of()
            if is_here[low]
            and is_here[high]
            and counts[encounter] // fixed.games < match.match_no // fixed.games
        ]
        assert behind == []
        counts[match.encounter] += 1


def test_a_plan_knows_its_matches_again() -> None:
    for version in (1, 2):
        fixed = FixedPlan(
            kind="round-robin", num_bots=4, rounds=2, games=2, openings=OPENINGS, version=version
        )
        for match in fixed.matches():
            assert fixed.as_planned(match) == match
            wrong = replace(match, encounter=match.encounter + 1)
            assert fixed.as_planned(wrong) is None
            turned = replace(match, first=match.second, second=match.first)
            assert fixed.as_planned(turned) == match
