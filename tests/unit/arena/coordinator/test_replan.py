"""Batches of stored tournaments, planned again from the results on which they were based."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import audit as auditing
from arena.coordinator import joining
from arena.coordinator.audit import audit, replan
from arena.coordinator.run_events import MatchFinished
from once import copy_of
from stores import tamper
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.run_events import Event

    Begin = Callable[[TournamentConfig], Sitting]

FOUR = (*TRIO, "minimax:depth=2")
TEST = {"game": "connect-four", "type": "match", "name": "cup", "sprt": "elo0=0,elo1=200", "then_rate": 8}
EVENTS = {
    "swiss": config(*FOUR, type="swiss", name="cup", rounds=3, pairs=1),
    "knockout": config(*FOUR, type="knockout", name="cup", rounds=10, pairs=1),
    "sprt": config("minimax:depth=1", "random", **TEST),
    "ladder": config(*TRIO, type="ladder", name="cup", stop_when="error=150"),
}
BATCH = "(SELECT MAX(number) FROM batches)"


def found_in(sitting: Sitting) -> list[tuple[str, bool]]:
    record = sitting.store.tournaments.find(1)
    assert record is not None
    assert sitting.plan.source is not None
    return list(replan(sitting.store, record, sitting.plan.source))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sitting]:
    """Play an event to its end, once; return it with its store closed, in a folder of its own."""
    found: dict[str, Sitting] = {}

    def play_once(event: str) -> Sitting:
        if event not in found:
            sitting = found[event] = Sitting(tmp_path_factory.mktemp(event) / "cup.db", EVENTS[event])
            assert sitting.play().state == "finished"
            assert len(sitting.store.plans.batches(1)) > 1
            sitting.store.close()
        return found[event]

    return play_once


@pytest.fixture(params=EVENTS)
def held(
    played: Callable[[str], Sitting], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Sitting]:
    was = played(request.param)
    sitting = Sitting.reopen(copy_of(Path(was.store.path).parent, tmp_path / "held") / "cup.db")
    sitting.plan = was.plan
    yield sitting
    sitting.store.close()


def exchange(sitting: Sitting, number: int) -> None:
    """Give a planned match other bots, or swap its two bots."""
    match = sitting.matches_planned()[number - 1]
    num = len(sitting.store.tournaments.entrants(1))
    seats = (seat for seat in range(num) if seat not in {match.first, match.second})
    first = next(seats, match.second)
    second = match.first if first == match.second else match.second
    changed = f"first_seat = {first}, second_seat = {second}"
    tamper(sitting.store.path, f"UPDATE planned SET {changed} WHERE number = {number}")  # noqa: S608 - of numbers


def test_what_was_planned_follows_from_its_basis(held: Sitting) -> None:
    assert found_in(held) == []
    assert list(audit(held.store)) == []


def test_a_batch_that_does_not_follow_is_named(held: Sitting) -> None:
    last = held.store.plans.batches(1)[-1]
    exchange(held, last.last)
    sentence = f"matches {last.first} to {last.last} of cup are not those that follow from the results before"
    ((text, is_fault),) = found_in(held)
    assert is_fault == (held.tournament.type != "ladder")
    excuse = "" if is_fault else "; no fault: other machines may round the ratings of a ladder differently"
    assert text == f"{sentence} them{excuse}"
    assert sentence in " ".join(found.text for found in audit(held.store))


def test_another_basis_gives_another_plan(held: Sitting) -> None:
    if held.tournament.type == "match":
        # The decision of a test is stored, and its pairs are the same for every result.
        return
    assert held.store.plans.batches(1)[-1].basis_match
    tamper(held.store.path, "UPDATE batches SET basis_match = 1")
    assert found_in(held)


def test_after_a_void_match_a_difference_is_no_fault(begin: Begin) -> None:
    sitting = begin(EVENTS["knockout"])
    sitting.play()
    (match, *_) = sitting.matches()
    assert sitting.store.changes.void([match.id], reason="by hand", who="me") == 1
    exchange(sitting, sitting.store.plans.batches(1)[-1].last)
    ((text, is_fault),) = found_in(sitting)
    assert not is_fault
    assert text.endswith("; no fault: since it was planned, matches became void or bots joined or left")


def test_who_joined_a_ladder_and_left_it_is_known(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(config(*FOUR, type="ladder", name="main"))

    def play_to(num_done: int) -> None:
        def on_event(event: Event) -> None:
            if isinstance(event, MatchFinished) and event.num_done == num_done:
                sitting.store.commands.send(1, "stop")

        sitting.play(on_event=on_event)

    def enter(spec: str) -> None:
        plan = joining.plan_join(sitting.store, sitting.tournament, spec)
        joining.join(sitting.store, sitting.tournament, plan, reason="")

    play_to(20)
    joining.leave(sitting.store, sitting.tournament, "random", reason="")
    play_to(50)
    enter("mcts:playouts=5")
    play_to(80)
    joining.leave(sitting.store, sitting.tournament, "mcts:playouts=5", reason="")
    play_to(110)
    enter("random")
    play_to(140)
    assert len({batch.basis_change for batch in sitting.store.plans.batches(1)}) == 5
    assert found_in(sitting) == []


def test_a_swiss_round_is_planned_with_those_who_were_there(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.coordinator.planner._LOOK_S", 0.0)
    sitting = begin(EVENTS["swiss"])

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished) and event.num_done == 1:
            plan = joining.plan_join(sitting.store, sitting.tournament, "mcts:playouts=5")
            joining.join(sitting.store, sitting.tournament, plan, reason="")

    assert sitting.play(on_event=on_event).state == "finished"
    seats = [(match.first, match.second) for match in sitting.matches_planned()]
    assert 4 not in {*chain(*seats[:4])}
    assert 4 in {*chain(*seats[4:])}
    assert found_in(sitting) == []


def test_few_batches_of_a_long_ladder_are_looked_at(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = begin(config(*TRIO, type="ladder", name="cup", stop_when="error=100"))
    sitting.play()
    assert len(sitting.store.plans.batches(1)) > 2
    tamper(sitting.store.path, "UPDATE batches SET basis_match = 1 WHERE number = 2")
    assert found_in(sitting)
    monkeypatch.setattr(auditing, "_OF_LADDER", 2)
    assert found_in(sitting) == []
    tamper(sitting.store.path, "UPDATE batches SET basis_match = 1")
    assert found_in(sitting)


def test_few_batches_of_a_long_tournament_are_looked_at(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = begin(EVENTS["swiss"])
    sitting.play()
    batches = sitting.store.plans.batches(1)
    exchange(sitting, batches[1].last)
    # Views of two batches of this length.
    monkeypatch.setattr(auditing, "_STEPS", 2 * batches[-1].last)
    assert found_in(sitting) == []
    monkeypatch.setattr(auditing, "_STEPS", len(batches) * batches[-1].last)
    assert found_in(sitting)
