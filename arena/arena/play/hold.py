"""Holds a play: finds its bot ready, stores its plan, and referees until the person has had enough."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.changes import changes
from arena.coordinator.holder import check_free
from arena.coordinator.lease import Lease
from arena.coordinator.plan import choose_tier, entrant_of, restore_competitor
from arena.coordinator.prepare import reserving
from arena.coordinator.rescue import rescuing
from arena.coordinator.stop import StopSignals
from arena.errors import BotFailedError, ConfigError, OptionError
from arena.executor.preflight import (
    ask_once,
    describe_fault,
    is_refused_option,
    position,
    try_patiently,
    with_advice,
)
from arena.executor.seats import make_seat
from arena.executor.workspace import workspace
from arena.live.events import unpack
from arena.play.config import BOT_SEAT, PERSON_SEAT, make_play, parse_play
from arena.play.sitting import PlayTable, Sitting, close_quietly, planned_match
from arena.referee.timecontrol import MARGIN_MS, TimeControl
from arena.sandbox.limits.exact import check_limits
from arena.sandbox.tier import Tier
from arena_db.owner import current_owner
from arena_db.records import NewTournament
from arena_plugins import game_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from arena.coordinator.changes import BotChange
    from arena.play.config import PlayConfig, PlayPlan
    from arena.referee.seats import Seat
    from arena_db.records import PlannedMatch, TournamentRecord
    from arena_db.store import Store


_TRIAL_MS = 500
_TRIAL_MARGIN_MS = 60_000


def open_play(
    store: Store, config: PlayConfig, tell: Callable[[TournamentRecord, Sequence[BotChange]], None]
) -> None:
    """Play a person's matches until they have had enough.

    Args:
        store: where the plan, the orders and the results go.
        config: what is played.
        tell: hears of the play once it is stored, and of a bot that played before with other code.

    Raises:
        ConfigError: it cannot be played as it is written.
        BotFailedError: the bot does not start; then the play is refused.
        OptionError: the bot refuses an option.
        ArenaError: the tier it requires is not to be had.
        LeaseLostError: another process has taken it over.
        MovedError: its store was removed, moved or replaced; names the file that its results are in now.
        DatabaseError: the store cannot be written.
    """
    plan = make_play(config)
    tier = _choose_tier(plan)
    first = PERSON_SEAT if plan.config.side == "first" else BOT_SEAT
    match = planned_match(1, first, plan.config.opening)
    with ExitStack() as stack:
        with reserving(store, _new_play(plan, tier)) as reserved:
            bot = stack.enter_context(_ready(plan, tier))
            reserved.look()
            # Who hears of the play may end it at once by a signal.
            signals = stack.enter_context(StopSignals())
            # Whoever waits until it has begun then reads what was said of the bot.
            tell(reserved.record, changes(store, [plan.bot]))
            tournament = store_play(reserved.store, plan, tier, match, reserved.record)
        lease = stack.enter_context(Lease(store, tournament, current_owner()))
        _sit(PlayTable(lease.store, tournament, plan, tier, bot), lease, signals, (match, None))


def reopen_play(store: Store, tournament: TournamentRecord, tell: Callable[[TournamentRecord], None]) -> None:
    """Go on with a play whose coordinator has ended, from where its match stood.

    Raises:
        ConfigError: it is none, another process runs it, or its bot has changed.
        BotFailedError: the bot does not start.
        ArenaError: the tier it requires is not to be had.
        DatabaseError: the store cannot be written.
    """
    if tournament.type != "play":
        raise ConfigError(f"{tournament.name} is a {tournament.type} of bots; arena resume goes on with it")
    store.check_run(tournament.id)
    config = parse_play(tournament.config, f"the stored configuration of {tournament.name}")
    if not tournament.has_begun:
        check_free(store, tournament, take_over=False)
        config = msgspec.structs.replace(config, name=tournament.name)
        open_play(store, config, lambda record, _: tell(record))
        return
    was = store.entrants(tournament.id)[BOT_SEAT]
    bot = restore_competitor(
        config.bot, was, tournament.name, margin_ms=MARGIN_MS, in_place=config.isolation == "none"
    )
    plan = make_play(config, bot)
    unplayed = store.unplayed(tournament.id)
    told = _actions_told(store, tournament, unplayed[-1]) if unplayed else None
    tier = _choose_tier(plan)
    with (
        _ready(plan, tier) as bot,
        Lease(store, tournament, current_owner()) as lease,
        StopSignals() as signals,
    ):
        held = lease.store
        held.set_state(tournament.id, "running")
        if unplayed:
            match = unplayed[-1]
        else:
            planned = held.planned(tournament.id)
            first = BOT_SEAT if planned and planned[-1].first == PERSON_SEAT else PERSON_SEAT
            match = planned_match(len(planned) + 1, first, plan.config.opening)
            held.extend_plan(tournament.id, [match], tournament.config)
        tell(tournament)
        _sit(PlayTable(held, tournament, plan, tier, bot), lease, signals, (match, told))


def _sit(
    table: PlayTable, lease: Lease, signals: StopSignals, begin: tuple[PlannedMatch, tuple[int, ...] | None]
) -> None:
    """Play from a match on; one of which actions are known was being played when its coordinator ended."""
    match, told = begin
    with (
        rescuing(table.store, table.tournament),
        Sitting(table, lambda: bool(signals.wish) or lease.is_lost) as sitting,
    ):
        sitting.run(match if told is None else sitting.abandon(match, told))
        # A match that was ended since the lease was lost is no result.
        lease.check()


def store_play(
    store: Store, plan: PlayPlan, tier: Tier, match: PlannedMatch, reserved: TournamentRecord | None = None
) -> TournamentRecord:
    """Store a play with its first match; others follow one by one.

    Args:
        store: where it goes.
        plan: what is played.
        tier: of the bot.
        match: the first one.
        reserved: its row, where that is stored already; then `store` is that of its lease.
    """
    entrants = [entrant_of(plan.person, PERSON_SEAT), entrant_of(plan.bot, BOT_SEAT)]
    new = _new_play(plan, tier)
    if reserved is None:
        return store.add_tournament(new, entrants, [match])
    return store.begin(reserved.id, new.config, entrants, [match])


def _new_play(plan: PlayPlan, tier: Tier) -> NewTournament:
    return NewTournament(
        name=plan.config.name,
        type="play",
        game=game_spec(plan.game),
        num_actions=plan.game.num_actions,
        pool=plan.bot_control.pool(is_hosted=tier is not Tier.T0),
        seed=plan.config.srand,
        config=plan.config.to_toml(),
        event="",
        site="",
    )


def _choose_tier(plan: PlayPlan) -> Tier:
    """Return the tier that the bots of a play are run in.

    Raises:
        ArenaError: what it requires is not to be had.
    """
    bots = [plan.bot] if plan.hinter is None else [plan.bot, plan.hinter]
    required = plan.config.require_tier or (None if plan.config.rated else "T0")
    tier = choose_tier(plan.config.isolation, required, bots)
    check_limits(plan.config.require_limits, tier)
    return tier


@contextmanager
def _ready(plan: PlayPlan, tier: Tier) -> Generator[Seat]:
    """Start the bot for a `with` block.

    Raises:
        BotFailedError: it does not start.
        OptionError: it refuses an option.
    """
    config = plan.config
    control = _trial(plan.bot_control)
    with workspace(), ExitStack() as stack:
        seat = make_seat(plan.bot, plan.game.name, tier, keeps_compiled=True)
        stack.callback(close_quietly, seat)
        # A bot that failed is started anew by the next attempt, in the same seat.
        attempt = partial(ask_once, seat, plan.game, position(plan.game, config.opening))
        fault = try_patiently(attempt, control, config.init_time)
        if fault is not None:
            if is_refused_option(fault):
                raise OptionError(str(fault.detail["cause"]).partition(": ")[2])
            why = describe_fault(with_advice(fault, plan.bot, tier))
            raise BotFailedError(f"{plan.bot.label} does not start: {why}")
        yield seat


def _trial(control: TimeControl) -> TimeControl:
    """Give the limit of the first question, which nobody waits for longer than needed; it may be compiled."""
    move_ms = min(control.move_ms, _TRIAL_MS)
    return TimeControl(mode="move", move_ms=move_ms, nodes=control.nodes, margin_ms=_TRIAL_MARGIN_MS)


def _actions_told(store: Store, tournament: TournamentRecord, match: PlannedMatch) -> tuple[int, ...]:
    """Give how far a match had come, as viewers were told; read it before the lease is taken."""
    actions = list(match.opening)
    for event in store.snapshot(tournament.id).events:
        if event.kind == "move" and event.number == match.number and event.ply == len(actions) + 1:
            action = unpack(event.payload).get("action")
            if isinstance(action, int):
                actions.append(action)
    return tuple(actions)
