"""A hub with a clock of the test, against pages that are made anew from all that has happened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from arena.errors import StoreError
from arena.live.events import Finished, Move, RunState, Started, make_event
from arena.live.views import LiveView
from arena.pages.following import match_fragments
from arena.pages.links import Links
from arena.pages.live import wall_fragments
from arena.pages.memo import Memo
from arena.serve.hub import LINGER_S, MAX_TOPICS, WALL, Hub
from arena.watching.feed import Batch, Health, Model, advance, awaited
from arena.watching.query import Cancelled
from game_samples import seeded
from live_samples import chance_events, played
from streams import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.events import Event
    from arena.pages.live import Fragments
    from arena.serve.channel import Viewer

LINKS = Links(root="/", suffix="", index="")


class _Script:
    """A feed of batches, failures and pauses that a test adds."""

    def __init__(self) -> None:
        self.next: list[Batch | Exception] = []
        self.is_closed = self.is_cancelled = False
        self.num_polls = 0

    @property
    def interval(self) -> float:
        return 0.0

    def poll(self) -> Batch | None:
        self.num_polls += 1
        if self.is_cancelled:
            raise Cancelled("nobody waits")
        step = self.next.pop(0) if self.next else None
        if isinstance(step, Exception):
            raise step
        return step

    def close(self) -> None:
        self.is_closed = True

    def cancel(self) -> None:
        self.is_cancelled = True


class _Stage:
    """A hub, its feed, and a clock."""

    def __init__(self, delay: int = 0) -> None:
        self.now = 1_000.0
        self.feed = _Script()
        self.hub = Hub(
            self.feed, LINKS, delay=delay, clock=lambda: 1e9 + self.now, monotonic=lambda: self.now
        )
        self.known = awaited()

    def tell(self, *events: Event, **changes: object) -> None:
        batch = msgspec.structs.replace(Batch(events=events), **changes)
        self.feed.next.append(batch)
        self.known = advance(self.known, batch)

    def settle(self, seconds: float = 2.0) -> None:
        """Step the clock until all that was told is shown."""
        end = self.now + seconds
        while self.now < end:
            self.hub.step()
            self.now += 0.05

    def join(self, topic: str = WALL, after: str = "") -> Viewer:
        channel = self.hub.channel(topic)
        assert channel is not None
        return channel.join(after, lambda: None)

    def fresh(self, topic: str = WALL, model: Model | None = None) -> dict[str, str]:
        model, t = model or self.known, 1e9 + self.now
        if topic == WALL:
            return dict(wall_fragments(model, LINKS, t, Memo()))
        return dict(match_fragments(model, int(topic), LINKS, t, Memo()))


def _begins(number: int, t: float = 1.0, **changes: object) -> Event:
    body = Started(bots=("az", "mcts"), game="connect-four", tc="10+0.1", clock_ms=(9_000, 9_000))
    return make_event(0, msgspec.structs.replace(body, **changes), t=t, match=number)


def _timeless(markup: str) -> str:
    """Leave out what a running clock shows: a page says it as of now, a frame as of the last move."""
    return re.sub(r'(class="clock)( low)?(" data-end="\d+" data-most=")\d+">[^<]*', r"\1\3", markup)


def _numbered(events: Sequence[Event]) -> list[Event]:
    return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events, 1)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("topic", [WALL, "2"])
def test_whoever_joins_whenever_sees_what_a_fresh_page_shows(seed: int, topic: str) -> None:
    rng, stage = seeded(seed), _Stage()
    viewers: list[tuple[Viewer, Reader]] = []
    events = chance_events(seed)
    while events:
        num = rng.randrange(1, 9)
        stage.tell(*events[:num])
        del events[:num]
        for _ in range(rng.randrange(1, 4)):
            stage.hub.step()
            stage.now += rng.choice([0.01, 0.05, 0.13, 0.3])
        shown = stage.hub.snapshot(topic)
        assert shown is not None
        viewers.append((stage.join(topic, shown.frame), Reader(dict(shown.fragments), shown.frame)))
        for place, (viewer, reader) in enumerate(viewers):
            reader.hear(viewer.take())
            if rng.random() < 0.2:
                # The connection breaks; what has come meanwhile is asked for.
                viewer.leave()
                stage.hub.step()
                viewers[place] = (stage.join(topic, reader.frame), reader)
    stage.settle()
    shown = stage.hub.snapshot(topic)
    assert shown is not None
    fresh = stage.fresh(topic, shown.model)
    # The boards of the hub are those of all that has happened, but for matches that are over for long.
    known, boards = stage.known.view.matches, shown.model.view.matches
    assert {number for number, match in known.items() if not match.is_over} <= boards.keys()
    assert all(known.get(number, match) == match for number, match in boards.items())
    for viewer, reader in viewers:
        reader.hear(viewer.take())
        assert {name: _timeless(reader.elements[name]) for name in fresh} == {
            name: _timeless(markup) for name, markup in fresh.items()
        }
    last = Reader()
    last.hear(stage.join(topic).take())
    assert last.elements == fresh


@pytest.mark.parametrize("delay", [1, 3])
def test_positions_are_held_back_by_so_many_plies_until_the_match_is_over(delay: int) -> None:
    stage = _Stage(delay)
    events = [make_event(0, RunState(state="running", planned=2, done=0), t=0.0), _begins(1)]
    for ply, action in enumerate([3, 3, 2, 2, 4, 4, 5], 1):
        body = Move(action=action, value=0.1 * ply, elapsed_ms=5, clock_ms=(8_000, 7_000))
        events.append(make_event(0, body, t=2.0, match=1, ply=ply))
    stage.tell(*_numbered(events))
    stage.settle()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    match = shown.model.view.matches[1]
    assert match.ply == 7 - delay
    assert sum(map(bool, match.cells)) == 7 - delay
    assert match.winning == ()
    # When the last move was made tells how long the next one is thought about.
    assert (match.clock_t, match.last_t, match.free_ms, match.trouble) == (0.0, match.started_t, 0, "")
    assert [(seat.clock_ms, seat.thoughts, seat.thinking) for seat in match.seats] == [(None, None, None)] * 2
    assert f"ply {7 - delay}" in shown.fragments["b0"]
    assert "clock" not in shown.fragments["b0"]
    assert match.seats[0].eval == pytest.approx(75.0 if delay == 1 else 65.0)
    # The hub itself forgets nothing: the next move is placed.
    over = make_event(99, Finished(outcome="first", termination="rules", plies=7), t=3.0, match=1, ply=7)
    stage.tell(over)
    stage.settle()
    later = stage.hub.snapshot(WALL)
    assert later is not None
    assert later.model.view.matches[1].ply == 7
    assert later.fragments["b0"].count('class="won"') == 4


def test_a_wall_has_as_many_places_as_matches_are_played_at_once() -> None:
    stage, events = _Stage(), [make_event(0, RunState(state="running", planned=9, done=0), t=0.0)]
    for number in range(1, 9):
        events += [
            _begins(number, t=60.0 * number),
            make_event(0, Move(action=3, elapsed_ms=5), t=60.0 * number + 1, match=number, ply=1),
        ]
        if number < 8:
            end = Finished(outcome="first", termination="crash", plies=1)
            events.append(make_event(0, end, t=60.0 * number + 50, match=number, ply=1))
    numbered = _numbered(events)
    # As from a store whose last six boards are shown until the next match begins.
    past = LiveView(matches={n: played("connect-four", "4", number=n) for n in range(1, 7)})
    past = msgspec.structs.replace(
        past,
        matches={n: msgspec.structs.replace(m, outcome="first") for n, m in past.matches.items()},
        places=tuple(range(1, 7)),
    )
    stage.feed.next.append(Batch(view=past, events=numbered[:1]))
    stage.settle()
    for event in numbered[-5:]:
        stage.feed.next.append(Batch(events=[event]))
        stage.settle()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    assert shown.model.view.places == (8,)
    assert "Follow match" in shown.fragments["b0"]
    assert "hidden" in shown.fragments["b1"]


@pytest.mark.parametrize("delay", [0, 4])
def test_a_followed_match_keeps_its_last_position_when_the_next_match_takes_its_place(delay: int) -> None:
    stage = _Stage(delay)
    moves = [
        make_event(0, Move(action=action, elapsed_ms=5), t=2.0, match=1, ply=ply)
        for ply, action in enumerate([3, 3, 2, 2, 4, 4, 5], 1)
    ]
    begins = make_event(0, RunState(state="running", planned=2, done=0), t=0.0), _begins(1)
    end = make_event(0, Finished(outcome="first", termination="rules", plies=7), t=3.0, match=1, ply=7)
    later = make_event(0, Move(action=3, elapsed_ms=5), t=5.0, match=2, ply=1)
    events = _numbered([*begins, *moves, end, _begins(2, t=4.0), later])
    stage.tell(*events[:6])
    viewer, reader = stage.join("1"), Reader()
    stage.settle()
    # The end of one match and the beginning of the next come at once, as after a pause of the store.
    for batch in (events[6:11], events[11:]):
        stage.tell(*batch)
        stage.settle()
        reader.hear(viewer.take())
        assert 1 not in stage.known.view.matches
        assert reader.elements["play"].count('class="won"') == 4
        assert "ply7" in reader.elements["moves"]
        assert ">Replay</a>" in reader.elements["ending"]
    page = stage.hub.snapshot("1")
    assert page is not None
    assert page.fragments["play"].count('class="won"') == 4
    # The wall has one place for both, and shows the one that is played.
    wall = stage.hub.snapshot(WALL)
    assert wall is not None
    assert "Follow match" in wall.fragments["b0"]
    assert "hidden" in wall.fragments["b1"]
    again = make_event(0, Move(action=0, elapsed_ms=5), t=7.0, match=1, ply=1)
    second = [msgspec.structs.replace(event, attempt=2) for event in (_begins(1, t=6.0), again)]
    stage.tell(*[msgspec.structs.replace(event, seq=20 + seq) for seq, event in enumerate(second)])
    stage.settle()
    reader.hear(viewer.take())
    # With a delay, no move of the second attempt is shown yet.
    assert ("ply1" in reader.elements["moves"]) == (delay == 0)
    assert "ply7" not in reader.elements["moves"]
    assert "won" not in reader.elements["play"]


def test_a_page_of_a_match_that_has_ended_long_ago_says_where_its_board_is() -> None:
    stage = _Stage()
    end = make_event(0, Finished(outcome="first", termination="rules", plies=7), t=3.0, match=1, ply=7)
    begins = make_event(0, RunState(state="running", planned=2, done=0), t=0.0), _begins(1)
    stage.tell(*_numbered([*begins, end, _begins(2, t=60.0)]))
    stage.settle()
    assert "The replay shows the board." in stage.fresh("1")["play"]


def test_a_delay_never_hides_the_opening() -> None:
    stage = _Stage(5)
    move = make_event(0, Move(action=3, elapsed_ms=5), t=2.0, match=1, ply=4)
    stage.tell(*_numbered([_begins(1, opening=(3, 3, 2)), move]))
    stage.settle()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    assert shown.model.view.matches[1].actions == (3, 3, 2)
    assert shown.model.view.matches[1].to_move == 1


def test_a_feed_that_fails_is_said_so_and_what_was_shown_stays() -> None:
    stage = _Stage()
    stage.tell(*_numbered([make_event(0, RunState(state="running", planned=9, done=4), t=0.0), _begins(7)]))
    stage.settle()
    before = stage.hub.snapshot(WALL)
    viewer = stage.join(after=before.frame if before else "")
    stage.feed.next += [StoreError("store x.db is gone <moved>; looking again")] * 3
    for _ in range(3):
        stage.hub.step()
        stage.now += 0.2
    reader = Reader()
    assert reader.hear(viewer.take()) == 1
    assert set(reader.elements) == {"trouble"}
    assert "store x.db is gone &lt;moved&gt;; looking again" in reader.elements["trouble"]
    assert "hidden" not in reader.elements["trouble"]
    fresh = stage.hub.snapshot(WALL)
    assert fresh is not None
    assert fresh.fragments["b0"] == (before.fragments["b0"] if before else "")
    assert "4/9 matches" in fresh.fragments["progress"]
    stage.settle()
    reader.hear(viewer.take())
    assert "hidden" in reader.elements["trouble"]


def test_a_feed_that_fails_is_asked_more_and_more_seldom() -> None:
    stage = _Stage()
    stage.feed.next += [StoreError("gone")] * 9
    asked: list[float] = []
    while stage.now < 1_012.0:
        num = stage.feed.num_polls
        assert stage.hub.step() >= 0.0
        if stage.feed.num_polls > num:
            asked.append(stage.now - 1_000.0)
        stage.now += 0.125
    assert asked == [0.0, 0.25, 0.75, 1.75, 3.75, 7.75, 11.75]


def test_a_step_waits_for_what_is_due_first() -> None:
    stage = _Stage()
    stage.join()
    stage.feed.next += [StoreError("gone")] * 9
    assert stage.hub.step() == 0.125
    stage.now += 0.125
    assert stage.hub.step() == 0.125
    stage.now += 0.125
    assert stage.hub.step() == 0.5


def test_frames_are_at_most_eight_a_second_and_four_in_a_crowd() -> None:
    for num_viewers, most in ((3, 8), (201, 4)):
        stage = _Stage()
        stage.tell(*_numbered([make_event(0, RunState(state="running", planned=900, done=0), t=0.0)]))
        stage.settle()
        first = stage.hub.snapshot(WALL)
        assert first is not None
        viewers = [stage.join(after=first.frame) for _ in range(num_viewers)]
        for number in range(200):
            stage.tell(make_event(number + 2, RunState(state="running", planned=900, done=number), t=0.0))
            stage.hub.step()
            stage.now += 0.01
        for viewer in (viewers[0], viewers[-1]):
            num = Reader().hear(viewer.take())
            assert most <= num <= 2 * most + 1


def test_a_hub_is_idle_thirty_seconds_after_its_last_viewer() -> None:
    stage = _Stage()
    viewer = stage.join()
    stage.settle(100.0)
    assert not stage.hub.is_idle
    # Nor is it after a store that held it for long; the viewer is still its own.
    stage.now += LINGER_S + 1
    assert not stage.hub.is_idle
    stage.settle(1.0)
    assert stage.hub.channel(WALL) is viewer.channel
    viewer.leave()
    stage.settle(LINGER_S - 1)
    assert not stage.hub.is_idle
    stage.settle(2.0)
    assert stage.hub.is_idle
    stage.hub.snapshot(WALL)
    assert not stage.hub.is_idle


def test_a_page_that_nobody_follows_gives_its_place_away() -> None:
    stage = _Stage()
    kept = stage.join("1")
    for number in range(2, MAX_TOPICS + 1):
        assert stage.hub.channel(str(number)) is not None
    assert stage.hub.channel("900") is None
    assert stage.hub.snapshot("900") is None
    epoch = stage.hub.channel("2")
    stage.settle(LINGER_S + 2)
    assert stage.hub.channel("900") is not None
    assert stage.hub.channel("1") is kept.channel
    assert stage.hub.channel("2") is not epoch


def test_words_that_depend_on_the_time_come_without_any_event() -> None:
    stage = _Stage()
    health = Health(heartbeat_t=1e9 + stage.now, lease_until=1e9 + stage.now + 900)
    stage.tell(make_event(1, RunState(state="running", planned=9, done=0), t=0.0), health=health)
    stage.settle()
    viewer, reader = stage.join(), Reader()
    reader.hear(viewer.take())
    assert "live" in reader.elements["progress"]
    stage.settle(30.0)
    reader.hear(viewer.take())
    assert "STALE" in reader.elements["progress"].upper()


def test_a_running_clock_is_shown_as_it_is_now_on_a_page_and_as_it_was_in_a_frame() -> None:
    stage = _Stage()
    stage.tell(*_numbered([_begins(1, t=1e9 + stage.now)]))
    stage.settle(3.0)
    page = stage.hub.snapshot(WALL)
    assert page is not None
    assert ">0:05</b>" in page.fragments["b0"]
    assert ">0:09</b>" in page.fragments["b0"]
    reader = Reader()
    reader.hear(stage.join().take())
    assert ">0:05</b>" not in reader.elements["b0"]
    assert f'data-end="{round((1e9 + 1000) * 1000) + 9000}"' in reader.elements["b0"]
    again = stage.hub.snapshot(WALL)
    assert again is not None
    assert again.fragments == page.fragments
    stage.now += 2.0
    later = stage.hub.snapshot(WALL)
    assert later is not None
    assert ">0:03</b>" in later.fragments["b0"]


def test_time_that_costs_nothing_is_no_part_of_a_clock() -> None:
    stage = _Stage()
    stage.tell(*_numbered([_begins(1, t=1e9 + stage.now, free_ms=700)]))
    stage.settle(3.0)
    page = stage.hub.snapshot(WALL)
    assert page is not None
    assert f'data-end="{round((1e9 + 1000) * 1000) + 9700}" data-most="' in page.fragments["b0"]


def test_heartbeats_come_where_nothing_happens() -> None:
    stage = _Stage()
    viewer = stage.join()
    viewer.take()
    stage.settle(16.0)
    assert viewer.take() == b":\n\n"


def test_a_fault_of_the_program_is_trouble_and_the_hub_goes_on() -> None:
    stage = _Stage()
    stage.feed.next.append(ValueError("a defect"))
    ended: list[Hub] = []
    stage.hub.start("hub", lambda hub: bool(ended.append(hub)))
    stage.hub.wait(30)
    stage.hub.stop()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    assert "its log says more" in shown.model.trouble
    assert stage.feed.is_closed
    # It was never idle, so nobody was asked whether it may end.
    assert not ended


def test_after_a_fault_of_the_program_the_feed_is_left_alone_for_four_seconds() -> None:
    stage = _Stage()
    stage.feed.next.append(ValueError("a defect"))
    stage.hub._safe_step()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the thread's own step
    stage.now += 3.9
    stage.hub.step()
    assert stage.feed.num_polls == 1
    stage.now += 0.1
    stage.hub.step()
    assert stage.feed.num_polls == 2


def test_a_page_does_not_wait_for_a_store_that_is_gone() -> None:
    stage = _Stage()
    ready = stage.hub._ready  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what `wait` waits for
    stage.tell()
    stage.hub.step()
    assert not ready.is_set()
    stage.feed.next.append(StoreError("gone"))
    stage.settle(0.1)
    assert ready.is_set()


def test_a_page_without_a_stream_has_the_tables_too() -> None:
    stage = _Stage()
    stage.hub.look()
    assert stage.feed.num_polls == 2


def test_the_end_of_a_hub_is_told_to_its_viewers() -> None:
    stage = _Stage()
    viewers = [stage.join(), stage.join("3")]
    stage.hub.stop()
    assert all(viewer.is_ended for viewer in viewers)
    assert stage.feed.is_cancelled


def test_a_page_on_which_nothing_happens_is_rendered_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, rendered = _Stage(), list[float]()
    stage.join()

    def count(*arguments: Any) -> Fragments:  # noqa: ANN401 - those of the function it stands for
        rendered.append(stage.now)
        return wall_fragments(*arguments)

    monkeypatch.setattr("arena.serve.hub.wall_fragments", count)
    stage.settle(10.0)
    assert 9 <= len(rendered) <= 11
