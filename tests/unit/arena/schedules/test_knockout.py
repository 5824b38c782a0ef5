from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from arena.errors import ConfigError
from arena.schedules.elimination import double_elimination, fold, single_elimination
from arena.schedules.knockout import KnockoutSchedule
from arena.schedules.protocol import Closed, PlannedBatch, View, Wait
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena.schedules.bracket_state import Bracket, BracketTie
    from arena_db.records import PlannedMatch

OPENINGS = [(0,), (1,), (2,)]


def _low_wins(_: PlannedMatch) -> float:
    return 1.0


def _by_key(match: PlannedMatch) -> float:
    """Return the same result for each call with the same match; some ties are level."""
    return random.Random(f"{match.encounter}/{match.match_no}").choice((0.0, 0.5, 1.0))  # noqa: S311 - no secret


def _event(num: int, **options: Any) -> SimulatedEvent:  # noqa: ANN401 - options of any kind
    fields: dict[str, Any] = {"pairs": 1, **options}
    return SimulatedEvent(KnockoutSchedule(num_bots=num, openings=OPENINGS, **fields), num)


def _bracket(event: SimulatedEvent, **more: Any) -> Bracket:  # noqa: ANN401 - fields of a view
    assert isinstance(event.schedule, KnockoutSchedule)
    return event.schedule.bracket(View(seats=event.seats, plan=event.plan, results=event.results, **more))


def _seats(tie: BracketTie) -> tuple[int | None, int | None]:
    return tie.slots[0].seat, tie.slots[1].seat


def _names(event: SimulatedEvent) -> list[tuple[str, tuple[int | None, int | None], int | None]]:
    return [(tie.shape.name, _seats(tie), tie.winner) for tie in _bracket(event).ties]


def test_seeds_are_folded() -> None:
    assert fold(1) == [0]
    assert [seed + 1 for seed in fold(8)] == [1, 8, 4, 5, 2, 7, 3, 6]
    for size in (2, 4, 8, 16, 32):
        # If all better seeds win, the seeds of two bots that meet have the same sum in each round.
        order = fold(size)
        while len(order) > 1:
            pairs = list(zip(order[::2], order[1::2], strict=True))
            assert {sum(pair) for pair in pairs} == {len(order) - 1}
            order = [min(pair) for pair in pairs]


@pytest.mark.parametrize("num", range(2, 18))
def test_better_seeds_win_everything(num: int) -> None:
    event = _event(num)
    play_all(event, 256, _low_wins)
    assert event.decision == "bot-0 wins the knockout"
    assert len(event.plan) == 2 * (num - 1)
    played = [_seats(tie) for tie in _bracket(event).ties if tie.why != "bye"]
    assert len(played) == num - 1
    assert _seats(_bracket(event).ties[-1]) == (0, 1)
    # Byes go to the top seeds.
    byes = {tie.winner for tie in _bracket(event).ties if tie.why == "bye"}
    assert byes == set(range((1 << (num - 1).bit_length()) - num))
    found = _bracket(event).places(num)
    assert found == sorted(place for place in found if place is not None)
    assert found[:2] == [1, 2]
    assert found[2:] == [3, 3, *[5] * 4, *[9] * 8, *[17] * 16][: num - 2]


@pytest.mark.parametrize("num", range(2, 18))
def test_two_defeats_put_a_bot_out(num: int) -> None:
    event = _event(num, is_double=True)
    play_all(event, 256, _by_key)
    defeats = Counter(tie.loser for tie in _bracket(event).ties if tie.loser is not None)
    champion = _bracket(event).decisive
    assert champion is not None
    assert champion.winner is not None
    assert defeats.pop(champion.winner, 0) <= 1
    assert set(defeats.values()) == {2} or num == 2
    assert len(defeats) == num - 1
    found = _bracket(event).places(num)
    assert sorted(place for place in found if place is not None)[:2] == [1, 2]
    assert len([place for place in found if place is not None]) == num
    assert found[champion.winner] == 1
    # A place is one more than the number of better-placed bots.
    assert all(
        place == 1 + sum(other < place for other in found if other is not None) for place in found if place
    )


def test_a_double_elimination_of_four_by_hand() -> None:
    event = _event(4, is_double=True)
    play_all(event, 256, _low_wins)
    assert _names(event) == [
        ("winners' round 1, encounter 1", (0, 3), 0),
        ("winners' round 1, encounter 2", (1, 2), 1),
        ("winners' round 2", (0, 1), 0),
        ("losers' round 1", (3, 2), 2),
        ("losers' round 2", (2, 1), 1),
        ("final", (0, 1), 0),
        ("second final", (0, 1), None),
    ]
    assert _bracket(event).ties[-1].state == "not needed"
    assert _bracket(event).places(4) == [1, 2, 3, 4]


