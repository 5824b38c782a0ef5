"""Compares a store with sources outside of it: rules, configurations, recomputed plans, kept bots.

`Store.integrity.check` proves that a store is consistent. The audit checks that its content could have been
played.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from arena.content.store import read_entered
from arena.coordinator.config import parse_toml
from arena.coordinator.kinds import schedule_of
from arena.coordinator.plan_view import EventView, seats_of
from arena.coordinator.rule_checks import contradictions, replay
from arena.entrants import Competitor
from arena.errors import ArenaError, PluginError
from arena.match import match_seed
from arena.schedules.fixed import has_changed, plan_for
from arena.schedules.protocol import Basis, PlannedBatch
from arena_db.codec import unpack_actions
from arena_db.filters import BYTE
from arena_plugins import game_spec, load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.kinds import PlanSource
    from arena.pairing.schedule import FixedPlan
    from arena.schedules.protocol import SeatState, View
    from arena_db.changes import ChangeRecord
    from arena_db.records import BatchRecord, BotRecord, Entrant, PlannedMatch, SeededMatch, TournamentRecord
    from arena_db.store import Store
    from arena_plugins import Game

_PAGE: Final = 256
"""Number of tournaments per query."""
_PLANNED: Final = 4_096
"""Number of planned matches per query."""
_MANY: Final = 5_000
"""Minimum number of matches in a store for replaying them with kernels: for fewer, loading the kernels takes
longer than the replay."""
_TRAINING: Final = "training"
"""Label of the pool of matches that a trainer played by itself: without a plan, seeds or referee."""
_IDENTIFIED: Final = ("name", "spec", "content")
"""Fields of a bot that are part of its identity."""


class AuditFinding(NamedTuple):
    """One finding of an audit."""

    text: str
    is_fault: bool = True
    """Whether the store is wrong; otherwise something could not be checked."""


def audit(store: Store) -> Iterator[AuditFinding]:
    """Yield how a store contradicts the rules, its configurations or the kept bots, by tournament.

    Args:
        store: one in which `Store.integrity.check` finds no fault.
    """
    records = list(_tournaments(store))
    in_bulk = sum(record.num_done for record in records) >= _MANY
    seen: set[str] = set()
    for record in records:
        if record.pool.label != _TRAINING:
            for entrant in store.tournaments.entrants(record.id):
                if entrant.bot.identity not in seen:
                    seen.add(entrant.bot.identity)
                    yield from _bot(entrant.bot)
        try:
            game = load_game(record.game)
        except PluginError as error:
            text = f"the openings and matches of {record.name} were not replayed by the rules: {error}"
            yield AuditFinding(text, is_fault=False)
            game = None
        # With another number of actions, the stored numbers mean other moves: replays would only find
        # consequences of this one fault.
        if game is not None and game.num_actions != record.num_actions:
            yield AuditFinding(
                f"tournament {record.name} has {record.num_actions} actions, its game {record.game} has "
                f"{game.num_actions}"
            )
            continue
        yield from _plan(store, record, game)
        for page in store.bulk.seeded_matches(record.id):
            yield from _matches(record, game, page, in_bulk=in_bulk)


def _tournaments(store: Store) -> Iterator[TournamentRecord]:
    before = None
    while page := store.tournaments.newest(before=before, limit=_PAGE):
        yield from page
        before = page[-1].id


def _bot(bot: BotRecord) -> Iterator[AuditFinding]:
    """Compare a bot with its kept content, or with its identity if that depends on its fields alone."""
    if not bot.content:
        # The first version named files by other paths in identities.
        fields = json.dumps([bot.spec, bot.distribution, bot.version, {}], sort_keys=True)
        if bot.files == "{}" and hashlib.sha256(fields.encode()).hexdigest() != bot.identity:
            yield AuditFinding(f"the bot {bot.spec} is not the one that its identity was made of")
        return
    data = read_entered(bot.identity)
    if data is None:
        return
    try:
        kept = msgspec.json.decode(data, type=Competitor).record
    except (msgspec.DecodeError, msgspec.ValidationError):
        # The kept file may be of a later version, or damaged; that is not a fault of the store.
        return
    for field in _IDENTIFIED:
        if getattr(bot, field) != getattr(kept, field):
            yield AuditFinding(
                f"the bot {bot.spec} has another {field} than was kept of it when it was entered: "
                f"{getattr(kept, field)}"
            )


class _Comparison(NamedTuple):
    """What a stored plan is compared with."""

    wanted: Callable[[PlannedMatch], PlannedMatch | None] | None
    """Returns the match that should be planned in the place of another; None if that is unknown."""
    rest: Iterator[PlannedMatch]
    """The matches that `wanted` has not returned yet."""
    findings: list[AuditFinding]


def _compared(store: Store, record: TournamentRecord, game: Game | None) -> _Comparison:
    """Return the plan that a tournament's configuration yields, and the first contradictions to it."""
    findings: list[AuditFinding] = []
    # A tournament that never began has no plan.
    if game is None or record.type == "play" or record.pool.label == _TRAINING or not record.has_begun:
        return _Comparison(None, iter(()), findings)
    try:
        config = parse_toml(record.config, f"the configuration of {record.name}")
        findings += _settings(record, config)
        source = schedule_of(config, game, len(config.bots), record.plan_version)
        wanted, rest = _wanted(source.fixed, store.tournaments.entrants(record.id))
        findings += [AuditFinding(*found) for found in replan(store, record, source)]
        return _Comparison(wanted, rest, findings)
    except (ArenaError, ValueError) as error:
        # A file of openings may be gone; seals detect changes of the configuration itself.
        text = f"the plan of {record.name} was not compared with its configuration: {error}"
        return _Comparison(None, iter(()), [*findings, AuditFinding(text, is_fault=False)])


