"""A hub with a simulated clock, compared with pages rendered from all events."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from arena.errors import StoreError
from arena.live.events import RunState, make_event
from arena.pages.live import wall_fragments
from arena.serve import live_rows
from arena.serve.live_hub import LINGER_S, MAX_TOPICS, WALL, Hub
from arena.serve.live_rows import Hubs
from arena.serve.request_context import Serving
from arena.serve.server_options import ServeSettings
from arena.watching.feed import Health
from arena_db.store import Store
from game_samples import seeded
from hub_stage import LINKS, HubStage, begins, numbered
from live_samples import chance_events
from stores import add_cup
from streams import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from arena.pages.live import Fragments
    from arena.serve.page_stream import Viewer


def _timeless(markup: str) -> str:
    """Remove the times of running clocks: a page shows them as of now, a frame as of the last move."""
    return re.sub(r'(class="clock)( low)?(" data-end="\d+" data-most=")\d+">[^<]*', r"\1\3", markup)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("topic", [WALL, "2"])
def test_whoever_joins_whenever_sees_what_a_fresh_page_shows(seed: int, topic: str) -> None:
    rng, stage = seeded(seed), HubStage()
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
                # The connection breaks; the missed frames are requested.
                viewer.leave()
                stage.hub.step()
                viewers[place] = (stage.join(topic, reader.frame), reader)
    stage.settle()
    shown = stage.hub.snapshot(topic)
    assert shown is not None
    fresh = stage.fresh(topic, shown.model)
    # The boards of the hub are those of all events, except matches that ended long ago.
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


def test_a_feed_that_fails_is_said_so_and_what_was_shown_stays() -> None:
    stage = HubStage()
    stage.tell(*numbered([make_event(0, RunState(state="running", planned=9, done=4), t=0.0), begins(7)]))
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
    stage = HubStage()
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
    stage = HubStage()
    stage.join()
    stage.feed.next += [StoreError("gone")] * 9
    assert stage.hub.step() == 0.125
    stage.now += 0.125
    assert stage.hub.step() == 0.125
    stage.now += 0.125
    assert stage.hub.step() == 0.5


def test_frames_are_at_most_eight_a_second_and_four_in_a_crowd() -> None:
    for num_viewers, most in ((3, 8), (201, 4)):
        stage = HubStage()
        stage.tell(*numbered([make_event(0, RunState(state="running", planned=900, done=0), t=0.0)]))
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
    stage = HubStage()
    viewer = stage.join()
    stage.settle(100.0)
    assert not stage.hub.is_idle
    # Nor after a store that was locked for long; the viewer is still connected.
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


def test_a_hub_that_is_found_again_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unstarted(*_: object) -> None:
        """Replaces the start of the hub's thread, which would end an idle hub."""

    monkeypatch.setattr(Hub, "start", unstarted)
    monkeypatch.setattr(live_rows, "_READ_S", 0.0)
    with Store.open(tmp_path / "arena.db") as store:
        record = add_cup(store, name="spring").record
    hubs = Hubs(Serving(ServeSettings(db=str(tmp_path / "arena.db")), ()))
    hub = hubs.hub("spring", record, LINKS)
    assert hub is not None
    monkeypatch.setattr(hub, "_monotonic", lambda: time.monotonic() + LINGER_S + 1)
    assert hub.is_idle
    assert hubs.known("spring") is hub
    assert not hub.is_idle


def test_a_page_that_nobody_follows_gives_its_place_away() -> None:
    stage = HubStage()
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
    stage = HubStage()
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
    stage = HubStage()
    stage.tell(*numbered([begins(1, t=1e9 + stage.now)]))
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
    stage = HubStage()
    stage.tell(*numbered([begins(1, t=1e9 + stage.now, free_ms=700)]))
    stage.settle(3.0)
    page = stage.hub.snapshot(WALL)
    assert page is not None
    assert f'data-end="{round((1e9 + 1000) * 1000) + 9700}" data-most="' in page.fragments["b0"]


def test_heartbeats_come_where_nothing_happens() -> None:
    stage = HubStage()
    viewer = stage.join()
    viewer.take()
    stage.settle(16.0)
    assert viewer.take() == b":\n\n"


def test_a_fault_of_the_program_is_trouble_and_the_hub_goes_on() -> None:
    stage = HubStage()
    stage.feed.next.append(ValueError("a defect"))
    ended: list[Hub] = []
    stage.hub.start("hub", lambda hub: bool(ended.append(hub)))
    stage.hub.wait(120)
    stage.hub.stop()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    assert "its log says more" in shown.model.trouble
    assert stage.feed.is_closed
    # The hub was never idle, so there was no check whether it may end.
    assert not ended


def test_after_a_fault_of_the_program_the_feed_is_left_alone_for_four_seconds() -> None:
    stage = HubStage()
    stage.feed.next.append(ValueError("a defect"))
    stage.hub._safe_step()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the thread's own step
    stage.now += 3.9
    stage.hub.step()
    assert stage.feed.num_polls == 1
    stage.now += 0.1
    stage.hub.step()
    assert stage.feed.num_polls == 2


def test_a_page_does_not_wait_for_a_store_that_is_gone() -> None:
    stage = HubStage()
    ready = stage.hub._ready  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what `wait` waits for
    stage.tell()
    stage.hub.step()
    assert not ready.is_set()
    stage.feed.next.append(StoreError("gone"))
    stage.settle(0.1)
    assert ready.is_set()


def test_a_page_without_a_stream_has_the_tables_too() -> None:
    stage = HubStage()
    stage.hub.look()
    assert stage.feed.num_polls == 2


def test_the_end_of_a_hub_is_told_to_its_viewers() -> None:
    stage = HubStage()
    viewers = [stage.join(), stage.join("3")]
    stage.hub.stop()
    assert all(viewer.is_ended for viewer in viewers)
    assert stage.feed.is_cancelled


def test_a_page_on_which_nothing_happens_is_rendered_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, rendered = HubStage(), list[float]()
    stage.join()

    def count(*arguments: Any) -> Fragments:  # noqa: ANN401 - those of the function it stands for
        rendered.append(stage.now)
        return wall_fragments(*arguments)

    monkeypatch.setattr("arena.serve.live_hub.wall_fragments", count)
    stage.settle(10.0)
    assert 9 <= len(rendered) <= 11
