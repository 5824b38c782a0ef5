"""A newcomer that the coordinator cannot start is withdrawn; the other bots play on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import strange_bots
from arena.content.store import content_folder
from arena.coordinator import joining, orders, planner
from arena.coordinator.audit import audit
from arena.coordinator.joining import answer_to_join
from arena.coordinator.lease import Lease
from arena.coordinator.prepare import Again, prepare_again
from arena.coordinator.restore import Newcomers, restore_plan
from arena.coordinator.run_events import BotWithdrawn, MatchFinished
from arena.coordinator.verify import verify_match
from arena.errors import ConfigError, PluginError
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_batch
from arena_db.owner import current_owner
from arena_db.plan_keeping import StoredTournaments
from arena_db.store import Store
from stores import locked
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.run_events import Event
    from arena_db.records import Entrant

    Begin = Callable[[TournamentConfig], Sitting]
    Elsewhere = Callable[[], None]

AGAIN = Again(None, 1, force_concurrency=False, max_time=None)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a run look for changes at each planning, and for commands at each poll."""
    monkeypatch.setattr(planner, "_LOOK_S", 0.0)
    monkeypatch.setattr(orders, "_COMMAND_S", 0.0)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    """Return a function that installs another version of `strange` here than the one that joined."""
    return lambda: strange_bots.install(monkeypatch, tmp_path / "newer", "2.0")


def event(*bots: str, **changes: object) -> TournamentConfig:
    return config(*bots, **({"type": "ladder", "name": "main"} | changes))


def enter(sitting: Sitting, spec: str) -> Entrant:
    """Enter a bot as another process would."""
    with Store.open(sitting.store.path) as store:
        record = joining.find_open_event(store, "main")
        return joining.join(store, record, joining.plan_join(store, record, spec), reason="new")


def at(num: int, action: Callable[[], object]) -> Callable[[Event], None]:
    """Return a callback that calls `action` once `num` matches are done."""

    def on_event(told: Event) -> None:
        if isinstance(told, MatchFinished) and told.num_done == num:
            action()

    return on_event


def states(sitting: Sitting) -> dict[str, str]:
    return {each.label: each.state for each in sitting.store.tournaments.entrants(1)}


def in_order(sitting: Sitting) -> bool:
    return not sitting.store.integrity.check() and not [
        found for found in audit(sitting.store) if found.is_fault
    ]


def stop(sitting: Sitting) -> None:
    sitting.store.commands.send(1, "stop")


