"""Sequential tests with real bots, from the configuration to the decision and the pairs after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from arena.coordinator.config import parse_toml
from arena.coordinator.plan import make_plan
from arena.coordinator.prepare import enlarge
from arena.coordinator.restore import restore_plan
from arena.coordinator.run_events import DecisionFell, MatchFinished, MatchStarted
from arena.coordinator.sprt_plan import settle, with_opponent
from arena.entrants import resolve
from arena.errors import ConfigError
from arena.results.sequential import SprtBook
from arena.shelf.kept import keep_bot
from arena_plugins import load_game
from stores import tamper
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena_db.records import TournamentRecord

WIDE = "elo0=0,elo1=300,alpha=0.1,beta=0.1,model=normalized"
"""A test that is decided within a few pairs for bots of very different strength."""


def _test(*bots: str, **changes: Any) -> TournamentConfig:  # noqa: ANN401 - values of any option
    usual = {"game": "connect-four", "type": "match", "sprt": WIDE, "then_rate": 2}
    return config(*bots, **(usual | changes))


def _now(sitting: Sitting) -> TournamentRecord:
    record = sitting.store.tournaments.find(sitting.tournament.id)
    assert record is not None
    return record


def test_the_better_bot_is_found_and_rated_after_that(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path / "arena.db", _test("minimax:depth=2", "random"))
    assert sitting.tournament.num_total == 2 * (972 + 2)
    ended = sitting.play()
    record = _now(sitting)
    state = SprtBook(sitting.store, record).report().state
    assert (ended.state, record.decision, state.decision) == ("finished", str(state), "H1")
    plan = {match.number: match for match in sitting.matches_planned()}
    matches = sitting.matches()
    played = {number: [m for m in matches if plan[m.number].encounter == number] for number in (0, 1)}
    # The matches of the test are stored and not rated; four matches that do not depend on it are rated.
    assert len(played[0]) >= 2 * state.num_pairs
    assert not any(match.rated for match in played[0])
    assert [match.rated for match in played[1]] == [True] * 4
    assert {plan[match.number].opening for match in played[0]}.isdisjoint(
        plan[match.number].opening for match in played[1]
    )
    assert record.is_complete
    assert (record.num_done, record.num_total) == (len(matches), len(matches))
    assert sitting.store.integrity.check() == []
    decisions = [event for event in sitting.events if isinstance(event, DecisionFell)]
    assert decisions == [DecisionFell(record.decision)]
    # Once numbers exceed the planned total, no total is shown.
    begun = [event.total for event in sitting.events if isinstance(event, MatchStarted)]
    assert set(begun) <= {1948, None}
    assert begun[-1] is None or not record.num_dropped
    totals = [event.total for event in sitting.events if isinstance(event, MatchFinished)]
    assert (totals[0], totals[-1]) == (1948, len(matches))


def test_the_worse_bot_is_not_shown_and_its_openings_are_those_of_the_list(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path / "arena.db", _test("random", "minimax:depth=2", then_rate=0, pairs=300))
    sitting.play()
    record = _now(sitting)
    assert record.decision.startswith("H0 after ")
    assert record.is_complete
    openings = [match.opening for match in sitting.matches_planned()][::2]
    assert len(set(openings)) == len(openings)
    stored = parse_toml(record.config, "test")
    assert (stored.openings, stored.pairs, stored.sprt) == ("auto:plies=6", 300, WIDE)
    assert not any(match.rated for match in sitting.matches())


def test_all_openings_are_played(tmp_path: Path) -> None:
    bots = ("minimax:depth=1", "minimax:depth=1,name=copy")
    sitting = Sitting(tmp_path / "arena.db", _test(*bots, sprt="gain", pairs=3, then_rate=0, rated=True))
    sitting.play()
    record = _now(sitting)
    assert record.decision.startswith("undecided after 3 pairs: ")
    assert (record.num_done, record.num_total, record.num_dropped) == (6, 6, 0)
    assert all(match.rated for match in sitting.matches())


def test_a_run_that_ends_in_between_comes_to_the_same_decision(tmp_path: Path) -> None:
    whole = Sitting(tmp_path / "whole.db", _test("minimax:depth=2", "random"))
    whole.play()
    parts = Sitting(tmp_path / "parts.db", _test("minimax:depth=2", "random"))

    class StoppedError(Exception):
        """Ends a run at once."""

    num_finished = 0

    def stop(event: object) -> None:
        nonlocal num_finished
        num_finished += isinstance(event, MatchFinished)
        if num_finished and num_finished % 5 == 0:
            num_finished += 1
            raise StoppedError

    for _ in range(100):
        try:
            parts.play(on_event=stop)
            break
        except StoppedError:
            continue
    assert num_finished > 10
    assert _now(parts).decision == _now(whole).decision
    assert _now(parts).is_complete
    assert parts.store.integrity.check() == []


def test_a_run_killed_after_the_decision_only_plays_the_rated_pairs(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path / "arena.db", _test("minimax:depth=2", "random"))
    sitting.play()
    num_before = len(sitting.matches())
    # As after a kill with a match of the test in flight, and no rated match begun.
    decided, store = _now(sitting), sitting.store
    rated = {match.number for match in sitting.matches() if match.rated}
    dropped = {match.number for match in sitting.matches_planned()} - {m.number for m in sitting.matches()}
    assert dropped
    store.plans.reopen(sitting.tournament.id, decided.num_total, decided.config)
    tamper(
        tmp_path / "arena.db",
        f"UPDATE planned SET state = 'planned' WHERE number = {min(dropped)}",  # noqa: S608 - a number
        "UPDATE tournaments SET num_dropped = num_dropped - 1",
    )
    assert [match.number for match in store.plans.unplayed(sitting.tournament.id)] == [min(dropped)]
    sitting.events.clear()
    ended = sitting.play()
    assert (ended.state, sitting.started()) == ("finished", [])
    assert (len(sitting.matches()), _now(sitting).decision) == (num_before, decided.decision)
    assert {match.number for match in sitting.matches() if match.rated} == rated
    assert store.integrity.check() == []


def test_a_test_without_a_second_bot_meets_the_one_kept_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="arena bots keep minimax before the next change") as caught:
        make_plan(_test("minimax:depth=2"))
    assert "arena test minimax:depth=2 BOT" in str(caught.value)
    (old,) = resolve(["minimax:depth=1"], margin_ms=50)
    kept = keep_bot(old.record)
    found = with_opponent(_test("minimax:depth=2"))
    assert found.bots == ("minimax:depth=2", kept.address)
    # The opponent must not be the same version.
    with pytest.raises(ConfigError, match="no earlier version"):
        with_opponent(_test("minimax:depth=1"))
    # A bot in its own process plays from the copy.
    plan = make_plan(_test("minimax:depth=2", isolation="auto"))
    assert [bot.record.identity for bot in plan.competitors][1] == old.record.identity
    assert [bot.label for bot in plan.competitors] == [
        f"minimax@{old.record.version}:depth=2",
        f"minimax@{old.record.version}:depth=1",
    ]


@pytest.mark.parametrize(
    ("game", "changes", "message"),
    [
        ("tic-tac-toe", {}, "tic-tac-toe has 29 here .--openings auto:plies=3.; arena match plays"),
        ("connect-four", {"openings": "none"}, "needs 200 different openings"),
        ("connect-four", {"openings": "auto:plies=2"}, "has 6 here"),
    ],
)
def test_too_few_openings(game: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settle(_test("random", "random", game=game, **changes), load_game(game))


def test_what_a_test_is_is_written_down() -> None:
    settled = settle(_test("random", "random", sprt="gain"), load_game("connect-four"))
    assert settled.sprt == "elo0=0,elo1=30,alpha=0.05,beta=0.05,model=normalized"
    assert (settled.openings, settled.pairs) == ("auto:plies=6", 972)
    assert settle(settled, load_game("connect-four")) == settled
    more = settle(_test("random", "random", pairs=5000), load_game("connect-four"))
    assert more.pairs == 972


def test_a_test_has_no_rounds_to_add(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path / "arena.db", _test("random", "minimax:depth=1"))
    record = _now(sitting)
    with pytest.raises(ConfigError, match="cannot get more rounds"):
        enlarge(sitting.store, record, restore_plan(sitting.store, record), 20)


def test_openings_that_are_gone(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    openings = [f"{a} {b} {c}" for a in "abcdefg" for b in "abcdefg" for c in "abcdefg"]
    book.write_text("\n".join(openings[:250]))
    sitting = Sitting(tmp_path / "arena.db", _test("random", "minimax:depth=1", openings=f"file:{book}"))
    assert parse_toml(_now(sitting).config, "test").pairs == 250
    book.write_text("\n".join(openings[:100]))
    with pytest.raises(ConfigError, match="have changed since it began"):
        sitting.play()
    assert replace(_now(sitting), state="") == replace(sitting.tournament, state="")
