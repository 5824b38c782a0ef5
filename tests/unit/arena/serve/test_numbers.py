"""The numbers of pages and their twins are those that the commands print of the same store.

Three stores that were made by the real commands: a round robin with ties, a knockout with byes, and a
ladder with a void match and a disqualified bot.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import pytest
from typing_extensions import override

from api_clients import ask
from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BOTS: Final = ("random", "minimax:depth=1", "minimax:depth=9", "mcts:playouts=20", "mcts:playouts=30")
KINDS: Final = ("round-robin", "knockout", "ladder")
SAME: Final = (
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
)
"""Fields of a row of ratings that a twin and a command call the same."""


class League(NamedTuple):
    """A store with one tournament."""

    arena: CommandLine
    name: str
    others: tuple[str, ...]
    """Further tournaments of the store."""

    def told(self, *arguments: str) -> list[dict[str, Any]]:
        """Return what a command prints."""
        return cast("list[dict[str, Any]]", self.arena.objects(*arguments))

    def twin(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON of a page."""
        answer = ask(self.arena.db, path)
        assert answer.status_code == 200, path
        return answer.json()

    def tables(self, path: str) -> dict[str, list[list[str]]]:
        """Return the cells of the rows of all tables of a page, by caption."""
        answer = ask(self.arena.db, path, accept="text/html")
        assert answer.status_code == 200, path
        return {table.caption: table.rows for table in _read(answer.text).tables}


class _Table:
    def __init__(self) -> None:
        self.caption = ""
        self.rows: list[list[str]] = []


class _Tables(HTMLParser):
    """Reads tables: heads left out, words of a cell joined by blanks."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[_Table] = []
        self._in = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append(_Table())
        if tag in {"caption", "thead", "tbody"}:
            self._in = tag
        if self._in == "tbody" and tag == "tr":
            self.tables[-1].rows.append([])
        if self._in == "tbody" and tag in {"td", "th"}:
            self.tables[-1].rows[-1].append("")

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag in {"caption", "thead", "tbody"}:
            self._in = ""

    @override
    def handle_data(self, data: str) -> None:
        if self._in == "caption":
            self.tables[-1].caption += data
        if self._in == "tbody":
            cell = self.tables[-1].rows[-1]
            cell[-1] = f"{cell[-1]} {data}".strip()


def _read(html: str) -> _Tables:
    found = _Tables()
    found.feed(html)
    return found


@pytest.fixture(scope="module", params=KINDS)
def league(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[League]:
    arena = CommandLine(tmp_path_factory.mktemp(request.param))
    held = (*FAST, "--srand", "3")
    if request.param == "round-robin":
        arena("tournament", *BOTS[:4], *held, "--rounds", "2", "--name", "spring")
        arena("tournament", *BOTS[2:], *held, "--rounds", "1", "--name", "autumn", "--nodes", "50")
        yield League(arena, "spring", ("autumn",))
    elif request.param == "knockout":
        arena("tournament", *BOTS, *held, "--type", "knockout", "--pairs", "1", "--name", "cup")
        yield League(arena, "cup", ())
    else:
        arena("ladder", "run", "hill", *BOTS, *held, "--until", "error=400")
        (first, *_) = (row for row in arena.objects("matches", "--tournament", "hill") if row["number"] == 1)
        arena("void", "hill/1", "--reason", "a test")
        # The bot that is left out did not play the match that is void.
        out = next(bot for bot in BOTS if bot not in {first["first"], first["second"]})
        arena("entrants", "disqualify", "hill", out, "--reason", "another test")
        yield League(arena, "hill", ())


def test_the_stores_have_what_is_hard_to_count(league: League) -> None:
    shown, rows = league.twin(f"/t/{league.name}/index.json"), _matches(league)
    if league.name == "spring":
        assert sum(row["outcome"] == "draw" for row in rows) >= 3
    elif league.name == "cup":
        assert [row["why"] for row in shown["bracket"]].count("bye") == 3
    else:
        reasons = {row["void_reason"] for row in rows if row["void_reason"]}
        assert any("another test" in str(reason) for reason in reasons)
        assert any("another test" not in str(reason) for reason in reasons)


def _matches(league: League) -> list[dict[str, Any]]:
    return league.told("matches", "--tournament", league.name, "--limit", "1000")


def _check_board(rows: list[dict[str, Any]], told: list[dict[str, Any]]) -> None:
    assert len(rows) == len(told) > 0
    for row, known in zip(rows, told, strict=True):
        for key in SAME:
            # Fits over other rows end in other last digits.
            is_number = isinstance(known[key], float)
            assert row.get(key) == (pytest.approx(known[key], rel=1e-6) if is_number else known[key]), key
        assert row["faults"] == sum(known[kind] for kind in ("time", "illegal", "crash", "other"))


def _cells(row: Mapping[str, Any], num_cells: int) -> list[str]:
    """Return the cells of a row of ratings, as a page writes what the command says."""
    mark = ("?" if row["rests_on_prior"] else "") + ("*" if row["tested"] else "")
    faults = sum(row[kind] for kind in ("time", "illegal", "crash", "other"))
    cells = [
        str(row["rank"]),
        row["name"],
        f"{row['elo']:.0f}{mark}",
        "" if row["error"] is None else f"{row['error']:.0f}",
        f"{100 * row['points'] / row['games']:.1f}%",
        *(str(row[key]) for key in ("games", "wins", "draws", "losses")),
        "" if row["los"] is None else f"{100 * row['los']:.1f}%",
        str(faults or ""),
    ]
    return cells[:num_cells]


def _shown(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of a table of ratings without their strokes, names in one piece."""
    # Beside a bot without matches, which is a table of its own, places are numbered `1.1`.
    return [[row[0].rpartition(".")[2], row[1].replace(" ", ""), *row[2:4], *row[5:]] for row in rows]


