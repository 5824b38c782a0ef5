"""One run of a tournament, new or resumed: from the plan to the last table and the exit status."""

from __future__ import annotations

import shlex
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from arena.cli.configuration import concurrency
from arena.cli.exits import BotFailedError, Exit
from arena.cli.failures import print_failure
from arena.cli.json_reporter import JsonReporter
from arena.cli.output import say
from arena.cli.plans import print_plan
from arena.cli.reporter import Held, Results
from arena.cli.sequential import book_of, exit_of, keep_tested, print_expectation
from arena.cli.text_reporter import TextReporter
from arena.coordinator.changes import changes
from arena.coordinator.enlarge import enlarge
from arena.coordinator.event_tables import event_tables
from arena.coordinator.hold import hold
from arena.coordinator.holder import check_free
from arena.coordinator.plan import leave_out, make_plan, restore_plan, store_plan
from arena.coordinator.seeding import seat_by_rating
from arena.entrants import LeftOut
from arena.errors import ConfigError, OptionError, PluginError
from arena.executor.preflight import describe_fault, is_refused_option, refusal
from arena.executor.preflights import Candidate, run_preflights
from arena.export.matches import check_replaceable, rewrite_matches
from arena.home import open_store
from arena.results.addresses import check_new_name, find_event
from arena.results.book import RatedMatches
from arena.results.crosstable import crosstable
from arena.results.encounter import Scores, count_match
from arena.results.tables import widest_error
from arena.results.tournaments import refuse_copy
from arena.results.views import standings
from arena_db.records import MatchFilter
from arena_plugins import Termination, game_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.cli.options import Sitting
    from arena.cli.reporter import Reporter
    from arena.coordinator.changes import BotChange
    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.plan import Plan
    from arena.entrants import Competitor
    from arena.referee.seats import Fault
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class Again(NamedTuple):
    """What a resumed run does otherwise than planned."""

    rounds: int | None
    concurrency: int | None
    force_concurrency: bool
    max_time: float | None
    take_over: bool = False
    """Whether a process that holds it and has been silent for 30 s is replaced, though it lives."""

    @classmethod
    def of_options(cls, given: Mapping[str, Any]) -> Again:
        """Return what concurrency, force_concurrency and max_time of a command ask for."""
        return cls(None, given["concurrency"], bool(given["force_concurrency"]), given["max_time"])

    def of(self, config: TournamentConfig) -> TournamentConfig:
        """Change what belongs to a run and not to the tournament; a time budget ends with its run."""
        config = msgspec.structs.replace(
            config,
            max_time=self.max_time,
            concurrency=config.concurrency if self.concurrency is None else self.concurrency,
            force_concurrency=self.force_concurrency or config.force_concurrency,
        )
        config.check()
        return config


def hold_new(config: TournamentConfig, sitting: Sitting, *, dry_run: bool) -> Exit:
    """Plan, check the bots, store the plan, play; give the exit status.

    Raises:
        ArenaError: it cannot be held; then nothing is stored.
    """
    _check_place(sitting)
    plan = make_plan(config)
    if plan.config.sprt is not None:
        print_expectation(plan.config, sitting)
    if dry_run and plan.config.sprt is not None:
        return Exit.COMPLETE
    if dry_run:
        if plan.config.seeding == "leaderboard":
            with open_store(sitting.db, read_only=True) as store:
                plan = seat_by_rating(plan, store)
        print_plan(plan, sitting.form)
        for bot in plan.left_out:
            say(f"warning: {bot.bot} is refused: {bot.why}", err=True)
        return Exit.COMPLETE
    num_workers = concurrency(plan.config)
    with open_store(sitting.db, fast=sitting.fast) as store:
        check_new_name(store, plan.config.name)
        try:
            plan = leave_out(plan, check_bots(plan, num_workers))
        except ConfigError as error:
            raise BotFailedError(str(error)) from error
        if plan.config.seeding == "leaderboard":
            plan = seat_by_rating(plan, store)
        changed = changes(store, plan.competitors)
        record = store_plan(store, plan)
        if plan.config.sprt is not None:
            keep_tested(plan.competitors)
        return _play(store, record, plan, num_workers, sitting, changed)


def hold_again(name: str | None, sitting: Sitting, again: Again) -> Exit:
    """Go on with a stored tournament; give the exit status.

    Raises:
        ArenaError: it cannot be held as it was; then it stays as it is.
    """
    _check_place(sitting)
    with open_store(sitting.db, fast=sitting.fast, create=False) as store:
        record = find_event(store, name, unfinished=again.rounds is None)
        refuse_copy(store, record)
        # Before the bots are tried, which takes a while; the lease is taken after that.
        check_free(store, record, take_over=again.take_over)
        store.check_run(record.id)
        plan = restore_plan(store, record)
        num_workers = concurrency(again.of(plan.config))
        if again.rounds is None and record.is_complete:
            if record.type == "ladder":
                way_out = f"; arena ladder join {record.name} BOT opens it again"
            else:
                way_out = "" if plan.config.sprt else "; --rounds N adds rounds to it"
            say(f"{record.name} is finished{way_out}", err=True)
        else:
            # Its matches are planned: a bot that fails now forfeits them, or stops the tournament.
            plan = plan._replace(left_out=tuple(check_bots(plan, num_workers)))
        if again.rounds is not None:
            plan = enlarge(store, record, plan, again.rounds)
            record = find_event(store, record.name, unfinished=False)
        plan = plan._replace(config=again.of(plan.config))
        return _play(store, record, plan, num_workers, sitting, take_over=again.take_over)


