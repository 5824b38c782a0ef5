"""The coordinator of a play: moves, refusals, undo, hints, resignation, new matches, stored rows."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.restore import restore_plan
from arena.errors import ConfigError
from arena.person.session_config import PERSON
from arena.person.sessions import reopen_play
from arena_db.store import Store
from arena_plugins import load_game
from plays import Played, config, moves_to, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.person.session_config import PlayConfig
    from arena_plugins import State


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Played]]:
    """Yield a function that begins a play; all plays end with the test."""
    begun: list[Played] = []

    def one(settings: PlayConfig | None = None, gate: threading.Event | None = None) -> Played:
        begun.append(Played(tmp_path / f"{len(begun)}.db", settings or config(), gate))
        return begun[-1]

    yield one
    for played in begun:
        played.close()
        with Store.open(played.path) as store:
            assert store.integrity.check() == []


@pytest.mark.parametrize(
    ("game", "side", "returns", "outcome"),
    [
        ("tic-tac-toe", "first", (1.0, -1.0), "first"),
        ("tic-tac-toe", "first", (-1.0, 1.0), "second"),
        ("tic-tac-toe", "first", (0.0, 0.0), "draw"),
        ("tic-tac-toe", "second", (-1.0, 1.0), "second"),
        ("connect-four", "first", (1.0, -1.0), "first"),
        ("gomoku:size=5,k=3", "first", (1.0, -1.0), "first"),
    ],
)
def test_a_match_is_played_to_its_end_and_stored(
    begin: Callable[..., Played], game: str, side: str, returns: tuple[float, float], outcome: str
) -> None:
    played = begin(config(game=game, side=side))
    person = 0 if side == "first" else 1
    for action in moves_to(load_game(game), returns, person):
        assert played.move(action) == "played"
    (match,) = played.await_matches(1)
    assert (match.outcome, match.termination, match.rated, match.is_final) == (outcome, "rules", False, True)
    assert (match.first_label, match.second_label)[person] == PERSON
    finished = wait_for(lambda: played.events("finished"))
    assert json.loads(finished[0].payload)["stored"] == match.id
    assert "clock_ms" not in json.loads(played.events("started")[0].payload), "an hour a move is no clock"
    moves = played.events("move")
    assert [event.ply for event in moves] == list(range(1, len(match.actions) + 1))
    with Store.open(played.path, read_only=True) as store:
        said = store.matches.remarks([match.id])[match.id]
    assert [remark is not None for remark in said] == [ply % 2 != person for ply in range(len(said))]


def test_what_is_past_or_not_legal_is_refused(begin: Callable[..., Played]) -> None:
    played = begin()
    assert played.move(99) == "action 99 cannot be played here"
    assert played.ask("move", 1, 0) == "this move cannot be read"
    assert played.ask("move", 2, 0, 4) == "match 2 is not the one that is played"
    assert played.move(4) == "played"
    assert played.ask("move", 1, 0, 4) in ("ply 1 is past", "not your turn")
    assert played.move(0) == "action 0 cannot be played here"
    assert played.ask("pause", 1, 2) == "a person at the board cannot ask for pause"
    with Store.open(played.path, read_only=True) as store:
        command = store.commands.send(played.record.id, "move", "nonsense")
        answer = wait_for(lambda: (found := store.commands.find(command)) and found.answer)
    assert answer == "this move cannot be read"


def test_while_the_bot_thinks_it_is_not_your_turn(begin: Callable[..., Played]) -> None:
    gate = threading.Event()
    played = begin(config(), gate)
    assert played.move(4) == "played"
    wait_for(lambda: played.events("move"))
    assert played.ask("move", 1, 1, 8) == "not your turn"
    assert played.ask("hint", 1, 1) == "not your turn"
    gate.set()
    assert played.move(8) == "played"


def test_a_double_click_plays_once(begin: Callable[..., Played]) -> None:
    played = begin()
    answers: list[str] = []
    clicks = [threading.Thread(target=lambda: answers.append(played.ask("move", 1, 0, 4))) for _ in range(2)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert answers.count("played") == 1
    wait_for(lambda: len(played.events("move")) >= 2)
    assert played.move(8) == "played"


def test_undo_ends_the_match_and_begins_one_with_a_shorter_history(begin: Callable[..., Played]) -> None:
    played = begin()
    assert played.ask("undo") == "there is no move of yours to take back"
    for action in (4, 8):
        played.move(action)
    wait_for(lambda: len(played.events("move")) == 4)
    assert played.ask("undo", 1, 4) == "taken back"
    (match,) = played.await_matches(1)
    assert (match.outcome, match.termination, match.rated, match.is_final) == ("void", "aborted", False, True)
    assert match.actions == (4, 0, 8, 1)
    assert played.move(2, number=2) == "played"
    wait_for(lambda: len(played.events("move", 2)) == 2)
    with Store.open(played.path, read_only=True) as store:
        assert [planned.opening for planned in store.plans.planned(played.record.id)] == [(), (4, 0)]
        assert store.plans.unplayed(played.record.id)[0].number == 2
    assert played.ask("undo", 2, 4) == "taken back"
    wait_for(lambda: played.events("started", 3))
    assert played.ask("undo", 3, 2) == "taken back"
    wait_for(lambda: played.events("started", 4))
    assert played.ask("undo", 4, 0) == "there is no move of yours to take back"


def test_undo_while_the_bot_thinks_takes_one_ply(begin: Callable[..., Played]) -> None:
    gate = threading.Event()
    played = begin(config(), gate)
    played.move(4)
    wait_for(lambda: played.events("move"))
    assert played.ask("undo", 1, 1) == "taken back"
    gate.set()
    wait_for(lambda: played.events("started", 2))
    with Store.open(played.path, read_only=True) as store:
        assert store.plans.planned(played.record.id)[1].opening == ()


def test_given_moves_are_nobody_s_to_take_back(begin: Callable[..., Played]) -> None:
    played = begin(config(opening=(4, 0)))
    assert played.ask("undo", 1, 2) == "there is no move of yours to take back"
    played.move(8)
    wait_for(lambda: len(played.events("move")) == 2)
    played.ask("undo", 1, 4)
    wait_for(lambda: played.events("started", 2))
    with Store.open(played.path, read_only=True) as store:
        assert store.plans.planned(played.record.id)[1].opening == (4, 0)


def test_resign_and_a_new_match_with_sides_swapped(begin: Callable[..., Played]) -> None:
    played = begin()
    played.move(4)
    assert played.ask("resign", 1, 2) == "you resign"
    (match,) = played.await_matches(1)
    assert (match.outcome, match.termination, match.reason) == ("second", "resign", "human resigns")
    assert wait_for(lambda: played.events("finished"))
    assert played.ask("resign", 1, 2) == "the match is over"
    assert played.ask("new", 1, 2) == "a new match, sides swapped"
    wait_for(lambda: played.events("move", 2))
    assert played.move(8, number=2) == "played"
    assert played.ask("new", 2, 2) == "a new match, sides swapped"
    assert [match.outcome for match in played.await_matches(2)] == ["second", "void"]


def test_a_hint_is_asked_of_another_bot(begin: Callable[..., Played]) -> None:
    played = begin(config(hint="minimax:depth=2"))
    wait_for(lambda: played.events("started"))
    answer = played.ask("hint", 1, 0)
    assert "is what minimax:depth=2 would play, X wins" in answer
    move = answer.partition(" ")[0]
    game = load_game("tic-tac-toe")
    assert played.move(game.parse_move(game.initial_state(), move)) == "played"


def test_a_hint_never_blocks_a_move(begin: Callable[..., Played], monkeypatch: pytest.MonkeyPatch) -> None:
    asked, gate = threading.Event(), threading.Event()

    def slow(_: object, state: State) -> str:
        asked.set()
        gate.wait()
        return f"a hint after {len(state.history)} plies"

    monkeypatch.setattr("arena.person.session_commands.Hinter.ask", slow)
    played = begin()
    wait_for(lambda: played.events("started"))
    with Store.open(played.path) as store:
        wish = json.dumps({"number": 1, "ply": 0, "action": None})
        command = store.commands.send(played.record.id, "hint", wish)
        wait_for(asked.is_set)
        assert played.ask("hint", 1, 0) == "no hint: the previous one is still being computed"
        assert played.move(4) == "played"
        wait_for(lambda: len(played.events("move")) == 2)
        assert store.commands.find(command) is not None
        assert not getattr(store.commands.find(command), "answer", None), "the hint is still being looked for"
        gate.set()
        found = wait_for(lambda: (row := store.commands.find(command)) and row.answer)
    assert found == "a hint after 0 plies"
    assert played.ask("hint", 1, 2) == "a hint after 2 plies"


def test_a_play_ends_in_the_midst_of_a_hint(
    begin: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ended = threading.Event(), threading.Event()

    def slow(_: object, __: State) -> str:
        asked.set()
        ended.wait()
        raise OSError("the pipe is closed")

    monkeypatch.setattr("arena.person.session_commands.Hinter.ask", slow)

    def close(_: object) -> None:
        ended.set()

    monkeypatch.setattr("arena.person.session_commands.Hinter.close", close)
    played = begin()
    wait_for(lambda: played.events("started"))
    with Store.open(played.path) as store:
        store.commands.send(played.record.id, "hint", json.dumps({"number": 1, "ply": 0, "action": None}))
        wait_for(asked.is_set)
    played.close()
    assert ended.is_set()


def test_undo_takes_back_one_move_however_often_it_is_asked_for(begin: Callable[..., Played]) -> None:
    played = begin()
    played.move(4)
    wait_for(lambda: len(played.events("move")) == 2)
    first = played.events("move")[1]
    (reply,) = [json.loads(first.payload)["action"]]
    own = next(action for action in range(9) if action not in (4, reply))
    played.move(own)
    wait_for(lambda: len(played.events("move")) == 4)
    with Store.open(played.path) as store:
        for _ in range(3):
            store.commands.send(played.record.id, "undo", json.dumps({"number": 1, "ply": 4, "action": None}))
    wait_for(lambda: played.events("started", 2))
    with Store.open(played.path, read_only=True) as store:
        planned = store.plans.planned(played.record.id)
        assert [match.opening for match in planned] == [(), (4, reply)]


def test_rated_matches_count_and_take_nothing_back(begin: Callable[..., Played]) -> None:
    played = begin(config(rated=True))
    played.move(4)
    wait_for(lambda: len(played.events("move")) == 2)
    assert played.ask("undo", 1, 2) == "no undo: this match is rated"
    assert played.ask("hint", 1, 2) == "no hints: this match is rated"
    assert played.ask("new", 1, 2) == "this match is rated; resign it first"
    assert played.ask("resign", 1, 2) == "you resign"
    (match,) = played.await_matches(1)
    assert match.rated


def test_stop_ends_the_play_after_the_match_and_abort_at_once(begin: Callable[..., Played]) -> None:
    played = begin()
    played.move(4)
    assert played.ask("stop") == "no further match begins"
    assert played.ask("resign", 1, 2) == "you resign"
    wait_for(lambda: not played.is_alive)
    other = begin()
    other.move(4)
    assert other.ask("abort") == "this match ends now"
    wait_for(lambda: not other.is_alive)
    for one, outcome in ((played, "second"), (other, "void")):
        assert [match.outcome for match in one.matches()] == [outcome]
        states = [json.loads(event.payload)["state"] for event in one.events("state")]
        assert states[-1] == "ended"
        with Store.open(one.path, read_only=True) as store:
            record = store.tournaments.find(one.record.id)
            assert record is not None
            assert (record.state, record.num_done) == ("finished", record.num_planned)
            assert store.tournaments.last(unfinished=True) is None


def test_a_stop_ends_a_match_that_nobody_has_come_to(begin: Callable[..., Played]) -> None:
    played = begin()
    assert played.ask("stop") == "this match ends now"
    wait_for(lambda: not played.is_alive)
    assert [match.termination for match in played.matches()] == ["aborted"]


def test_a_play_ends_by_itself_where_nobody_comes(
    begin: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    played, other = begin(), begin()
    other.move(4)
    monkeypatch.setattr("arena.person.session_commands.NOBODY_S", 0.0)
    wait_for(lambda: not played.is_alive)
    assert [match.termination for match in played.matches()] == ["aborted"]
    with Store.open(played.path, read_only=True) as store:
        record = store.tournaments.find(played.record.id)
        assert record is not None
        assert record.state == "finished"
    # The coordinator waits for a person who has played before.
    wait_for(lambda: len(other.events("move")) >= 2)
    assert other.ask("undo", 1, 2) == "taken back"
    assert other.is_alive


def test_nobody_is_quarantined_at_the_board(
    begin: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hold(_: object, identity: str) -> bool:
        return bool(identity)

    monkeypatch.setattr("arena.coordinator.quarantine.Quarantine.holds", hold)
    played = begin()
    assert played.move(4) == "played"


def test_a_clock_runs_out(begin: Callable[..., Played]) -> None:
    played = begin(config(clock="0.05", st=None))
    (match,) = played.await_matches(1)
    assert (match.outcome, match.termination) == ("second", "time_game")
    started = json.loads(played.events("started")[0].payload)
    assert started["clock_ms"] == [50, 50]


def test_a_person_cannot_be_asked_again(begin: Callable[..., Played]) -> None:
    played = begin()
    # An interrupt lets running matches of a tournament finish; the match of a person would not be finished.
    played.signals.request = "stop"
    wait_for(lambda: not played.is_alive)
    with Store.open(played.path) as store:
        record = store.tournaments.find(played.record.id)
        assert record is not None
        with pytest.raises(ConfigError, match=r"played by a person.*arena play --attach play-1"):
            restore_plan(store, record)
        told: list[str] = []
        other = dataclasses.replace(record, type="match")
        with pytest.raises(ConfigError, match="arena resume continues it"):
            reopen_play(store, other, lambda found: told.append(found.name))
        assert told == []