def test_the_second_final_is_played_when_the_first_is_lost() -> None:
    """Seat 1 loses to seat 0 in the winners' bracket, beats it in the final, and then once more."""

    def result(match: PlannedMatch) -> float:
        return float({match.first, match.second} != {0, 1} or match.match_no < 2)

    event = _event(4, is_double=True)
    play_all(event, 256, result)
    ties = {tie.shape.name: tie for tie in _bracket(event).ties}
    assert (ties["final"].winner, ties["second final"].winner) == (1, 1)
    assert _seats(ties["second final"]) == (1, 0)
    assert _bracket(event).places(4) == [2, 1, 3, 4]
    # Three ties of the same two bots, each with its tie-break pairs.
    numbers = [match.match_no for match in event.plan if {match.first, match.second} == {0, 1}]
    assert numbers == list(range(6))
    assert event.decision == "bot-1 wins the knockout"


@pytest.mark.parametrize("num", [8, 16, 32])
def test_bots_that_have_met_meet_again_late(num: int) -> None:
    """Whoever wins, no two bots meet again in the first two rounds of the losers' bracket."""
    for seed in range(6):
        rng = random.Random(seed)  # noqa: S311 - no secret
        strength = {bot: rng.random() for bot in range(num)}

        def result(match: PlannedMatch, strength: dict[int, float] = strength) -> float:
            low, high = sorted((match.first, match.second))
            return float(strength[low] > strength[high])

        event = _event(num, is_double=True)
        play_all(event, 1000, result)
        met: Counter[frozenset[int | None]] = Counter()
        for tie in _bracket(event).ties:
            if tie.shape.round_name in {"losers' round 1", "losers' round 2"}:
                assert not met[frozenset(_seats(tie))]
            met[frozenset(_seats(tie))] += 1


def test_who_loses_a_semifinal_plays_for_the_third_place() -> None:
    event = _event(8, third_place=True)
    play_all(event, 256, _low_wins)
    assert _names(event)[-4:] == [
        ("semifinal 1", (0, 3), 0),
        ("semifinal 2", (1, 2), 1),
        ("third place", (3, 2), 2),
        ("final", (0, 1), 0),
    ]
    assert _bracket(event).places(8) == [1, 2, 3, 4, 5, 5, 5, 5]
    # With three bots the third place is decided without a match, with two there is none.
    three = _event(3, third_place=True)
    play_all(three, 256, _low_wins)
    assert _bracket(three).places(3) == [1, 2, 3]
    assert len(three.plan) == 4
    assert [shape.name for shape in single_elimination(2, third_place=True)] == ["final"]


def _play_tie(points: list[float], **options: Any) -> tuple[SimulatedEvent, int]:  # noqa: ANN401 - options of any kind
    """Play a tie of two bots; `points` are those of seat 0, match by match."""
    event = _event(2, **options)
    while event.decision is None and len(event.results) < len(points):
        for match in event.ask(256):
            event.results[match.encounter, match.match_no] = points[match.match_no]
    return event, len(event.plan)


@pytest.mark.parametrize(
    ("points", "winner", "why"),
    [
        ([0, 0.5], 1, "1.5 : 0.5"),
        ([1, 0, 0.5, 0, 0, 0.5], 1, "3 : 1 in 4 more matches after 1 : 1"),
        (
            [1, 0, 1, 1, 0, 0],
            0,
            "level after 6 matches, 3 : 3, and in forfeits; bot-0 is the higher seed (1, the other bot 2)",
        ),
    ],
)
def test_a_level_tie_is_played_on_once(points: list[float], winner: int, why: str) -> None:
    event, num = _play_tie(points)
    assert num == len(points)
    (tie,) = _bracket(event).ties
    assert (tie.winner, tie.why) == (winner, why)
    assert tie.slots[0].points == sum(points)


def test_fewer_forfeits_decide_before_the_seed() -> None:
    event, _ = _play_tie([1, 0], tie_pairs=0)
    forfeits = {(0, 0): 1, (0, 1): 0, (9, 0): 1}
    assert _bracket(event, forfeits=forfeits).ties[0].winner == 0
    (tie,) = _bracket(event, forfeits={(0, 1): 0}).ties
    assert (tie.winner, tie.loser) == (1, 0)
    assert tie.why == "level after 2 matches, 1 : 1; bot-1 forfeited 0 of them, the other bot 1"
    assert [slot.num_forfeits for slot in tie.slots] == [1, 0]
    assert event.decision is None
    play_all(event, 256, _low_wins)
    assert event.decision == "bot-0 wins the knockout"


def _with(event: SimulatedEvent, seat: int, state: str) -> None:
    event.seats = tuple(
        who._replace(state=state) if at == seat else who  # type: ignore[arg-type]
        for at, who in enumerate(event.seats)
    )


def test_who_has_left_gives_walkovers() -> None:
    event = _event(4, pairs=2)
    done = event.ask(256)
    # Seat 0 is ahead of seat 3 when seat 3 leaves, with one match left; seats 1 and 2 are done.
    for match in done:
        if match.match_no < 3 or 0 not in {match.first, match.second}:
            event.results[match.encounter, match.match_no] = 1.0
    assert isinstance(event.schedule.next(event.view(), 256), Wait)
    _with(event, 0, "left")
    play_all(event, 256, _low_wins)
    first, second, final = _bracket(event).ties
    assert (first.winner, first.why) == (3, "walkover: bot-0 has left")
    assert (second.winner, second.why) == (1, "4 : 0")
    assert (final.winner, _seats(final)) == (1, (3, 1))
    assert _bracket(event).places(4) == [3, 1, 3, 2]