def _check_place(sitting: Sitting) -> None:
    """Refuse before anything is played what could not be written after it.

    Raises:
        ConfigError: there is no such folder, or a folder in its place.
    """
    if sitting.pgnout is not None:
        check_replaceable(sitting.pgnout)


def check_bots(plan: Plan, num_workers: int = 1) -> list[LeftOut]:
    """Start every bot once, though it plays under several labels, and ask it about its first opening.

    Args:
        plan: who plays what.
        num_workers: how many are tried at once.

    Returns:
        The bots that fail, where `--on-preflight skip` leaves them out; they are told of at once.

    Raises:
        OptionError: a bot refuses an option.
        BotFailedError: a bot does not start, or does not answer.
    """
    entries: dict[object, Candidate] = {}
    keys: list[object] = []
    for seat, competitor in enumerate(plan.competitors):
        keys.append((competitor.record.identity, competitor.spec, competitor.limit))
        if keys[-1] not in entries:
            entries[keys[-1]] = _entry(plan, seat)
    found: dict[object, str] = {}
    with closing(run_preflights(list(entries.values()), num_workers)) as results:
        for (key, entry), result in zip(entries.items(), results, strict=True):
            found[key] = _refusal(entry.competitor, result, skips=plan.config.on_preflight == "skip")
    return [
        LeftOut(seat, competitor.label, found[key])
        for seat, (competitor, key) in enumerate(zip(plan.competitors, keys, strict=True))
        if found[key]
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


def _refusal(competitor: Competitor, result: Fault | Exception | None, *, skips: bool) -> str:
    """Return why a bot cannot take part; empty if it can.

    Raises:
        OptionError: it refuses an option, and that stops the tournament.
        BotFailedError: it does not start or does not answer, and that stops the tournament.
    """
    if result is None:
        return ""
    if isinstance(result, Exception):
        if not isinstance(result, PluginError) or (isinstance(result, OptionError) and not skips):
            raise result
        why = str(result)
    else:
        why = describe_fault(result)
        if is_refused_option(result):
            why = refusal(result)
            if not skips:
                raise OptionError(why)
        else:
            print_failure(competitor.label, str(result.detail.get("stderr") or ""))
    if skips:
        return why
    raise BotFailedError(
        f"{competitor.label} failed before the tournament: {why}; no match was played "
        f"(arena bots check {shlex.quote(competitor.spec)} tells more)"
    )


def _play(  # noqa: PLR0913, PLR0917 - all that a run is made of
    store: Store,
    tournament: TournamentRecord,
    plan: Plan,
    num_workers: int,
    sitting: Sitting,
    changed: Sequence[BotChange] = (),
    *,
    take_over: bool = False,
) -> Exit:
    """Play what is left of a stored tournament and print what came of it."""
    labels = [competitor.label for competitor in plan.competitors]
    scores = Scores(labels)
    scores.restore(store, tournament)
    book = RatedMatches(MatchFilter(tournament=tournament.name))
    test = book_of(store, tournament)
    held = Held(
        tournament,
        plan.config,
        labels,
        scores,
        lambda: standings(store, tournament, book=book),
        sitting.quiet,
        plan.left_out,
        None if test is None else test.report,
    )
    reporter: Reporter = TextReporter(held) if sitting.form == "text" else JsonReporter(held)
    reporter.begin()
    for change in changed:
        reporter.changed(change)
    for bot in plan.left_out:
        reporter.warn(f"{bot.bot} is refused: {bot.why}")
    for note in plan.notes:
        reporter.remark(note)
    if sitting.fast:
        reporter.remark("--fast: a power cut may lose the last matches")
    for warning in () if plan.source is None else plan.source.warnings:
        reporter.warn(warning)
    # A ladder closes its plan by itself.
    goal = None if tournament.type == "ladder" else plan.config.error_goal()
    ended = hold(
        store,
        tournament,
        plan,
        num_workers=num_workers,
        tell=reporter.tell,
        say=reporter.remark,
        goal=None if test is None else lambda: test.report().line(),
        goal_reached=None if goal is None else lambda: widest_error(held.rate()) <= goal,
        take_over=take_over,
    )
    reporter.end(ended, _results(store, held))
    if sitting.pgnout is not None:
        rewrite_matches(store, tournament, sitting.pgnout)
    if ended.state != "finished":
        return Exit.STOPPED
    is_clean = reporter.num_warnings == 0 and not _has_faults(store, tournament)
    if sitting.strict and not is_clean:
        return Exit.FAULTS
    return Exit.COMPLETE if test is None else exit_of(test.report())


def _results(store: Store, held: Held) -> Results:
    tables = held.rate()
    order = [row.name for table in tables for row in table.rows]
    report = None if held.test is None else held.test()
    met = count_match(store, held.record) if held.is_match and report is None else None
    event = event_tables(store, find_event(store, held.record.name, unfinished=False))
    return Results(tables, crosstable(store, held.record, order), met, report, event)


def _has_faults(store: Store, tournament: TournamentRecord) -> bool:
    tallies = store.tallies(MatchFilter(tournament=tournament.name, rated_only=False))
    return any(Termination(tally.termination).is_fault for tally in tallies)
