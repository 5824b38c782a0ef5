"""One sitting at a tournament: new or resumed, from the plan to the last table and the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arena.cli.exits import BotFailedError, Exit
from arena.cli.options import concurrency
from arena.cli.report import Reporter, stored_encounters
from arena.cli.standings import emit_ratings, print_crosstable, print_standings
from arena.errors import ConfigError, OptionError

if TYPE_CHECKING:
    from arena.tournament.config import TournamentConfig
    from arena.tournament.plan import Plan
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class Session:
    """What the user asked for besides the tournament itself."""

    def __init__(
        self, *, db: str | None, fast: bool, strict: bool, quiet: bool, form: str, dry_run: bool = False
    ) -> None:
        self._db = db
        self._fast = fast
        self._strict = strict
        self._quiet = quiet
        self._form = form
        self._dry_run = dry_run

    def hold(self, config: TournamentConfig) -> Exit:
        """Plan, check the bots, store the plan, play; give the exit status."""
        from arena.home import open_store
        from arena.tournament.plan import make_plan, store_plan

        plan = make_plan(config)
        if self._dry_run:
            print_plan(plan)
            return Exit.COMPLETE
        num_workers = concurrency(plan.config)
        check_bots(plan)
        with open_store(self._db, fast=self._fast) as store:
            tournament = store_plan(store, plan)
            self._say(
                f"{tournament.name}: {len(plan.matches)} matches of {tournament.game}, seed {plan.config.srand}"
            )
            return self.play(store, tournament, plan, num_workers)

    def play(self, store: Store, tournament: TournamentRecord, plan: Plan, num_workers: int) -> Exit:
        """Play what is left of a stored tournament and print what came of it."""
        from arena.leaderboard.tables import widest_error
        from arena.leaderboard.views import standings
        from arena.tournament.hold import hold

        if self._fast:
            self._say("warning: --fast: a power cut may lose the last matches")
        goal = plan.config.error_goal()
        encounters = stored_encounters(plan.matches, list(store.tournament_matches(tournament.id)))
        reporter = Reporter(
            plan.config,
            [competitor.label for competitor in plan.competitors],
            encounters,
            form=self._form,
            quiet=self._quiet,
            print_tables=lambda: print_standings(standings(store, tournament.name), "table"),
        )
        for warning in plan.warnings:
            reporter.warn(warning)
        ended = hold(
            store,
            tournament,
            plan,
            num_workers=num_workers,
            tell=reporter.tell,
            say=reporter.say,
            goal_reached=None
            if goal is None
            else lambda: widest_error(standings(store, tournament.name)) <= goal,
        )
        self._print_results(store, tournament, reporter)
        if ended.state != "finished":
            self._say(f"stopped after {ended.num_done} of {ended.total} matches: {ended.reason}")
            click.echo(f"Tournament was interrupted. To resume: arena resume {tournament.name}")
            return Exit.STOPPED
        return (
            Exit.FAULTS if self._strict and (reporter.num_faults or reporter.num_warnings) else Exit.COMPLETE
        )

    def _print_results(self, store: Store, tournament: TournamentRecord, reporter: Reporter) -> None:
        from arena.leaderboard.crosstable import crosstable
        from arena.leaderboard.views import standings

        tables = standings(store, tournament.name)
        if self._form != "text":
            emit_ratings(tables)
            return
        if tournament.type == "match":
            reporter.print_encounters()
            return
        order = tuple(row.name for table in tables for row in table.rows)
        click.echo()
        print_crosstable(crosstable(store, tournament.name, order), "table")
        click.echo()
        print_standings(tables, "table")

    def _say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text, err=True)


def check_bots(plan: Plan) -> None:
    """Start every bot once and let it answer one position.

    Raises:
        OptionError: a bot refuses an option.
        BotFailedError: a bot does not start, or does not answer.
    """
    from arena.executor.preflight import describe_fault, is_refused_option, preflight

    for competitor in plan.competitors:
        fault = preflight(competitor, plan.game, plan.limit, tier=plan.tier, init_s=plan.config.init_time)
        if fault is None:
            continue
        if is_refused_option(fault):
            raise OptionError(str(fault.detail.get("cause")))
        raise BotFailedError(
            f"{competitor.label} failed before the tournament: {describe_fault(fault)}; nothing was planned "
            f"(arena bots check {competitor.label} tells more)"
        )


def print_plan(plan: Plan) -> None:
    """Print what would be played."""
    labels = [competitor.label for competitor in plan.competitors]
    state = plan.game.initial_state()
    for match in plan.matches:
        moves: list[str] = []
        for action in match.opening:
            moves.append(plan.game.move(state, action))
            state = state.child(action)
        state = plan.game.initial_state()
        pair = f"round {match.match_no // plan.config.games + 1}"
        click.echo(
            f"{match.number} {labels[match.first]} vs {labels[match.second]}  {pair}  {' '.join(moves) or '-'}"
        )
    click.echo(f"{len(plan.matches)} matches, {plan.limit}, {plan.tier}, seed {plan.config.srand}", err=True)


def find_tournament(store: Store, key: str | None, *, unfinished: bool) -> TournamentRecord:
    """Find a tournament by name, or the last one.

    Raises:
        ConfigError: there is none.
    """
    if key is None or key == "last":
        found = store.last_tournament(unfinished=unfinished)
        kind = "unfinished tournament" if unfinished else "tournament"
        if found is None:
            raise ConfigError(f"there is no {kind} in {store.path}")
        return found
    found = store.tournament(key)
    if found is None:
        from arena_plugins.spec import nearest

        known = [tournament.name for tournament in store.tournaments()]
        raise ConfigError(f'no tournament "{key}"{nearest(key, known)} (arena games shows what is stored)')
    return found
