"""The figures of all pages and of their JSON equal the output of the commands for the same store.

Stores that were made by the real commands: a round robin with draws and a graded match, a Swiss tournament, a
knockout with byes, a gauntlet, and a ladder with a void match and a disqualified bot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from command_line import FAST, CommandLine
from page_numbers import PageNumbers
from page_reading import Shown, pages_of

if TYPE_CHECKING:
    from pathlib import Path

BOTS: Final = ("random", "minimax:depth=1", "minimax:depth=9", "mcts:playouts=20", "mcts:playouts=30")
HELD: Final = (*FAST, "--srand", "3")


@pytest.fixture(scope="module")
def cups(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    arena = CommandLine(tmp_path_factory.mktemp("cups"))
    arena("tournament", *BOTS[:4], *HELD, "--rounds", "2", "--name", "spring")
    arena("tournament", *BOTS[2:], *HELD, "--rounds", "1", "--name", "autumn", "--nodes", "50")
    arena("tournament", *BOTS, *HELD, "--type", "knockout", "--pairs", "1", "--name", "cup")
    double = ("--type", "knockout", "--double", "--pairs", "1")
    arena("tournament", *BOTS[:4], *HELD, *double, "--name", "double-cup")
    arena("archive", "double-cup")
    arena("tournament", *BOTS, *HELD, "--type", "swiss", "--pairs", "1", "--rounds", "2", "--name", "open")
    arena("tournament", *BOTS[:3], *HELD, "--type", "gauntlet", "--rounds", "1", "--name", "gauntlet")
    arena("show", "spring/1", "--grade")
    return arena


@pytest.fixture(scope="module")
def pages(cups: CommandLine) -> dict[str, Shown]:
    return pages_of(cups.db)


@pytest.fixture(scope="module")
def hill(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    arena = CommandLine(tmp_path_factory.mktemp("hill"))
    arena("ladder", "run", "hill", *BOTS, *HELD, "--until", "error=400")
    (first, *_) = (row for row in arena.objects("matches", "--tournament", "hill") if row["number"] == 1)
    arena("void", "hill/1", "--reason", "a test")
    # The omitted bot did not play the void match.
    out = next(bot for bot in BOTS if bot not in {first["first"], first["second"]})
    arena("entrants", "disqualify", "hill", out, "--reason", "another test")
    return arena


def test_every_page_of_fixed_events_has_the_figures_of_the_commands(
    cups: CommandLine, pages: dict[str, Shown]
) -> None:
    assert sum(row["outcome"] == "draw" for row in cups.objects("matches", "--tournament", "spring")) >= 3
    assert [row["why"] for row in pages["/t/cup/"].twin["bracket"]].count("bye") == 3
    encounters = [row["encounter"] for row in pages["/t/double-cup/"].twin["bracket"]]
    assert any("losers' round" in encounter for encounter in encounters)
    assert len(pages["/t/open/"].twin["places"]) == len(BOTS)
    assert len(pages["/leaderboard"].twin["boards"]) == 2
    _check(cups.db, PageNumbers(cups), pages)


def test_every_page_of_a_ladder_with_void_matches_has_the_figures_of_the_commands(hill: CommandLine) -> None:
    pages = pages_of(hill.db)
    rows = pages["/t/hill/"].twin["standings"]["rows"]
    assert [row["games"] for row in rows].count(0) == 1
    reasons = {row["void_reason"] for row in hill.objects("matches", "--tournament", "hill", "--unrated")}
    assert any("another test" in str(reason) for reason in reasons)
    assert any(str(reason) == "a test" for reason in reasons)
    _check(hill.db, PageNumbers(hill), pages)


def _check(db: Path, numbers: PageNumbers, pages: dict[str, Shown]) -> None:
    """Compare all pages of a store, which must have every kind of page."""
    num = numbers.check(pages)
    assert num.total() == len(pages), db
    assert set(num) == set(numbers.kinds), db


@pytest.mark.parametrize(
    ("address", "before", "after"),
    [
        ("/", ">24/24<", ">25/24<"),
        ("/t/spring/1", " (rules)<", " (crash)<"),
        ("/t/spring/matches", ">rules<", ">crash<"),
        ("/t/spring/table", "<small>", "<small>1"),
        ("/leaderboard", "%<", "1%<"),
    ],
)
def test_a_figure_that_differs_is_found(
    cups: CommandLine, pages: dict[str, Shown], address: str, before: str, after: str
) -> None:
    shown = pages[address]
    assert before in shown.html
    wrong = Shown(shown.html.replace(before, after, 1), shown.twin)
    with pytest.raises(AssertionError):
        PageNumbers(cups).check({address: wrong})
