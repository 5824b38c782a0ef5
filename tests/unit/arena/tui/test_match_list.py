"""A list of matches requests only the pages that are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arena.errors import StoreError
from arena.tui.widgets.match_list import MatchList
from dashboard import Host, lines_of, piloted, settle, stored_matches

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.widget import Widget


class Opened(Host):
    """A screen that records which matches are opened."""

    def __init__(self, *widgets: Widget) -> None:
        super().__init__(*widgets)
        self.heard: list[MatchList.Selected] = []

    def on_match_list_selected(self, message: MatchList.Selected) -> None:
        self.heard.append(message)


def _list_app(total: int) -> tuple[MatchList, Opened]:
    matches = MatchList(stored_matches(total))
    matches.styles.height = 10
    return matches, Opened(matches)


def test_a_hundred_thousand_matches_cost_a_few_pages() -> None:
    provider = stored_matches(100_000)
    matches = MatchList(provider)
    app = Opened(matches)

    async def act(pilot: Pilot[None]) -> None:
        matches.focus()
        await settle(pilot)
        assert matches.total == 100_000
        for key, first in (
            ("end", "rr-42/1 "),
            ("home", "rr-42/100000 "),
            ("pagedown", "rr-42/"),
            ("j", "rr-42/"),
            ("k", "rr-42/"),
        ):
            await pilot.press(key)
            await settle(pilot)
            assert any(line.startswith(">") and first in line for line in lines_of(matches)), key
        matches.go_to(50_000)
        await settle(pilot)
        assert any(line.startswith(">") and "rr-42/50000 " in line for line in lines_of(matches))
        await pilot.press("enter")

    piloted(app, act)
    assert len(provider.asked) <= 6
    assert {request.limit for request in provider.asked} == {200}
    (selected,) = app.heard
    assert isinstance(selected, MatchList.Selected)
    assert selected.row.stored == 50_000


def test_matches_are_sorted_by_keys_and_heads() -> None:
    matches, app = _list_app(500)

    async def act(pilot: Pilot[None]) -> list[tuple[str, bool]]:
        matches.focus()
        await settle(pilot)
        seen: list[tuple[str, bool]] = []
        for key in ("S", "s", "s"):
            await pilot.press(key)
            await settle(pilot)
            seen.append(matches.sort)
        assert "rr-42/1 " in lines_of(matches)[1]
        head = lines_of(matches)[0]
        for name in ("ply", "ply", "first", "match"):
            await pilot.click(matches, offset=(head.index(name) + 1, 0))
            await settle(pilot)
            seen.append(matches.sort)
        matches.reload(condition="bot:az")
        await settle(pilot)
        await pilot.click(matches, offset=(5, 3))
        assert matches.cursor == 2
        await pilot.double_click(matches, offset=(5, 4))
        return seen

    assert piloted(app, act) == [
        ("number", False),
        ("date", False),
        ("plies", False),
        ("plies", True),
        ("plies", False),
        ("plies", False),
        ("number", False),
    ]
    assert len(app.heard) == 1


def test_a_list_of_nothing_and_a_provider_that_fails() -> None:
    def broken(request: Any, query: object) -> Any:  # noqa: ANN401 # a provider
        del query
        raise StoreError(f"no such filter [/] \x1b[1m{request.condition}")

    empty, failing = MatchList(stored_matches(0)), MatchList(broken)
    empty.styles.height = failing.styles.height = 4
    app = Host(empty, failing)

    async def act(pilot: Pilot[None]) -> tuple[list[str], list[str]]:
        empty.focus()
        await pilot.press("enter", "end", "down", "pageup")
        return lines_of(empty), lines_of(failing)

    nothing, trouble = piloted(app, act)
    assert "no matches" in nothing[1]
    assert "no such filter [/] [1m" in trouble[1]


def test_new_matches_come_on_top_and_the_cursor_stays_on_its_match() -> None:
    provider = stored_matches(500)
    matches = MatchList(provider)
    matches.styles.height = 10
    app = Host(matches)

    async def act(pilot: Pilot[None]) -> None:
        matches.focus()
        await settle(pilot)
        provider.total = 503
        matches.look_again()
        assert "rr-42/500 " in lines_of(matches)[1], "what is there stays till the new rows come"
        await settle(pilot)
        assert matches.total == 503
        assert "rr-42/503 " in lines_of(matches)[1], "who is at the top sees the newest"
        matches.go_to(30)
        await settle(pilot)
        provider.total = 510
        matches.look_again()
        await settle(pilot)
        row = matches.row(matches.cursor)
        assert (matches.cursor, row and row.stored) == (37, 473)
        assert any(line.startswith(">") and "rr-42/473 " in line for line in lines_of(matches))

    piloted(app, act)


def test_the_head_of_the_sorted_column_keeps_its_arrow() -> None:
    heads: dict[str, str] = {}
    matches, app = _list_app(5)

    async def act(pilot: Pilot[None]) -> None:
        for sort in ("number", "plies", "date", "duration"):
            matches.reload(sort=sort, descending=True)
            await settle(pilot)
            heads[sort] = lines_of(matches)[0]

    piloted(app, act, (160, 12))
    assert "match v" in heads["number"], "a blank where there is room"
    assert "plyv" in heads["plies"], "none where the arrow would be cut"
    assert "began v" in heads["date"]
    assert "took v" in heads["duration"]
