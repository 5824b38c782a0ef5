"""A running ladder: bots join and leave, a goal ends it, and each batch follows from its basis."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import joining, planner
from arena.coordinator.plan_view import seats_of
from arena.coordinator.run_events import MatchFinished
from arena.errors import ConfigError, NotFoundError
from arena.schedules.protocol import PlannedBatch, View
from arena_db.store import Store
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.run_events import Event
    from arena_db.records import Entrant

    Begin = Callable[[TournamentConfig], Sitting]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a run look for bots that join whenever it plans."""
    monkeypatch.setattr(planner, "_LOOK_S", 0.0)


def ladder(*bots: str, **changes: object) -> TournamentConfig:
    return config(*bots, type="ladder", name="main", **changes)


def enter(sitting: Sitting, spec: str) -> Entrant:
    """Enter a bot as another process would."""
    with Store.open(sitting.store.path) as store:
        record = joining.find_open_ladder(store, "main")
        return joining.join(store, record, joining.plan_join(store, record, spec), reason="new")


def withdraw(sitting: Sitting, name: str) -> list[Entrant]:
    with Store.open(sitting.store.path) as store:
        return joining.leave(store, joining.find_open_ladder(store, "main"), name, reason="old")


def at(**actions: Callable[[], object]) -> Callable[[Event], None]:
    """Return a callback that calls each action after a number of matches: `m20=` after 20."""

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished):
            actions.get(f"m{event.num_done}", lambda: None)()

    return on_event


def stop(sitting: Sitting) -> None:
    sitting.store.commands.send(sitting.tournament.id, "stop")


