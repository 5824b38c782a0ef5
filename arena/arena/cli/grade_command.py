"""`arena grade`: let a judge analyse stored matches, and store its grades."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.options import as_one, db_option, format_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.analysis import Analysis, Ply
    from arena.grading import MatchJudge
    from arena.results.addresses import Address
    from arena_db.judgements import JudgedMatch
    from arena_db.records import StoredMatch
    from arena_db.store import Store

_NICENESS = 10
"""Same niceness as worker processes: grading must not take time from matches."""
_KEYS = ("address", "judge", "complete", "mistakes", "analysis")


class GradeWish(NamedTuple):
    """The options of a grading."""

    by: str | None = None
    nodes: int | None = None
    isolation: str = "auto"
    require_tier: str | None = None
    read_only: bool = False


@click.command(cls=RichCommand)
@click.argument("address")
@click.option(
    "--by",
    metavar="JUDGE",
    help="solver, or the spec of a bot, which is asked about every position.  [default: solver]",
)
@click.option(
    "--nodes",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of positions searched for each ply.  [default: until it is solved; a bot: 1 second]",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "none", "T1", "T2", "T3"]),
    default="auto",
    show_default=True,
    help="Isolation of a bot that judges.",
)
@click.option(
    "--require-tier", type=click.Choice(["T0", "T1", "T2", "T3"]), help="Refuse to judge below this tier."
)
@click.option("--read-only", is_flag=True, help="Print the grades and store nothing.")
@format_option
@db_option
@as_one("wish", GradeWish)
def grade(address: str, *, wish: GradeWish, form: str, db: str | None) -> None:
    """Judge a match, ADDRESS spring/89, or all matches of a tournament that were not judged yet.

    Each ply is stored once it is judged, so an interrupted command continues where it stopped. It runs at low
    priority, so that running matches lose no time.
    """
    lower_priority()
    grade_address(address, db, wish, form)


def lower_priority() -> None:
    """Lower the priority of this process, so that all other processes of this machine go first."""
    with suppress(OSError, AttributeError):
        if os.getpriority(os.PRIO_PROCESS, 0) < _NICENESS:
            os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)


def grade_address(what: str, db: str | None, wish: GradeWish, form: str | None) -> None:
    """Judge a match, or all matches of a tournament that were not judged yet.

    Args:
        what: address of a match or tournament.
        db: path of the store; None for the default place.
        wish: the options.
        form: table, json, ndjson or csv; None prints only the progress.

    Raises:
        NotFoundError: there is no such match or tournament.
        ConfigError: there is no exact solver for the game, and no bot was named.
        ArenaError: the judge cannot judge a match.
    """
    from arena.cli.output import emit
    from arena.executor.workspace import workspace
    from arena.grading import make_judge
    from arena.home import open_store
    from arena.results.addresses import find_address
    from arena_plugins import load_game

    with open_store(db, read_only=wish.read_only, create=False) as store, workspace():
        found = find_address(store, what)
        game = load_game(found.tournament.game)
        judge = make_judge(
            wish.by, game, nodes=wish.nodes, isolation=wish.isolation, require_tier=wish.require_tier
        )
        with closing(judge):
            run = _GradeRun(store, judge, found, form, keep=not wish.read_only)
            if form is None or (form == "table" and found.number is None):
                for _ in run.rows():
                    pass
            elif form == "table":
                run.print_text()
            else:
                emit("grade", run.rows(), form, {}, _KEYS)
            run.sum_up()


class _GradeRun:
    """Judges matches one after another and prints the progress."""

    def __init__(
        self, store: Store, judge: MatchJudge, found: Address, form: str | None, *, keep: bool
    ) -> None:
        self._store = store
        self._judge = judge
        self._found = found
        self._form = form
        self._keep = keep
        self._num = 0
        self._total = 1
        self._label = ""
        self._has_progress = sys.stderr.isatty()

    def rows(self) -> Iterator[dict[str, object]]:
        """Judge the matches and yield an object for each."""
        from arena.watching.table_objects import analysis_object

        for match, analysis in self._judged():
            judged = self._restored(match, analysis)
            yield {
                "address": self._label,
                "judge": analysis.name,
                "complete": analysis.is_complete,
                "mistakes": sum(ply.is_blunder for ply in judged.plies[judged.num_opening :]),
                "analysis": analysis_object(judged),
            }

    def print_text(self) -> None:
        """Judge the match and print its mistakes."""
        from arena.cli.output import say
        from arena.cli.showing import print_mistakes

        for match, analysis in self._judged():
            self._clear()
            say(f"{self._label} judged by {analysis.name}: {len(analysis.plies)} plies")
            print_mistakes(match, self._restored(match, analysis))

    def sum_up(self) -> None:
        """Print how many matches of a tournament were judged."""
        self._clear()
        if self._found.number is None:
            click.echo(f"judged {self._num} matches", err=True)

    @staticmethod
    def _restored(match: StoredMatch, analysis: JudgedMatch) -> Analysis:
        from arena.results.grades import restored
        from arena_plugins import load_game

        return restored(load_game(match.game), match.actions, match.num_opening, analysis)

    def _judged(self) -> Iterator[tuple[StoredMatch, JudgedMatch]]:
        from arena.cli.output import say
        from arena.errors import IllegalMoveError, InvalidMoveError
        from arena.grading import grade_match
        from arena.results.addresses import address_of

        for match in self._matches():
            self._label = address_of(match)
            try:
                analysis = grade_match(self._store, match, self._judge, keep=self._keep, tell=self._tell)
            except (IllegalMoveError, InvalidMoveError):
                self._clear()
                say(f"match {self._label} contradicts the rules and is not judged", err=True)
                continue
            self._num += 1
            yield match, analysis

    def _matches(self) -> Iterator[StoredMatch]:
        from arena.results.addresses import find_played

        if self._found.number is not None:
            yield find_played(self._store, str(self._found))[0]
            return
        record = self._found.tournament
        self._total = record.num_done
        for match in self._store.matches.of_tournament(record.id):
            done = self._store.analyses.of([match.id], name=self._judge.name).get(match.id, ())
            if match.actions and not (done and done[0].is_complete):
                yield match

    def _tell(self, analysis: JudgedMatch, ply: Ply) -> None:
        from arena.cli.output import emit_object
        from arena.watching.table_objects import ply_object

        done = sum(said.is_judged for said in analysis.plies)
        if self._form == "ndjson":
            told = {"address": self._label, "judge": analysis.name, "identity": analysis.identity}
            emit_object("ply", {**told, "done": done, "total": len(analysis.plies), **ply_object(ply)})
            sys.stdout.flush()
        if self._has_progress:
            of = f", match {self._num + 1} of {self._total}" if self._total > 1 else ""
            text = f"judging {self._label} by {analysis.name}: {done} of {len(analysis.plies)} plies{of}"
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)

    def _clear(self) -> None:
        if self._has_progress:
            click.echo("\r\x1b[K", err=True, nl=False)
