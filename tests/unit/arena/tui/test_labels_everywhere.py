"""Forty bots that differ in one number have distinct labels, on every screen and at every size."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from arena.live.table_views import MatrixView, Series, StandingsView
from arena.live.views import LiveView
from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.start import SCREENS
from arena.tui.widgets.encounter_tables import Matrix
from arena.watching.feed import FeedUpdate
from arena.watching.store_feed import StoreFeed
from arena_db.records import Entrant
from arena_db.store import Store
from dashboard import piloted, screen_lines, settle
from stores import Cup, bot, new_tournament, plan

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

NUM_BOTS = 40
LABELS = {f"m p{number}" for number in range(1, NUM_BOTS + 1)}
_LABEL = re.compile(r"m p\d+")
_NAME = re.compile(r"mcts[: ](?:playouts=|p)(\d+)")
"""A label that is not shortened."""
_BAD = re.compile(r"m\.\.|\.\.p|mcts-\d|#\d")
"""A label that was cut, or has an ordinal."""


class Brief(StoreFeed):
    """A feed that ends as soon as there is nothing new."""

    def poll(self) -> FeedUpdate | None:
        """Return the next batch; end at the first poll without news."""
        batch = super().poll()
        return FeedUpdate(is_last=True) if batch is None else batch


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Store a tournament of 40 bots in which each bot has met two others with both sides."""
    path = tmp_path_factory.mktemp("forty") / "arena.db"
    bots = [bot("mcts", spec=f"mcts:playouts={number}") for number in range(1, NUM_BOTS + 1)]
    entrants = [Entrant(seat=seat, label=each.spec, bot=each, limit="") for seat, each in enumerate(bots)]
    matches = [replace(match, opening=()) for match in plan(NUM_BOTS, 2 * NUM_BOTS)]
    with Store.open(path) as store:
        record = store.tournaments.add(new_tournament(name="forty"), entrants, matches)
        cup = Cup(record, entrants, matches)
        played = [
            cup.match(n, num_opening=0, actions=(3, 2, 3, 2, 3, 2, 3)) for n in range(1, len(matches) + 1)
        ]
        store.matches.save([replace(each, times_ms=(1,) * 7, values=(None,) * 7) for each in played])
        store.tournaments.set_state(record.id, "finished")
    return path


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_one_label_a_bot_and_heads_that_are_unique(forty: Path, size: tuple[int, int]) -> None:
    app = Dashboard(
        Brief(str(forty), 1),
        SCREENS,
        store=str(forty),
        at=StartPoint("forty"),
        glyphs="ascii",
        reduce_motion=True,
    )

    async def act(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for screen in "124":
            await pilot.press(screen)
            await settle(pilot)
            lines = screen_lines(app)
            found = set(_LABEL.findall("\n".join(lines)))
            assert found, screen
            assert found <= LABELS
            assert not [line for line in lines if _BAD.search(line)], screen
        await pilot.press("3")
        await settle(pilot)
        rows = [line for line in screen_lines(app) if "forty/" in line]
        assert rows
        for line in rows:
            first, second = (int(number) for number in _NAME.findall(line))
            assert {first, second} <= set(range(1, NUM_BOTS + 1))
            assert abs(first - second) in {1, NUM_BOTS - 1}, "neighbours met"
            assert not _BAD.search(line)
        await pilot.press("4")
        await settle(pilot)
        (matrix,) = app.screen.query(Matrix).results(Matrix)
        heads = matrix.body(1000, 60)[0][0][0].split()
        assert heads == [str(rank) for rank in range(1, NUM_BOTS + 1)]
        named = ["".join(text for text, _ in line).split()[:3] for line in matrix.body(1000, 60)[1:]]
        assert {" ".join(row[1:]) for row in named} == LABELS
        assert [row[0] for row in named] == heads

    piloted(app, act, size)


def test_boards_news_tables_and_plot_say_the_same(forty: Path) -> None:
    feed = StoreFeed(str(forty), 1, is_read_only=True)
    view, facts = LiveView(), dict[str, object]()
    for _ in range(4):
        batch = feed.poll()
        if batch is not None:
            view, facts = batch.view or view, {**facts, **batch.facts}
    feed.close()
    labels = dict(view.labels)
    assert set(labels.values()) == LABELS
    assert len(labels) == NUM_BOTS
    for match in view.matches.values():
        assert match.labels == tuple(labels[seat.name] for seat in match.seats)
    for match in view.finished:
        assert match.labels == tuple(labels[name] for name in match.names)
        assert match.address == f"forty/{match.number}"
    for name in ("standings", "leaderboard"):
        table = facts[name]
        assert isinstance(table, StandingsView)
        assert {row.name: row.label for row in table.rows} == labels
    matrix, trend = facts["matrix"], facts["trend"]
    assert isinstance(matrix, MatrixView)
    assert dict(zip(matrix.names, matrix.labels, strict=True)) == labels
    assert {line.name for line in cast("list[Series]", trend)} == LABELS