def _plan(store: Store, record: TournamentRecord, game: Game | None) -> Iterator[AuditFinding]:
    """Compare a plan with its configuration as far as that determines it, and its openings with the rules."""
    wanted, expected, findings = _compared(store, record, game)
    yield from findings
    openings: dict[int, tuple[int, ...]] = {}
    known: set[tuple[int, ...]] = set()
    last = 0
    while page := store.plans.planned(record.id, after=last, limit=_PLANNED):
        last = page[-1].number
        for match in page:
            if wanted is not None:
                found = wanted(match)
                if found is None or _place(found) != _place(match):
                    yield AuditFinding(
                        f"match {match.number} of {record.name} is not the one that its configuration plans"
                    )
                    # One difference is enough: if a match is missing, all later ones differ.
                    wanted, expected = None, iter(())
                elif openings.setdefault(match.match_no // 2, match.opening) != match.opening:
                    yield AuditFinding(
                        f"match {match.number} of {record.name} does not have the opening of its pair"
                    )
            if game is not None and match.opening not in known:
                known.add(match.opening)
                yield from _opening(record, match, game)
    if record.is_planned and next(expected, None) is not None:
        yield AuditFinding(f"the plan of {record.name} ends before the last match of its configuration")


def _wanted(
    fixed: FixedPlan | None, entrants: Sequence[Entrant]
) -> tuple[Callable[[PlannedMatch], PlannedMatch | None] | None, Iterator[PlannedMatch]]:
    """Return `_Comparison.wanted`, and the rest of the plan if it is known.

    The order of a plan depends on when bots joined or left, so after a change each match is compared alone.
    """
    if fixed is None:
        return None, iter(())
    if has_changed(entrants):
        return plan_for(fixed, len(entrants)).as_planned, iter(())
    expected = fixed.matches()
    return lambda _: next(expected, None), expected


def _settings(record: TournamentRecord, config: TournamentConfig) -> Iterator[AuditFinding]:
    pairs = {
        "type": (config.type, record.type),
        "game": (str(game_spec(load_game(config.game))), record.game),
        "seed": (config.srand or 0, record.seed),
        "event": (config.event, record.event),
        "site": (config.site, record.site),
    }
    for what, (configured, stored) in pairs.items():
        if configured != stored:
            yield AuditFinding(
                f"tournament {record.name} has the {what} {stored}, its configuration {configured}"
            )


def _place(match: PlannedMatch) -> tuple[int, ...]:
    """Return the fields of a planned match without its opening, which files and later versions may change."""
    return match.number, match.encounter, match.match_no, match.first, match.second


def _opening(record: TournamentRecord, match: PlannedMatch, game: Game) -> Iterator[AuditFinding]:
    states = replay(game, match.opening)
    if len(states) <= len(match.opening) or states[-1].is_terminal:
        yield AuditFinding(
            f"match {match.number} of {record.name} is planned from an opening that the rules do not allow: "
            f"{list(match.opening)}"
        )


def _matches(
    record: TournamentRecord, game: Game | None, page: list[SeededMatch], *, in_bulk: bool
) -> Iterator[AuditFinding]:
    """Check the seeds, openings and actions of some matches."""
    width = 1 if record.num_actions <= BYTE else 2
    has_seeds = record.pool.label != _TRAINING
    for match in page:
        seeds = (match.seed_first, match.seed_second)
        if has_seeds and seeds != _seeds(record, match):
            yield AuditFinding(f"match #{match.id} was not played with the seeds of {record.name}")
        begun = match.actions[: len(match.opening)]
        if match.actions and (begun != match.opening or len(match.opening) != width * match.num_opening):
            yield AuditFinding(f"match #{match.id} begins with another opening than planned")
    if game is None:
        return
    played = [
        # Actions of one byte each need no decoding: `bytes` is a sequence of integers.
        (
            match.actions if width == 1 else unpack_actions(match.actions, record.num_actions),
            match.outcome,
            match.termination,
        )
        for match in page
    ]
    for place, wrong in contradictions(game, played, in_bulk=in_bulk):
        yield AuditFinding(f"match #{page[place].id} contradicts the rules: {wrong}")


def _seeds(record: TournamentRecord, match: SeededMatch) -> tuple[int, int]:
    place = (record.seed, match.encounter, match.match_no)
    return match_seed(*place, 0), match_seed(*place, 1)


_STEPS: Final = 4_000_000
"""Maximum total number of planned matches in all views of one tournament; for longer plans, fewer batches are
checked."""
_OF_LADDER: Final = 16
"""Number of batches of a ladder that are checked: each costs two rankings."""
_STATES: Final[Mapping[str, SeatState]] = {"join": "playing", "leave": "left", "disqualify": "out"}
"""State of a bot after a change."""
_MATTERS: Final = frozenset({*_STATES, "void", "unvoid"})
"""Changes after which a tournament differs from what its schedule saw before."""


def replan(store: Store, record: TournamentRecord, source: PlanSource) -> Iterator[tuple[str, bool]]:
    """Yield the batches that differ from what the schedule plans, and whether that is a fault.

    It is not a fault in a ladder, whose rankings are floats that other machines may round differently, or if
    matches became void or bots joined or left: the schedule saw the tournament as it was then. Openings are
    not compared, because files and later versions may list others.

    Args:
        store: contains the tournament.
        record: its record.
        source: its schedule; a fixed plan has nothing to replay.

    Raises:
        ArenaError: the schedule cannot be run here.
    """
    if source.fixed is not None:
        return
    entrants, changes = store.tournaments.entrants(record.id), store.changes.of(record.id)
    batches = store.plans.batches(record.id)
    chosen = _chosen(batches, is_open=source.is_open)
    is_fault = not source.is_open and not any(each.kind in _MATTERS for each in changes)
    # The view begins with an empty plan, and gets one batch after the other as when it was planned.
    event = EventView(store, replace(record, num_planned=0))
    for batch in batches:
        if batch.number in chosen:
            rows = store.plans.planned(record.id, after=batch.first - 1, limit=batch.last - batch.first + 1)
            # Matches of another encounter are planned only after the decision.
            is_decided = source.decides is not None and rows[0].encounter != source.decides.encounter
            decision = record.decision if is_decided else ""
            view = event.look(Basis(batch.basis_match), decision, adds_up=source.is_open)
            then = _entrants_at(entrants, changes, batch)
            seats = seats_of(store, record.id, then, until=batch.basis_change)
            # `errors` would come from all results, also from those after this batch.
            view = replace(view, seats=seats, errors=None)
            if not _is_same(source, view, rows):
                text = f"matches {batch.first} to {batch.last} of {record.name} are not those that follow"
                yield f"{text} from the results before them{_excuse(source, is_fault=is_fault)}", is_fault
                return
        # The view of the next batch includes this one.
        event.plan.reach(batch.last)


def _excuse(source: PlanSource, *, is_fault: bool) -> str:
    """Return why a plan may differ from a recomputed one although nothing is wrong; empty for a fault."""
    if is_fault:
        return ""
    if source.is_open:
        return "; no fault: other machines may round the ratings of a ladder differently"
    return "; no fault: since it was planned, matches became void or bots joined or left"


def _chosen(batches: Sequence[BatchRecord], *, is_open: bool) -> set[int]:
    """Return the numbers of the batches to check, evenly spread, first and last included."""
    # Each batch needs a view of all matches before it, so checking all would take quadratic time.
    most = _OF_LADDER if is_open else max(2, _STEPS // max(1, sum(batch.last for batch in batches[-1:])))
    if len(batches) <= most:
        return {batch.number for batch in batches}
    last = len(batches) - 1
    return {batches[place * last // (most - 1)].number for place in range(most)}


def _entrants_at(
    entrants: Sequence[Entrant], changes: Sequence[ChangeRecord], batch: BatchRecord
) -> list[Entrant]:
    """Return the entrants when a batch was planned, with their states."""
    states: dict[str, SeatState] = {}
    for each in changes:
        if each.id <= batch.basis_change and each.kind in _STATES:
            states[each.subject] = _STATES[each.kind]
    return [
        replace(one, state=states.get(one.label, "playing"))
        for one in entrants
        if one.joined <= batch.basis_change
    ]


def _is_same(source: PlanSource, view: View, rows: Sequence[PlannedMatch]) -> bool:
    """Return whether the schedule plans these matches next, or cannot be run as it was then."""
    if source.is_open and any(who.joined and who.state == "playing" for who in view.seats):
        # Whether a bot counts as a newcomer depends on its rating at that time, which is not stored.
        return True
    found = source.schedule.next(view, len(rows))
    return isinstance(found, PlannedBatch) and [*map(_place, found.matches)] == [*map(_place, rows)]
