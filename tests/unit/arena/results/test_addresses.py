"""Addresses: every form finds what it names, and printed addresses are found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError, NotFoundError
from arena.results.addresses import (
    address_of,
    check_new_name,
    find_address,
    find_entrants,
    find_event,
    find_played,
    planned_match,
)
from arena.results.condition import Condition
from arena.results.names import called, identity_of, naming_of
from arena_db.owner import current_owner
from arena_db.records import Entrant, MatchFilter
from arena_db.store import Store
from stores import add_cup, bot, new_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store with `cup/5`, and `spring`: 1 played, 2 void then played, 3 void twice, rest unplayed."""
    with Store.open(tmp_path / "arena.db") as opened:
        older = add_cup(opened, name="cup/5", num=5)
        opened.matches.save([older.match(2)])
        spring = add_cup(opened, name="spring", num=12)
        opened.matches.save(
            [spring.match(1), spring.void(2), spring.match(2, attempt=1), spring.void(3), spring.void(3, 1)]
        )
        yield opened


@pytest.mark.parametrize(
    ("text", "place", "screen", "printed"),
    [
        ("spring", (None, None, None), "", "spring"),
        ("last", (None, None, None), "", "spring"),
        ("spring/table", (None, None, None), "table", "spring/table"),
        ("last/matches", (None, None, None), "matches", "spring/matches"),
        ("spring/1", (1, 0, None), "", "spring/1"),
        ("spring/1:3", (1, 0, 3), "", "spring/1:3"),
        ("spring/1:0", (1, 0, 0), "", "spring/1:0"),
        ("spring/2", (2, 1, None), "", "spring/2"),
        ("spring/2.0", (2, 0, None), "", "spring/2.0"),
        ("spring/2.1:4", (2, 1, 4), "", "spring/2.1:4"),
        ("spring/3", (3, 1, None), "", "spring/3"),
        ("spring/12", (12, None, None), "", "spring/12"),
        ("last/1", (1, 0, None), "", "spring/1"),
        ("cup/5", (None, None, None), "", "cup/5"),
        ("cup/5/2", (2, 0, None), "", "cup/5/2"),
        ("1", (2, 0, None), "", "cup/5/2"),
        ("#2", (1, 0, None), "", "spring/1"),
        ("2:3", (1, 0, 3), "", "spring/1:3"),
        ("3", (2, 0, None), "", "spring/2.0"),
    ],
)
def test_each_form_names_what_it_should(
    store: Store, text: str, place: tuple[int | None, int | None, int | None], screen: str, printed: str
) -> None:
    found = find_address(store, text)
    attempt = None if found.match is None else found.match.attempt
    assert (found.number, attempt, found.ply) == place
    assert (found.screen, str(found)) == (screen, printed)
    assert find_address(store, printed) == found
    assert find_event(store, text, unfinished=False) == found.tournament


def test_what_is_printed_of_a_match_is_found_again(store: Store) -> None:
    stored = store.matches.newest(MatchFilter(rated_only=False), limit=100)
    assert [address_of(match) for match in stored] == [
        "spring/3.1",
        "spring/3.0",
        "spring/2",
        "spring/2.0",
        "spring/1",
        "cup/5/2",
    ]
    for match in stored:
        for text in (address_of(match), str(match.id), f"#{match.id}"):
            assert find_played(store, text)[0] == match


