"""Addresses of pages: relative in a folder, absolute on a server, with the same names in both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.pages.links import Links, slugs_of

FOLDER = Links(root="../../")
SERVER = Links(root="/", suffix="", index="")


def test_a_folder_names_files() -> None:
    assert FOLDER.home() == "../../index.html"
    assert FOLDER.page("leaderboard") == "../../leaderboard.html"
    assert FOLDER.event("spring") == "../../t/spring/index.html"
    assert FOLDER.event("spring", "table") == "../../t/spring/table.html"
    assert FOLDER.matches_page("spring", 1) == "../../t/spring/matches.html"
    assert FOLDER.matches_page("spring", 3) == "../../t/spring/matches-3.html"
    assert FOLDER.match("spring", 89) == "../../t/spring/89.html"
    assert FOLDER.bot("ab" * 32) == f"../../b/{'ab' * 8}.html"


def test_a_server_names_addresses() -> None:
    assert SERVER.home() == "/"
    assert SERVER.event("spring") == "/t/spring/"
    assert SERVER.event("spring", "table") == "/t/spring/table"
    assert SERVER.match("spring", 89) == "/t/spring/89"
    assert SERVER.event("a/b?c#d") == "/t/a%2Fb%3Fc%23d/"


def test_a_void_attempt_has_a_page_of_its_own() -> None:
    assert FOLDER.match("spring", 89, 1, "void") == "../../t/spring/89.1.html"
    assert FOLDER.match("spring", 89, 1, "first") == "../../t/spring/89.html"


def test_what_has_no_page_has_no_address() -> None:
    links = Links(
        root="", matches=frozenset({("spring", 1, 0), ("spring", 2, 1)}), bots=frozenset({"ab" * 32})
    )
    assert links.match("spring", 1, 3, "draw") == "t/spring/1.html"
    assert links.match("spring", 2, 1, "void") == "t/spring/2.1.html"
    assert links.match("spring", 2, 0, "void") is None
    assert links.match("spring", 2) is None
    assert links.match("cup", 1) is None
    assert links.bot("cd" * 32) is None
    assert links.bot("") is None


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a b", "<x>", "ä", "%2e"])
def test_names_that_are_no_file_names_are_called_by_their_identity(name: str) -> None:
    assert slugs_of({name: "0f" * 16, "cup": "1f" * 16}) == {name: "0f" * 16, "cup": "cup"}


def test_names_that_differ_by_case_alone_are_called_by_their_identities() -> None:
    assert slugs_of({"Cup": "0f" * 16, "cup": "1f" * 16}) == {"Cup": "0f" * 16, "cup": "1f" * 16}


@given(st.sets(st.text(min_size=1, max_size=12), max_size=12))
def test_no_two_share_an_address_and_none_leaves_its_folder(names: set[str]) -> None:
    slugs = slugs_of({name: f"{number:032x}" for number, name in enumerate(sorted(names))})
    assert len({slug.casefold() for slug in slugs.values()}) == len(names)
    assert all(
        slug.strip(".") and set(slug) <= set(map(chr, range(33, 127))) - set('/\\"<>')
        for slug in slugs.values()
    )


def test_matches_by_their_addresses() -> None:
    links = Links(root="../", slugs={"a/b": "0f"}, matches=frozenset({("a/b", 7, 0), ("a/b", 8, 2)}))
    assert links.match_at("a/b/7") == "../t/0f/7.html"
    assert links.match_at("a/b/7", 12) == "../t/0f/7.html#p12"
    assert links.match_at("a/b/8.2") == "../t/0f/8.2.html"
    assert links.match_at("a/b/8") is None
    assert links.match_text("a/b/8.2", "sgf") == "../t/0f/8.2.sgf"


def test_two_bots_have_one_page_in_a_folder_and_two_on_a_server() -> None:
    one, other = "ab" * 32, "cd" * 32
    links = Links(root="", pairs=frozenset({("cup", one, other)}), events=frozenset({"cup"}))
    assert links.versus("cup", one, other) == f"t/cup/v/{'ab' * 8}/{'cd' * 8}.html"
    assert links.versus("cup", other, one) == links.versus("cup", one, other)
    assert links.versus("spring", one, other) is None
    assert links.known_event("spring") is None
    assert SERVER.versus("cup", other, one) == f"/t/cup/v/{'cd' * 8}/{'ab' * 8}"
    assert SERVER.versus("cup", other, "") is None
    assert SERVER.known_event("cup") == "/t/cup/"
