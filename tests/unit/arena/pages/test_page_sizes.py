"""Pages of a league of 40 bots have at most 60 kB of HTML, 12 kB compressed; larger fields are shortened."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Final

import pytest
from msgspec import structs

from api_clients import served
from arena.live.table_views import MatrixCell, MatrixView, StandingRow, StandingsView
from arena.pages.links import Links
from arena.pages.page_tables import MOST_CROSSED, MOST_DETAILED, MOST_RANKED, matrix, standings
from arena_db.store import Store
from leagues import League, add_league
from stores import digest

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from starlette.applications import Starlette

NUM_BOTS: Final = 40
MOST: Final = (60_000, 12_000)
"""Maximum size of any page in bytes, and compressed."""
SIZES: Final = {
    "/": (9_000, 2_200),
    "/bots": (10_000, 2_500),
    "/leaderboard": (23_000, 4_500),
    "/openings": (8_000, 2_500),
    "/t/league": (30_000, 5_500),
    "/t/league/table": (56_000, 9_000),
    "/t/league/matches": (58_000, 6_000),
    "/t/league/1": (30_000, 5_000),
    "/t/league/live": (44_000, 7_000),
    "/b/{one}": (35_000, 7_000),
    "/t/league/v/{one}/{other}": (14_000, 3_500),
}
"""Maximum sizes by kind of page; those of 10,000 matches differ by some digits."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a page of each kind of a league of 40 bots with names of usual length."""
    path: Path = tmp_path_factory.mktemp("sizes") / "arena.db"
    with Store.open(path, fast=True) as store:
        names = [
            f"{('mcts', 'minimax', 'alphazero', 'td-lambda')[seat % 4]}:strength={seat}" for seat in range(40)
        ]
        record = add_league(store, names, League(rounds=1))
        bots = [entrant.bot.identity[:16] for entrant in store.tournaments.entrants(record.id)]
    found: dict[str, bytes] = {}

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        for kind in SIZES:
            answer = await client.get(kind.format(one=bots[3], other=bots[17]))
            assert answer.status_code == 200, kind
            found[kind] = answer.content

    served(path, body)
    return found


@pytest.mark.parametrize("kind", SIZES)
def test_a_page_of_a_large_league_is_small(pages: dict[str, bytes], kind: str) -> None:
    size, packed = len(pages[kind]), len(gzip.compress(pages[kind], 6))
    assert size <= min(SIZES[kind][0], MOST[0]), size
    assert packed <= min(SIZES[kind][1], MOST[1]), packed


def _view(num: int) -> MatrixView:
    """Return a crosstable in which each score occurs, and one pair of bots has not met."""
    names = tuple(f"minimax:depth={number}" for number in range(num))
    cells = tuple(
        tuple(
            None
            if row == column
            else MatrixCell(games=0 if {row, column} == {0, 1} else 13, wins=(row * 5 + column) % 14)
            for column in range(num)
        )
        for row in range(num)
    )
    return MatrixView(
        names=names, labels=names, ranks=tuple(map(str, range(1, num + 1))), cells=cells, title="x"
    )


@pytest.mark.parametrize("num", [MOST_DETAILED, MOST_DETAILED + 1, MOST_CROSSED, MOST_CROSSED + 1, 200])
def test_a_crosstable_folds_as_the_field_grows(num: int) -> None:
    view = _view(num)
    identities = {name: digest(name) for name in view.names}
    text = matrix(view, Links(root="/", suffix="", index=""), "league", identities)
    shown = min(num, MOST_CROSSED)
    assert text.count("<tr>") == shown + 1
    assert text.count('scope="row"') == shown
    assert len(re.findall(r"<td[ >]", text)) == shown * (shown + 1)
    assert text.count('class="self"') == shown
    assert text.count("<td>-<") == 2
    # Each row links to the page of its bot, whose scores link to the same pages as cells of small tables.
    assert text.count('href="/b/') == shown
    is_detailed = num <= MOST_DETAILED
    assert text.count("/v/") == (num * (num - 1) - 2 if is_detailed else 0)
    assert text.count("<small>") == (num * (num - 1) - 2 if is_detailed else 0)
    assert (f"The best {MOST_CROSSED} of {num} bots" in text) == (num > MOST_CROSSED)
    assert len(text) <= MOST[0] - 2_000
    assert len(gzip.compress(text.encode(), 6)) <= MOST[1] - 1_000
    assert text.count('<th scope="col" class="cell">') == shown


def test_scores_of_opponents_lead_to_the_head_to_head(pages: dict[str, bytes]) -> None:
    text = pages["/b/{one}"].decode()
    assert len(set(re.findall(r'href="/t/league/v/[0-9a-f]{16}/[0-9a-f]{16}">\d', text))) == NUM_BOTS - 1


@pytest.mark.parametrize("num", [MOST_RANKED, MOST_RANKED + 1, 1_000])
def test_a_table_of_ratings_shows_so_many_bots_that_its_page_stays_small(num: int) -> None:
    rows = tuple(
        StandingRow(
            rank=place,
            name=f"minimax:depth={place}",
            label=f"minimax:depth={place}",
            elo=2500.0 - place,
            error=23.4,
            elo_low=2476.6 - place,
            elo_high=2523.4 - place,
            games=10_000,
            wins=4_321,
            draws=1_234,
            losses=4_445,
            points=4_938.0,
            los=0.512,
            faults=1,
        )
        for place in range(1, num + 1)
    )
    identities = {row.name: digest(row.name) for row in rows}
    text = standings(StandingsView(title="x", rows=rows), Links(root="/", suffix="", index=""), identities)
    assert text.count('href="/b/') == MOST_RANKED
    assert (f"The first {MOST_RANKED} of {num} bots." in text) == (num > MOST_RANKED)
    assert len(text) <= MOST[0] - 2_000
    assert len(gzip.compress(text.encode(), 6)) <= MOST[1]


def test_a_table_that_is_cut_says_nothing_of_the_rows_below() -> None:
    def table(*rows: StandingRow) -> str:
        return standings(StandingsView(title="x", rows=rows), Links(root="/", suffix="", index=""), {})

    row = StandingRow(
        rank=1, name="a", label="a", elo=1500.0, error=9.0, elo_low=1491.0, elo_high=1509.0, games=2
    )
    last = structs.replace(
        row, elo=9.0, elo_low=None, elo_high=18.0, faults=1, rests_on_prior=True, table=2, name="worst"
    )
    most = [row] * MOST_RANKED
    whole, cut = table(*most), table(*most, last)
    assert cut.replace(re.findall('<p class="note">The first 150 of 151 bots[^<]*</p>', cut)[0], "") == whole
    assert all(word in table(*most[1:], last) for word in ("Forfeits", "comes from the prior", "worst"))