def test_what_was_played_to_the_end_stays_as_it_was() -> None:
    event = _event(4)
    for match in event.ask(256):
        event.results[match.encounter, match.match_no] = 1.0
    _with(event, 0, "out")
    assert _bracket(event).ties[0].winner == 0
    play_all(event, 256, _low_wins)
    final = _bracket(event).ties[-1]
    assert (final.winner, final.why) == (1, "walkover: bot-0 is out")
    assert len(event.plan) == 4
    both = _event(2)
    _with(both, 0, "left")
    _with(both, 1, "out")
    assert _bracket(both).ties[0].why == (
        "bot-0 has left and bot-1 is out; bot-0 is the higher seed (1, the other bot 2)"
    )


def test_void_matches_give_nobody_a_point() -> None:
    event = _event(2, pairs=2, tie_pairs=0)
    for number, match in enumerate(event.ask(256)):
        event.results[match.encounter, match.match_no] = (None, 0.0, None, 0.0)[number]
    (tie,) = _bracket(event).ties
    assert (tie.winner, tie.why) == (1, "2 : 0")


@pytest.mark.parametrize("options", [{}, {"is_double": True}, {"third_place": True}])
@pytest.mark.parametrize("wanted", [2, 5, 16])
def test_the_plan_does_not_depend_on_window_or_order(options: dict[str, bool], wanted: int) -> None:
    usual = _event(11, pairs=2, **options)
    play_all(usual, 1000, _by_key)
    assert any("more matches" in tie.why for tie in _bracket(usual).ties)
    rng = random.Random(wanted)  # noqa: S311 - no secret
    event = _event(11, pairs=2, **options)
    running: list[PlannedMatch] = []
    while event.decision is None:
        batch = event.ask(wanted)
        running += batch
        if not batch and running:
            match = running.pop(rng.randrange(len(running)))
            event.results[match.encounter, match.match_no] = _by_key(match)
    assert event.plan == usual.plan
    assert event.decision == usual.decision


def test_more_pairs_wait_for_the_other_ties_of_the_stage() -> None:
    event = _event(4)
    for match in event.ask(256):
        if 0 in {match.first, match.second}:
            event.results[match.encounter, match.match_no] = 0.5
    assert event.schedule.next(event.view(), 256) == Wait("semifinal: 2 matches are still to be played")
    for match in event.plan[2:]:
        event.results[match.encounter, match.match_no] = 1.0
    found = event.schedule.next(event.view(), 256)
    assert isinstance(found, PlannedBatch)
    assert found.note == "semifinal, level encounters"
    assert [(match.first, match.second, match.match_no) for match in found.matches] == [
        (0, 3, 2),
        (3, 0, 3),
        (0, 3, 4),
        (3, 0, 5),
    ]


def test_the_bracket_says_what_is_open() -> None:
    event = _event(5, third_place=True)
    ties = _bracket(event).ties
    assert [tie.state for tie in ties] == [
        "decided",
        "open",
        "decided",
        "decided",
        "waiting",
        "open",
        "waiting",
        "waiting",
    ]
    assert ties[4].slots[1].origin == "winner of quarterfinal 2"
    assert ties[0].slots[0].origin == "seed 1"
    assert _bracket(event).places(5) == [None] * 5
    assert _bracket(event).decisive is None
    batch = event.ask(256)
    assert [(match.first, match.second) for match in batch] == [(3, 4), (4, 3)]


def test_the_two_kinds_of_finals_are_the_last_ties() -> None:
    for num in range(2, 20):
        assert single_elimination(num)[-1].name == "final"
        assert [shape.name for shape in double_elimination(num)[-2:]] == ["final", "second final"]
        for shapes in (single_elimination(num, third_place=True), double_elimination(num)):
            assert len({shape.name for shape in shapes}) == len(shapes)
            for at, shape in enumerate(shapes):
                for slot in shape.slots:
                    assert slot.kind == "seed" or (
                        slot.number < at and shapes[slot.number].stage < shape.stage
                    )


@pytest.mark.parametrize(
    "change",
    [
        {"num_bots": 1},
        {"pairs": 0},
        {"tie_pairs": -1},
        {"openings": []},
        {"third_place": True, "is_double": True},
    ],
)
def test_impossible_numbers_are_refused(change: dict[str, Any]) -> None:
    options: dict[str, Any] = {"num_bots": 4, "pairs": 1, "openings": OPENINGS}
    with pytest.raises(ConfigError):
        KnockoutSchedule(**{**options, **change})


def test_what_is_decided_is_closed() -> None:
    event = _event(2)
    play_all(event, 256, _low_wins)
    assert event.schedule.next(event.view(), 256) == Closed("bot-0 wins the knockout")
