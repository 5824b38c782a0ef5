"""Plays a tournament, killed after every k-th transaction and resumed; as a program, it forks each run."""

from __future__ import annotations

import os
import random
import signal
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from typing_extensions import override

from arena.coordinator.hold import Listener, hold
from arena.coordinator.kinds import PlanSource, schedule_of
from arena.coordinator.plan_view import seats_of
from arena.coordinator.planner import Planner
from arena.coordinator.prepare import PreparedTournament
from arena.executor.pools import InlinePool
from arena.executor.slots import Slot
from arena.pairing.openings import OpeningPlan, make_openings
from arena.schedules.protocol import PlannedBatch, View
from arena.schedules.sprt_schedule import SprtSchedule, SprtTest
from arena_db.match_keeping import StoredMatches
from arena_db.plan_keeping import StoredPlans
from arena_db.store import Store
from arena_plugins import Limit, load_bot, load_game
from stores import seal_anew
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.executor.job import Job
    from arena.executor.worker import Began
    from arena_db.records import MatchRecord

BOTS = ("minimax:depth=1", "random")
GAME = "connect-four"
NUM_OPENINGS = 60
TEST = SprtTest(elo0=0.0, elo1=150.0)
KINDS = ("fixed", "sprt", "ladder")


class ShuffledPool(InlinePool):
    """Some workers in one process, whose batches end in random order."""

    def __init__(self, num_workers: int) -> None:
        super().__init__()
        self.num_workers = num_workers
        self._slots = [Slot.here(number) for number in range(num_workers)]
        self._chance = random.Random(7)  # noqa: S311 - an order, no secret
        self._running: list[tuple[Future[list[MatchRecord]], Sequence[Job], Callable[[], None]]] = []

    @override
    def slots(self) -> list[Slot]:
        return self._slots

    @override
    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        del slot
        future: Future[list[MatchRecord]] = Future()
        self._running.append((future, jobs, tick))
        return future

    @override
    def news(self) -> list[Began]:
        if self._running:
            future, jobs, tick = self._running.pop(self._chance.randrange(len(self._running)))
            future.set_result(super().submit(jobs, super().slots()[0], tick).result())
        return super().news()


def sprt() -> SprtSchedule:
    """Return the sequential test that is killed."""
    found = make_openings(load_game(GAME), OpeningPlan.parse("auto:plies=4"), seed=7, wanted=NUM_OPENINGS)
    return SprtSchedule(test=TEST, openings=found.openings)


def begin(path: Path, kind: str) -> None:
    """Store a tournament; a sequential test is stored without a plan."""
    if kind == "ladder":
        Sitting(path, config(*TRIO, type="ladder", stop_when="error=90")).store.close()
        return
    sitting = Sitting(path, config(*BOTS, type="match", game=GAME, rounds=40))
    if kind == "sprt":
        with sitting.store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            for text in (
                "DELETE FROM planned",
                "DELETE FROM batches",
                "UPDATE tournaments SET num_planned = 0, num_total = NULL, is_planned = 0",
            ):
                connection.exec_driver_sql(text)
        seal_anew(sitting.store)
    sitting.store.close()


def play(path: Path, kind: str, num_workers: int, killed_after: int, *, are_workers: bool) -> None:
    """Play what is left; be killed after the `killed_after`-th transaction of results or of a batch."""
    sitting = Sitting.reopen(path)
    store, num = sitting.store, 0

    def counted(write: Callable[..., object]) -> Callable[..., object]:
        def then(*given: object, **named: object) -> object:
            nonlocal num
            found = write(*given, **named)
            num += 1
            if num == killed_after:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return then

    # The classes are patched, because the store that holds the lease has its own instances of the parts.
    for part, name in ((StoredMatches, "save"), (StoredPlans, "add_batch"), (StoredPlans, "close")):
        setattr(part, name, counted(getattr(part, name)))
    source = PlanSource(sprt(), is_adaptive=True) if kind == "sprt" else None
    tournament = store.tournaments.find(1)
    assert tournament is not None
    plan = sitting.plan._replace(source=source)
    if are_workers:
        plan = plan._replace(config=msgspec.structs.replace(plan.config, executor="local"))
        prepared = PreparedTournament(tournament, plan, num_workers)
        hold(store, prepared, Listener(sitting.events.append, sitting.said.append))
        return
    planner = Planner(store, tournament, plan, num_workers=num_workers)
    sitting.play_in(ShuffledPool(num_workers), planner=planner)


