"""Lists of bots: all for the screen of bots, and those that can judge matches of a game."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from arena.analysis import SOLVER, has_solver
from arena.coordinator.quarantine import Quarantine
from arena.errors import ArenaError
from arena.executor.checked import last_checks
from arena.live.bot_views import GONE, UNTRIED, BotRow, BotsView, CheckView, CompetitorView
from arena.live.labels import show_name
from arena.results.forfeits import count_forfeits, count_matches
from arena.watching.query import Cancelled, NoStoreYet, StoreLost
from arena.watching.query_answers import Rows
from arena_plugins import load_game
from arena_plugins.errors import PluginError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.executor.checked import Checked
    from arena.watching.query import Query
    from arena_db.records import BotRecord, Tally
    from arena_plugins.entries import Problem

_MAX_TEXT: Final = 300
"""Maximum characters of a text of a package, which may be hostile."""
_MAX_LINE: Final = 1 << 16
"""Maximum characters of a line of the output of `LIST_WORDS`."""
_MAX_TOURNAMENTS: Final = 10_000
"""Number of newest tournaments whose names are loaded; older ones with a quarantine are named by id."""
LIST_WORDS: Final = ("bots", "list", "--format", "ndjson")
"""The command that loads each bot in a process of its own and prints the result."""


class _Listed(msgspec.Struct):
    """A line of the output of `LIST_WORDS`."""

    name: str
    entry: str
    distribution: str
    status: str


def read_bots(query: Query) -> Rows[BotsView]:
    """Return all bots without loading any; if the store is damaged, only the installed bots.

    Raises:
        Cancelled: the query was cancelled.
        StoreLost: the store is gone or locked; the installed bots have been published before.
    """
    # Imported late: package metadata is large, and viewers of matches do not need it.
    from arena.shelf.listing import list_bots

    trouble, lost = "", None
    competitors: dict[str, list[CompetitorView]] = {}
    try:
        competitors = _competitors(query)
    except Cancelled:
        raise
    except ArenaError as error:
        trouble, lost = clean_text(str(error), _MAX_TEXT), error if isinstance(error, StoreLost) else None
    checks = _checks(query)
    listing = list_bots()
    rows = [
        BotRow(
            name=show_name(entry.name),
            distribution=show_name(entry.distribution),
            version=show_name(entry.version),
            entry=clean_text(entry.value, _MAX_TEXT),
            place="folder" if entry.folder else "environment",
            kind=UNTRIED,
            checks=checks.get(entry.name, ()),
            competitors=tuple(competitors.pop(entry.name, ())),
        )
        for entry in listing.entries.values()
    ]
    rows += map(_broken, listing.problems)
    known = {row.name for row in rows}
    rows += [
        BotRow(name=show_name(name), status=GONE, kind=GONE, competitors=tuple(played))
        for name, played in competitors.items()
        if show_name(name) not in known
    ]
    rows.sort(key=lambda row: (not row.place, row.name))
    view = BotsView(rows=tuple(rows), trouble=trouble)
    if lost is not None:
        # Installed bots are known without the store; publish them, and let the caller retry.
        query.publish(view)
        raise lost
    return Rows(view)


def read_status(lines: Iterable[str]) -> dict[tuple[str, str, str], str]:
    """Parse the output of `LIST_WORDS`: the status by name, entry point and distribution."""
    found: dict[tuple[str, str, str], str] = {}
    for line in lines:
        try:
            bot = msgspec.json.decode(line[:_MAX_LINE], type=_Listed)
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue
        key = (show_name(bot.name), clean_text(bot.entry, _MAX_TEXT), show_name(bot.distribution))
        # The newest version of a bot comes first.
        found.setdefault(key, clean_text(bot.status, _MAX_TEXT))
    return found


def _broken(problem: Problem) -> BotRow:
    entry = problem.entry
    kind = (
        "changed"
        if "wheel" in problem.reason
        else "bad name"
        if "is not a name" in problem.reason or "longer than" in problem.reason
        else "twice"
    )
    return BotRow(
        name=show_name(entry.name),
        distribution=show_name(entry.distribution),
        version=show_name(entry.version),
        entry=clean_text(entry.value, _MAX_TEXT),
        place="folder" if entry.folder else "environment",
        status=clean_text(problem.reason, _MAX_TEXT),
        kind=kind,
    )


def _checks(query: Query) -> dict[str, tuple[CheckView, ...]]:
    """Return the last check of each spec, newest first, by the name of the bot."""
    found: defaultdict[str, list[CheckView]] = defaultdict(list)
    for checked in sorted(last_checks().values(), key=lambda checked: -checked.t):
        # `_is_outdated` hashes the files of a bot, which may take long.
        query.check()
        found[checked.bot.partition(":")[0].partition("@")[0]].append(
            CheckView(
                bot=clean_text(checked.bot, _MAX_TEXT),
                game=clean_text(checked.game, _MAX_TEXT),
                t=checked.t,
                num_passed=checked.num_passed,
                num_checks=checked.num_checks,
                failed=tuple(clean_text(text, _MAX_TEXT) for text in checked.failed),
                is_outdated=_is_outdated(checked),
            )
        )
    return {name: tuple(views) for name, views in found.items()}


def _is_outdated(checked: Checked) -> bool:
    from arena.entrants import resolve

    try:
        return resolve([checked.bot], margin_ms=0, keep=False)[0].record.identity != checked.identity
    except (ArenaError, OSError):
        return True


def _competitors(query: Query) -> dict[str, list[CompetitorView]]:
    """Return the competitors that have played, by the name of the bot; empty without a store."""
    from arena_db.records import MatchFilter

    try:
        with query.store() as store:
            tallies = store.sums.tallies(MatchFilter(rated_only=False))
            records = store.names.bots()
            names = {record.id: record.name for record in store.tournaments.newest(limit=_MAX_TOURNAMENTS)}
    except NoStoreYet:
        return {}
    games, faults = _counted(tallies)
    held = _quarantined(tallies, names)
    found: defaultdict[str, list[CompetitorView]] = defaultdict(list)
    for identity in sorted(games, key=lambda identity: -games[identity]):
        found[records[identity].name].append(
            CompetitorView(
                spec=clean_text(records[identity].spec, _MAX_TEXT),
                version=show_name(_version(records[identity])),
                games=games[identity],
                faults=dict(faults[identity]),
                quarantined=tuple(held[identity]),
            )
        )
    return found


def _version(record: BotRecord) -> str:
    """Return the version, with a hash prefix if the competitor has files that the version omits."""
    try:
        files: object = json.loads(record.files or "{}")
    except ValueError:
        files = {}
    return f"{record.version} {record.identity[:6]}" if files else record.version


def _counted(tallies: Sequence[Tally]) -> tuple[Counter[str], Mapping[str, Counter[str]]]:
    """Return the number of matches and the forfeits by termination of each identity."""
    return count_matches(tallies), count_forfeits(tallies, lambda tally: (tally.first, tally.second))


def _quarantined(tallies: Sequence[Tally], names: Mapping[int, str]) -> Mapping[str, list[str]]:
    """Return the tournaments in which each identity is quarantined, by the rule that coordinators apply."""
    rules: defaultdict[int, Quarantine] = defaultdict(Quarantine)
    met: defaultdict[int, set[str]] = defaultdict(set)
    for tally in tallies:
        rules[tally.tournament].add(
            tally.first, tally.second, tally.outcome, tally.termination, tally.num_matches
        )
        met[tally.tournament] |= {tally.first, tally.second}
    held: defaultdict[str, list[str]] = defaultdict(list)
    for tournament, rule in sorted(rules.items()):
        for identity in met[tournament]:
            if rule.holds(identity):
                held[identity].append(show_name(names.get(tournament, str(tournament))))
    return held


class Judges(msgspec.Struct, frozen=True):
    """The judges for a game."""

    game: str
    """Canonical spec."""
    is_solvable: bool
    """Whether the exact solver supports the game."""
    bots: tuple[str, ...]
    """Names of installed bots in order; none has been loaded."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names to choose from, the solver first."""
        return (SOLVER, *self.bots) if self.is_solvable else self.bots


def read_judges(query: Query, game: str) -> Rows[Judges]:
    """Return the judges for a game, given by its canonical spec."""
    # Imported late: package metadata is large, and only viewers that choose a judge need it.
    from arena.shelf.listing import list_bots

    query.check()
    try:
        is_solvable = has_solver(load_game(game))
    except PluginError:
        is_solvable = False
    return Rows(Judges(game, is_solvable, tuple(sorted(set(list_bots().entries) - {SOLVER}))))


def grading_words(match: str, by: str = "", nodes: str = "") -> list[str]:
    """Return the command, without `arena`, that judges a match.

    Args:
        match: address of the match, or its id in the store.
        by: the judge; empty for the solver.
        nodes: node limit per ply; empty for the judge's default.
    """
    # `--name=value` in one word, so that a value that starts with - is not parsed as an option.
    options = [f"--by={by}"] if by else []
    options += [f"--nodes={nodes}"] if nodes else []
    return ["grade", *options, "--", match]