def test_a_newcomer_of_another_environment_does_not_end_a_ladder(
    begin: Begin, elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = begin(event(*TRIO))

    def join() -> None:
        enter(sitting, "strange")
        elsewhere()

    def play(told: Event) -> None:
        at(10, join)(told)
        at(50, lambda: stop(sitting))(told)

    assert sitting.play(on_event=play).num_done >= 50
    assert [each.state for each in sitting.store.tournaments.entrants(1)] == ["playing"] * 3 + ["left"]
    (withdrawn,) = [told for told in sitting.events if isinstance(told, BotWithdrawn)]
    assert "its files have changed: it was strange 1.0, now 2.0" in withdrawn.reason
    change = sitting.store.changes.of(1)[-1]
    assert (change.kind, change.subject, change.reason) == ("leave", "strange", withdrawn.reason)
    told = [each for each in sitting.told() if each.kind == "entrant"]
    assert len(told) == 2  # of the join and of its end
    assert not any(3 in {match.first, match.second} for match in sitting.matches_planned())
    assert in_order(sitting)
    # The bot plays as soon as it joins with its files.
    strange_bots.install(monkeypatch, tmp_path / "older", "1.0")
    assert enter(sitting, "strange").seat == 3
    sitting.play(on_event=at(70, lambda: stop(sitting)))
    assert any(3 in {match.first, match.second} for match in sitting.matches_planned())
    assert in_order(sitting)


def test_a_newcomer_that_joined_a_stopped_ladder_does_not_keep_it_from_going_on(
    begin: Begin, elsewhere: Elsewhere
) -> None:
    sitting = begin(event(*TRIO))
    sitting.play(on_event=at(4, lambda: stop(sitting)))
    enter(sitting, "strange")
    elsewhere()
    assert [bot.bot for bot in restore_plan(sitting.store, sitting.tournament).aside] == ["strange"]
    assert states(sitting)["strange"] == "playing", "a look changes nothing"
    sitting.play(on_event=at(20, lambda: stop(sitting)))
    assert states(sitting)["strange"] == "left"
    assert [told.bot for told in sitting.events if isinstance(told, BotWithdrawn)] == ["strange"]
    assert in_order(sitting)
    # The files of a bot that has left may be lost.
    assert restore_plan(sitting.store, sitting.tournament).aside == ()


def test_planned_matches_of_a_withdrawn_newcomer_are_dropped(begin: Begin, elsewhere: Elsewhere) -> None:
    sitting = begin(event(*TRIO))
    enter(sitting, "strange")
    plan = sitting.planner(1)
    while not any(3 in {match.first, match.second} for match in sitting.matches_planned()):
        plan.more(0, [])
    elsewhere()
    sitting.play(on_event=at(30, lambda: stop(sitting)))
    assert not any(3 in {match.first, match.second} for match in sitting.store.plans.unplayed(1))
    assert not any(match.outcome == "void" for match in sitting.matches())
    assert in_order(sitting)


def test_a_round_robin_goes_on_without_a_newcomer(begin: Begin, elsewhere: Elsewhere) -> None:
    sitting = begin(event(*TRIO, type="round-robin", rounds=2))

    def join() -> None:
        enter(sitting, "strange")
        elsewhere()

    assert sitting.play(on_event=at(3, join)).state == "finished"
    assert states(sitting)["strange"] == "left"
    assert len(sitting.matches()) == 12
    assert in_order(sitting)


def test_a_bot_with_results_is_not_withdrawn_because_this_machine_lacks_it(
    begin: Begin, elsewhere: Elsewhere
) -> None:
    sitting = begin(event(*TRIO))
    enter(sitting, "strange")
    sitting.play(on_event=at(30, lambda: stop(sitting)))
    assert any(3 in (match.first_seat, match.second_seat) for match in sitting.matches())
    elsewhere()
    way_out = "or play on without it: arena entrants withdraw main strange --reason WHY"
    with pytest.raises(ConfigError, match=f"strange has changed since main began: .*, {way_out}"):
        restore_plan(sitting.store, sitting.tournament)
    assert states(sitting)["strange"] == "playing"
    joining.leave(sitting.store, sitting.tournament, "strange", reason="it is gone")
    sitting.play(on_event=at(50, lambda: stop(sitting)))
    assert in_order(sitting)
    match = next(match for match in sitting.matches() if 3 in (match.first_seat, match.second_seat))
    with pytest.raises(ConfigError, match=r"strange has left main, .* cannot be played again"):
        verify_match(sitting.store, match)
    other = next(match for match in sitting.matches() if 3 not in (match.first_seat, match.second_seat))
    assert verify_match(sitting.store, other).agrees


def test_a_bot_of_the_first_hour_must_be_there(begin: Begin, tmp_path: Path) -> None:
    sitting = begin(event(*TRIO, "strange"))
    shutil.rmtree(tmp_path / "site")
    with pytest.raises(PluginError, match=r"strange of main cannot be found again: .*; restore the old"):
        restore_plan(sitting.store, sitting.tournament)


def test_a_newcomer_that_fails_before_its_first_match_does_not_stop_a_resume(begin: Begin) -> None:
    sitting = begin(event(*TRIO))
    enter(sitting, "strange:broken=on")
    record = sitting.store.tournaments.find(1)
    assert record is not None
    prepared = prepare_again(sitting.store, record, AGAIN, lambda _label, _stderr: None)
    ((seat, label, why),) = prepared.plan.aside
    assert (seat, label) == (3, "strange:broken=on")
    assert "broken on purpose" in why
    assert prepared.plan.left_out == ()


def test_the_command_that_joins_learns_of_it(begin: Begin, elsewhere: Elsewhere) -> None:
    sitting = begin(event(*TRIO))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        plan = sitting.planner(1, lease.store)
        entered = enter(sitting, "strange")
        elsewhere()
        plan.more(0, [])
        plan.more(0, [])
        with pytest.raises(ConfigError, match=r"strange left main before its first match: .*ARENA_HOME"):
            answer_to_join(sitting.store, sitting.tournament, entered, wait_s=0)


def test_a_bot_of_a_ladder_that_is_quarantined_is_withdrawn(begin: Begin) -> None:
    # A ladder never ends, so its opponents would win by walkover for ever.
    sitting = begin(event(*TRIO, "random:strength=1"))
    sitting.play(on_event=at(40, lambda: stop(sitting)))
    assert [each.state for each in sitting.store.tournaments.entrants(1)] == ["playing"] * 3 + ["left"]
    (withdrawn,) = [told for told in sitting.events if isinstance(told, BotWithdrawn)]
    assert withdrawn.reason.startswith("it failed to start ")
    assert {match.termination for match in sitting.matches()} & {"walkover"} == set()
    assert in_order(sitting)
    # The bot cannot return; if an older version let it return, it is withdrawn before it plays.
    way = r"failed to start .*, and would be again; .* another name: arena ladder join main random:name="
    with pytest.raises(ConfigError, match=way):
        enter(sitting, "random:strength=1")
    sitting.store.changes.join(1, sitting.store.tournaments.entrants(1)[3], reason="", who="u@h")
    num_before = len([match for match in sitting.matches() if 3 in (match.first_seat, match.second_seat)])
    sitting.play(on_event=at(60, lambda: stop(sitting)))
    assert states(sitting)["random:strength=1"] == "left"
    assert num_before == len(
        [match for match in sitting.matches() if 3 in (match.first_seat, match.second_seat)]
    )
    assert in_order(sitting)


def test_a_run_of_nothing_but_walkovers_hears_a_stop(begin: Begin) -> None:
    sitting = begin(event("random", "random:strength=1", type="round-robin", rounds=500))
    ended = sitting.play(on_event=at(40, lambda: stop(sitting)))
    assert ended.state == "stopped"
    assert ended.num_done < 200


AGENT = "def agent(observation, configuration):\n    return observation.board.index(0)\n"


def test_files_that_options_name_are_stored_again_from_any_folder(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bots").mkdir()
    for name in ("first", "second"):
        (tmp_path / "bots" / f"{name}.py").write_text(f"{AGENT}# {name}\n")
    monkeypatch.chdir(tmp_path / "bots")
    sitting = begin(event("kaggle:file=first.py", *TRIO, isolation="T1", require_tier="T1"))
    enter(sitting, "kaggle:file=second.py")
    labels = {each.label for each in sitting.store.tournaments.entrants(1) if each.bot.name == "kaggle"}
    assert len(labels) == 2
    monkeypatch.chdir(tmp_path)
    plan = restore_plan(sitting.store, sitting.tournament)
    seats = Newcomers(sitting.store, sitting.tournament, plan, withdraws_lost=True)
    for bot in plan.competitors:
        shutil.rmtree(bot.place, ignore_errors=True)
    # The paths of the first bots' files are in the configuration, those of newcomers' files in `entered`.
    (content_folder() / "entered" / f"{plan.competitors[0].record.identity}.json").unlink()
    assert seats.find_anew(labels).keys() == labels
    assert seats.take_withdrawn() == []
    # A resume does the same; changed files never play under the old name.
    for bot in plan.competitors:
        shutil.rmtree(bot.place, ignore_errors=True)
    assert not any(bot.is_absent for bot in restore_plan(sitting.store, sitting.tournament).competitors)
    shutil.rmtree(plan.competitors[-1].place)
    (tmp_path / "bots" / "second.py").write_text(f"{AGENT}# another\n")
    assert seats.find_anew(labels).keys() == {"kaggle:file=first.py"}
    assert states(sitting)["kaggle:file=second.py"] == "left"


def test_bots_that_are_looked_for_anew_are_the_same_objects_while_nothing_has_changed(begin: Begin) -> None:
    # A pool of worker machines sends each competitor object once.
    sitting = begin(event(*TRIO, isolation="T1", require_tier="T1"))
    plan = sitting.planner(1)
    jobs = plan.more(0, [])
    assert all(one is other for one, other in zip(jobs, plan.renew(jobs), strict=True))
    place = Path(jobs[0].first.place)
    shutil.rmtree(place)
    renewed, again = plan.renew(jobs), plan.renew(jobs)
    assert place.is_dir()
    bots = [bot for found in (renewed, again) for job in found for bot in (job.first, job.second)]
    assert len({id(bot) for bot in bots}) == len({bot.label for bot in bots})
    assert not any(bot in (job.first, job.second) for bot in bots for job in jobs)
    assert all(one is other for one, other in zip(renewed, plan.renew(renewed), strict=True))


def test_a_match_of_a_bot_that_left_is_not_played_again(begin: Begin) -> None:
    sitting = begin(event("random", "minimax:depth=1"))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        plan = sitting.planner(2, lease.store)
        jobs = plan.more(0, [])
        running = [job.number for job in jobs[:4]]
        joining.leave(sitting.store, sitting.tournament, "random", reason="enough")
        plan.more(len(jobs) - 4, running)
        assert plan.take_gone() == [job.number for job in jobs[4:]]
        # Its worker died, or the run was paused, before the match began.
        plan.more(2, running[2:])
        assert plan.take_gone() == running[:2]
        plan.more(2, [])
        assert plan.take_gone() == running[2:]
        assert sitting.store.plans.unplayed(1) == []
    assert in_order(sitting)


def test_a_match_that_ends_before_a_disqualification_is_noticed_is_void(begin: Begin) -> None:
    sitting = begin(event(*TRIO))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        plan = sitting.planner(1, lease.store)
        jobs = plan.more(0, [])
        joining.disqualify(sitting.store, sitting.tournament, jobs[0].first.label, reason="it cheats")
        lease.store.matches.save(play_batch(jobs[:1], make_control(SlotCallbacks(Slot.here(0)))))
        plan.more(len(jobs) - 1, [])
        assert [match.void_reason for match in sitting.matches()] == ["it cheats"]


def test_a_bot_that_cannot_be_withdrawn_now_is_withdrawn_later(begin: Begin) -> None:
    sitting = begin(event(*TRIO))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        plan = sitting.planner(1, lease.store)
        with locked(sitting.store.path):
            plan.withdraw("random", "it fails")
        assert (states(sitting)["random"], plan.take_withdrawn()) == ("playing", [])
        plan.withdraw("random", "it fails")
        plan.withdraw("random", "it fails")
    assert (states(sitting)["random"], len(plan.take_withdrawn())) == ("left", 1)


def test_a_bot_whose_files_are_lost_while_the_store_is_locked_is_withdrawn_later(
    begin: Begin, tmp_path: Path
) -> None:
    sitting = begin(event(*TRIO, "strange", isolation="T1", require_tier="T1"))
    plan = restore_plan(sitting.store, sitting.tournament)
    seats = Newcomers(sitting.store, sitting.tournament, plan, withdraws_lost=True)
    shutil.rmtree(plan.competitors[3].place)
    shutil.rmtree(tmp_path / "site")
    with locked(sitting.store.path):
        assert seats.find_anew({"strange"}) == {}
    assert (states(sitting)["strange"], seats.take_withdrawn()) == ("playing", [])
    assert seats.find_anew({"strange"}) == {}
    assert (states(sitting)["strange"], len(seats.take_withdrawn())) == ("left", 1)
    assert plan.competitors[3].is_absent


def test_a_bot_that_failed_in_an_event_without_end_alone_is_refused(begin: Begin) -> None:
    sitting = begin(event("random", "minimax:depth=1", "random:strength=1", type="round-robin", rounds=2))
    sitting.play()
    assert [match.termination for match in sitting.matches()].count("init_crash") >= 3
    joining.leave(sitting.store, sitting.tournament, "random:strength=1", reason="it fails")
    assert enter(sitting, "random:strength=1").state == "playing"


def test_a_bot_that_another_process_withdraws_at_the_same_time_ends_nothing(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = begin(event(*TRIO))
    plan = sitting.planner(1)
    read = StoredTournaments.entrants

    def read_before(store: StoredTournaments, tournament: int) -> list[Entrant]:
        found = read(store, tournament)
        monkeypatch.undo()
        joining.leave(sitting.store, sitting.tournament, "random", reason="mine")
        return found

    monkeypatch.setattr(StoredTournaments, "entrants", read_before)
    plan.withdraw("random", "it fails")
    assert plan.take_withdrawn() == []
    assert [each.reason for each in sitting.store.changes.of(1)] == ["mine"]
