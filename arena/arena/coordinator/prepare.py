"""Prepares a tournament before its first match: reserves the name, checks the bots, stores the plan.

A tournament is `preparing` from the moment it has a name, so it can be watched and no other process can use
the name. If it cannot be played it is `refused`, with the reason. A tournament in either state is replaced by
another attempt under the same name.
"""

from __future__ import annotations

import shlex
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from arena.coordinator.changes import changes
from arena.coordinator.commands import AbortRun, StopRun, read_command
from arena.coordinator.config import parse_toml
from arena.coordinator.holder import check_free
from arena.coordinator.kinds import schedule_of
from arena.coordinator.lease import Lease
from arena.coordinator.machines import check_machines, check_speed, find_machines
from arena.coordinator.plan import leave_out, new_tournament, store_plan
from arena.coordinator.planner import check_fixed
from arena.coordinator.restore import newcomers, restore_plan
from arena.coordinator.seeding import seat_by_rating
from arena.entrants import LeftOut
from arena.errors import ArenaError, BotFailedError, ConfigError, OptionError, PluginError
from arena.executor.cores import num_workers
from arena.executor.preflight import Candidate, describe_fault, is_refused_option, refusal, run_preflights
from arena.results.addresses import check_new_name, find_event
from arena.results.tournament_states import refuse_copy
from arena.sandbox.resources import num_cores
from arena.shelf.kept import keep_bot
from arena_db.errors import DatabaseError
from arena_db.owner import current_owner
from arena_plugins import game_spec
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    from arena.coordinator.changes import BotChange
    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.plan import Plan
    from arena.entrants import Competitor
    from arena.referee.seats import Forfeit
    from arena_db.records import NewTournament, TournamentRecord
    from arena_db.store import Store

    Show = Callable[[str, str], None]
    """Called for a bot that failed, with its label and what it wrote to stderr."""

_MAX_REASON: Final = 4000
"""Maximum characters of a stored reason: it quotes what a bot wrote, which may be endless."""


class PreparedTournament(NamedTuple):
    """A tournament that is stored and ready to be played."""

    record: TournamentRecord
    plan: Plan
    num_workers: int
    """Number of concurrent matches."""
    changed: Sequence[BotChange] = ()
    """Bots that played before with other content."""


class Again(NamedTuple):
    """Options of a resumed run that differ from the stored configuration; None leaves them unchanged."""

    rounds: int | None
    concurrency: int | None
    force_concurrency: bool
    max_time: float | None
    take_over: bool = False
    """Whether to replace a living holder that has been silent for 30 s."""
    executor: str | None = None
    keys: str | None = None
    cluster: str | None = None

    @classmethod
    def of_options(cls, given: Mapping[str, Any]) -> Again:
        """Return the changes that the options of a command request for its run."""
        return cls(
            given.get("rounds"),
            given["concurrency"],
            bool(given["force_concurrency"]),
            given["max_time"],
            bool(given.get("take_over")),
            **{key: given[key] for key in ("executor", "keys", "cluster")},
        )

    def of(self, config: TournamentConfig) -> TournamentConfig:
        """Return a configuration with the options of a run replaced; a stored `max_time` is not inherited."""
        config = msgspec.structs.replace(
            config,
            max_time=self.max_time,
            concurrency=config.concurrency if self.concurrency is None else self.concurrency,
            force_concurrency=self.force_concurrency or config.force_concurrency,
            **self._where(),
        )
        config.check()
        return config

    def _where(self) -> dict[str, str | None]:
        """Return the options about executors that were given."""
        if self.executor is not None:
            return {"executor": self.executor, "keys": self.keys, "cluster": self.cluster}
        if self.cluster is not None:
            return {"executor": "local", "cluster": self.cluster}
        return {"keys": self.keys}


class Reserved:
    """A tournament whose name is reserved and whose lease is held, while its bots are checked."""

    def __init__(self, store: Store, record: TournamentRecord) -> None:
        """Prepare with the store that claimed the lease."""
        self.store = store
        self.record = record

    def look(self) -> None:
        """Answer the commands that were sent meanwhile.

        Raises:
            ArenaError: a command requested a stop.
        """
        is_stopped = False
        for row in self.store.commands.take(self.record.id):
            is_stop = isinstance(read_command(row), StopRun | AbortRun)
            is_stopped = is_stopped or is_stop
            text = (
                "no further bot is checked, and nothing is played"
                if is_stop
                else "its bots are checked first"
            )
            self.store.commands.answer(row.id, text)
        if is_stopped:
            raise ArenaError(f"{self.record.name} was stopped while its bots were checked")


