"""Which schedule plans an event: one entry for each kind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.errors import ConfigError
from arena.pairing.openings import OpeningPlan, make_openings
from arena.pairing.schedule import FixedPlan, count_pairs
from arena.schedules.fixed import FixedSchedule
from arena.schedules.protocol import Participant, PlannedBatch, View
from arena_db.records import NewBatch, OpenPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.coordinator.config import TournamentConfig
    from arena.pairing.schedule import Kind, PlanVersion
    from arena.schedules.protocol import Schedule
    from arena_db.records import PlannedMatch
    from arena_plugins import Game

NEWEST_PLAN: Final[PlanVersion] = 2
"""How plans of new events are built."""
_VERSIONS: Final[Mapping[int, PlanVersion]] = {1: 1, 2: 2}
_FIRST: Final = 256
"""Matches of a new plan that are stored with it; fewer where the schedule depends on results."""
_FIRST_ADAPTIVE: Final = 16
_BEFOREHAND: Final = 1000
"""Matches of a plan that are computed at once when nothing of it is played."""


class PlanSource(NamedTuple):
    """Where the matches of an event come from."""

    schedule: Schedule
    fixed: FixedPlan | None = None
    """The plan its matches are taken from, one after the other, where that is known beforehand."""
    is_adaptive: bool = False
    """Whether it depends on results what is planned, and how much of it; then little is planned at a time."""
    plays_pairs: bool = True
    """Whether both matches of a MatchPair are planned together."""
    warnings: tuple[str, ...] = ()
    """What the user should know of the plan."""

    def is_last(self, batch: PlannedBatch) -> bool:
        """Return whether a plan is complete with a batch, whatever is played; else the schedule says so."""
        return not self.is_adaptive and batch.matches[-1].number == batch.total


class EventFacts(NamedTuple):
    """What the schedule of an event follows from."""

    config: TournamentConfig
    game: Game
    num_bots: int
    version: PlanVersion


def schedule_of(config: TournamentConfig, game: Game, num_bots: int, version: int) -> PlanSource:
    """Return the schedule of an event; the same one for the same arguments.

    Args:
        config: of the event, with its seed.
        game: its game.
        num_bots: how many bots are entered.
        version: of its plan, as it was stored.

    Raises:
        ConfigError: no event can be made of these, its openings cannot be read, or a newer version of the
            arena planned it.
    """
    known = _VERSIONS.get(version)
    if known is None:
        raise ConfigError(
            f"plans of version {version} were made by a newer version of arena; "
            "upgrade arena: pip install -U bot-arena"
        )
    return _KINDS[config.type](EventFacts(config, game, num_bots, known))


def planned_beforehand(source: PlanSource, num_bots: int) -> Iterator[PlannedMatch]:
    """Yield the matches that are planned without any result, in the order of the plan.

    All matches of a fixed plan are; it is computed piece by piece.
    """
    if source.fixed is not None:
        yield from source.fixed.matches()
        return
    seats = tuple(Participant(f"seat {seat}") for seat in range(num_bots))
    plan: list[PlannedMatch] = []
    found = source.schedule.next(View(seats=seats, plan=plan, results={}), _BEFOREHAND)
    if isinstance(found, PlannedBatch):
        yield from found.matches


def first_batch(source: PlanSource, labels: Sequence[str]) -> NewBatch | OpenPlan:
    """Return the first batch of a new event; no matches where the schedule waits for something.

    Args:
        source: its schedule.
        labels: of its bots, by seat.
    """
    seats = tuple(Participant(label) for label in labels)
    found = source.schedule.next(
        View(seats=seats, plan=(), results={}), _FIRST_ADAPTIVE if source.is_adaptive else _FIRST
    )
    if not isinstance(found, PlannedBatch):
        return OpenPlan()
    return NewBatch(
        matches=found.matches, num_total=found.total, is_last=source.is_last(found), note=found.note
    )


def _fixed(kind: Kind, event: EventFacts) -> PlanSource:
    config = event.config
    num_pairs = count_pairs(config.rounds, config.games)
    openings = make_openings(
        event.game, OpeningPlan.parse(config.openings), seed=config.srand or 0, wanted=num_pairs
    )
    plan = FixedPlan(
        kind=kind,
        num_bots=event.num_bots,
        rounds=config.rounds,
        games=config.games,
        seeds=config.seeds,
        swap=not config.no_swap,
        reverse=config.reverse,
        openings=openings.openings,
        version=event.version,
    )
    return PlanSource(
        FixedSchedule(plan),
        plan,
        plays_pairs=config.games > 1,
        warnings=tuple(openings.warnings),
    )


_KINDS: Final[Mapping[str, Callable[[EventFacts], PlanSource]]] = {
    "match": partial(_fixed, "match"),
    "round-robin": partial(_fixed, "round-robin"),
    "gauntlet": partial(_fixed, "gauntlet"),
}
