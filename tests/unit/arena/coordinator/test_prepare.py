"""Before the first match: a reserved name, the preflight of bots, and the rest of a failed preparation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from arena.coordinator import prepare
from arena.coordinator.client import ask, attach
from arena.coordinator.commands import PauseRun, StopRun
from arena.coordinator.plan import make_plan, store_plan
from arena.coordinator.prepare import Again, check_bots, prepare_again, prepare_new, unbegun_config
from arena.errors import ArenaError, BotFailedError, ConfigError, StoreError
from arena.home import open_store
from arena.results.tournament_states import refusal_of, state_of
from arena.watching.query import Query
from arena.watching.query_answers import Rows
from arena.watching.tournament_list import read_tournaments
from arena_db.store import Store
from command_line import FAST, CommandLine
from stores import tamper
from tournaments import config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.plan import Plan
    from arena.live.tournament_views import TournamentRow

DUEL = ("match", *FAST, "--openings", "none", "--rounds", "1", "--srand", "3")
BROKEN = "strange:broken=on"
AGAIN = Again(None, None, force_concurrency=False, max_time=None)


def tournament_rows(db: str) -> list[TournamentRow]:
    answer = read_tournaments(Query(db))
    assert isinstance(answer, Rows)
    return answer.content


def settings(name: str = "cup", *bots: str) -> TournamentConfig:
    return msgspec.structs.replace(config(*(bots or ("random", "random")), type="match"), name=name)


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path)


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


def hear_nobody(*_: str) -> None:
    """Ignore the output of failed bots."""


def while_checking(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Call a function while the bots of a tournament are checked."""

    def check(plan: Plan, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as of the real one
        act()
        return check_bots(plan, *args, **options)

    monkeypatch.setattr(prepare, "check_bots", check)


def test_an_event_is_there_while_its_bots_are_checked(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def look() -> None:
        with open_store(db, read_only=True) as store:
            record = store.tournaments.find("cup")
            assert record is not None
            seen.extend((record.state, state_of(store, record), attach(db, "cup") == record))
        (row,) = tournament_rows(db)
        seen.extend((row.state, row.reason, row.can_resume))
        with (
            open_store(db) as other,
            pytest.raises(ConfigError, match=r"cup is being prepared by pid \d+ on"),
        ):
            prepare_new(other, make_plan(settings()), 1, hear_nobody)

    while_checking(monkeypatch, look)
    with open_store(db) as store:
        prepared = prepare_new(store, make_plan(settings()), 1, hear_nobody)
        assert seen == ["preparing", "preparing", True, "preparing", "", False]
        assert (prepared.record.state, prepared.record.name) == ("running", "cup")
        assert [entrant.label for entrant in store.tournaments.entrants(prepared.record.id)] == [
            "random",
            "random_2",
        ]
        assert store.leases.find(prepared.record.id) is None, "it is free for whoever plays it"
        assert store.integrity.check() == []


def test_two_starts_of_one_name_at_once(db: str) -> None:
    with open_store(db):
        plans = [make_plan(settings()) for _ in range(4)]
    starts = threading.Barrier(len(plans))
    came: list[str] = []

    def begin(plan: Plan) -> None:
        starts.wait()
        try:
            with open_store(db) as store:
                came.append(prepare_new(store, plan, 1, hear_nobody).record.name)
        except (ConfigError, StoreError):
            came.append("refused")

    threads = [threading.Thread(target=begin, args=(plan,)) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(came) == ["cup", "refused", "refused", "refused"]
    with open_store(db) as store:
        (record,) = store.tournaments.newest()
        assert record.state == "running"
        assert store.integrity.check() == []


def test_what_fails_is_refused_with_its_reason(db: str) -> None:
    wrote: list[str] = []
    with open_store(db) as store:
        plan = make_plan(settings("cup", "random", BROKEN))
        with pytest.raises(BotFailedError, match="failed before the tournament") as failed:
            prepare_new(store, plan, 1, lambda label, _: wrote.append(label))
        record = store.tournaments.find("cup")
        assert record is not None
        assert refusal_of(record) == str(failed.value)
        assert len(wrote) == 1
        assert store.leases.find(record.id) is None
        (row,) = tournament_rows(db)
        assert (row.state, row.state_text, row.reason[:300]) == (
            "refused",
            "refused",
            str(failed.value)[:300],
        )
        assert store.integrity.check() == []
        # The name can be used again, by a tournament with the same id.
        again = prepare_new(store, make_plan(settings()), 1, hear_nobody).record
        assert (again.id, again.state, refusal_of(again)) == (record.id, "running", "")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(KeyboardInterrupt(), "its preparation was interrupted"), (ArenaError("no tier\x1b[2J"), "no tier")],
)
def test_whatever_ends_it_is_the_reason(
    db: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, reason: str
) -> None:
    def fail() -> None:
        raise error

    while_checking(monkeypatch, fail)
    with open_store(db) as store:
        with pytest.raises(type(error)):
            prepare_new(store, make_plan(settings()), 1, hear_nobody)
        (record,) = store.tournaments.newest()
        assert refusal_of(record).startswith(reason)
        assert "\x1b" not in refusal_of(record)


def test_a_stop_is_heard_between_two_bots(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def stop() -> None:
        said.append(ask(db, "cup", PauseRun(), is_wanted=lambda: False))
        said.append(ask(db, "cup", StopRun(), is_wanted=lambda: False))

    while_checking(monkeypatch, stop)
    with open_store(db) as store:
        with pytest.raises(ArenaError, match="cup was stopped while its bots were checked"):
            prepare_new(store, make_plan(settings()), 1, hear_nobody)
        (record,) = store.tournaments.newest()
        assert record.decision == "cup was stopped while its bots were checked"
        answers = [command.answer for number in (1, 2) if (command := store.commands.find(number))]
        assert answers == ["its bots are checked first", "no further bot is checked, and nothing is played"]


def test_a_resume_checks_only_who_takes_part(db: str) -> None:
    with open_store(db) as store:
        ladder = config("random", "minimax:depth=1", BROKEN, type="ladder", name="cup")
        record = store_plan(store, make_plan(ladder))
        with pytest.raises(BotFailedError, match="failed before the tournament"):
            prepare_again(store, record, AGAIN, hear_nobody)
        store.changes.leave(record.id, 2, reason="it is broken", who="me")
        prepared = prepare_again(store, store.tournaments.find("cup") or record, AGAIN, hear_nobody)
        assert (len(prepared.plan.competitors), prepared.plan.left_out) == (3, ())
        store.changes.leave(record.id, 0, reason="bored", who="me")
        store.changes.leave(record.id, 1, reason="bored", who="me")
        assert prepare_again(store, record, AGAIN, hear_nobody).plan.left_out == ()


def test_a_killed_preparation_is_seen_and_goes_on(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        _kill(store)
        record = store.tournaments.find("cup")
        assert record is not None
        assert state_of(store, record) == "left"
        assert unbegun_config(store, record, AGAIN).bots == ("random", "random")
    assert "no coordinator" in arena("tournaments").stdout
    assert arena("stop").stderr == "cup is not being run; arena resume cup continues it\n"
    again = arena("resume", "--quiet")
    assert "cup had not begun; it is prepared once more" in again.stderr
    (row,) = arena.objects("tournaments")
    assert (row["name"], row["state"], row["num_done"], row["refusal"]) == ("cup", "finished", 2, None)


def _kill(store: Store) -> None:
    """Leave a preparation in the state in which a killed process leaves it."""
    plan = make_plan(msgspec.structs.replace(settings(), executor="inline", rounds=1))
    with pytest.raises(KeyboardInterrupt), prepare.reserving(store, prepare.new_tournament(plan)):
        raise KeyboardInterrupt
    tamper(store.path, "UPDATE tournaments SET state = 'preparing'")


def test_a_refused_event_is_shown_everywhere(arena: CommandLine) -> None:
    why = "failed before the tournament"
    arena(*DUEL, "--name", "cup", "random", BROKEN, status=5)
    assert why in arena("show", "cup").stdout
    assert "arena resume cup tries again" in arena("show", "cup").stdout
    assert why in str(arena.objects("show", "cup")[0]["refusal"])
    assert "refused" in arena("tournaments").stdout
    assert "cup ended: 0 matches, refused: " in arena("watch", "cup", "--plain").stdout
    assert arena("stop", "cup").stderr == "cup is refused; nothing is running\n"
    assert "is in order" in arena("db", "check").stdout
    assert "there is no unfinished tournament" in arena("resume", status=2).stderr
    assert why in arena("resume", "cup", status=5).stderr
    arena("archive", "cup")
    assert (
        "there is a tournament cup already"
        in arena(*DUEL, "--name", "cup", "random", "random", status=2).stderr
    )
    arena("unarchive", "cup")
    arena(*DUEL, "--name", "cup", "--quiet", "random", "random")
    assert arena.objects("show", "cup")[0]["state"] == "finished"


@pytest.mark.parametrize(
    "words",
    [
        ("match", "--sprt", "--game", "connect-four"),
        ("tournament", "--type", "knockout", "--game", "tic-tac-toe"),
        ("tournament", "--type", "swiss", "--rounds", "2", "--game", "tic-tac-toe"),
    ],
)
def test_one_whose_state_follows_from_its_bots_is_shown_without_them(
    arena: CommandLine, words: tuple[str, ...]
) -> None:
    options = ("--isolation", "none", "--require-tier", "T0", "--executor", "inline", "--st", "5")
    arena(*words, *options, "--name", "cup", "random", BROKEN, status=5)
    for shown in (("show", "cup"), ("watch", "cup", "--plain"), ("crosstable", "cup")):
        arena(*shown)
    assert arena.objects("show", "cup")[0]["state"] == "refused"
    assert "is in order" in arena("db", "check").stdout
