"""One run of a tournament, new or resumed: from the plan to the last table and the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.exits import Exit
from arena.cli.failures import print_failure
from arena.cli.output import emit_object, say
from arena.cli.reporter import HeldTournament, Results
from arena.cli.run_output import JsonReporter, TextReporter
from arena.coordinator.event_tables import event_tables
from arena.coordinator.hold import Goal, Listener, hold
from arena.coordinator.kinds import planned_beforehand
from arena.coordinator.plan import make_plan
from arena.coordinator.prepare import concurrency, prepare_again, prepare_new, unbegun_config
from arena.coordinator.seeding import seat_by_rating
from arena.export.match_notation import check_replaceable, rewrite_matches
from arena.games.notation import format_moves
from arena.home import open_store
from arena.results.addresses import find_event
from arena.results.crosstable import crosstable
from arena.results.encounter import Scores, count_match
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import standings
from arena.results.sequential import book_of
from arena.results.tables import widest_error
from arena_db.records import MatchFilter
from arena_plugins import Termination

if TYPE_CHECKING:
    from arena.cli.options import RunOptions
    from arena.cli.reporter import Reporter
    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.plan import Plan
    from arena.coordinator.prepare import Again, PreparedTournament
    from arena.results.sequential import SprtReport
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def hold_new(config: TournamentConfig, options: RunOptions, *, dry_run: bool) -> Exit:
    """Plan a tournament, check the bots, store the plan and play it; return the exit status.

    Raises:
        ArenaError: the tournament cannot be run.
    """
    _check_place(options)
    plan = make_plan(config)
    if plan.config.sprt is not None:
        _print_expectation(plan.config, options)
    if dry_run and plan.config.sprt is not None:
        return Exit.COMPLETE
    if dry_run:
        if plan.config.seeding == "leaderboard":
            with open_store(options.db, read_only=True) as store:
                plan = seat_by_rating(plan, store)
        _print_plan(plan, options.form)
        for bot in plan.left_out:
            say(f"warning: {bot.bot} is refused: {bot.why}", err=True)
        return Exit.COMPLETE
    num_workers = concurrency(plan.config)
    with open_store(options.db, fast=options.fast) as store:
        return _play(store, prepare_new(store, plan, num_workers, print_failure), options)


def hold_again(name: str | None, options: RunOptions, again: Again) -> Exit:
    """Continue a stored tournament; return the exit status.

    Raises:
        ArenaError: the tournament cannot be continued; the store is not changed.
    """
    _check_place(options)
    with open_store(options.db, fast=options.fast, create=False) as store:
        record = find_event(store, name, unfinished=again.rounds is None)
        if record.has_begun or record.type == "play":
            prepared = prepare_again(store, record, again, print_failure)
            if again.rounds is None and record.is_complete:
                if record.type == "ladder":
                    way_out = f"; arena ladder join {record.name} BOT opens it again"
                else:
                    way_out = "" if prepared.plan.config.sprt else "; --rounds N adds rounds to it"
                say(f"{record.name} is finished{way_out}", err=True)
            return _play(store, prepared, options, take_over=again.take_over)
        config = unbegun_config(store, record, again)
    say(f"{record.name} had not begun; it is prepared once more", err=True)
    return hold_new(config, options, dry_run=False)


def _check_place(options: RunOptions) -> None:
    """Check before a run that the PGN file can be written at its end.

    Raises:
        ConfigError: the folder does not exist, or the path is a folder.
    """
    if options.pgnout is not None:
        check_replaceable(options.pgnout)


def _play(
    store: Store, prepared: PreparedTournament, options: RunOptions, *, take_over: bool = False
) -> Exit:
    """Play the remaining matches of a stored tournament and print the results."""
    tournament, plan = prepared.record, prepared.plan
    labels = [competitor.label for competitor in plan.competitors]
    scores = Scores(labels)
    scores.restore(store, tournament)
    book = RatedMatches(MatchFilter(tournament=tournament.name))
    test = book_of(store, tournament)
    held = HeldTournament(
        tournament,
        plan.config,
        labels,
        scores,
        lambda: standings(store, tournament, book=book),
        options.quiet,
        plan.left_out,
        None if test is None else test.report,
        options.db,
    )
    reporter: Reporter = TextReporter(held) if options.form == "text" else JsonReporter(held)
    reporter.begin()
    for change in prepared.changed:
        reporter.changed(change)
    for bot in plan.left_out:
        reporter.warn(f"{bot.bot} is refused: {bot.why}")
    for note in plan.notes:
        reporter.remark(note)
    if options.fast:
        reporter.remark("--fast: a power cut may lose the last matches")
    for warning in () if plan.source is None else plan.source.warnings:
        reporter.warn(warning)
    # For a ladder, the coordinator decides when the ratings are precise enough.
    error = None if tournament.type == "ladder" else plan.config.error_goal()
    goal = Goal(
        None if test is None else lambda: test.report().line(),
        None if error is None else lambda: widest_error(held.rate()) <= error,
    )
    listener = Listener(reporter.tell, reporter.remark)
    ended = hold(store, prepared, listener, goal, take_over=take_over)
    reporter.end(ended, _results(store, held))
    if options.pgnout is not None:
        rewrite_matches(store, tournament, options.pgnout)
    if ended.state != "finished":
        return Exit.STOPPED
    is_clean = reporter.num_warnings == 0 and not _has_faults(store, tournament)
    if options.strict and not is_clean:
        return Exit.FAULTS
    return Exit.COMPLETE if test is None else _exit_of(test.report())


def _results(store: Store, held: HeldTournament) -> Results:
    tables = held.rate()
    order = [row.name for table in tables for row in table.rows]
    report = None if held.test is None else held.test()
    met = count_match(store, held.record) if held.is_match and report is None else None
    event = event_tables(store, find_event(store, held.record.name, unfinished=False))
    return Results(tables, crosstable(store, held.record, order), met, report, event)


def _has_faults(store: Store, tournament: TournamentRecord) -> bool:
    tallies = store.sums.tallies(MatchFilter(tournament=tournament.name, rated_only=False))
    return any(Termination(tally.termination).is_fault for tally in tallies)


def _print_expectation(config: TournamentConfig, options: RunOptions) -> None:
    """Print the expected length of a test; `config` is that of its plan."""
    from arena.results.sequential import expectation
    from arena.schedules.sprt_words import parse_sprt

    told = expectation(parse_sprt(config.sprt or ""), config.pairs or 0)
    if options.form == "ndjson":
        values = {"sprt": config.sprt, "max_pairs": config.pairs, "then_rate": config.then_rate}
        emit_object("expectation", {**values, "text": told})
    elif not options.quiet:
        say(told)


def _exit_of(report: SprtReport) -> Exit:
    """Return the exit status of a decided test."""
    return {"H0": Exit.NOT_SHOWN, "undecided": Exit.UNDECIDED}.get(str(report.state.decision), Exit.COMPLETE)


def _print_plan(plan: Plan, form: str) -> None:
    """Print the planned matches, one a line; `form` is text or ndjson."""
    labels = [competitor.label for competitor in plan.competitors]
    source, num_matches = plan.source, 0
    for match in () if source is None else planned_beforehand(source, len(labels)):
        num_matches += 1
        first, second = labels[match.first], labels[match.second]
        round_ = match.match_no // plan.config.games + 1
        opening = format_moves(plan.game, match.opening)
        if form == "text":
            say(f"{match.number} {first} vs {second}  round {round_}  {opening or '-'}")
        else:
            values = {"number": match.number, "round": round_, "first": first, "second": second}
            emit_object("planned_match", {**values, "opening": opening, "actions": match.opening})
    say(f"{num_matches} matches, {plan.limit}, {plan.tier}, seed {plan.config.srand}", err=True)