@contextmanager
def reserving(store: Store, new: NewTournament) -> Generator[Reserved]:
    """Reserve the name of a tournament for a `with` block that checks its bots and stores its plan.

    An exception in the block becomes the reason why the tournament is refused.

    Raises:
        StoreError: another tournament has this name, or is being prepared under it.
    """
    # Before the bots are checked, which may take minutes: two commands must not prepare one name.
    record = store.tournaments.reserve(new, current_owner())
    with Lease(store, record, current_owner()) as lease:
        reserved = Reserved(lease.store, record)
        try:
            yield reserved
        except BaseException as error:
            reason = str(error) if isinstance(error, ArenaError) else "its preparation was interrupted"
            # The reason may be that the store is not writable, or that the plan is stored already.
            with suppress(DatabaseError):
                lease.store.tournaments.refuse(record.id, clean_text(reason, _MAX_REASON))
            raise


def prepare_new(store: Store, plan: Plan, workers: int, show: Show) -> PreparedTournament:
    """Reserve the name of a new tournament, check its bots, and store its plan.

    Args:
        store: receives the tournament.
        plan: as `make_plan` returned it.
        workers: number of bots checked at once.
        show: called for each bot that failed.

    Raises:
        ArenaError: it cannot be played; then it is stored as refused, unless its name is in use.
    """
    check_new_name(store, plan.config.name)
    with reserving(store, new_tournament(plan)) as reserved:
        refused = check_bots(plan, workers, show=show, look=reserved.look)
        try:
            plan = leave_out(plan, refused)
        except ConfigError as error:
            raise BotFailedError(str(error)) from error
        if plan.config.seeding == "leaderboard":
            plan = seat_by_rating(plan, store)
        changed = changes(store, plan.competitors)
        # The last check for commands before the plan is stored; a later stop is answered by the run.
        reserved.look()
        record = store_plan(reserved.store, plan, reserved.record)
        if plan.config.sprt is not None:
            _keep_tested(plan.competitors)
    return PreparedTournament(record, plan, workers, changed)


def prepare_again(store: Store, record: TournamentRecord, again: Again, show: Show) -> PreparedTournament:
    """Check whether a stored tournament can be continued, and its bots; the lease is claimed later.

    Args:
        store: the store that contains it.
        record: the tournament, which has begun.
        again: what changes for this run.
        show: called for each bot that failed.

    Raises:
        ArenaError: it cannot be continued as it was; it stays unchanged.
    """
    # Before the bots are started: a damaged store or a living holder must not cost minutes of checks.
    check_again(store, record, take_over=again.take_over)
    plan = restore_plan(store, record)
    workers = concurrency(again.of(plan.config))
    if again.rounds is not None or not record.is_complete:
        # Its matches are planned: a bot that fails now forfeits them, or stops the tournament. Bots that have
        # left are not checked; in a long ladder these are most.
        playing = {
            entrant.seat for entrant in store.tournaments.entrants(record.id) if entrant.state == "playing"
        }
        new = newcomers(store, record)
        failed = check_bots(plan, workers, show=show, seats=playing - new)
        plan = plan._replace(left_out=tuple(failed), aside=_check_newcomers(plan, new, workers, show))
    if again.rounds is not None:
        plan = enlarge(store, record, plan, again.rounds)
        record = find_event(store, record.name, unfinished=False)
    return PreparedTournament(record, plan._replace(config=again.of(plan.config)), workers)


def _check_newcomers(plan: Plan, seats: set[int], workers: int, show: Show) -> tuple[LeftOut, ...]:
    """Return the bots that joined, have not played yet and cannot play here; they stop no other bot."""
    seats = seats - {bot.seat for bot in plan.aside}
    lenient = plan._replace(config=msgspec.structs.replace(plan.config, on_preflight="skip"))
    return (*plan.aside, *check_bots(lenient, workers, show=show, seats=seats))


def enlarge(store: Store, tournament: TournamentRecord, plan: Plan, rounds: int) -> Plan:
    """Add rounds to a stored tournament; the matches planned so far stay unchanged.

    Returns:
        The plan with the new number of rounds; further matches are planned when they are needed.

    Raises:
        ConfigError: it has as many rounds already, or its schedule would plan other matches now.
    """
    # Enlarging a finished match means that its verdict was read once more; other types have no verdict.
    looks = plan.config.looks + (tournament.is_complete and plan.config.type == "match")
    config = msgspec.structs.replace(plan.config, rounds=rounds, looks=looks)
    if rounds <= plan.config.rounds:
        raise ConfigError(
            f"{tournament.name} has {plan.config.rounds} rounds already; give --rounds more than that"
        )
    # With the tournament's own plan version: another one would number the matches planned so far differently.
    source = schedule_of(config, plan.game, len(config.bots), tournament.plan_version)
    if source.fixed is None or source.is_adaptive:
        raise ConfigError(f"{tournament.name} cannot get more rounds; start a new tournament")
    check_fixed(store, tournament, source)
    store.plans.reopen(tournament.id, source.fixed.total, config.to_toml())
    return plan._replace(config=config, source=source)


