"""Pages of the wall, and the texts above and below a board."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from arena.live.events import ThinkingInfo, make_event
from arena.live.reducer import reduce, reduce_all
from arena.live.views import LiveView
from arena.live.wall import SORTS, search_table, sorted_boards, tenths, wall, without_stale
from arena_plugins.thoughts import Thoughts
from live_samples import chance_events, match_events, played


def _view(num: int) -> LiveView:
    matches = {
        number: replace(played("tic-tac-toe", "b2", number=number), last_t=float(-number))
        for number in range(1, num + 1)
    }
    matches[2] = replace(matches[2], outcome="draw")
    return LiveView(matches=matches, places=tuple(range(num, 0, -1)))


def test_pages() -> None:
    view = _view(8)
    first = wall(view, size=6)
    assert (len(first.boards), first.num_pages, first.caption) == (6, 2, "boards 1-6 of 8")
    second = wall(view, size=6, page=9)
    assert (second.page, second.caption) == (1, "boards 7-8 of 8")
    assert wall(view, size=6, keep=1).page == 1
    assert wall(view, size=6, keep=99).page == 0
    assert wall(LiveView()).caption == "no boards"


def test_orders() -> None:
    view = _view(4)
    numbers = {sort: [board.number for board in sorted_boards(view, sort)] for sort in SORTS}
    assert numbers == {
        "place": [4, 3, 2, 1],
        "activity": [1, 3, 4, 2],
        "number": [1, 3, 4, 2],
        "ply": [4, 3, 1, 2],
    }


def test_every_board_is_on_one_page() -> None:
    view = reduce_all(LiveView(), chance_events(11, num_matches=9))
    for sort in SORTS:
        first = wall(view, sort=sort, size=2)
        pages = [wall(view, sort=sort, size=2, page=page).boards for page in range(first.num_pages)]
        assert sorted(board.number for page in pages for board in page) == sorted(view.matches)


def test_boards_of_earlier_matches_go_while_one_is_played() -> None:
    view = _view(5)
    over = {number: replace(match, outcome="draw") for number, match in view.matches.items()}
    # Board 5 changed at -5 s and is being played; of the others, board 1 changed last, at -1 s.
    matches = {**over, 5: view.matches[5]}
    assert without_stale(replace(view, matches=over), 0.0) == replace(view, matches=over)
    found = without_stale(replace(view, matches=matches), 2.0)
    assert found.places == (5, 3, 2, 1)
    assert found.matches == {number: matches[number] for number in (1, 2, 3, 5)}
    assert without_stale(replace(view, matches=matches), 9.0).places == view.places


def test_tenths_of_columns() -> None:
    assert tenths(played("connect-four", "4 4 4")) == ("0", "0", "6", "0", "4", "0", "0")
    assert tenths(played("connect-four", "")) == ("-",) * 7


def test_tenths_of_a_board_of_cells_are_sums_over_columns() -> None:
    assert tenths(played("tic-tac-toe", "b2")) == ("2", "8", "0")


def test_nine_is_nine_tenths_or_more() -> None:
    match = played("connect-four", "4")
    sure = replace(match.seats[0], thoughts=Thoughts(visits=((3, 1000),)))
    assert tenths(replace(match, seats=(sure, match.seats[1])))[3] == "9"


@pytest.mark.parametrize(
    ("thoughts", "shown"),
    [
        (Thoughts(policy=((2, 0.3), (3, 0.7))), ("0", "0", "3", "7", "0", "0", "0")),
        (Thoughts(visits=()), ("-",) * 7),
        (Thoughts(visits=((3, 0),)), ("-",) * 7),
        (Thoughts(visits=((99, 5),)), ("-",) * 7),
        (Thoughts(value=0.5), ("-",) * 7),
    ],
)
def test_without_visits_the_policy_counts(thoughts: Thoughts, shown: tuple[str, ...]) -> None:
    match = played("connect-four", "4")
    seat = replace(match.seats[0], thoughts=thoughts)
    assert tenths(replace(match, seats=(seat, match.seats[1]))) == shown


def test_search_of_columns_is_in_the_order_of_the_board() -> None:
    table = search_table(played("connect-four", "4"), 7)
    assert table is not None
    assert table.moves == ("1", "2", "3", "4", "5", "6", "7")
    assert table.visits == (2, 14, 611, 12, 398, 11, 3)
    assert table.shares is not None
    assert table.shares[2] == pytest.approx(611 / 1051)
    assert table.policy is not None
    assert table.policy[2] == 0.32


def test_search_of_cells_has_the_best_first() -> None:
    table = search_table(played("tic-tac-toe", "b2"), 5)
    assert table is not None
    assert (table.moves, table.visits, table.policy) == (("b2", "a3"), (3, 1), None)
    assert search_table(played("tic-tac-toe", ""), 5) is None


def test_search_shows_who_thinks_when_asked_for() -> None:
    view = reduce_all(LiveView(), match_events("connect-four", ["4"]))
    view = reduce(view, make_event(9, ThinkingInfo(visits=((0, 5),)), t=9.0, match=313, ply=1))
    live = search_table(view.matches[313], 7, live=True)
    assert live is not None
    assert (live.player, live.visits) == (1, (5, None, None, None, None, None, None))
    last = search_table(view.matches[313], 7)
    assert last is not None
    assert last.player == 0
