"""The planner of a run: plans batch by batch, stores a batch before handing it out, follows the schedule."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from arena.coordinator.kinds import PlanSource, schedule_of
from arena.coordinator.planner import Planner, check_batch
from arena.coordinator.prepare import enlarge
from arena.coordinator.restore import restore_plan
from arena.coordinator.run_events import Ended, MatchFinished, MatchStarted
from arena.errors import ArenaError, ConfigError
from arena.executor.pools import InlinePool
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_batch
from arena.pairing.schedule import FixedPlan
from arena.schedules.protocol import Closed, Participant, PlannedBatch, View, Wait
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from stores import seal_anew
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena.schedules.protocol import Next
    from arena_db.records import MatchRecord, PlannedMatch, TournamentRecord

    Begin = Callable[[TournamentConfig], Sitting]

DUEL = ("minimax:depth=2", "random")
PLAN = FixedPlan(kind="match", num_bots=2, rounds=500, games=2, openings=[()], version=2)
SEATS = (Participant("a"), Participant("b"), Participant("c", state="left"))


class Scripted:
    """A schedule that answers from a list and records the requests."""

    def __init__(self, *answers: Next) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[int, int, int]] = []

    def next(self, view: View, wanted: int) -> Next:
        self.asked.append((len(view.plan), len(view.results), wanted))
        return self.answers.pop(0)


def pairs(first: int, last: int, total: int | None = None) -> PlannedBatch:
    return PlannedBatch(list(PLAN.matches(first - 1, last)), total, note=f"up to {last}")


def empty(begin: Begin, *answers: Next) -> tuple[Sitting, Scripted]:
    """Begin a match of two bots without a plan, whose schedule gives these answers."""
    sitting = begin(config(*DUEL, type="match"))
    with closing(open_raw(FileSettings(place=sitting.store.path))) as raw:
        raw.execute("DELETE FROM planned")
        raw.execute("DELETE FROM batches")
        raw.execute("UPDATE tournaments SET num_planned = 0, num_total = NULL, is_planned = 0")
    seal_anew(sitting.store)
    schedule = Scripted(*answers)
    sitting.tournament = stored(sitting)
    sitting.plan = sitting.plan._replace(source=PlanSource(schedule, is_adaptive=True))
    return sitting, schedule


def stored(sitting: Sitting) -> TournamentRecord:
    record = sitting.store.tournaments.find(sitting.tournament.id)
    assert record is not None
    return record


def planner_of(sitting: Sitting, num_workers: int = 1) -> Planner:
    """Return the planner with the schedule that the tournament began with."""
    return Planner(sitting.store, stored(sitting), sitting.plan, num_workers=num_workers)


def whole_plan(sitting: Sitting) -> list[PlannedMatch]:
    plan = restore_plan(sitting.store, stored(sitting))
    source = schedule_of(plan.config, plan.game, len(plan.competitors), stored(sitting).plan_version)
    assert source.fixed is not None
    return list(source.fixed.matches())


def numbers(matches: Sequence[Any]) -> list[int]:
    return [match.number for match in matches]


def play(jobs: Sequence[Job]) -> list[MatchRecord]:
    """Play all jobs, without a limit on the time of a batch."""
    control = make_control(SlotCallbacks(Slot.here(0)))
    return [record for job in jobs for record in play_batch([job], control)]


def test_a_window_is_stored_before_it_is_handed_out(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=150))
    assert (sitting.tournament.num_planned, sitting.tournament.num_total) == (256, 900)
    planner = sitting.planner(1)
    assert numbers(planner.more(0, [])) == list(range(1, 257))
    assert planner.more(128, []) == []
    # Matches in flight do not count, or batches would shrink while they are played.
    assert numbers(planner.more(127, range(300))) == list(range(257, 387))
    assert sitting.matches_planned() == whole_plan(sitting)[:386]
    found = [number for _ in range(3) for number in numbers(planner.more(0, []))]
    assert found == list(range(387, 901))
    assert planner.is_exhausted
    assert planner.more(0, []) == []
    record = stored(sitting)
    assert (record.is_planned, record.is_complete, record.num_total) == (True, False, 900)
    assert sitting.matches_planned() == whole_plan(sitting)
    assert [batch.start for batch in sitting.batches()] == [1, 257, 387, 643, 899]
    assert sitting.store.integrity.check() == []


def test_many_workers_with_large_batches_have_a_larger_window(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=300))
    planner = sitting.planner(4)
    planner.batch_size = 50
    assert len(planner.more(0, [])) == 256, "what was stored with the tournament"
    assert planner.more(400, []) == []
    assert len(planner.more(399, [])) == 402


def test_a_resumed_run_hands_out_what_is_left_and_goes_on(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=60))
    jobs = sitting.planner(1).more(0, [])
    sitting.store.matches.save(play([*jobs[:40], jobs[44]]))
    assert numbers(sitting.planner(1).more(0, []))[:6] == [41, 42, 43, 44, 46, 47]
    assert sitting.play().state == "finished"
    assert sitting.matches_planned() == whole_plan(sitting)
    assert sitting.store.integrity.check() == []
    assert len(sitting.matches()) == 360
    counted = [event for event in sitting.events if isinstance(event, MatchStarted | MatchFinished | Ended)]
    assert {event.total for event in counted} == {360}


def test_other_openings_do_not_continue_a_plan(begin: Begin, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("a1 a2\nb3 c3\n")
    sitting = begin(config(*TRIO, rounds=60, openings=f"file:{book}"))
    book.write_text("b2 a2\nb3 c3\n")
    planner = sitting.planner(1)
    assert len(planner.more(0, [])) == 256, "what is planned is played"
    with pytest.raises(ConfigError, match="the openings of rr-1 have changed since it began"):
        planner.more(0, [])
    assert sitting.store.plans.unplayed(sitting.tournament.id) == sitting.matches_planned()


def test_what_depends_on_results_is_planned_late(begin: Begin) -> None:
    sitting, schedule = empty(
        begin, pairs(1, 4), pairs(5, 8), Wait("a result"), pairs(9, 10, 40), Closed("H1")
    )
    planner = planner_of(sitting)
    jobs = planner.more(0, [])
    assert numbers(jobs) == [1, 2, 3, 4]
    assert planner.total is None
    assert planner.more(4, [9, 9, 9, 9]) == []
    assert numbers(planner.more(3, [1])) == [5, 6, 7, 8]
    assert planner.more(1, [1, 2]) == []
    assert planner.more(0, [1]) == [], "it is not asked again before there is a result"
    sitting.store.matches.save(play(jobs[:1]))
    assert numbers(planner.more(0, [2])) == [9, 10]
    assert (planner.total, planner.is_decided) == (40, False)
    assert planner.more(6, [2]) == []
    assert (planner.is_decided, planner.is_exhausted, planner.total) == (True, True, 2)
    assert schedule.asked == [(0, 0, 16), (4, 0, 12), (8, 0, 14), (8, 1, 16), (10, 1, 10)]
    batches = sitting.store.plans.batches(sitting.tournament.id)
    assert [(batch.first, batch.basis_match, batch.note) for batch in batches] == [
        *((1, 0, "up to 4"), (5, 0, "up to 8"), (9, 1, "up to 10")),
    ]
    assert numbers(sitting.store.plans.unplayed(sitting.tournament.id)) == [2]
    record = stored(sitting)
    assert (record.decision, record.num_dropped, record.num_total, record.num_done) == ("H1", 8, 2, 1)
    # After a kill at this moment, the match in flight would no longer be needed.
    assert planner_of(sitting).more(0, []) == []
    assert stored(sitting).is_complete
    assert sitting.store.integrity.check() == []


def test_a_schedule_that_waits_for_nothing_is_an_error(begin: Begin) -> None:
    sitting, _ = empty(begin, Wait("a result"))
    planner = planner_of(sitting)
    assert planner.more(0, []) == []
    with pytest.raises(ArenaError, match="match-1 waits for results, but no match is running"):
        planner.more(0, [])
    sitting, _ = empty(begin, Wait("a result"))
    with pytest.raises(ArenaError, match="but no match is running"):
        sitting.play_in(InlinePool(), planner=planner_of(sitting))


def test_results_beside_a_locked_store_are_waited_for(begin: Begin) -> None:
    sitting, schedule = empty(begin, pairs(1, 2), Wait("a result"), pairs(3, 4), Closed())
    planner = planner_of(sitting)
    jobs = planner.more(0, [])
    assert planner.more(0, []) == []
    with closing(open_raw(FileSettings(place=sitting.store.path))) as other:
        other.execute("BEGIN IMMEDIATE")
        assert sitting.store.matches.save(play(jobs)) == 0
        assert planner.more(0, []) == []
        other.execute("ROLLBACK")
        assert planner.more(0, []) == [], "now they are stored"
        other.execute("BEGIN IMMEDIATE")
        assert planner.more(0, []) == [], "a batch is only handed out once it is stored"
        other.execute("ROLLBACK")
    schedule.answers.insert(0, pairs(3, 4))
    assert numbers(planner.more(0, [])) == [3, 4]
    assert planner.more(1, [3]) == []
    assert numbers(sitting.store.plans.unplayed(sitting.tournament.id))[-2:] == [3, 4], "nothing was decided"
    record = stored(sitting)
    assert (planner.is_exhausted, planner.is_decided, record.is_planned, record.num_dropped) == (
        *(True, False, True, 0),
    )


def test_a_run_plays_a_plan_without_an_end_it_knows(begin: Begin) -> None:
    sitting, schedule = empty(begin, *(pairs(first, first + 3) for first in range(1, 40, 4)), Closed("H0"))
    ended = sitting.play_in(InlinePool(), planner=planner_of(sitting))
    num_dropped = stored(sitting).num_dropped
    assert (ended.state, ended.num_done, ended.total) == ("finished", 40 - num_dropped, 40 - num_dropped)
    assert 0 < num_dropped <= 8
    assert schedule.answers == []
    assert len(sitting.results()) == ended.num_done
    assert sitting.store.integrity.check() == []
    assert {event.total for event in sitting.events if isinstance(event, MatchStarted)} == {None}


BROKEN: dict[str, tuple[list[PlannedMatch], str]] = {
    "nothing": ([], "its matches are not numbered from 3 on"),
    "numbers": (list(PLAN.matches(4, 6)), "its matches are not numbered from 3 on"),
    "half a pair": (list(PLAN.matches(2, 5)), "match 5 is half a pair"),
    "twice": (
        [replace(match, number=number) for number, match in enumerate([*PLAN.matches(2, 4)] * 2, 3)],
        "it has a match twice",
    ),
    "no seat": ([replace(match, second=3) for match in PLAN.matches(2, 4)], "match 3 has the seats 0 and 3"),
    "itself": ([replace(match, first=1, second=1) for match in PLAN.matches(2, 4)], "seats 1 and 1"),
    "left": (
        [replace(match, first=0, second=2) for match in PLAN.matches(2, 4)],
        "match 3 has c, which no longer takes part",
    ),
}


@pytest.mark.parametrize(("matches", "text"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_played_is_not_stored(matches: list[PlannedMatch], text: str) -> None:
    view = View(seats=SEATS, plan=list(PLAN.matches(0, 2)), results={})
    check_batch(view, PlannedBatch(list(PLAN.matches(2, 6)), None), "cup", plays_pairs=True)
    with pytest.raises(ArenaError, match=f"the schedule of cup planned an invalid batch: .*{text}"):
        check_batch(view, PlannedBatch(matches, None), "cup", plays_pairs=True)


def test_single_matches_are_no_pairs() -> None:
    view = View(seats=SEATS, plan=[], results={})
    check_batch(view, PlannedBatch(list(PLAN.matches(0, 1)), None), "cup", plays_pairs=False)


def test_a_plan_of_the_first_version_stays_one(begin: Begin) -> None:
    """Further rounds continue the numbers of its encounters, and its seeds stay the same."""
    bots = ("random", "minimax:depth=1", "mcts:playouts=5", "mcts:playouts=6")
    sitting = begin(config(*bots, rounds=1))
    source = schedule_of(sitting.plan.config, sitting.plan.game, 4, 1)
    assert source.fixed is not None
    with closing(open_raw(FileSettings(place=sitting.store.path))) as raw:
        raw.execute("UPDATE tournaments SET plan_version = 1")
        raw.execute("UPDATE planned SET encounter = encounter + 100")
        raw.executemany(
            "UPDATE planned SET encounter = ? WHERE number = ?",
            [(match.encounter, match.number) for match in source.fixed.matches()],
        )
    seal_anew(sitting.store)
    assert sitting.matches_planned() == list(source.fixed.matches())
    enlarge(sitting.store, stored(sitting), restore_plan(sitting.store, stored(sitting)), 2)
    assert sitting.play().state == "finished"
    whole = schedule_of(restore_plan(sitting.store, stored(sitting)).config, sitting.plan.game, 4, 1).fixed
    assert whole is not None
    assert sitting.matches_planned() == list(whole.matches())
    with pytest.raises(ConfigError, match="plans of version 3 were made by a newer version"):
        schedule_of(sitting.plan.config, sitting.plan.game, 4, 3)