def test_bots_join_and_leave_while_it_is_played(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(ladder(*TRIO))
    assert (sitting.tournament.num_total, sitting.tournament.num_planned) == (None, 16)
    ended = sitting.play(
        on_event=at(
            m20=lambda: enter(sitting, "mcts:playouts=5"),
            m60=lambda: withdraw(sitting, "minimax"),
            m100=lambda: stop(sitting),
        )
    )
    assert (ended.state, ended.total) == ("stopped", None)
    entrants = sitting.store.tournaments.entrants(sitting.tournament.id)
    assert [(one.label, one.state, bool(one.joined)) for one in entrants] == [
        ("random", "playing", False),
        ("minimax:depth=1", "left", False),
        ("mcts:playouts=20", "playing", False),
        ("mcts:playouts=5", "playing", True),
    ]
    plan = {match.number: (match.first, match.second) for match in sitting.matches_planned()}
    order = sitting.started()
    # The newcomer's match precedes all planned matches, but not a running pair.
    first = [3 in plan[number] for number in order].index(True)
    assert 20 <= first <= 22
    late = [batch for batch in sitting.store.plans.batches(sitting.tournament.id) if batch.basis_change >= 2]
    assert late
    assert not any(1 in plan[number] for batch in late for number in range(batch.first, batch.last + 1))
    assert sitting.store.integrity.check() == []
    # Every match was played once, although a batch was moved forward.
    assert len(set(order)) == len(order)
    assert {match.number for match in sitting.matches()} == set(order)


def test_fifty_bots_that_join_at_once_play_next(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(ladder("random", "minimax:depth=1"))
    joined: list[int] = []

    def crowd() -> None:
        joined.extend(enter(sitting, f"mcts:playouts={num}").seat for num in range(1, 51))

    sitting.play(on_event=at(m20=crowd, m130=lambda: stop(sitting)))
    plan = {match.number: {match.first, match.second} for match in sitting.matches_planned()}
    waiting = set(joined)
    assert len(waiting) == 50
    # Earlier plans wait until each newcomer has begun to play.
    order = sitting.started()
    for number in order[order.index(20) + 1 :: 2]:
        if not waiting:
            break
        assert plan[number] & waiting
        waiting -= plan[number]
    assert not waiting
    assert sitting.store.integrity.check() == []


def test_each_batch_follows_from_its_basis(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(ladder(*TRIO, "minimax:depth=2"))
    for num in (30, 70):
        sitting.play(on_event=at(**{f"m{num}": lambda: stop(sitting)}))
    source = sitting.plan.source
    assert source is not None
    plan = sitting.matches_planned()
    tournament = sitting.tournament.id
    seats = seats_of(sitting.store, tournament, sitting.store.tournaments.entrants(tournament))
    batches = sitting.store.plans.batches(tournament)
    assert len(batches) > 4
    assert all(batch.basis_match <= after.basis_match for batch, after in pairwise(batches))
    for batch in batches:
        known = sitting.store.plans.results(tournament, after=0, last=batch.basis_match)
        results = {(result.encounter, result.match_no): result.points for result in known}
        view = View(seats=seats, plan=plan[: batch.first - 1], results=results)
        found = source.schedule.next(view, batch.last - batch.first + 1)
        assert isinstance(found, PlannedBatch)
        assert list(found.matches) == plan[batch.first - 1 : batch.last]


def test_a_goal_closes_it_and_a_newcomer_opens_it_again(begin: Begin) -> None:
    sitting = begin(ladder(*TRIO, stop_when="error=250"))
    assert sitting.play().state == "finished"
    record = sitting.store.tournaments.find(sitting.tournament.id)
    assert record is not None
    assert (record.decision, record.is_complete) == ("every rating is within 250 Elo", True)
    assert enter(sitting, "mcts:playouts=5").seat == 3
    assert sitting.state() == "stopped"
    assert sitting.play().state == "finished"
    with_it = [match for match in sitting.matches_planned() if 3 in {match.first, match.second}]
    assert len(with_it) >= 4
    assert sitting.store.integrity.check() == []
    status = joining.ladder_status(
        sitting.store, sitting.store.tournaments.find("main") or sitting.tournament
    )
    assert status.widest <= 250
    assert str(status).startswith(f"main is finished: {status.num_matches} matches; widest error ")


def test_a_ladder_of_one_waits_for_others(begin: Begin) -> None:
    sitting = begin(ladder("random"))
    assert sitting.tournament.num_planned == 0
    plan = sitting.planner(1)
    assert [plan.more(0, []) for _ in range(3)] == [[]] * 3
    assert not plan.is_exhausted
    enter(sitting, "minimax:depth=1")
    jobs = plan.more(0, [])
    assert {jobs[0].first.label, jobs[0].second.label} == {"random", "minimax:depth=1"}


def test_a_newcomer_goes_before_what_is_planned(begin: Begin) -> None:
    sitting = begin(ladder(*TRIO))
    plan = sitting.planner(1)
    first = plan.more(0, [])
    assert [job.number for job in first] == list(range(1, 17))
    assert plan.more(16, []) == []
    enter(sitting, "mcts:playouts=5")
    found = plan.more(16, [])
    assert plan.is_urgent
    assert [job.number for job in found] == [17, 18, 19, 20]
    assert "mcts:playouts=5" in {found[0].first.label, found[0].second.label}
    assert plan.more(20, []) == []
    assert not plan.is_urgent


def test_anchors_are_kept_and_hold_the_table(begin: Begin) -> None:
    sitting = begin(ladder(*TRIO, anchors=("random=1000", "mcts=2000"), stop_when="error=300"))
    assert [one.anchor for one in sitting.store.tournaments.entrants(sitting.tournament.id)] == [
        1000,
        None,
        2000,
    ]
    sitting.play()
    from arena.results.rating_tables import standings

    (table,) = standings(sitting.store, sitting.tournament)
    assert table.anchor == "random = 1000"
    assert next(row.elo for row in table.rows if row.name == "random") == 1000
    for anchors in (("nobody=3",), ("minimax=3", "minimax:depth=1=x")):
        with pytest.raises(ConfigError, match="--anchor"):
            begin(ladder(*TRIO, anchors=anchors))


def test_who_cannot_join_or_leave_is_told_why(begin: Begin) -> None:
    sitting = begin(ladder(*TRIO))
    with pytest.raises(ConfigError, match="random takes part in main already"):
        enter(sitting, "random")
    with pytest.raises(ConfigError, match=r"random is the name of another .* mcts:name=random-2,playouts=5"):
        enter(sitting, "mcts:playouts=5,name=random")
    with pytest.raises(NotFoundError, match="nobody"):
        withdraw(sitting, "nobody")
    (left,) = withdraw(sitting, "minimax:depth=1")
    with pytest.raises(ConfigError, match="minimax:depth=1 has already left main"):
        withdraw(sitting, "minimax:depth=1")
    assert enter(sitting, "minimax:depth=1").seat == left.seat
    begin(config(*TRIO, name="cup"))
    with Store.open(sitting.store.path) as store, pytest.raises(NotFoundError, match="cup"):
        joining.find_ladder(store, "cup")


def test_only_a_ladder_can_be_joined(begin: Begin) -> None:
    sitting = begin(config(*TRIO, name="main"))
    with pytest.raises(ConfigError, match="main is a round-robin, not a ladder"):
        enter(sitting, "mcts:playouts=5")
