"""Events that a worker sends: of matches that last, from their beginning, even if the channel is full."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec
import pytest
from typing_extensions import override

from arena.executor import streaming
from arena.executor.channel import MAX_MESSAGE
from arena.executor.slots import Slot
from arena.executor.streaming import MatchStreamer, decode_events, live_event, started_of
from arena.executor.worker import Control, SlotCallbacks, play_batch
from arena.executor.worker_seats import WarmSeats
from arena.live.events import MAX_PAYLOAD, Finished, Move, ThinkingInfo, unpack
from arena.referee.seats import Answer, Record
from arena.referee.timecontrol import TimeControl
from arena_plugins.thoughts import Thoughts
from tournaments import TRIO, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import LiveEvent

    JobsOf = Callable[[TournamentConfig], list[Job]]


class Listener:
    """A channel that accepts a limited number of messages."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.events: list[LiveEvent] = []

    def __call__(self, message: bytes) -> bool:
        if not self.room:
            return False
        self.room -= 1
        self.events += decode_events(message)
        return True

    def told(self) -> list[tuple[str, int]]:
        return [(event.kind, event.ply) for event in self.events]


@pytest.fixture
def job(jobs_of: JobsOf) -> Job:
    return jobs_of(config(*TRIO, openings="none"))[0]


def said(action: int, **thoughts: object) -> Answer:
    return Answer(action, 0.25, msgspec.convert(thoughts, Thoughts))


def test_a_match_that_is_over_soon_is_not_told_of(job: Job) -> None:
    listener = Listener()
    streamer, record = MatchStreamer(listener), Record()
    streamer.begin(job, record)
    record.add(said(4))
    streamer.send_new()
    streamer.end()
    assert listener.events == []


def test_a_match_that_lasts_is_told_of_from_its_beginning(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "QUIET_S", 0.0)
    job = msgspec.structs.replace(job, opening=(0, 1), limit=TimeControl.parse("10+1", None, None))
    listener, record = Listener(), Record((0, 1))
    streamer = MatchStreamer(listener)
    streamer.begin(job, record)
    record.add(said(4, value=0.5, visits=((4, 9), (8, 1))))
    record.actions.append(8)  # as the fast path does
    streamer.think(4, Thoughts(value=-0.25))
    streamer.think(4, Thoughts(value=0.75))
    streamer.send_new()
    streamer.send_new()
    record.add(said(2))
    # 2.5 seconds late, for which the machine was blamed.
    record.add(Answer(5, 14.0, Thoughts(), 2.5))
    streamer.end()

    moves = [("move", 3), ("move", 4), ("info", 4), ("move", 5), ("move", 6)]
    assert listener.told() == [("started", 0), *moves]
    assert {(event.tournament, event.number, event.attempt) for event in listener.events} == {
        (job.tournament, job.number, job.attempt)
    }
    bodies = [unpack(event.payload) for event in listener.events]
    assert bodies[0]["clock_ms"] == [10_000, 10_000]
    assert bodies[1] == {
        "action": 4,
        "value": 0.5,
        "visits": [[4, 9], [8, 1]],
        "elapsed_ms": 250,
        "clock_ms": [10_750, 10_000],
    }
    assert (bodies[2]["elapsed_ms"], bodies[2]["clock_ms"]) == (0, [10_750, 11_000])
    assert bodies[3] == {"value": 0.75}
    assert bodies[4]["clock_ms"] == [11_500, 11_000]
    assert (bodies[5]["elapsed_ms"], bodies[5]["clock_ms"]) == (14_000, [11_500, 500])


def test_a_remark_on_a_position_that_is_past_is_left_out(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "QUIET_S", 0.0)
    listener, record = Listener(), Record()
    streamer = MatchStreamer(listener)
    streamer.begin(job, record)
    streamer.think(0, Thoughts(value=0.5))
    record.add(said(4))
    streamer.send_new()
    assert listener.told() == [("started", 0), ("move", 1)]