def are_same(one: Path, other: Path) -> bool:
    """Return whether two tournaments of one kind have the same plan, results and decision, each match once.

    How much of a sequential test was planned when it was decided depends on timing; the rest does not.
    """
    with Store.open(one) as first, Store.open(other) as second:
        plans = first.plans.planned(1), second.plans.planned(1)
        num = min(map(len, plans))
        found = [
            {(match.number, match.outcome, match.actions) for match in store.matches.of_tournament(1)}
            for store in (first, second)
        ]
        records = [store.tournaments.find(1) for store in (first, second)]
        numbers = [[number for number, *_ in each] for each in found]
        common = set(numbers[0]) & set(numbers[1])
        return (
            plans[0][:num] == plans[1][:num]
            and all(len(set(each)) == len(each) for each in numbers)
            and {row for row in found[0] if row[0] in common} == {row for row in found[1] if row[0] in common}
            and all(record is not None and record.is_complete for record in records)
            and len({record.decision for record in records if record is not None}) == 1
            and first.integrity.check() == second.integrity.check() == []
        )


def is_ladder_whole(path: Path) -> bool:
    """Return whether each batch of a ladder follows from its own basis, and each match is stored once.

    Two ladders differ: a batch depends on the results that were stored when it was planned.
    """
    sitting = Sitting.reopen(path)
    with sitting.store as store:
        record, plan = store.tournaments.find(1), store.plans.planned(1)
        assert record is not None
        seats = seats_of(store, 1, store.tournaments.entrants(1))
        source = schedule_of(sitting.plan.config, sitting.plan.game, len(seats), record.plan_version)
        num_planned = 0
        for batch in store.plans.batches(1):
            known = store.plans.results(1, after=0, last=batch.basis_match)
            results = {(each.encounter, each.match_no): each.points for each in known}
            view = View(seats=seats, plan=plan[: batch.first - 1], results=results)
            found = source.schedule.next(view, batch.last - batch.first + 1)
            if (
                not isinstance(found, PlannedBatch)
                or list(found.matches) != plan[batch.first - 1 : batch.last]
            ):
                return False
            num_planned += len(found.matches)
        numbers = [match.number for match in store.matches.of_tournament(1) if match.is_final]
        return (
            num_planned == len(plan) == record.num_planned
            and sorted(numbers) == sorted(set(numbers))
            and len(numbers) + record.num_dropped == record.num_planned
            and (record.is_complete, record.decision) == (True, "every rating is within 90 Elo")
            and store.integrity.check() == []
        )


def main(path: Path, kind: str, num_workers: int, killed_after: int, *, are_workers: bool = False) -> int:
    """Play a tournament to its end, killing every run after some transactions; return the number of kills."""
    begin(path, kind)
    if not are_workers:
        # Once for all runs, each of which would import the compiler and load the kernels of the bot anew.
        game = load_game(GAME)
        load_bot(BOTS[0], game, seed=1).play(game.initial_state(), Limit())
    num_kills = 0
    while True:
        child = os.fork()
        if not child:
            play(path, kind, num_workers, killed_after, are_workers=are_workers)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return num_kills
        num_kills += 1
        # Every second run is killed later; otherwise a run that only reads would never end.
        killed_after += num_kills % 2 == 0


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))  # noqa: T201 - for the test
