"""Bots join tournaments, leave them and are disqualified, during play and otherwise."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import joining, orders, planner
from arena.coordinator.audit import audit, replan
from arena.coordinator.event_tables import event_tables
from arena.coordinator.plan_view import seats_of
from arena.coordinator.run_events import MatchFinished, MatchStarted
from arena.errors import ConfigError, NotFoundError
from arena.pairing.schedule import stable_encounter
from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results.corrections import declare_void
from arena.results.rating_tables import standings
from arena.results.sides import POINTS
from arena.schedules import simulation
from arena_db.records import MatchFilter
from arena_db.store import Store
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.run_events import Event
    from arena.results.tables import Table
    from arena_db.records import Entrant

    Begin = Callable[[TournamentConfig], Sitting]

QUARTET = (*TRIO, "minimax:depth=2")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a run look for changes at each planning, and for commands at each poll."""
    monkeypatch.setattr(planner, "_LOOK_S", 0.0)
    monkeypatch.setattr(orders, "_COMMAND_S", 0.0)


@pytest.fixture(autouse=True)
def _few_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay Swiss tournaments four times per step instead of forty, which took half the time of each test.

    Here it counts whether there are replays at all; what they are is tested in test_replaying.py.
    """
    monkeypatch.setattr(simulation, "replayed", partial(simulation.replayed, num_replays=4))


def event(*bots: str, **changes: object) -> TournamentConfig:
    return config(*bots, name="cup", **changes)


def add(sitting: Sitting, spec: str) -> Entrant:
    """Enter a bot as another process would."""
    with Store.open(sitting.store.path) as store:
        record = joining.find_open_event(store, "cup")
        return joining.join(store, record, joining.plan_join(store, record, spec), reason="new")


def withdraw(sitting: Sitting, name: str) -> list[Entrant]:
    with Store.open(sitting.store.path) as store:
        return joining.leave(store, joining.find_open_event(store, "cup"), name, reason="old")


def disqualify(sitting: Sitting, name: str) -> list[tuple[Entrant, int]]:
    with Store.open(sitting.store.path) as store:
        return joining.disqualify(store, joining.find_open_event(store, "cup"), name, reason="it cheats")


def once(num: int, action: Callable[[], object]) -> Callable[[Event], None]:
    """Return a callback that calls `action` once `num` matches are done."""

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished) and event.num_done == num:
            action()

    return on_event


def met(sitting: Sitting) -> Counter[tuple[int, int]]:
    """Return the number of matches that each pair of seats has played."""
    plan = {match.number: match for match in sitting.matches_planned()}
    seats = [(plan[match.number].first, plan[match.number].second) for match in sitting.matches()]
    return Counter((min(pair), max(pair)) for pair in seats)


def tables(sitting: Sitting) -> list[Table]:
    record = sitting.store.tournaments.find(1)
    assert record is not None
    return standings(sitting.store, record)


def in_order(sitting: Sitting) -> bool:
    return not sitting.store.integrity.check() and not [
        found for found in audit(sitting.store) if found.is_fault
    ]


@pytest.mark.parametrize("at", [0, 5, 12])
def test_a_bot_that_joins_a_round_robin_meets_everybody(begin: Begin, at: int) -> None:
    sitting = begin(event(*TRIO, rounds=2))
    if not at:
        add(sitting, "minimax:depth=2")
    sitting.play(on_event=once(at, lambda: add(sitting, "minimax:depth=2")))
    record = sitting.store.tournaments.find(1)
    assert record is not None
    assert (record.state, record.num_total, record.num_done) == ("finished", 24, 24)
    assert met(sitting) == dict.fromkeys(combinations(range(4), 2), 4)
    whole = begin(event(*QUARTET, rounds=2))
    # The same matches as if the bot had been there from the beginning, in another order.
    keys = [
        {(match.encounter, match.match_no, match.first, match.opening) for match in each.matches_planned()}
        for each in (sitting, whole)
    ]
    assert keys[0] == keys[1]
    assert in_order(sitting)


def test_a_bot_joins_a_finished_gauntlet(begin: Begin) -> None:
    sitting = begin(event(*TRIO, type="gauntlet", seeds=2))
    assert sitting.play().state == "finished"
    add(sitting, "minimax:depth=2")
    assert sitting.state() == "stopped"
    assert sitting.play().state == "finished"
    assert met(sitting) == {(0, 2): 2, (1, 2): 2, (0, 3): 2, (1, 3): 2}
    assert in_order(sitting)


@pytest.mark.parametrize("way", ["run", "stopped"])
def test_who_leaves_a_round_robin_plays_no_more(begin: Begin, way: str) -> None:
    sitting = begin(event(*QUARTET, rounds=10))
    changes = [lambda: withdraw(sitting, "random")]
    if way == "run":
        sitting.play(on_event=once(8, changes[0]))
    else:
        sitting.store.commands.send(1, "stop")
        sitting.play(on_event=once(8, lambda: sitting.store.commands.send(1, "stop")))
        changes[0]()
        assert all(0 not in (match.first, match.second) for match in sitting.store.plans.unplayed(1))
        sitting.play()
    played = met(sitting)
    # At most 50 matches of the running batch, which is played in this process, are still played.
    assert sum(num for seats, num in played.items() if 0 in seats) < 60
    assert {seats: num for seats, num in played.items() if 0 not in seats} == dict.fromkeys(
        combinations((1, 2, 3), 2), 20
    )
    record = sitting.store.tournaments.find(1)
    assert record is not None
    assert record.state == "finished"
    assert record.num_total == record.num_done == played.total()
    assert record.num_dropped == record.num_planned - record.num_done
    assert in_order(sitting)


def test_who_comes_back_to_a_round_robin_plays_what_it_missed(begin: Begin) -> None:
    sitting = begin(event(*TRIO, rounds=2))
    sitting.store.commands.send(1, "stop")
    sitting.play()
    withdraw(sitting, "random")
    assert sitting.play().state == "finished"
    assert add(sitting, "random").state == "playing"
    sitting.play()
    assert met(sitting) == dict.fromkeys(combinations(range(3), 2), 4)
    assert in_order(sitting)


def test_disqualified_is_as_if_its_matches_never_were(begin: Begin) -> None:
    sitting = begin(event(*QUARTET, rounds=2))
    sitting.play()
    before = tables(sitting)
    (gone,) = disqualify(sitting, "minimax:depth=1")
    assert gone[1] == 12
    # The expected ratings come from the matches in which the bot did not play.
    rest = [
        RatedMatch(
            match.first_seat,
            match.second_seat,
            POINTS[match.outcome],  # pyright: ignore[reportArgumentType] - an outcome is its text
            (match.encounter, match.match_no // 2),
            match.opening_hash,
            match.match_hash,
        )
        for match in sitting.store.matches.played(MatchFilter(rated_only=False))
        if 1 not in (match.first_seat, match.second_seat)
    ]
    assert len(rest) == 12
    twin = fit(encounters(MatchArrays(rest)), 4)
    labels = [entrant.label for entrant in sitting.store.tournaments.entrants(1)]
    rows = {row.name: row for table in tables(sitting) for row in table.rows}
    for seat in (0, 2, 3):
        row = rows[labels[seat]]
        assert (row.elo, row.error) == (pytest.approx(twin.elo[seat]), pytest.approx(twin.error[seat]))
        assert row.games == 8
    assert (rows[labels[1]].games, rows[labels[1]].error) == (0, None)
    voids = [match for match in sitting.matches() if match.void_reason]
    assert [match.void_reason for match in voids] == ["it cheats"] * 12
    declare_void(sitting.store, [1], [match.id for match in voids], "it did not", undo=True)
    assert tables(sitting) == before
    assert sitting.store.changes.void_out(1) == 0
    assert in_order(sitting)


def test_a_match_that_ends_after_a_disqualification_is_void_too(begin: Begin) -> None:
    sitting = begin(event(*TRIO, rounds=15))
    sitting.play(on_event=once(4, lambda: disqualify(sitting, "random")))
    played = [match for match in sitting.matches() if "random" in (match.first_label, match.second_label)]
    assert len(played) > 2
    assert {match.void_reason for match in played} == {"it cheats"}
    kinds = Counter(change.kind for change in sitting.store.changes.of(1))
    assert kinds["disqualify"] == 1
    assert sitting.state() == "finished"
    assert in_order(sitting)


def test_a_match_in_flight_at_a_disqualification_is_void_while_the_event_goes_on(begin: Begin) -> None:
    sitting = begin(event(*TRIO, rounds=15))
    late: list[str] = []

    def look() -> None:
        late.extend(
            match.void_reason
            for match in sitting.matches()
            if "random" in (match.first_label, match.second_label)
        )

    def on_event(event: Event) -> None:
        # The start of a match is published before the match is stored.
        if isinstance(event, MatchStarted) and event.number > 4 and not sitting.store.changes.of(1):
            gone = [label for label in (event.first, event.second) if label == "random"]
            for label in gone:
                disqualify(sitting, label)
        once(30, look)(event)

    sitting.play(on_event=on_event)
    assert len(late) > 2
    assert set(late) == {"it cheats"}


def test_a_swiss_tournament_goes_on_without_who_left(begin: Begin) -> None:
    sitting = begin(event(*QUARTET, type="swiss", rounds=3, pairs=1))
    sitting.play(on_event=once(1, lambda: disqualify(sitting, "random")))
    record = sitting.store.tournaments.find(1)
    assert record is not None
    assert record.state == "finished"
    found = event_tables(sitting.store, record)
    assert found is not None
    rows = {row.name: row for row in found.places}
    # In each of two rounds another bot had a bye; in the first round one bot met the bot that is now out.
    assert sum(row.points for row in found.places) == 3 * 4
    assert rows["random"].points == 0
    late = {seat for match in sitting.matches_planned()[4:] for seat in (match.first, match.second)}
    assert late == {1, 2, 3}
    assert sitting.store.ratings.replay_of(1) is not None
    with pytest.raises(ConfigError, match="random was disqualified from cup"):
        add(sitting, "random")
    assert in_order(sitting)


def test_a_newcomer_is_paired_in_the_next_round(begin: Begin) -> None:
    sitting = begin(event(*QUARTET, type="swiss", rounds=3, pairs=1))
    sitting.play(on_event=once(1, lambda: add(sitting, "mcts:playouts=5")))
    seats = seats_of(sitting.store, 1, sitting.store.tournaments.entrants(1))
    assert [who.joined_at for who in seats] == [0, 0, 0, 0, 4]
    assert 4 in {seat for match in sitting.matches_planned() for seat in (match.first, match.second)}
    withdraw(sitting, "mcts:playouts=5")
    seats = seats_of(sitting.store, 1, sitting.store.tournaments.entrants(1))
    assert [who.left_at for who in seats] == [None] * 4 + [len(sitting.matches_planned())]
    # A newcomer reopens the tournament, so its replays are no longer valid.
    assert sitting.store.ratings.replay_of(1) is not None
    add(sitting, "mcts:playouts=10")
    assert sitting.store.ratings.replay_of(1) is None


@pytest.mark.parametrize(("leaves", "returns"), [(3, 9), (10, 20), (10, 25), (39, 40)])
def test_a_bot_comes_back_to_a_swiss_tournament(begin: Begin, leaves: int, returns: int) -> None:
    sitting = begin(event(*QUARTET, type="swiss", rounds=6, pairs=2))

    def change(told: Event) -> None:
        once(leaves, lambda: withdraw(sitting, "random"))(told)
        once(returns, lambda: add(sitting, "random"))(told)

    assert sitting.play(on_event=change).state == "finished"
    assert {one.state for one in sitting.store.tournaments.entrants(1)} == {"playing"}
    seats = seats_of(sitting.store, 1, sitting.store.tournaments.entrants(1))
    assert [len(who.absences) for who in seats] == [1, 0, 0, 0]
    (away,) = seats[0].absences
    plan = sitting.matches_planned()
    missing = [match for match in plan[away.gone : away.back] if 0 in {match.first, match.second}]
    back = [match for match in plan[away.back :] if 0 in {match.first, match.second}]
    assert (missing, bool(back)) == ([], True)
    played = {match.number for match in sitting.matches()}
    open_then = [match for match in plan[: away.back] if match.number not in played]
    assert all(0 in {match.first, match.second} for match in open_then)
    assert {match.number for match in plan[away.back :]} <= played
    assert in_order(sitting)
    # Every batch is planned again from its basis, and the ratings as well.
    record = sitting.store.tournaments.find(1)
    assert record is not None
    assert sitting.plan.source is not None
    assert list(replan(sitting.store, record, sitting.plan.source)) == []
    assert sitting.store.ratings.replay_of(1) is not None


def test_a_knockout_gives_walkovers(begin: Begin) -> None:
    sitting = begin(event(*QUARTET, type="knockout", pairs=1, rounds=10))
    sitting.play(on_event=once(1, lambda: disqualify(sitting, "random")))
    record = sitting.store.tournaments.find(1)
    assert record is not None
    found = event_tables(sitting.store, record)
    assert found is not None
    assert "walkover: random is out" in {row.why for row in found.bracket}
    assert record.state == "finished"
    with pytest.raises(ConfigError, match="cup is a knockout, which no bot can join"):
        add(sitting, "mcts:playouts=5")


def test_what_cannot_be_changed_says_so(begin: Begin) -> None:
    sitting = begin(event(*TRIO[:2], type="match", rounds=2))
    with pytest.raises(ConfigError, match="cup is a match of two bots"):
        add(sitting, "mcts:playouts=5")
    with pytest.raises(NotFoundError):
        withdraw(sitting, "nobody")
    withdraw(sitting, "random")
    with pytest.raises(ConfigError, match="random has already left cup"):
        withdraw(sitting, "random")
    disqualify(sitting, "random")
    with pytest.raises(ConfigError, match="random was already disqualified from cup"):
        disqualify(sitting, "random")
    assert sitting.play().state == "finished"
    assert sitting.matches() == []


def test_an_old_plan_takes_nobody_in(begin: Begin) -> None:
    sitting = begin(event(*TRIO))
    with Store.open(sitting.store.path) as store:
        record = joining.find_open_event(store, "cup")
    old = dataclasses.replace(record, plan_version=1)
    with pytest.raises(ConfigError, match="made by an older version"):
        joining.plan_join(sitting.store, old, "minimax:depth=2")


def test_viewers_hear_of_changes(begin: Begin) -> None:
    sitting = begin(event(*TRIO))
    sitting.play()
    add(sitting, "minimax:depth=2")
    withdraw(sitting, "random")
    disqualify(sitting, "random")
    declare_void(sitting.store, [1], [sitting.matches()[-1].id], "helped")
    told = [(each.kind, each.number) for each in sitting.told() if each.kind in {"voided", "entrant"}]
    assert told == [("entrant", None)] * 3 + [("voided", None)]


def test_encounters_are_numbered_by_seats(begin: Begin) -> None:
    sitting = begin(event(*TRIO))
    add(sitting, "minimax:depth=2")
    sitting.play()
    for match in sitting.matches_planned():
        low, high = sorted((match.first, match.second))
        assert match.encounter == stable_encounter(low, high)
