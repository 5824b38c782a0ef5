"""Content of web pages, read from an open store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from arena.coordinator.event_tables import event_tables
from arena.errors import NotFoundError
from arena.export.match_notation import MatchWriter, can_write
from arena.export.match_selection import MATCH_FORMATS
from arena.live.labels import show_name
from arena.live.opening_views import OpeningsView
from arena.live.table_views import StandingsView
from arena.results.boards import boards_of
from arena.results.condition import Condition
from arena.results.crosstable import crosstable, matrix_view
from arena.results.one_moment import at_one_moment
from arena.results.opening_statistics import find_openings
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import standings
from arena.results.table_notes import notes_on
from arena.results.tested import count_tested, mark_tested
from arena.watching.dashboard_tables import standing_rows
from arena.watching.one_match import OneMatch, replay_of
from arena.watching.page_views import (
    HomePage,
    LeaderboardPage,
    MatchListPage,
    MatchPage,
    OpeningsPage,
    TournamentPage,
)
from arena.watching.standing import standings_in, with_standing
from arena.watching.stored import goal_of, recorded_of, row_of
from arena.watching.tournament_list import tournament_row
from arena_db.called import MARK
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arena.live.views import MatchView
    from arena.results.tables import Row, Table
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

NUM_NEWEST: Final = 12
"""Number of matches on the first page and on the page of each tournament."""
_MOST_EVENTS: Final = 1000
"""Maximum number of tournaments on the first page, the newest ones: each costs queries and a line."""


def home_view(store: Store, title: str) -> HomePage:
    """Return the tournaments that are not archived, newest first, and the newest matches."""
    records = store.tournaments.newest(limit=_MOST_EVENTS, archived=False)
    newest = store.matches.newest(MatchFilter(rated_only=False), limit=NUM_NEWEST)
    return HomePage(
        title=title,
        events=tuple(tournament_row(store, record) for record in records),
        newest=tuple(map(row_of, newest)),
    )


@at_one_moment
def event_view(store: Store, record: TournamentRecord) -> TournamentPage:
    """Return a tournament with all its tables."""
    book = RatedMatches(MatchFilter(tournament=record.name))
    found = standings(store, record, book=book)
    entrants = store.tournaments.entrants(record.id)
    names = {entrant.label: show_name(entrant.label) for entrant in entrants}
    rows = with_standing(standing_rows(found, names, {}), standings_in(store, record, entrants, found))
    # Bots without a rated match have a row without a rating, and empty cells in the crosstable.
    order = [row.name for row in rows]
    by_place = event_tables(store, record)
    where = MatchFilter(tournament=record.name, rated_only=False)
    return TournamentPage(
        row=tournament_row(store, record),
        standings=StandingsView(title=record.name, rows=rows, notes=tuple(notes_on(found))),
        matrix=matrix_view(
            crosstable(store, record, order, book), names, record.name, [row.place for row in rows]
        ),
        places=() if by_place is None else tuple(by_place.places),
        bracket=() if by_place is None else tuple(by_place.bracket),
        identities={entrant.label: entrant.bot.identity for entrant in entrants},
        goal=goal_of(store, record),
        newest=tuple(map(row_of, store.matches.newest(where, limit=NUM_NEWEST))),
    )


def match_list(store: Store, record: TournamentRecord, per_page: int) -> Iterator[MatchListPage]:
    """Yield the pages of a tournament's list of matches, newest first; at least one."""
    where = MatchFilter(tournament=record.name, rated_only=False)
    total = sum(tally.num_matches for tally in store.sums.tallies(where))
    num_pages = max(1, -(-total // per_page))
    before: int | None = None
    for number in range(1, num_pages + 1):
        found = store.matches.newest(where, before=before, limit=per_page)
        before = found[-1].id if found else before
        yield MatchListPage(
            tournament=record.name,
            number=number,
            num_pages=num_pages,
            total=total,
            rows=tuple(map(row_of, found)),
        )


def match_list_page(
    store: Store, record: TournamentRecord, number: int, per_page: int, condition: Condition
) -> MatchListPage:
    """Return one page of a tournament's list of matches, newest first.

    Args:
        store: the store.
        record: the tournament.
        number: number of the page, from 1.
        per_page: matches per page.
        condition: condition that selects the matches; empty for all.

    Raises:
        ConfigError: the opening of the condition is legal in no game.
        NotFoundError: there are fewer pages.
    """
    where = replace(
        condition.to_filter(store, tournament=record.name), tournament=record.name, rated_only=False
    )
    total = store.matches.count(where)
    num_pages = max(1, -(-total // per_page))
    if not 1 <= number <= num_pages:
        raise NotFoundError(f"there is no page {number} of these matches; the last one is page {num_pages}")
    rows = store.matches.page(record.id, where, offset=(number - 1) * per_page, limit=per_page)
    return MatchListPage(
        tournament=record.name,
        number=number,
        num_pages=num_pages,
        total=total,
        rows=tuple(map(row_of, rows)),
        condition=condition.text,
    )


def match_view(store: Store, record: TournamentRecord, match: StoredMatch) -> MatchPage:
    """Return a stored match with the reports of its bots and its grading."""
    remarks = store.matches.remarks([match.id]).get(match.id, ())
    replay = replay_of(
        OneMatch(
            recorded=recorded_of(match, {}, record.pool, remarks),
            tournament=record.name,
            analyses=store.analyses.of([match.id]).get(match.id, ()),
        )
    )
    view = replay.at(replay.num_plies)
    grades = [replay.grade(ply) for ply in range(replay.num_plies)]
    return MatchPage(
        match=view,
        tournament=record.name,
        identities=(match.first, match.second),
        ending=view.reason,
        judge=replay.recorded.judge,
        judged=replay.judged if replay.recorded.judge else (),
        lost={
            str(ply): grade.text for ply, grade in enumerate(grades, 1) if grade is not None and grade.text
        },
        clocks=_clocks(replay.views),
        has_versus=_has_versus(store, record, match),
        texts=tuple(form for form in MATCH_FORMATS if can_write(match.game, form)),
    )


def _has_versus(store: Store, record: TournamentRecord, match: StoredMatch) -> bool:
    if match.first == match.second:
        return False
    if match.rated and match.outcome != "void" and not match.void_reason:
        return True
    where = MatchFilter(tournament=record.name, bot=f"{MARK}{match.first}", vs=f"{MARK}{match.second}")
    # Tallies contain valid matches only, while `num_matches` includes void ones.
    return bool(store.sums.tallies(where))


def _clocks(views: Sequence[MatchView]) -> tuple[tuple[int, int], ...]:
    clocks = [(view.seats[0].clock_ms, view.seats[1].clock_ms) for view in views]
    known = [(first, second) for first, second in clocks if first is not None and second is not None]
    return tuple(known) if len(known) == len(clocks) else ()


def match_text(store: Store, match: StoredMatch, form: str) -> str:
    """Return a match as text, in the format of `arena export`.

    Args:
        store: the store with the match.
        match: a finished match.
        form: one of `MatchPage.texts`.

    Raises:
        ConfigError: the format does not support the game.
        ExportError: the match violates the rules of its game.
    """
    writer = MatchWriter(store, form, by_label=True)
    writer.check(match.game)
    return writer.text(match)


def openings_view(store: Store, game: str, moves: str, is_wanted: Callable[[], bool]) -> OpeningsPage:
    """Return the statistics of the next moves in a position, from rated matches.

    Args:
        store: the store with the matches.
        game: spec of the game; empty for the game with the most matches.
        moves: moves from the initial position, separated by blanks.
        is_wanted: polled between pages of matches; once it returns False, counting stops.

    Raises:
        ConfigError: the moves are not legal in the game.
        NotFoundError: there is no stored match of the game.
        PluginError: there is no such game.
    """
    games = tuple(dict.fromkeys(game for game, _, _ in boards_of(store).pools))
    if not games and not game:
        return OpeningsPage(games=(), position=OpeningsView(game=""))
    found = find_openings(store, Condition(game=game or games[0]), moves, is_wanted=is_wanted)
    return OpeningsPage(games=games, position=found)


@at_one_moment
def leaderboard_view(store: Store) -> LeaderboardPage:
    """Return the ratings of each game and pool, the largest first, as in `arena leaderboard`."""
    found = boards_of(store)
    boards: list[StandingsView] = []
    identities: dict[str, str] = {}
    for game, pool, _ in found.pools:
        tested = count_tested(store, MatchFilter(game=game, pool=pool))
        tables = mark_tested(found.tables(game, pool), tested)
        rows = list(_rows(tables))
        identities |= {row.name: row.identity for row in rows}
        boards.append(
            StandingsView(
                title=f"{game} {pool}",
                game=game,
                pool=pool,
                rows=standing_rows(tables, {row.name: row.name for row in rows}, {}),
                notes=tuple(notes_on(tables)),
            )
        )
    return LeaderboardPage(boards=tuple(boards), identities=identities)


def _rows(tables: list[Table]) -> Iterator[Row]:
    for table in tables:
        yield from table.rows
