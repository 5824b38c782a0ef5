"""Creates the schedule of a tournament, by its type."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.errors import ConfigError
from arena.pairing.openings import OpeningPlan, make_openings
from arena.pairing.schedule import FixedPlan, count_pairs
from arena.schedules.fixed import FixedSchedule
from arena.schedules.knockout import KnockoutSchedule
from arena.schedules.protocol import TEST_ENCOUNTER, Participant, PlannedBatch, View
from arena.schedules.swiss import SwissSchedule
from arena_db.records import NewBatch, OpenPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.coordinator.config import TournamentConfig
    from arena.pairing.openings import Openings
    from arena.pairing.schedule import Kind, PlanVersion
    from arena.schedules.protocol import Schedule
    from arena_db.records import PlannedMatch
    from arena_plugins import Game

NEWEST_PLAN: Final[PlanVersion] = 2
"""Version of the plans of new tournaments."""
_VERSIONS: Final[Mapping[int, PlanVersion]] = {1: 1, 2: 2}
_FIRST: Final = 256
"""Number of matches of a new plan that are stored with it; fewer if the schedule depends on results."""
_FIRST_ADAPTIVE: Final = 16
NO_OPENINGS: Final[Sequence[tuple[int, ...]]] = ((),)
"""The initial state alone."""
_LADDER_OPENINGS: Final = 500
"""Number of pairs of two bots after which an opening is repeated."""
_BEFOREHAND: Final = 1000
"""Number of matches computed at once for a plan without any results."""


class Decides(NamedTuple):
    """The decision of a tournament that continues after it."""

    encounter: int
    """Encounter whose matches decide it; those that have not begun by then are dropped."""
    num_more: int
    """Number of matches that are played after the decision."""


class PlanSource(NamedTuple):
    """The source of a tournament's matches."""

    schedule: Schedule
    fixed: FixedPlan | None = None
    """The plan from which its matches are taken in order, if it is known beforehand."""
    is_adaptive: bool = False
    """Whether planning depends on results; then few matches are planned at a time."""
    is_open: bool = False
    """Whether bots join and leave while it is played; then it pairs by ratings, and waits for bots."""
    plays_pairs: bool = True
    """Whether both matches of a MatchPair are planned together."""
    warnings: tuple[str, ...] = ()
    """Warnings about the plan for the user."""
    decides: Decides | None = None

    def is_last(self, batch: PlannedBatch) -> bool:
        """Return whether a batch completes the plan regardless of results; otherwise the schedule decides."""
        return not self.is_adaptive and batch.matches[-1].number == batch.total


class EventFacts(NamedTuple):
    """The inputs of a tournament's schedule."""

    config: TournamentConfig
    game: Game
    num_bots: int
    version: PlanVersion


def schedule_of(config: TournamentConfig, game: Game, num_bots: int, version: int) -> PlanSource:
    """Return the schedule of a tournament, a pure function of the arguments.

    Args:
        config: its configuration, with the seed.
        game: its game.
        num_bots: number of entered bots.
        version: stored version of its plan.

    Raises:
        ConfigError: the arguments are not valid, its openings cannot be read, or a newer version of the arena
            planned it.
    """
    known = _VERSIONS.get(version)
    if known is None:
        raise ConfigError(
            f"plans of version {version} were made by a newer version of arena; "
            "upgrade arena: pip install -U bot-arena"
        )
    return _KINDS[config.type](EventFacts(config, game, num_bots, known))


def planned_beforehand(source: PlanSource, num_bots: int) -> Iterator[PlannedMatch]:
    """Yield the matches that are planned without any result, in plan order.

    For a fixed plan these are all matches; it is computed lazily.
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
    """Return the first batch of a new tournament; an open plan if the schedule waits for something.

    Args:
        source: its schedule.
        labels: labels of its bots, by seat.
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
    openings = _openings(event, num_pairs)
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


def _match(event: EventFacts) -> PlanSource:
    config = event.config
    if config.sprt is None:
        return _fixed("match", event)
    # Imported here, because it imports NumPy, which would delay the first match of other tournaments.
    from arena.coordinator.sprt_plan import sprt_schedule

    schedule = sprt_schedule(config, event.game)
    # Twice, because the option counts pairs.
    return PlanSource(schedule, is_adaptive=True, decides=Decides(TEST_ENCOUNTER, 2 * config.then_rate))


def _swiss(event: EventFacts) -> PlanSource:
    config = event.config
    # Rounded up: bots meet again after they have met all others, as far as the pairing can avoid it.
    num_meetings = -(-config.rounds // max(event.num_bots - 1, 1))
    openings = _openings(event, config.encounter_pairs * num_meetings)
    return PlanSource(swiss_of(config, openings.openings), warnings=tuple(openings.warnings))


def _knockout(event: EventFacts) -> PlanSource:
    config = event.config
    # With two defeats two bots can meet three times: before the final, in the final and in the second final.
    num_meetings = 3 if config.double else 1
    openings = _openings(event, (config.encounter_pairs + config.tie_pairs) * num_meetings)
    schedule = knockout_of(config, event.num_bots, openings.openings)
    return PlanSource(schedule, warnings=tuple(openings.warnings))


def swiss_of(config: TournamentConfig, openings: Sequence[tuple[int, ...]] = NO_OPENINGS) -> SwissSchedule:
    """Return the schedule of a Swiss tournament; reading its rounds needs no openings."""
    return SwissSchedule(
        rounds=config.rounds, pairs=config.encounter_pairs, seed=config.srand or 0, openings=openings
    )


def knockout_of(
    config: TournamentConfig, num_bots: int, openings: Sequence[tuple[int, ...]] = NO_OPENINGS
) -> KnockoutSchedule:
    """Return the schedule of a knockout; reading its bracket needs no openings."""
    return KnockoutSchedule(
        num_bots=num_bots,
        pairs=config.encounter_pairs,
        openings=openings,
        tie_pairs=config.tie_pairs,
        third_place=config.third_place,
        is_double=config.double,
    )


def _openings(event: EventFacts, num_pairs: int) -> Openings:
    plan = OpeningPlan.parse(event.config.openings)
    return make_openings(event.game, plan, seed=event.config.srand or 0, wanted=num_pairs)


def _ladder(event: EventFacts) -> PlanSource:
    # Imported here, because it imports NumPy, which would delay other types of tournaments.
    from arena.schedules.ladder import LadderSchedule

    config = event.config
    openings = make_openings(
        event.game, OpeningPlan.parse(config.openings), seed=config.srand or 0, wanted=_LADDER_OPENINGS
    )
    schedule = LadderSchedule(seed=config.srand or 0, openings=openings.openings, until=config.error_goal())
    return PlanSource(schedule, is_adaptive=True, is_open=True)


_KINDS: Final[Mapping[str, Callable[[EventFacts], PlanSource]]] = {
    "match": _match,
    "round-robin": partial(_fixed, "round-robin"),
    "gauntlet": partial(_fixed, "gauntlet"),
    "swiss": _swiss,
    "knockout": _knockout,
    "ladder": _ladder,
}