def check_again(store: Store, record: TournamentRecord, *, take_over: bool = False) -> None:
    """Check that this process may continue a stored tournament, and that its stored data are undamaged.

    Raises:
        ConfigError: it is a copy, or another process holds its lease.
        DatabaseError: its data are damaged.
    """
    refuse_copy(store, record)
    check_free(store, record, take_over=take_over)
    store.integrity.check_run(record.id)


def unbegun_config(store: Store, record: TournamentRecord, again: Again) -> TournamentConfig:
    """Return the configuration of a tournament that never began, to prepare it again under its name.

    Raises:
        ConfigError: another process is preparing it.
    """
    check_free(store, record, take_over=False)
    config = parse_toml(record.config, f"the stored configuration of {record.name}")
    if again.rounds is not None:
        config = msgspec.structs.replace(config, rounds=again.rounds)
    return again.of(msgspec.structs.replace(config, name=record.name))


def concurrency(config: TournamentConfig) -> int:
    """Return the number of concurrent matches; on this machine at most one per core.

    The scheduler of worker machines, if any, is checked first.

    Raises:
        ConfigError: more than there are cores, without `--force-concurrency`; or as `check_speed` and
            `check_machines`.
    """
    check_speed(config)
    check_machines(config)
    cores = num_cores()
    slots = find_machines(config).num_slots if config.cluster is not None else 0
    number = slots or num_workers(config.concurrency, cores)
    if number > cores and not config.force_concurrency:
        option = f"--cluster local:{slots}" if slots else f"--concurrency {number}"
        raise ConfigError(
            f"{option} is more than the {cores} cores of this machine, so bots would lose on "
            "time; add --force-concurrency to run it anyway"
        )
    return number


def _show_nobody(_label: str, _stderr: str) -> None:
    """Ignore what a failed bot wrote."""


def check_bots(
    plan: Plan,
    workers: int = 1,
    *,
    show: Show = _show_nobody,
    look: Callable[[], None] = lambda: None,
    seats: Collection[int] | None = None,
) -> list[LeftOut]:
    """Start every bot once, even if it has several labels, and ask it for a move in its first opening.

    Args:
        plan: the bots and their first openings.
        workers: number of bots checked at once.
        show: called for each bot that failed.
        look: called after each bot; an exception from it ends the check.
        seats: seats of the bots to check; None checks all.

    Returns:
        The bots that failed, if `--on-preflight skip` leaves them out.

    Raises:
        OptionError: a bot refuses an option.
        BotFailedError: a bot does not start, or does not answer.
    """
    entries: dict[object, Candidate] = {}
    keys: dict[int, object] = {}
    for seat, competitor in enumerate(plan.competitors):
        if seats is None or seat in seats:
            keys[seat] = competitor.record.identity, competitor.spec, competitor.limit
            if keys[seat] not in entries:
                entries[keys[seat]] = _entry(plan, seat)
    found: dict[object, str] = {}
    with closing(run_preflights(list(entries.values()), workers)) as results:
        for (key, entry), result in zip(entries.items(), results, strict=True):
            found[key] = _refusal(entry.competitor, result, show, skips=plan.config.on_preflight == "skip")
            look()
    return [
        LeftOut(seat, plan.competitors[seat].label, found[key]) for seat, key in keys.items() if found[key]
    ]


def _entry(plan: Plan, seat: int) -> Candidate:
    return Candidate(
        competitor=plan.competitors[seat],
        game=str(game_spec(plan.game)),
        limit=plan.limit,
        tier=plan.tier,
        init_s=plan.config.init_time,
        opening=plan.openings[seat],
    )


def _refusal(competitor: Competitor, result: Forfeit | Exception | None, show: Show, *, skips: bool) -> str:
    """Return why a bot cannot take part; empty if it can.

    Raises:
        OptionError: it refuses an option, and that stops the tournament.
        BotFailedError: it does not start or does not answer, and that stops the tournament.
    """
    if result is None:
        return ""
    if isinstance(result, Exception):
        if not isinstance(result, PluginError) or (isinstance(result, OptionError) and not skips):
            # A fault of the arena, or a refused option, whose message is passed on as it is.
            raise result
        why = str(result)
    else:
        why = describe_fault(result)
        if is_refused_option(result):
            why = refusal(result)
            if not skips:
                raise OptionError(why)
        else:
            show(competitor.label, str(result.detail.get("stderr") or ""))
    if skips:
        return why
    raise BotFailedError(
        f"{competitor.label} failed before the tournament: {why}; no match was played "
        f"(arena bots check {shlex.quote(competitor.spec)} shows more)"
    )


def _keep_tested(competitors: Sequence[Competitor]) -> None:
    """Keep copies of the bots of a test as they are now, the tested one last.

    Bots that run in this process have no copies.
    """
    for competitor in reversed(competitors):
        if competitor.place:
            keep_bot(competitor.record)
