"""Compares the figures of every page of a store, and of its JSON, with the output of the commands."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from arena.pages.page_tables import MOST_CROSSED, MOST_DETAILED, MOST_RANKED
from page_cells import bot_tables, match_cells, next_move_cells, rating_cells, versus_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from command_line import CommandLine
    from page_reading import Shown

    Rows = list[dict[str, Any]]

_SAME: Final = [
    "name",
    "rank",
    "elo",
    "error",
    "elo_low",
    "elo_high",
    "rests_on_prior",
    "games",
    "wins",
    "draws",
    "losses",
    "points",
    "score_first",
    "score_second",
    "los",
    "tested",
]
"""Fields of a row of ratings that have the same name in JSON and in the command's output."""
_TIE_BREAKS: Final = [
    "place",
    "name",
    "points",
    "buchholz",
    "cut_one",
    "median",
    "sonneborn_berger",
    "direct",
    "wins",
]
_CLOSE: Final = 1e-6
"""Tolerance: fits of the same results over different rows differ in the last digits."""


class PageNumbers:
    """The figures of a store, as the commands print them, and comparisons of its pages with these figures."""

    def __init__(self, arena: CommandLine) -> None:
        """Read what the commands print of all tournaments and matches."""
        self._arena = arena
        self._events = self._told("tournaments")
        self._all_events = self._told("tournaments", "--all")
        self._matches = self._told("matches", "--unrated", "--limit", "1000000")
        self._by_address = {row["address"]: row for row in self._matches}
        self.kinds: dict[str, Callable[..., None]] = {
            r"/": self._home,
            r"/leaderboard": self._leaderboard,
            r"/bots": self._bots,
            r"/b/([0-9a-f]+)": self._bot,
            r"/t/([^/]+)/": self._event,
            r"/t/([^/]+)/table": self._crosstable,
            r"/t/([^/]+)/matches(?:-\d+)?": self._list,
            r"/t/([^/]+)/v/([0-9a-f]+)/([0-9a-f]+)": self._versus,
            r"/t/([^/]+)/(\d+(?:\.\d+)?)": self._match,
            r"/t/([^/]+)/live": self._live,
            r"/openings": self._openings,
        }
        """The comparisons, by the pattern of a page's path."""

    def _told(self, *arguments: str) -> Rows:
        return self._arena.objects(*arguments)

    def check(self, pages: Mapping[str, Shown]) -> Counter[str]:
        """Compare all pages; return the number of pages of each kind.

        Raises:
            AssertionError: a figure differs, or a kind of page has no comparison; names the page.
        """
        num: Counter[str] = Counter()
        for address, shown in pages.items():
            path = urlsplit(address).path
            kinds = ((re.fullmatch(kind, path), kind, check) for kind, check in self.kinds.items())
            found, kind, check = next((each for each in kinds if each[0]), (None, "", self._home))
            assert found is not None, f"{address}: no comparison for this kind of page"
            try:
                is_asked = check == self._openings
                check(
                    shown, *(parse_qs(urlsplit(address).query),) if is_asked else map(unquote, found.groups())
                )
            except AssertionError as error:
                error.add_note(f"page {address}")
                raise
            num[kind] += 1
        return num

    def _home(self, shown: Shown) -> None:
        assert len(shown.twin["events"]) == len(self._events)
        rows = {row[0]: row for caption in ("Events",) for row in shown.tables.get(caption, [])}
        for event, row in zip(self._events, shown.twin["events"], strict=True):
            same = ("name", "game", "state")
            assert [row[key] for key in same] == [event[key] for key in same]
            assert (row["done"], row["planned"]) == (event["num_done"], event["num_planned"])
            cells = rows[event["name"]]
            assert cells[2:5] == [f"{event['num_done']}/{event['num_planned']}", row["type"], event["game"]]
        self._newest(shown, "The newest matches of all events", self._matches)

    def _newest(self, shown: Shown, caption: str, told: Rows) -> None:
        twins = shown.twin["newest"]
        assert len(twins) == min(12, len(told))
        self._same_matches(twins, told)
        assert shown.tables.get(caption, []) == [match_cells(row) for row in told[: len(twins)]]

    def _same_matches(self, twins: Rows, told: Rows) -> None:
        for twin, row in zip(twins, told, strict=False):
            same = ("number", "attempt", "outcome", "termination", "tournament", "void_reason")
            assert [twin.get(key) or None for key in same] == [row[key] or None for key in same]
            assert twin["names"] == [row["first"], row["second"]]
            assert (twin["plies"], twin["stored"]) == (len(row["actions"]), row["id"])

    def _leaderboard(self, shown: Shown) -> None:
        boards = shown.twin["boards"]
        assert len(boards) == len(shown.tables) == len({(e["game"], e["pool"]) for e in self._rated_events()})
        for board in boards:
            told = self._told("leaderboard", "--game", board["game"], "--pool", board["pool"])
            _same_board(board["rows"], told)
            _same_cells(shown.tables[f"{board['title']}: ratings, best first"], board["rows"], told)

    def _rated_events(self) -> Rows:
        rated = {row["tournament"] for row in self._matches if _counts(row)}
        return [event for event in self._all_events if event["name"] in rated]

    def _bots(self, shown: Shown) -> None:
        (table,) = shown.tables.values()
        rows = {row[0].replace(" ", ""): row for row in table}
        for bot in shown.twin["bots"]:
            own = [row for row in self._matches if bot["identity"] in _identities(row)]
            assert bot["num_matches"] == sum(map(_counts, own)), bot["name"]
            assert str(bot["num_matches"]) in rows[bot["name"].replace(" ", "")]

    def _bot(self, shown: Shown, identity: str) -> None:
        is_rated = any(
            each.startswith(identity) for row in self._matches if _counts(row) for each in _identities(row)
        )
        if not is_rated:
            assert shown.twin["page"]["games"] == 0
            return
        (told,) = self._told("bots", "show", f"~{shown.twin['identity']}")
        del told["type"], told["schema"]
        assert shown.twin["page"] == told
        for caption, rows in bot_tables(told, shown.twin["name"]):
            assert shown.tables.get(caption, []) == rows, caption

    def _event(self, shown: Shown, name: str) -> None:
        own = self._of(name)
        told = self._told("leaderboard", "--tournament", name) if any(map(_counts, own)) else []
        if told:
            rows = shown.twin["standings"]["rows"]
            _same_board(rows, told)
            changes = self._told("show", name)[0].get("changes", [])
            gone = {change["subject"] for change in changes if change["kind"] == "disqualify"}
            assert {row["name"] for row in rows if row.get("standing") == "out"} == gone
            _same_cells(shown.tables[f"{name}: ratings, best first"], rows, told)
        (record,) = self._told("show", name)
        assert list(shown.twin["bracket"]) == record["bracket"]
        for row in record["bracket"]:
            if row["why"] == "bye" or row["state"] == "not needed":
                continue
            box = shown.html[shown.html.index(f">{escape(row['encounter'])}<") :].partition("</li>")[0]
            for side in ("first", "second"):
                assert f">{row[f'{side}_points']:g}</b>" in box
        if shown.twin["places"]:
            self._places(shown, self._told("crosstable", name, "--tie-breaks"))
        self._newest(shown, "The newest matches", own)

    def _places(self, shown: Shown, told: Rows) -> None:
        twins = [{key: row.get(key) for key in _TIE_BREAKS} for row in shown.twin["places"]]
        assert twins == [{key: row[key] for key in _TIE_BREAKS} for row in told]
        cells = shown.tables["Places: points, then tie-breaks"]
        assert cells == [
            [row["name"] if key == "name" else _short(row[key]) for key in _TIE_BREAKS] for row in told
        ]

    def _of(self, name: str) -> Rows:
        return [row for row in self._matches if row["tournament"] == name]

    def _live(self, shown: Shown, name: str) -> None:
        """Compare the count of matches, the only figure on the live page of a finished tournament."""
        (event,) = (each for each in self._all_events if each["name"] == name)
        assert f"{event['num_done']}" in shown.html

    def _openings(self, shown: Shown, asked: Mapping[str, list[str]]) -> None:
        """Compare a position, except the values of perfect play: no page loads the solver."""
        games, moves = asked.get("game", []), asked.get("moves", [""])[0].split()
        told = self._told("openings", *moves, *(f"--game={game}" for game in games))
        found = shown.twin["position"]
        assert [found.get(key, 0) for key in ("games", "transposed", "ended")] == [
            told[0][key] for key in ("matches", "transposed", "ended")
        ]
        same = [
            "move",
            "action",
            "games",
            "given",
            "wins",
            "draws",
            "losses",
            "different",
            "score",
            "score_low",
            "score_high",
        ]
        assert [[row[key] for key in same] for row in found["rows"]] == [
            [row[key] for key in same] for row in told
        ]
        assert shown.tables["Next moves, most played first"] == [*next_move_cells(told)]

    def _crosstable(self, shown: Shown, name: str) -> None:
        told = {(cell["bot"], cell["opponent"]): cell for cell in self._told("crosstable", name)}
        view, (table,) = shown.twin, shown.tables.values()
        assert len(told) == len(view["names"]) * (len(view["names"]) - 1)
        is_detailed, shown_names = len(view["names"]) <= MOST_DETAILED, view["names"][:MOST_CROSSED]
        for bot, line, (_, words, *cells) in zip(shown_names, view["cells"], table, strict=False):
            assert words.replace(" ", "") == bot.replace(" ", "")
            # The page of a very large field has only the best bots; its JSON has all.
            for opponent, cell, text in zip_longest(view["names"], line, cells, fillvalue=None):
                if bot == opponent:
                    assert cell is None
                    continue
                assert cell is not None
                known = told[bot, opponent]
                triple = [known[key] for key in ("wins", "draws", "losses")]
                assert [cell.get(key, 0) for key in ("wins", "draws", "losses")] == triple
                assert cell.get("games", 0) == sum(triple)
                same = ("elo", "error", "pairs", "different_pairs", "openings")
                assert [cell.get(key) or None for key in same] == [known[key] or None for key in same]
                if opponent not in shown_names:
                    continue
                is_met = known["score"] is not None
                more = f" {'-'.join(map(str, triple))}" if is_detailed else ""
                assert text == (f"{100 * known['score']:.0f}{more}" if is_met else "-")

    def _list(self, shown: Shown, name: str) -> None:
        told, view = self._of(name), shown.twin
        assert view["total"] == len(told)
        first = (view["number"] - 1) * 150
        rows = told[first : first + len(view["rows"])]
        assert view["number"] < view["num_pages"] or first + len(rows) == len(told)
        self._same_matches(view["rows"], rows)
        (table,) = shown.tables.values()
        assert table == [match_cells(row) for row in rows]

    def _versus(self, shown: Shown, name: str, bot: str, opponent: str) -> None:
        (told,) = self._told("versus", f"~{bot}", f"~{opponent}", "--tournament", name)
        assert told["meetings"] == [shown.twin["meeting"]]
        for caption, rows in versus_tables(shown.twin["labels"], shown.twin["meeting"]):
            assert shown.tables.get(caption, []) == rows, caption

    def _match(self, shown: Shown, name: str, number: str) -> None:
        row = self._by_address[f"{name}/{number}"]
        match = shown.twin["match"]
        same = ("number", "attempt", "outcome", "termination", "game", "actions")
        assert [match[key] for key in same] == [row[key] for key in same]
        assert match.get("void_reason", "") == row["void_reason"]
        assert (match["stored"], len(match["moves"])) == (row["id"], len(row["actions"]))
        times = [move.get("elapsed_ms") for move in match["moves"]][row["num_opening"] :]
        assert times == row["times_ms"][row["num_opening"] :]
        result = {"1/2-1/2": "1/2", "*": "void"}.get(row["result"], row["result"])
        assert f">{result} ({row['termination']})<" in shown.html
        void = f"<dt>Void</dt><dd>{escape(row['void_reason'])}<"
        assert (void in shown.html) == bool(row["void_reason"])
        words = f"void ({row['void_reason']}): {row['reason']}" if row["void_reason"] else row["reason"]
        assert shown.twin["ending"] == words