def test_leaderboards(league: League) -> None:
    boards = league.twin("/leaderboard.json")["boards"]
    tables = league.tables("/leaderboard")
    assert len(boards) == len(tables) == 1 + len(league.others)
    for board in boards:
        told = league.told("leaderboard", "--game", board["game"], "--pool", board["pool"])
        _check_board(board["rows"], told)
        shown = _shown(tables[f"{board['title']}: ratings, best first"])
        assert shown == [_cells(row, len(shown[0])) for row in told]


def test_standings(league: League) -> None:
    for name in (league.name, *league.others):
        told = league.told("leaderboard", "--tournament", name)
        rows = league.twin(f"/t/{name}/index.json")["standings"]["rows"]
        # The standings also have a bot whose matches are all void, which the command leaves out.
        _check_board([row for row in rows if row["games"]], told)
        shown = _shown(league.tables(f"/t/{name}")[f"{name}: ratings, best first"])
        assert [row for row in shown if row[5] != "0"] == [_cells(row, len(shown[0])) for row in told]


def test_crosstables(league: League) -> None:
    told = {(cell["bot"], cell["opponent"]): cell for cell in league.told("crosstable", league.name)}
    view = league.twin(f"/t/{league.name}/table.json")
    (table,) = league.tables(f"/t/{league.name}/table").values()
    assert len(told) == len(view["names"]) * (len(view["names"]) - 1)
    for name, line, (_, shown_name, *shown) in zip(view["names"], view["cells"], table, strict=True):
        assert shown_name.replace(" ", "") == name
        for opponent, cell, words in zip(view["names"], line, shown, strict=True):
            if name == opponent:
                assert cell is None
                continue
            known = told[name, opponent]
            triple = [known[key] for key in ("wins", "draws", "losses")]
            assert [cell.get(key, 0) for key in ("wins", "draws", "losses")] == triple
            assert cell.get("games", 0) == sum(triple)
            same = ("elo", "error", "pairs", "different_pairs", "openings")
            assert [cell.get(key) or None for key in same] == [known[key] or None for key in same]
            is_met = known["score"] is not None
            assert words == (f"{100 * known['score']:.0f} {'-'.join(map(str, triple))}" if is_met else "-")


def test_places_and_brackets(league: League) -> None:
    (told,) = league.told("show", league.name)
    view = league.twin(f"/t/{league.name}/index.json")
    assert list(view["bracket"]) == told["bracket"]
    assert bool(told["bracket"]) == (league.name == "cup")
    html = ask(league.arena.db, f"/t/{league.name}", accept="text/html").text
    for row in told["bracket"]:
        assert isinstance(row, dict)
        if row["why"] == "bye" or row["state"] == "not needed":
            continue
        box = html[html.index(f">{row['encounter']}<") :].partition("</li>")[0]
        for side in ("first", "second"):
            assert f">{row[f'{side}_points']:g}</b>" in box


def test_bots(league: League) -> None:
    bots = league.twin("/bots.json")["bots"]
    assert len(bots) >= 4
    shown = {row[0].replace(" ", ""): row for rows in league.tables("/bots").values() for row in rows}
    for bot in bots:
        if not bot["num_matches"]:
            assert league.name == "hill"
            continue
        (told,) = league.told("bots", "show", f"~{bot['identity']}")
        del told["type"], told["schema"]
        assert league.twin(f"/b/{bot['identity'][:16]}.json")["page"] == told
        rows = [row for row in _all_matches(league) if bot["identity"] in _identities(row)]
        assert bot["num_matches"] == sum(_counts(row) for row in rows)
        assert str(bot["num_matches"]) in shown[bot["name"]]


def _all_matches(league: League) -> list[dict[str, Any]]:
    return league.told("matches", "--limit", "1000")


def _identities(row: Mapping[str, Any]) -> set[Any]:
    return {row["first_identity"], row["second_identity"]}


def _counts(row: Mapping[str, Any]) -> bool:
    return bool(row["rated"]) and not row["void_reason"] and row["outcome"] != "void"


def test_head_to_heads(league: League) -> None:
    view = league.twin(f"/t/{league.name}/index.json")
    num_met = 0
    for name in view["matrix"]["names"]:
        for opponent in view["matrix"]["names"]:
            pair = view["identities"][name][:16], view["identities"][opponent][:16]
            path = f"/t/{league.name}/v/{pair[0]}/{pair[1]}"
            if name == opponent or ask(league.arena.db, f"{path}.json").status_code == 404:
                continue
            (told,) = league.told("versus", f"~{pair[0]}", f"~{pair[1]}", "--tournament", league.name)
            assert told["meetings"] == [league.twin(f"{path}.json")["meeting"]]
            num_met += 1
    assert num_met >= 6


def test_lists_of_matches(league: League) -> None:
    told = _matches(league)
    found = league.twin(f"/t/{league.name}/matches.json")
    same = ("number", "attempt", "outcome")
    assert found["total"] == len(told)
    rows = [{key: row.get(key, 0) for key in same} for row in found["rows"]]
    assert rows == [{key: row[key] for key in same} for row in told[: len(rows)]]
    (table,) = league.tables(f"/t/{league.name}/matches").values()
    assert [row[5] for row in table] == [str(len(row["actions"])) for row in told[: len(rows)]]
