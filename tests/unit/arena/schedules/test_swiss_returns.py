"""Bots that leave a Swiss tournament and return, compared with points that are counted as they arise."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from arena.schedules.protocol import Absence, Closed, PlannedBatch
from arena.schedules.swiss import SwissSchedule
from schedules import SimulatedEvent, check

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch


class Held:
    """A tournament that is run step by step, and counts points at the moment a bot gets them."""

    def __init__(self, num: int, *, rounds: int, pairs: int, seed: int) -> None:
        self.schedule = SwissSchedule(rounds=rounds, pairs=pairs, seed=seed, openings=[(0,), (1,)])
        self.event = SimulatedEvent(self.schedule, num)
        self.points: Counter[int] = Counter()
        """Half points, by seat."""
        self.open: list[PlannedMatch] = []
        self.is_over = False
        self.round = ""
        self.met: set[int] = set()
        """Seats that have an opponent in the present round."""
        self.num_met: Counter[frozenset[int]] = Counter()
        """Number of planned matches of two bots since they last began an encounter."""
        self._change = 0
        self._present = set(range(num))
        """Seats that took part when the plan last grew."""

    def playing(self) -> set[int]:
        return {seat for seat, who in enumerate(self.event.seats) if who.state == "playing"}

    def leave(self, seat: int) -> None:
        self._change += 1
        self._set(seat, state="left", left_at=len(self.event.plan), left=self._change)
        for match in [match for match in self.open if seat in {match.first, match.second}]:
            self.open.remove(match)
            self._walk_over(match, seat, 1)
        last = self.event.plan[-1:]
        if last and seat in {last[0].first, last[0].second}:
            num = self.num_met[frozenset({last[0].first, last[0].second})]
            self._walk_over(last[0], seat, 2 * self.schedule.pairs - num)
            self.num_met[frozenset({last[0].first, last[0].second})] = 2 * self.schedule.pairs

    def _walk_over(self, match: PlannedMatch, seat: int, num: int) -> None:
        (other,) = {match.first, match.second} - {seat}
        # A bot that is already away has given its opponents their points before.
        if other in self.playing():
            self.points[other] += 2 * num

    def come_back(self, seat: int) -> None:
        self._change += 1
        who = self.event.seats[seat]
        away = Absence(who.left_at or 0, len(self.event.plan), who.left)
        self._set(seat, state="playing", left_at=None, left=0, absences=(*who.absences, away))

    def _set(self, seat: int, **changes: object) -> None:
        seats = list(self.event.seats)
        seats[seat] = seats[seat]._replace(**changes)  # pyright: ignore[reportArgumentType] - fields of any type
        self.event.seats = tuple(seats)

    def plan(self, wanted: int) -> None:
        """Request one batch; assert that absent bots are not paired, and no bot twice in a round."""
        found = self.schedule.next(self.event.view(), wanted)
        if isinstance(found, Closed):
            self.is_over = True
        if not isinstance(found, PlannedBatch):
            if self.is_over:
                self._give_byes()
            return
        known = {(match.encounter, match.match_no) for match in self.event.plan}
        check(len(self.event.plan), known, found, wanted)
        if found.note != self.round:
            assert not self.open, "a round begins when the one before is over"
            self._give_byes()
            self.round, self.met = found.note, set()
        for match in found.matches:
            seats = {match.first, match.second}
            assert seats <= self.playing()
            both = frozenset(seats)
            if not self.num_met[both] % (2 * self.schedule.pairs):
                assert not seats & self.met, "nobody meets two in a round"
                self.num_met[both] = 0
            self.num_met[both] += 1
            self.met |= seats
        self.event.plan += found.matches
        self.open += found.matches
        self._present = self.playing()

    def _give_byes(self) -> None:
        if self.round:
            for seat in self._present - self.met:
                self.points[seat] += 4 * self.schedule.pairs

    def store(self, match: PlannedMatch, points: float) -> None:
        self.open.remove(match)
        self.event.results[match.encounter, match.match_no] = points
        low, high = sorted((match.first, match.second))
        self.points[low] += round(2 * points)
        self.points[high] += round(2 - 2 * points)

    def scores(self) -> dict[int, int]:
        view = self.event.view()
        found = self.schedule.scores(view, self.schedule.rounds_of(view))
        return {seat: found[seat] for seat in self.playing()}


@pytest.mark.parametrize("seed", range(60))
def test_points_are_those_that_were_given_at_the_time(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    num, pairs = chance.randint(2, 7), chance.randint(1, 3)
    held = Held(num, rounds=5, pairs=pairs, seed=seed)
    num_returns = 0
    for _ in range(400):
        if held.is_over:
            break
        away = set(range(num)) - held.playing()
        what = chance.random()
        if what < 0.06 and len(held.playing()) > 2:
            held.leave(chance.choice(sorted(held.playing())))
        elif what < 0.16 and away:
            held.come_back(chance.choice(sorted(away)))
            num_returns += 1
        elif what < 0.5:
            held.plan(chance.choice((2, 3, 4, 50)))
        elif held.open:
            held.store(chance.choice(held.open), chance.choice((0.0, 0.5, 1.0)))
    assert held.is_over or num == 2
    if held.is_over:
        assert held.scores() == {seat: held.points[seat] for seat in held.playing()}


def test_two_bots_that_meet_again_after_a_return_begin_anew() -> None:
    held = Held(2, rounds=3, pairs=2, seed=1)
    held.plan(2)
    for match in list(held.open):
        held.store(match, 1.0)
    held.leave(0)
    held.come_back(0)
    held.plan(100)
    # Two of the four matches of the first round were never planned; they are walkovers.
    rounds = held.schedule.rounds_of(held.event.view())
    assert [[len(each.matches) for each in one.encounters] for one in rounds] == [[2], [4]]
    assert held.schedule.scores(held.event.view(), rounds[:1]) == {0: 4, 1: 4}
    assert held.round == "round 2 of 3"


def test_who_is_back_has_its_points_and_none_for_what_it_missed() -> None:
    held = Held(4, rounds=4, pairs=1, seed=1)
    held.plan(100)
    for match in list(held.open):
        held.store(match, 1.0)
    held.leave(0)
    for _ in range(2):
        held.plan(100)
        for match in list(held.open):
            held.store(match, 0.5)
    before = held.schedule.scores(held.event.view(), held.schedule.rounds_of(held.event.view()))
    assert (before[0], held.round) == (4, "round 3 of 4")
    held.come_back(0)
    # The bot with the bye is left over, so the round continues with the two bots.
    held.plan(100)
    assert held.round == "round 3 of 4"
    assert {seat for match in held.open for seat in (match.first, match.second)} >= {0}
    for match in list(held.open):
        held.store(match, 0.0)
    held.plan(100)
    assert held.round == "round 4 of 4"
    assert len(held.open) == 4


def test_who_left_first_missed_a_match_that_both_left() -> None:
    held = Held(4, rounds=3, pairs=1, seed=1)
    held.plan(100)
    held.leave(0)
    held.leave(2)
    held.come_back(2)
    held.come_back(0)
    scores = held.scores()
    # 0 and 2 were to meet; 0 left while 2 was present.
    assert (scores[0], scores[2]) == (0, 4)
    assert scores == {seat: held.points[seat] for seat in range(4)}


def test_a_void_match_of_two_that_take_part_gives_no_points() -> None:
    held = Held(4, rounds=3, pairs=1, seed=1)
    held.plan(100)
    first, second = (match for match in held.open if 0 in {match.first, match.second})
    held.event.results[first.encounter, first.match_no] = None
    held.open.remove(first)
    held.leave(0)
    held.come_back(0)
    # The void match depends on who takes part now; the dropped match on who took part when it was dropped.
    assert (held.scores()[0], held.scores()[2]) == (0, 2)
    assert second not in held.open