def _same_board(rows: Rows, told: Rows) -> None:
    assert len(rows) == len(told) > 0
    for row, known in zip(rows, told, strict=True):
        for key in _SAME:
            has, wanted = row.get(key), known[key]
            is_close = (
                isinstance(wanted, float)
                and isinstance(has, int | float)
                and abs(has - wanted) <= _CLOSE * abs(wanted)
            )
            assert has == wanted or is_close, key
        assert row["faults"] == sum(known[kind] for kind in ("time", "illegal", "crash", "other"))


def _same_cells(table: list[list[str]], rows: Rows, told: Rows) -> None:
    # With several tables places are numbered `1.1`; the stroke is a picture.
    shown = [[cells[0].rpartition(".")[2], cells[1], *cells[2:4], *cells[5:]] for cells in table]
    for cells, row in zip(shown, rows[:MOST_RANKED], strict=True):
        if row.get("standing"):
            # In a ladder also `new` and `left`.
            words = " disqualified" if row["standing"] == "out" else f" {row['standing']}"
            assert cells[1].endswith(words)
            cells[1] = cells[1].removesuffix(words)
    assert shown == [rating_cells(row, len(shown[0])) for row in told[:MOST_RANKED]]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _identities(row: Mapping[str, Any]) -> Iterable[str]:
    return {row["first_identity"], row["second_identity"]}


def _counts(row: Mapping[str, Any]) -> bool:
    return bool(row["rated"]) and not row["void_reason"] and row["outcome"] != "void"
