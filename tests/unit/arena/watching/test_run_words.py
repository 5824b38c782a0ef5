"""The description of a run in each of its states."""

from __future__ import annotations

import pytest

from arena.live.events import RunState, make_event
from arena.live.tournament_views import STATES
from arena.live.views import LiveView, ProgressView
from arena.watching.feed import NOBODY, FeedUpdate, Health, Model, advance, awaited
from arena.watching.run_words import awaited_words, run_words
from live_samples import played

NOW = 1_000.0


def model(
    state: str = "running", reason: str = "", health: Health | None = None, *, plays: bool = False
) -> Model:
    progress = ProgressView(name="cup 1", state=state, reason=reason)  # pyright: ignore[reportArgumentType] # one of them
    match = played("connect-four", "3 3")
    matches = {match.number: match} if plays else {}
    return Model(view=LiveView(progress=progress, matches=matches), health=health or Health())


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("", "", "Nothing is known of this tournament yet."),
        ("preparing", "its bots are checked", "The first match is being prepared: its bots are checked."),
        ("paused", "", "This tournament is paused; no match begins until it is resumed."),
        ("stopping", "", "This tournament is stopping; no further match begins."),
        ("ended", "", "This tournament has ended."),
        ("ended", "H1 accepted", "This tournament has ended: H1 accepted."),
        ("ended", "stopped", "This tournament is stopped; arena resume 'cup 1' continues it."),
        ("ended", "refused: no bot is left", "This tournament was refused: no bot is left."),
    ],
)
def test_what_is_waited_for(state: str, reason: str, words: str) -> None:
    assert awaited_words(model(state, reason), NOW) == words


def test_nothing_is_waited_for_while_a_match_is_played() -> None:
    assert awaited_words(model(plays=True), NOW) == ""
    assert awaited_words(model(), NOW).startswith("No match to show")


def test_a_tournament_that_is_still_read_is_not_said_to_be_empty() -> None:
    model = awaited("cup 1")
    assert run_words(model, NOW) == ("LOADING", "")
    assert awaited_words(model, NOW) == "This tournament is being loaded."
    assert advance(model, FeedUpdate(health=Health())).is_awaited
    assert not advance(model, FeedUpdate(view=LiveView())).is_awaited
    assert not advance(
        model, FeedUpdate(events=(make_event(1, RunState(state="running", planned=2, done=0), t=1.0),))
    ).is_awaited


def test_a_run_that_nobody_plays_is_not_live() -> None:
    gone = model(health=Health(lease_until=NOBODY))
    assert run_words(gone, NOW) == ("no coordinator", "")
    assert not run_words(gone, NOW).is_live
    assert awaited_words(gone, NOW) == (
        "No process plays this tournament; arena resume 'cup 1' continues it."
    )
    silent = model(health=Health(heartbeat_t=NOW - 40, lease_until=NOW + 9, is_silent=True))
    assert run_words(silent, NOW).state == "STALE 40s"
    assert "has not answered" in awaited_words(silent, NOW)
    assert run_words(model("paused", health=Health(lease_until=NOBODY)), NOW) == ("PAUSED", "no coordinator")
    assert run_words(model(), NOW).is_live


def test_a_stopped_run_is_not_called_ended() -> None:
    assert run_words(model("ended", "stopped"), NOW) == (STATES["stopped"].upper(), "")
    assert run_words(model("ended"), NOW).state == "ENDED"
    refused = ProgressView(name="hill", state="ended", reason="refused: no bot is left", planned=10)
    assert run_words(Model(view=LiveView(progress=refused), health=Health()), NOW).state == "ENDED"
    # A viewer who saw the stop also has the cause; a ladder has no planned number of matches.
    for planned in (None, 10):
        progress = ProgressView(name="hill", state="ended", reason="asked to", planned=planned, done=4)
        told = Model(view=LiveView(progress=progress), health=Health())
        assert run_words(told, NOW).state == "STOPPED"
        assert (
            awaited_words(told, NOW)
            == "This tournament is stopped: asked to; arena resume hill continues it."
        )


@pytest.mark.parametrize(
    ("reason", "ending", "sentence"),
    [
        ("", "ended", "This tournament has ended."),
        ("stopped", "stopped", "This tournament is stopped; arena resume cup continues it."),
        (
            "a stop was requested",
            "ended: a stop was requested",
            "This tournament is stopped: a stop was requested; arena resume cup continues it.",
        ),
        (
            "refused: no bot is left",
            "refused: no bot is left",
            "This tournament was refused: no bot is left.",
        ),
    ],
)
def test_an_ending_says_nothing_twice(reason: str, ending: str, sentence: str) -> None:
    progress = ProgressView(name="cup", state="ended", reason=reason, planned=10, done=4)
    assert progress.ending == ending
    assert awaited_words(Model(view=LiveView(progress=progress), health=Health()), NOW) == sentence
