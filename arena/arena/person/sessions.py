"""Runs a session: starts its bot, stores its plan, and referees matches until the person ends it."""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.changes import changes
from arena.coordinator.hold import play_out
from arena.coordinator.lease import Lease
from arena.coordinator.orders import Orders
from arena.coordinator.plan import choose_tier, entrant_of
from arena.coordinator.prepare import check_again, reserving
from arena.coordinator.rescue import rescuing
from arena.coordinator.restore import restore_competitor
from arena.coordinator.run import RunParts
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
from arena.executor.worker_seats import keep_compiled, make_seat
from arena.executor.workspace import workspace
from arena.live.events import unpack
from arena.person.play_session import (
    PersonSeat,
    Play,
    PlaySession,
    SessionPool,
    end_match,
    go_on_from,
    planned_match,
)
from arena.person.session_commands import Hinter, Hints, SessionCommands, default_hinter
from arena.person.session_config import BOT_SEAT, PERSON_SEAT, make_play, parse_play
from arena.referee.timecontrol import MARGIN_MS, TimeControl
from arena.sandbox.limits.exact import check_limits
from arena.sandbox.tier import Tier
from arena_db.errors import DatabaseError
from arena_db.owner import current_owner
from arena_db.records import NewTournament
from arena_plugins import game_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from arena.coordinator.changes import BotChange
    from arena.person.session_config import PlayConfig, SessionPlan
    from arena.referee.seats import Seat
    from arena_db.records import PlannedMatch, TournamentRecord
    from arena_db.store import Store

_log = logging.getLogger(__name__)
_TRIAL_MS = 500
_TRIAL_MARGIN_MS = 60_000