def test_what_a_full_channel_does_not_take_goes_later(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "QUIET_S", 0.0)
    listener, record = Listener(room=0), Record()
    streamer = MatchStreamer(listener)
    streamer.begin(job, record)
    for action in range(3):
        record.add(said(action))
        streamer.send_new()
    listener.room = 9
    streamer.send_new()
    assert listener.told() == [("started", 0), *(("move", ply) for ply in (1, 2, 3))]
    listener.room = 0
    record.add(said(3))
    streamer.send_new()
    record.add(said(4))
    listener.room = 9
    streamer.end()
    assert listener.told()[4:] == [("move", 4), ("move", 5)]


def test_no_message_is_larger_than_the_channel_takes(job: Job) -> None:
    listener, sizes, record = Listener(), list[int](), Record()

    def send(message: bytes) -> bool:
        sizes.append(len(message))
        return listener(message)

    streamer = MatchStreamer(send, quiet_s=0.0)
    streamer.begin(job, record)
    for action in (4, 0, 8, 2, 1, 7, 3, 5, 6):
        record.add(said(action, text="\N{GAME DIE}" * 2000))
    streamer.end()
    assert max(sizes) <= MAX_MESSAGE < sum(sizes)
    assert listener.told() == [("started", 0), *(("move", ply) for ply in range(1, 10))]


def test_a_match_in_a_thread_of_its_own_is_told_of_while_a_bot_thinks(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "QUIET_S", 0.0)
    heard, listener = threading.Event(), Listener()

    def send(message: bytes) -> bool:
        heard.set()
        return listener(message)

    streamer = MatchStreamer(send)
    streamer.run()
    streamer.begin(job, Record())
    assert heard.wait(60)
    streamer.close()
    assert listener.told() == [("started", 0)]


def test_a_batch_tells_of_what_it_plays(jobs_of: JobsOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "QUIET_S", 0.0)
    listener = Listener()
    streamer = MatchStreamer(listener)
    callbacks = SlotCallbacks(Slot.here(0), must_abort=lambda: bool(streamer.send_new()))
    control = Control(callbacks, WarmSeats(), streamer)
    records = play_batch(jobs_of(config("mcts:playouts=20", "random")), control)
    control.close()
    for record in records:
        own = [event for event in listener.events if event.number == record.number]
        assert own[0].kind == "started"
        moves = [unpack(event.payload) for event in own if event.kind == "move"]
        opening = list(record.actions[: record.num_opening])
        assert [*opening, *(move["action"] for move in moves)] == list(record.actions)
        assert tuple(move.get("value") for move in moves) == record.values[record.num_opening :]


def test_a_bank_is_what_is_beyond_the_free_time_of_a_move(job: Job) -> None:
    job = msgspec.structs.replace(job, limit=TimeControl.parse(None, 2, None, bank=60))
    started = started_of(job)
    assert (started.clock_ms, started.free_ms, started.tc) == ((60_000, 60_000), 2000, "2/move bank 60")


def test_of_a_move_that_says_too_much_the_action_stays(job: Job) -> None:
    text = "x" * 2 * MAX_PAYLOAD
    assert unpack(live_event(job, Move(action=3, text=text), 1, 0.0).payload) == {"action": 3}
    assert unpack(live_event(job, ThinkingInfo(value=0.5, text=text), 1, 0.0).payload) == {"value": 0.5}
    over = Finished(outcome="draw", termination="rules", plies=9, reason=text)
    assert unpack(live_event(job, over, 9, 0.0).payload) == {}


class WatchedEvent(threading.Event):
    """An event that records when a thread waits for it without a timeout."""

    def __init__(self) -> None:
        super().__init__()
        self.is_awaited = threading.Event()

    @override
    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            self.is_awaited.set()
        return super().wait(timeout)


def test_an_idle_worker_does_not_poll(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PERIOD_S", 0.001)
    heard, began = threading.Event(), WatchedEvent()

    def send(_: bytes) -> bool:
        heard.set()
        return True

    streamer = MatchStreamer(send, quiet_s=0)
    monkeypatch.setattr(streamer, "_began", began)
    streamer.run()
    for _ in range(2):
        assert began.is_awaited.wait(60)
        streamer.begin(job, Record())
        assert heard.wait(60)
        heard.clear()
        began.is_awaited.clear()
        streamer.end()
    assert began.is_awaited.wait(60)
    streamer.close()


def test_what_cannot_be_read_is_nothing() -> None:
    assert decode_events(b"\xc1") == []
