"""Places: everything with an address is found by it, described in a line, and found by parts of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import NotFoundError
from arena.results.names import naming_of
from arena.watching.places import MOST, read_place, search_places
from arena.watching.query import Cancelled, NoStoreYet, Query
from arena.watching.stored import opening_text, row_of, with_mistakes
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import Entrant, MatchFilter
from arena_db.store import Store
from stores import add_cup, bot, digest, new_tournament, plan

if TYPE_CHECKING:
    from pathlib import Path

    from arena.watching.places import Place


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store with `spring` (match 1 played, match 2 void) and `random`, with a bot of that name."""
    file = tmp_path / "arena.db"
    with Store.open(file) as store:
        spring = add_cup(store, "a", "b/Anna", "c", name="spring")
        store.matches.save([spring.match(1), spring.void(2)])
        bots = [bot("random", spec="random"), bot("random", spec="random", identity=digest("other"))]
        entrants = [Entrant(seat=n, label=f"r{n}", bot=each, limit="") for n, each in enumerate(bots)]
        store.tournaments.add(new_tournament(name="random"), entrants, plan(2, 2))
    return file


def search(path: Path, text: str) -> list[Place]:
    return search_places(Query(str(path), is_expected=False), text)


@pytest.mark.parametrize(
    "case",
    [
        ("spring", "spring", "tournament", "watch spring", "tournament, round-robin of connect-four"),
        ("last", "random", "tournament", "watch random", "0 of 2 matches"),
        ("spring/table", "spring/table", "tournament", "crosstable spring", "crosstable of spring"),
        ("spring/live", "spring/live", "tournament", "watch spring", "boards of spring"),
        ("spring/matches", "spring/matches", "tournament", "matches --tournament spring", "list of matches"),
        ("spring/1", "spring/1", "match", "show spring/1", "match, connect-four, a v Anna, 1-0 by rules"),
        ("1", "spring/1", "match", "show spring/1", "4 plies"),
        ("spring/1:3", "spring/1:3", "match", "show spring/1:3", "position of spring/1, match"),
        ("spring/2.0", "spring/2.0", "match", "show spring/2.0", "void by aborted"),
        ("spring/9", "spring/9", "match", "watch spring/9", "no result yet"),
        ("a:playouts=100", "a:playouts=100", "bot", "bots show a:playouts=100", "bot a bot-arena 0.1.0"),
        ("Anna", "b:playouts=100", "bot", "bots show b:playouts=100", "bot b"),
        ("c@0.1.0:playouts=100", "c:playouts=100", "bot", "bots show c:playouts=100", "bot c"),
    ],
)
def test_each_address_is_a_place(path: Path, case: tuple[str, str, str, str, str]) -> None:
    text, address, kind, command, words = case
    place = read_place(str(path), text)
    assert (place.address, place.kind, " ".join(place.command)) == (address, kind, command)
    assert words in place.about
    assert read_place(str(path), place.address) == place
    if kind == "match":
        assert bool(place.match) == ("no result" not in place.about)


def test_a_label_that_screens_show_finds_its_bot(path: Path) -> None:
    specs = ("mcts:playouts=20", "mcts:playouts=50")
    with Store.open(path) as store:
        bots = [bot("mcts", spec=spec, identity=digest(spec)) for spec in specs]
        seats = [Entrant(seat=n, label=each.spec, bot=each, limit="") for n, each in enumerate(bots)]
        newest = store.tournaments.add(new_tournament(name="budgets"), seats, plan(2, 2))
        labels = naming_of(store, newest).seats
    for spec, label in labels.items():
        assert "~" not in label, "digits of an identity were always found"
        assert [place.address for place in search(path, label)] == [spec]


def test_bots_of_one_spec_and_one_with_the_name_of_a_tournament_have_digits(path: Path) -> None:
    one, other = digest("random"), digest("other")
    for identity in (one, other):
        place = read_place(str(path), f"~{identity[:8]}")
        assert place.address == f"random~{identity[:6]}"
        assert (place.identity, place.bot) == (identity, "random")
        assert read_place(str(path), place.address) == place
    assert read_place(str(path), "random").kind == "tournament"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sprnig", 'did you mean "spring"'),
        ("spring/99", "no match 99 in spring; its matches are spring/1 to spring/12"),
        ("99", "no match 99 in the store"),
        ("random~", "nothing is called"),
        ("*", '"\\*" matches 5 bots: .*; name one of them'),
        ("r?", '"r\\?" matches 2 bots: random~.*, random~'),
    ],
)
def test_what_is_nowhere_is_said_with_the_nearest(path: Path, text: str, message: str) -> None:
    with pytest.raises(NotFoundError, match=message):
        read_place(str(path), text)


def test_a_search_finds_addresses_and_names(path: Path) -> None:
    assert [place.address for place in search(path, "spring/1:2")] == ["spring/1:2"]
    assert [place.address for place in search(path, "spring/tab")] == []
    assert search(path, "spring/table")[0].screen == "table"
    assert [(place.kind, place.rank) for place in search(path, "random")] == [
        ("bot", 0),
        ("bot", 0),
        ("tournament", 0),
    ]
    assert [place.address for place in search(path, "100 c:")] == ["c:playouts=100"]
    assert [place.address for place in search(path, "ann")] == ["b:playouts=100"]
    assert search(path, " ") == []
    assert len(search(path, "a")) <= MOST
    for place in search(path, "a"):
        assert read_place(str(path), place.address).address == place.address


def test_without_a_store_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoStoreYet):
        search(tmp_path / "none.db", "a")
    with pytest.raises(NotFoundError, match="nothing has been played yet"):
        read_place(str(tmp_path / "none.db"), "a")


def test_a_search_that_was_cancelled_says_nothing(path: Path) -> None:
    query = Query(str(path))
    query.cancel()
    with pytest.raises(Cancelled):
        search_places(query, "spring")


def test_rows_have_date_duration_opening_and_the_mistakes_of_the_last_judge(path: Path) -> None:
    with Store.open(path) as store:
        (match,) = store.matches.newest(MatchFilter(), limit=5)
        loses, holds = JudgedPly(value=0.0, loss=1.0, best=(3,)), JudgedPly(value=0.0, loss=0.0, best=(3,))
        for name, plies, t in (
            ("early", (loses, loses, loses, loses), 1.0),
            ("late", (loses, loses, loses, holds), 2.0),
        ):
            store.analyses.add(JudgedMatch(match=match.id, name=name, plies=plies, made_at=t))
        rows = with_mistakes(
            store, [row_of(each) for each in store.matches.newest(MatchFilter(rated_only=False))]
        )
    by_address = {row.address: row for row in rows}
    assert by_address["spring/1"].mistakes == 1, "what the opening gave away is no mistake"
    assert by_address["spring/2.0"].mistakes is None
    assert by_address["spring/1"].opening == "4 3"
    assert by_address["spring/1"].duration_ms == 70_012
    assert opening_text("no-such-game", (1, 2)) == ""