def open_play(
    store: Store, config: PlayConfig, tell: Callable[[TournamentRecord, Sequence[BotChange]], None]
) -> None:
    """Play matches against a person until the person ends the session.

    Args:
        store: the store for plan, commands and results.
        config: the configuration.
        tell: called with the stored session and with bots that have changed since they last played.

    Raises:
        ConfigError: the configuration is not playable.
        BotFailedError: the bot does not start; the session is marked as refused.
        OptionError: the bot rejects an option.
        ArenaError: the required tier is not available.
        LeaseLostError: another process has taken the session over.
        MovedError: the store was removed, moved or replaced; the message names the file with the results.
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
            # Signals are handled before the session is announced, as the listener may stop it at once.
            signals = stack.enter_context(StopSignals())
            # Announced before the session is stored, so that a process that waits for its start can then read
            # the messages about the bot.
            tell(reserved.record, changes(store, [plan.bot]))
            tournament = store_play(reserved.store, plan, tier, match, reserved.record)
        lease = stack.enter_context(Lease(store, tournament, current_owner()))
        run_session(Play(lease.store, tournament, plan, tier), bot, lease, signals, match)


def reopen_play(store: Store, tournament: TournamentRecord, tell: Callable[[TournamentRecord], None]) -> None:
    """Resume a session whose coordinator has ended, from the last position of its match.

    Raises:
        ConfigError: the tournament is not a session, another process runs it, or its bot has changed.
        BotFailedError: the bot does not start.
        ArenaError: the required tier is not available.
        DatabaseError: the store cannot be written.
    """
    if tournament.type != "play":
        raise ConfigError(f"{tournament.name} is a {tournament.type} of bots; arena resume continues it")
    check_again(store, tournament)
    config = parse_play(tournament.config, f"the stored configuration of {tournament.name}")
    if not tournament.has_begun:
        config = msgspec.structs.replace(config, name=tournament.name)
        open_play(store, config, lambda record, _: tell(record))
        return
    was = store.tournaments.entrants(tournament.id)[BOT_SEAT]
    bot = restore_competitor(
        config.bot, was, tournament.name, margin_ms=MARGIN_MS, in_place=config.isolation == "none"
    )
    plan = make_play(config, bot)
    unplayed = store.plans.unplayed(tournament.id)
    told = _actions_told(store, tournament, unplayed[-1]) if unplayed else None
    tier = _choose_tier(plan)
    with (
        _ready(plan, tier) as bot,
        Lease(store, tournament, current_owner()) as lease,
        StopSignals() as signals,
    ):
        play = Play(lease.store, tournament, plan, tier)
        lease.store.tournaments.set_state(tournament.id, "running")
        if told is not None:
            match = go_on_from(play, unplayed[-1], told)
        else:
            planned = lease.store.plans.planned(tournament.id)
            first = BOT_SEAT if planned and planned[-1].first == PERSON_SEAT else PERSON_SEAT
            match = planned_match(len(planned) + 1, first, plan.config.opening)
            lease.store.plans.extend(tournament.id, [match], tournament.config)
        tell(tournament)
        run_session(play, bot, lease, signals, match)


def run_session(play: Play, bot: Seat, lease: Lease, signals: StopSignals, match: PlannedMatch) -> None:
    """Play from a planned match on, until the person ends the session.

    Args:
        play: the session.
        bot: the seat of its bot, started.
        lease: lease of the session.
        signals: signals received by this process.
        match: the first match.

    Raises:
        LeaseLostError: another process has taken the session over.
        MovedError: the store was removed, moved or replaced; the message names the file with the results.
        DatabaseError: the store cannot be written.
    """
    store, plan = play.store, play.plan

    def answer(command: int, text: str) -> None:
        # If the store cannot be written, only the answer is lost.
        with suppress(DatabaseError):
            store.commands.answer(command, text)

    def make_hinter() -> Hinter:
        hinter = plan.hinter or default_hinter(plan.game)
        return Hinter(plan.game, hinter, play.tier, plan.config.init_time)

    commands = SessionCommands(may_take_back=not plan.config.rated)
    session = PlaySession(play, commands, match)
    with rescuing(store, play.tournament), closing(Hints(make_hinter, answer)) as hints:
        orders = Orders(lease, signals, say=_log.info, board=commands)
        with closing(SessionPool(commands, PersonSeat(commands, hints.ask), bot)) as pool:
            # Read again: matches may have been added since the record was read.
            tournament = store.tournaments.find(play.tournament.id) or play.tournament
            play_out(store, tournament, RunParts(session, pool, orders), tell=session.hear)
        # The session was stopped before its next match started; that match will never be played.
        for waiting in store.plans.unplayed(tournament.id):
            end_match(play, waiting)
        store.tournaments.set_state(tournament.id, "finished")


def store_play(
    store: Store, plan: SessionPlan, tier: Tier, match: PlannedMatch, reserved: TournamentRecord | None = None
) -> TournamentRecord:
    """Store a session with its first match; the others are added one by one.

    Args:
        store: the store.
        plan: the session.
        tier: isolation tier of the bot.
        match: the first match.
        reserved: the row of the session, if it is stored already; `store` must then be opened for its lease.
    """
    entrants = [entrant_of(plan.person, PERSON_SEAT), entrant_of(plan.bot, BOT_SEAT)]
    new = _new_play(plan, tier)
    if reserved is None:
        return store.tournaments.add(new, entrants, [match])
    return store.tournaments.begin(reserved.id, new.config, entrants, [match])


def _new_play(plan: SessionPlan, tier: Tier) -> NewTournament:
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


def _choose_tier(plan: SessionPlan) -> Tier:
    """Return the isolation tier for the bots of a session.

    Raises:
        ArenaError: the required tier is not available.
    """
    bots = [plan.bot] if plan.hinter is None else [plan.bot, plan.hinter]
    required = plan.config.require_tier or (None if plan.config.rated else "T0")
    tier = choose_tier(plan.config.isolation, required, bots)
    check_limits(plan.config.require_limits, tier)
    return tier


@contextmanager
def _ready(plan: SessionPlan, tier: Tier) -> Generator[Seat]:
    """Start the bot for a `with` block; yield its seat.

    Raises:
        BotFailedError: the bot does not start.
        OptionError: the bot rejects an option.
    """
    config = plan.config
    control = _trial(plan.bot_control)
    with workspace(), ExitStack() as stack:
        seat = make_seat(plan.bot, plan.game.name, tier, adjust=keep_compiled)
        stack.callback(_close_quietly, seat)
        # The next attempt restarts a failed bot in the same seat.
        attempt = partial(ask_once, seat, plan.game, position(plan.game, config.opening))
        fault = try_patiently(attempt, control, config.init_time)
        if fault is not None:
            if is_refused_option(fault):
                raise OptionError(str(fault.detail["cause"]).partition(": ")[2])
            why = describe_fault(with_advice(fault, plan.bot, tier))
            raise BotFailedError(f"{plan.bot.label} does not start: {why}")
        yield seat


def _close_quietly(seat: Seat) -> None:
    """Close the seat of a bot in any state."""
    with suppress(Exception):
        seat.close()


def _trial(control: TimeControl) -> TimeControl:
    """Return the limit for the first question: short, but with a margin for compiling."""
    move_ms = min(control.move_ms, _TRIAL_MS)
    return TimeControl(mode="move", move_ms=move_ms, nodes=control.nodes, margin_ms=_TRIAL_MARGIN_MS)


def _actions_told(store: Store, tournament: TournamentRecord, match: PlannedMatch) -> tuple[int, ...]:
    """Return the actions of a match that were published; must be called before the lease is taken."""
    actions = list(match.opening)
    for event in store.events.snapshot(tournament.id).events:
        if event.kind == "move" and event.number == match.number and event.ply == len(actions) + 1:
            action = unpack(event.payload).get("action")
            if isinstance(action, int):
                actions.append(action)
    return tuple(actions)