def test_a_tournament_of_the_whole_text_wins(store: Store) -> None:
    for name in ("spring/1", "2"):
        add_cup(store, name=name, num=2)
        assert find_address(store, name).tournament.name == name
    assert find_address(store, "spring/1/2").tournament.name == "spring/1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sprin", 'no tournament "sprin"; did you mean "spring"? (the newest is spring)'),
        ("sprin/3", 'no tournament "sprin"; did you mean "spring"?'),
        ("spring/13", "no match 13 in spring; its matches are spring/1 to spring/12"),
        ("spring/0", "no match 0 in spring"),
        ("spring/1.1", "no attempt 1 at spring/1; its only attempt is spring/1.0"),
        ("spring/2.2", "no attempt 2 at spring/2; its attempts are spring/2.0 to spring/2.1"),
        ("spring/4.0", "no attempt 0 at spring/4; it has no result yet"),
        ("spring/1:5", "no ply 5 in spring/1; it has 4 plies"),
        ("99", "no match 99 in the store; arena matches lists the stored ones"),
        ("#0", "no match 0 in the store"),
        (f"{1 << 64}", "no match 18446744073709551616 in the store"),
        ("spring/nothing", 'no tournament "spring/nothing"'),
        ("spring/", 'no tournament "spring/"'),
        ("/3", 'no tournament "/3"'),
        ("spring/" + "9" * 5000, f"no match {'9' * 100} in spring"),
        ("9" * 5000, f"no match {'9' * 100} in the store"),
        ("", 'no tournament ""'),
        ("spring/٣", "no tournament"),
    ],
)
def test_what_is_not_there_is_named_with_the_way_out(store: Store, text: str, said: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_address(store, text)
    assert str(caught.value).startswith(said)


def test_a_match_without_a_result_is_known_by_its_plan(store: Store) -> None:
    address = find_address(store, "spring/12")
    assert planned_match(store, address).number == 12
    with pytest.raises(NotFoundError, match=r"spring/12 has no result yet; arena watch spring/12 shows it"):
        find_played(store, "spring/12")
    with pytest.raises(NotFoundError, match=r"spring is a tournament, not a match; .* spring/1 to spring/12"):
        find_played(store, "spring")


def test_of_a_tournament_that_is_being_prepared_no_match_is_planned(store: Store) -> None:
    store.tournaments.reserve(new_tournament(name="winter"), current_owner())
    with pytest.raises(NotFoundError, match=r"^no match 1 in winter; no match of it is planned yet$"):
        find_address(store, "winter/1")


@pytest.mark.parametrize("name", ["5", "last", "a/b", "a b", "ü", "x" * 65, "-a", "spring"])
def test_names_that_no_new_tournament_may_have(store: Store, name: str) -> None:
    with pytest.raises(ConfigError, match=r"is not valid|there is a tournament spring already"):
        check_new_name(store, name)


def test_names_that_one_may_have(store: Store) -> None:
    for name in ("", "live1", "2026-11-23", "a.b_c-d", "x" * 64):
        check_new_name(store, name)


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Yield a store with one tournament of three bots, the third with the option `name=`."""
    bots = [
        bot("mcts", identity="7f3a9c" + "0" * 58),
        bot("mcts", spec="mcts:playouts=20", identity="7f3a9d" + "0" * 58, version="0.2.0"),
        bot("random", spec="random", identity="a" * 64),
    ]
    labels = ("mcts:playouts=100", "mcts:playouts=20", "Anna")
    seats = [
        Entrant(seat=seat, label=label, bot=each, limit="")
        for seat, (label, each) in enumerate(zip(labels, bots, strict=True))
    ]
    with Store.open(tmp_path_factory.mktemp("trio") / "arena.db") as store:
        store.tournaments.add(new_tournament(name="trio"), seats, [])
        yield store


@pytest.mark.parametrize(
    ("text", "seats"),
    [
        ("mcts:playouts=20", [1]),
        ("mcts", [0, 1]),
        ("mcts*", [0, 1]),
        ("Anna", [2]),
        ("random", [2]),
        ("mcts@0.2.0", [1]),
        ("mcts@0.2.0:playouts=20", [1]),
        ("Anna@0.1.0", [2]),
        ("~7f3a9c", [0]),
        ("~7F3A9D00", [1]),
        ("~7f3a", [0, 1]),
        ("mcts:playouts=20~7f3a9d", [1]),
        ("mc~7f3a9d", [1]),
        ("Anna~aaaa", [2]),
        ("m@0.2", [1]),
        ("m@0.1", [0]),
        (None, [0, 1, 2]),
    ],
)
def test_entrants_by_all_that_they_are_called(trio: Store, text: str | None, seats: list[int]) -> None:
    record = trio.tournaments.find("trio")
    assert record is not None
    assert [entrant.seat for entrant in find_entrants(trio, record, text)] == seats


def test_a_name_in_the_tournament_comes_first_and_a_twin_has_a_label(tmp_path: Path) -> None:
    one, other = bot("mcts"), bot("random", spec="random")
    labels = ((one, "Anna"), (one, "Anna_2"), (other, "mcts"))
    seats = [Entrant(seat=n, label=label, bot=each, limit="") for n, (each, label) in enumerate(labels)]
    with Store.open(tmp_path / "arena.db") as store:
        record = store.tournaments.add(new_tournament(name="cup"), seats, [])
        assert [entrant.seat for entrant in find_entrants(store, record, "mcts")] == [2]
        label = naming_of(store, record).seats["Anna_2"]
        assert identity_of(store, record, label) == one.identity


@pytest.mark.parametrize("text", ["mtcs", "~7f3", "~000000", "random~7f3a9c", "mcts@0.3.0", "", "m p2"])
def test_nobody_goes_by_it(trio: Store, text: str) -> None:
    record = trio.tournaments.find("trio")
    assert record is not None
    with pytest.raises(NotFoundError, match=r"there are mcts:playouts=100, mcts:playouts=20, Anna"):
        find_entrants(trio, record, text)


@pytest.mark.parametrize(
    ("text", "called_so"),
    [
        ("m@0.2", "~7f3a9d" + "0" * 58),
        ("m p100", "mcts:playouts=100"),
        ("mcts p100", "mcts:playouts=100"),
        ("mcts", "mcts"),
        ("mc~7f3a9d", "mc~7f3a9d"),
        ("m p*", "m p*"),
        ("m p2", "m p2"),
        ("", ""),
    ],
)
def test_a_label_of_a_dashboard_is_a_bot_everywhere(trio: Store, text: str, called_so: str) -> None:
    assert called(trio, text, "trio") == called(trio, text) == called_so
    assert Condition(bot=text).to_filter(trio).bot == (called_so or None)
