"""Events of a run: long matches in full, short ones as samples, and no result before it is stored."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest
from typing_extensions import override

from arena.coordinator import event_publisher as module
from arena.coordinator.hold import play_out
from arena.coordinator.lease import Lease
from arena.coordinator.orders import Orders
from arena.coordinator.run import RunParts
from arena.coordinator.run_events import Ended, MatchFinished, RunNotice
from arena.coordinator.stop import StopSignals
from arena.executor.pools import InlinePool
from arena.executor.record import void_record
from arena.executor.streaming import live_event, started_of
from arena.live.events import Event, Move, ThinkingInfo, unpack
from arena.live.reducer import reduce_all
from arena.live.views import LiveView
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.owner import current_owner
from arena_plugins import Termination
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from concurrent.futures import Future

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.event_publisher import EventPublisher
    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena_db.records import LiveEvent, MatchRecord

    Begin = Callable[[TournamentConfig], Sitting]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def played(begin: Begin) -> tuple[Sitting, list[Job], list[MatchRecord]]:
    """Return a tournament, its jobs, and the records of its matches, none of which is stored."""
    source = begin(config(*TRIO))
    source.play()
    records = [event.record for event in source.events if isinstance(event, MatchFinished)]
    sitting = begin(config(*TRIO))
    return sitting, sitting.jobs(), records


@contextmanager
def telling(sitting: Sitting, clock: Clock) -> Generator[EventPublisher]:
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        yield sitting.publisher(lease, clock=clock)


def running(job: Job, record: MatchRecord, num: int | None = None) -> list[LiveEvent]:
    """Return the events that a worker sends about a match: all of them, or those of `num` moves."""
    actions = record.actions[record.num_opening :][:num]
    moves = [Move(action=action) for action in actions]
    plies = range(record.num_opening + 1, record.num_opening + 1 + len(moves))
    return [
        live_event(job, started_of(job), 0, 1.0),
        *(live_event(job, move, ply, 2.0) for move, ply in zip(moves, plies, strict=True)),
    ]


def finish(sitting: Sitting, publisher: EventPublisher, records: Sequence[MatchRecord]) -> None:
    """Store results and publish them, as the result recorder does."""
    sitting.store.matches.save(records)
    tournament = sitting.store.tournaments.find(sitting.tournament.id)
    assert tournament is not None
    for place, record in enumerate(records):
        done = tournament.num_done - len(records) + 1 + place
        publisher.tell(MatchFinished(record, "", "", done, tournament.num_planned))


def view_of(sitting: Sitting) -> LiveView:
    """Return the view of a viewer that followed from the start."""
    events = [
        Event(
            seq=event.seq,
            tournament=event.tournament,
            match=event.number,
            attempt=event.attempt,
            ply=event.ply,
            kind=event.kind,  # pyright: ignore[reportArgumentType] # as the store checks
            payload=unpack(event.payload),
            t=event.t,
        )
        for event in sitting.told()
    ]
    return reduce_all(LiveView(), events)


def test_another_number_of_workers_is_published_before_the_next_beat(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, *_ = played
    with telling(sitting, clock) as publisher:
        publisher.tick(at_once=True)
        for num in (5, 5):
            clock.now += 1.0
            publisher.num_workers = num
            publisher.tick(at_once=True)
            assert view_of(sitting).progress.workers == 5
    assert [event.kind for event in sitting.told()].count("state") == 2


class GrowingPool(InlinePool):
    """A pool to which machines connect after the run began."""

    @override
    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        self.num_workers = 5
        return super().submit(jobs, slot, tick)


def test_viewers_see_how_many_matches_are_played_at_once(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=4))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        orders = Orders(lease, StopSignals(), say=sitting.said.append)
        parts = RunParts(sitting.planner(1, lease.store), GrowingPool(), orders)
        play_out(lease.store, sitting.tournament, parts, tell=sitting.events.append)
    assert view_of(sitting).progress.workers == 5


def test_a_match_is_followed_to_its_stored_end(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, jobs, records = played
    with telling(sitting, clock) as publisher:
        publisher.hear(running(jobs[0], records[0]))
        publisher.tick()
        view = view_of(sitting)
        assert (view.progress.state, view.progress.name) == ("running", sitting.tournament.name)
        assert view.matches[1].actions == records[0].actions
        assert not view.matches[1].is_over
        finish(sitting, publisher, records[:1])
        clock.now += 1
        publisher.tick()
    match = view_of(sitting).matches[1]
    stored = sitting.store.matches.find_attempt(sitting.tournament.id, 1)
    assert stored is not None
    assert (match.stored, match.termination, match.reason) == (stored.id, "rules", records[0].reason)
    assert match.outcome == records[0].outcome


def test_viewers_name_bots_themselves(begin: Begin, clock: Clock) -> None:
    sitting = begin(config("mcts:playouts=1", "random", "mcts:playouts=2"))
    with telling(sitting, clock) as publisher:
        for job in sitting.jobs():
            publisher.hear([live_event(job, started_of(job), 0, 1.0)])
        publisher.tick()
    seats = [seat for match in view_of(sitting).matches.values() for seat in match.seats]
    assert {seat.name for seat in seats} == {"mcts:playouts=1", "random", "mcts:playouts=2"}
    assert all(seat.label == seat.name for seat in seats), "this viewer has no other names"
    assert not any("labels" in event.payload for event in sitting.told())


def test_moves_that_did_not_get_through_come_with_the_result(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, jobs, records = played
    with telling(sitting, clock) as publisher:
        publisher.hear(running(jobs[0], records[0], 2))
        finish(sitting, publisher, records[:1])
        publisher.tick()
    match = view_of(sitting).matches[1]
    assert match.is_over
    assert match.actions == records[0].actions


def test_of_quick_matches_one_is_shown_and_all_are_counted(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, _, records = played
    with telling(sitting, clock) as publisher:
        for record in records[:4]:
            finish(sitting, publisher, [record])
            clock.now += 0.1
            publisher.tick()
        view = view_of(sitting)
        assert [match.number for match in view.matches.values()] == [1]
        assert view.matches[1].actions == records[0].actions
        clock.now += 1
        finish(sitting, publisher, records[4:])
        publisher.tick()
    view = view_of(sitting)
    assert [match.number for match in view.finished] == [6, 1]
    assert view.progress.done == 6
    assert view.progress.rate == pytest.approx(60 * 5 / 1.3)


def test_nothing_is_told_of_a_result_that_waits_beside_the_store(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, jobs, records = played
    with telling(sitting, clock) as publisher:
        publisher.hear(running(jobs[0], records[0]))
        publisher.tick()
        with closing(open_raw(FileSettings(place=sitting.store.path))) as other:
            other.execute("BEGIN IMMEDIATE")
            finish(sitting, publisher, records[:1])
            other.execute("ROLLBACK")
        assert sitting.store.matches.num_waiting == 1
        clock.now += 1
        publisher.tick()
        view = view_of(sitting)
        assert (view.matches[1].is_over, view.progress.done) == (False, 0)
        sitting.store.matches.save([])
        clock.now += 1
        publisher.tick()
    assert view_of(sitting).matches[1].is_over


def test_a_store_that_takes_no_events_costs_nothing(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 3)
    sitting, jobs, records = played
    with (
        telling(sitting, clock) as publisher,
        closing(open_raw(FileSettings(place=sitting.store.path))) as other,
    ):
        finish(sitting, publisher, records[:1])
        publisher.hear(running(jobs[1], records[1], 1))
        other.execute("BEGIN IMMEDIATE")
        for _ in range(4):
            publisher.tick()
            clock.now += 10
        other.execute("ROLLBACK")
        assert len(sitting.said) == 1
        assert "the live view is paused, no match is lost" in sitting.said[0]
        assert sitting.told() == []
        publisher.hear(running(jobs[1], records[1])[2:])
        publisher.tick()
    view = view_of(sitting)
    assert view.matches[2].actions == records[1].actions
    assert view.progress.done == 1


def test_of_remarks_the_newest_is_kept(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 0)
    sitting, jobs, records = played
    ply = records[0].num_opening
    with (
        telling(sitting, clock) as publisher,
        closing(open_raw(FileSettings(place=sitting.store.path))) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        publisher.hear(running(jobs[0], records[0], 0))
        publisher.hear([live_event(jobs[0], ThinkingInfo(depth=depth), ply, 3.0) for depth in range(5)])
        publisher.tick()
        other.execute("ROLLBACK")
        clock.now += 10
        publisher.tick()
    assert [event.payload for event in sitting.told() if event.kind == "info"] == ['{"depth":4}']


def test_a_fault_is_told_with_the_player_to_blame(begin: Begin) -> None:
    sitting = begin(config("random", "strange:cheat=on"))
    sitting.play()
    view = view_of(sitting)
    assert {notice.termination for notice in view.notices if notice.number} == {"illegal_move"}
    assert all(notice.label == "strange:cheat=on" for notice in view.notices if notice.number)


def test_a_match_that_is_played_again_stays_apart_from_its_first_attempt(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, jobs, records = played
    with telling(sitting, clock) as publisher:
        publisher.hear(running(jobs[0], records[0], 1))
        publisher.tick()
        void = void_record(jobs[0], Termination.ARENA_STALL)
        finish(sitting, publisher, [void])
        again = msgspec.structs.replace(jobs[0], attempt=1)
        publisher.hear(running(again, records[0], 2))
        publisher.hear(running(jobs[0], records[0], 3)[-1:])  # comes too late
        clock.now += 1
        publisher.tick()
    view = view_of(sitting)
    assert (view.matches[1].attempt, len(view.matches[1].actions)) == (1, records[0].num_opening + 2)
    assert view.progress.done == 0


@pytest.mark.parametrize("is_shown", [False, True])
def test_the_end_of_an_attempt_is_told_although_its_match_is_dropped(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock, *, is_shown: bool
) -> None:
    # A bot without files is withdrawn right after the attempt that reported the loss.
    sitting, jobs, records = played
    with telling(sitting, clock) as publisher:
        if is_shown:
            publisher.hear(running(jobs[0], records[0], 1))
            publisher.tick()
        finish(sitting, publisher, [void_record(jobs[0], Termination.ARENA_ERROR, "its files are gone")])
        publisher.forget([1, 2], None)
        clock.now += 1
        publisher.tick()
        publisher.hear([*running(jobs[0], records[0]), *running(jobs[1], records[1])])
        clock.now += 1
        publisher.tick()
    view = view_of(sitting)
    assert (view.matches[1].termination, view.matches[1].is_over) == ("arena_error", True)
    assert 2 not in view.matches


def test_matches_that_died_with_their_worker_are_forgotten(
    played: tuple[Sitting, list[Job], list[MatchRecord]], clock: Clock
) -> None:
    sitting, jobs, records = played
    with telling(sitting, clock) as publisher:
        publisher.hear(running(jobs[0], records[0], 1))
        publisher.lost([1])
        publisher.hear(running(jobs[0], records[0])[2:])  # what the dead one sent last
        publisher.tell(RunNotice("a worker died"))
        publisher.tick()
    assert [event.kind for event in sitting.told()].count("move") == 1
    view = view_of(sitting)
    assert view.notices[0].text == "a worker died"
    assert view.notices[1].text == "its worker died; it will be played again"
    assert view.matches[1].is_stalled


def test_the_state_is_told_at_every_change_and_every_ten_seconds(begin: Begin, clock: Clock) -> None:
    sitting = begin(config(*TRIO))
    with telling(sitting, clock) as publisher:
        for seconds in (0.0, 1.0, 8.0, 2.0, 5.0):
            clock.now += seconds
            publisher.tick()
        publisher.change("paused")
        clock.now += 1
        publisher.tick()
        publisher.tell(Ended("stopped", "a stop was requested", 0, 6))
        publisher.tick(at_once=True)
    states = [unpack(event.payload) for event in sitting.told()]
    assert [state["state"] for state in states] == ["running", "running", "paused", "ended"]
    assert states[-1]["reason"] == "a stop was requested"


def test_who_lost_the_lease_is_silent(begin: Begin, clock: Clock) -> None:
    sitting = begin(config(*TRIO))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        assert sitting.store.claim(sitting.tournament.id, current_owner()), "a later claim"
        sitting.publisher(lease, clock=clock).tick(at_once=True)
    assert sitting.told() == []
