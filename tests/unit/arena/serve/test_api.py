"""Answers of the API: the numbers of the commands, valid by their type and by the schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import pytest

import openapi_reference
from api_clients import ask, served
from arena.results.rating_tables import standings
from arena.serve.api.api_rows import API_ROWS
from arena.serve.rows import DataRoute
from arena_db.store import Store
from json_schemas import faults

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from starlette.applications import Starlette

    from command_line import CommandLine

API = "/api/v1"
DOCUMENT: dict[str, Any] = json.loads(openapi_reference.PAGE.read_bytes())
EQUAL = [
    ("tournaments", ["tournaments"]),
    ("tournaments?all=true", ["tournaments", "--all"]),
    ("tournaments/spring", ["show", "spring"]),
    ("tournaments/cup", ["show", "cup"]),
    ("tournaments/spring/table", ["crosstable", "spring"]),
    ("tournaments/spring/table?tie_breaks=true", ["crosstable", "spring", "--tie-breaks"]),
    ("matches", ["matches"]),
    ("matches?bot=mcts&vs=random", ["matches", "--bot", "mcts", "--vs", "random"]),
    ("matches?ply=%3E5&ply=%3C8", ["matches", "--ply", ">5", "--ply", "<8"]),
    ("matches?where=bot:mcts*+ply%3C8", ["matches", "--where", "bot:mcts* ply<8"]),
    ("matches?unrated=true&tournament=spring", ["matches", "--unrated", "--tournament", "spring"]),
    ("matches?result=1-0&limit=3", ["matches", "--result", "1-0", "--limit", "3"]),
    ("matches?before=spring/3", ["matches", "--before", "spring/3"]),
    ("matches?graded=yes", ["matches", "--graded", "yes"]),
    ("matches/spring/1", ["show", "spring/1"]),
    ("matches/spring/3", ["show", "spring/3"]),
    ("matches/spring/2", ["show", "spring/2"]),
    ("matches/cup/1", ["show", "cup/1"]),
    ("matches/1", ["show", "1"]),
    ("matches/e/vil%20%E2%80%AE/2", ["show", "e/vil \u202e/2"]),
    ("matches/e/vil%20%E2%80%AE/5", ["show", "e/vil \u202e/5"]),
    ("bots/mcts", ["bots", "show", "mcts"]),
    ("bots/random", ["bots", "show", "random"]),
    ("bots/mcts/versus/random", ["versus", "mcts", "random"]),
    ("bots/mcts/versus/random?tournament=spring", ["versus", "mcts", "random", "--tournament", "spring"]),
    ("leaderboard", ["leaderboard"]),
    ("leaderboard?game=tic-tac-toe", ["leaderboard", "--game", "tic-tac-toe"]),
    ("leaderboard?bot=mcts", ["leaderboard", "--bot", "mcts"]),
    ("leaderboard?tournament=spring&pool=all", ["leaderboard", "--tournament", "spring", "--pool", "all"]),
]


def _row(path: str) -> DataRoute:
    """Return the route of a path of the API."""
    parts = path.partition("?")[0].removeprefix(f"{API}/").split("/")
    forms = {
        **{
            (kind,): f"{API}/{kind}" for kind in ("tournaments", "matches", "bots", "leaderboard", "openings")
        },
        ("tournaments", 2): f"{API}/tournaments/{{tournament}}",
        ("bots", 2): f"{API}/bots/{{bot}}",
        ("bots", 4): f"{API}/bots/{{bot}}/versus/{{opponent}}",
    }
    wanted = forms.get((parts[0],)) if len(parts) == 1 else forms.get((parts[0], len(parts)))
    if parts[0] == "matches" and len(parts) > 1:
        wanted = f"{API}/matches/{{address:path}}"
    elif parts[0] == "tournaments" and len(parts) == 3:
        wanted = f"{API}/tournaments/{{tournament}}/{parts[2]}"
    return next(row for row in API_ROWS if isinstance(row, DataRoute) and row.path == wanted)


def _check(path: str, answer: httpx.Response) -> Any:  # noqa: ANN401 - JSON
    """Decode an answer strictly by its type, and validate it by its schema; return the JSON."""
    assert answer.status_code == 200, answer.text
    row = _row(path)
    found = answer.json()
    kinds = [kind for kind in (row.answer, row.other_answer) if kind is not None]
    read: list[Any] = []
    for kind in kinds:
        try:
            read.append(msgspec.to_builtins(msgspec.json.decode(answer.content, type=kind)))
        except msgspec.ValidationError as error:
            assert len(kinds) > 1, error  # noqa: PT017 - the other form fits
    assert found in read or json.loads(json.dumps(found)) in [
        json.loads(msgspec.json.encode(r)) for r in read
    ]
    operation = DOCUMENT["paths"][row.path.replace(":path", "")]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert list(faults(found, schema, DOCUMENT)) == []
    return found


@pytest.mark.parametrize(("path", "words"), EQUAL, ids=lambda each: each if isinstance(each, str) else "")
def test_an_answer_is_what_the_command_prints(league: CommandLine, path: str, words: list[str]) -> None:
    found = _check(path, ask(league.db, f"{API}/{path}"))
    printed: Any = json.loads(league(*words, "--format", "json").stdout)
    assert found
    if "analysis" in printed and printed["address"] != "spring/1":
        # Only this match has a stored grading. The command asks the solver about others; a server must not,
        # because its clients could keep it busy.
        assert found["analysis"] is None
        printed["analysis"] = None
    assert found == printed


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", []),
        ("?moves=b3", ["b3"]),
        (
            "?game=tic-tac-toe&bot=mcts&unrated=true",
            ["--game", "tic-tac-toe", "--bot", "mcts", "--unrated"],
        ),
    ],
)
def test_openings_are_those_of_the_command_but_for_the_solver(
    league: CommandLine, query: str, words: list[str]
) -> None:
    found = _check("openings", ask(league.db, f"{API}/openings{query}"))
    printed: Any = json.loads(league("openings", *words, "--format", "json").stdout)
    assert found == [row | {"perfect": None, "plies": None} for row in printed]
    assert found


@pytest.mark.parametrize("name", ["standings", "entrants", "bracket"])
def test_tables_that_no_command_prints_alone(league: CommandLine, name: str) -> None:
    whole: Any = json.loads(league("show", "cup", "--format", "json").stdout)
    path = f"{API}/tournaments/cup/{name}"
    found = _check(path, ask(league.db, path))
    assert len(found) == {"standings": 2, "entrants": 2, "bracket": 1}[name]
    if name == "standings":
        with Store.open(league.db, read_only=True) as store:
            record = store.tournaments.find("cup")
            assert record is not None
            tables = standings(store, record)
        rated = [(row.name, row.elo, row.error, row.games) for table in tables for row in table.rows]
        assert [(row["name"], row["elo"], row["error"], row["games"]) for row in found] == rated
    elif name == "entrants":
        bare = [{k: v for k, v in row.items() if k not in {"type", "schema", "state"}} for row in found]
        assert bare == whole["bots"]
    else:
        assert [{k: v for k, v in row.items() if k not in {"type", "schema"}} for row in found] == whole[
            "bracket"
        ]


def test_bots_are_listed_with_what_they_played(league_path: Path) -> None:
    found = _check("bots", ask(league_path, f"{API}/bots"))
    with Store.open(league_path, read_only=True) as store:
        assert {bot["identity"] for bot in found} == set(store.names.bots())
        matches = [
            match for record in store.tournaments.newest() for match in store.matches.of_tournament(record.id)
        ]
    for bot in found:
        own = [m for m in matches if bot["identity"] in {m.first, m.second} and not m.void_reason]
        assert bot["games"] == len(own)
    assert [bot["forfeits"] for bot in found if bot["forfeits"]] == [{"crash": 1}]


def test_a_bot_is_found_by_digits_of_its_identity_and_by_its_address(league_path: Path) -> None:
    bots = ask(league_path, f"{API}/bots").json()
    bot = next(bot for bot in bots if bot["name"] == "mcts")
    by_digits = _check("bots/x", ask(league_path, f"{API}/bots/{bot['identity'][:12]}"))
    by_address = _check("bots/x", ask(league_path, f"{API}/bots/{quote(bot['address'], safe='')}"))
    assert by_digits["games"] == by_address["games"] > 0
    assert by_digits["bot"] == f"~{bot['identity'][:12]}"


def test_pages_of_a_list_join_without_gap_or_repeat(league_path: Path) -> None:
    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        for path in (f"{API}/matches?unrated=true", f"{API}/tournaments?all=1"):
            whole = (await client.get(path)).json()
            read: list[Any] = []
            following: str | None = f"{path}&limit=2"
            while following is not None:
                answer = await client.get(following)
                assert len(answer.json()) <= 2
                read += answer.json()
                assert len(read) <= len(whole)
                following = answer.links.get("next", {}).get("url")
            assert read == whole

    served(league_path, body)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("matches?bott=mcts", 400, ["bott", 'did you mean "bot"']),
        ("matches?limit=0", 400, ["limit"]),
        ("matches?limit=1001", 400, ["limit"]),
        ("matches?limit=-1", 400, ["limit"]),
        ("matches?limit=%D9%A3", 400, ["limit"]),
        ("matches?limit=1x", 400, ["limit"]),
        ("matches?limit=" + "9" * 5000, 400, ["limit"]),
        ("matches?limit=1&limit=2", 400, ["limit", "twice"]),
        ("matches?ply=x", 400, ["ply", "x"]),
        ("matches?result=2-0", 400, ["result", "2-0"]),
        ("matches?end=explodes", 400, ["end", "explodes"]),
        ("matches?where=plly%3C3", 400, ["plly", 'did you mean "ply"']),
        ("matches?where=%27", 400, ["quotation"]),
        ("matches?date=%3E%3Dtomorrow", 400, ["date", "tomorrow"]),
        ("matches?tournament=sprnig", 404, ["sprnig", "spring"]),
        ("matches?bot=mtcs", 404, ["mtcs", "mcts"]),
        ("matches?before=spring/999", 404, ["999"]),
        ("matches/spring", 404, ["tournament"]),
        ("matches/spring/99", 404, ["99"]),
        ("matches/spring/1:99", 404, ["99"]),
        ("matches/" + "9" * 5000, 404, ["no match"]),
        ("tournaments/sprong", 404, ["sprong", "spring"]),
        ("tournaments/sprong/events", 404, ["sprong", "spring"]),
        ("tournaments/spring/events?after=-1", 400, ["after"]),
        ("tournaments/spring/events?wait=31", 400, ["wait"]),
        ("tournaments/spring/events?after=9223372036854775808", 400, ["after"]),
        ("bots/mtcs", 404, ["mtcs"]),
        ("bots/mcts/versus/nobody", 404, ["nobody"]),
        ("bots/mcts/versus/random?bot=x", 400, ["bot"]),
        ("leaderboard?pool=fast", 400, ["fast"]),
        ("leaderboard?where=ply%3C3", 400, ["ply"]),
        ("leaderboard?game=checkers", 400, ["checkers"]),
        ("nothing", 404, []),
        ("matches?" + "&".join("a" * 10_000), 400, ["too many"]),
    ],
)
def test_what_is_wrong_is_named(league_path: Path, path: str, status: int, words: list[str]) -> None:
    answer = ask(league_path, f"{API}/{path}")
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (answer.status_code, found["status"]) == (status, status), found
    assert [word for word in words if word not in found["detail"]] == []
    assert list(faults(found, {"$ref": "#/components/schemas/ProblemDetails"}, DOCUMENT)) == []


def test_the_committed_description_is_that_of_the_table(league_path: Path) -> None:
    """If this fails, run tests/support/openapi_reference.py."""
    assert openapi_reference.PAGE.read_bytes() == openapi_reference.render()
    assert ask(league_path, f"{API}/openapi.json").content == openapi_reference.PAGE.read_bytes()


def test_every_row_is_described_once_with_its_parameters() -> None:
    operations = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
    assert sorted(operations) == sorted(
        (row.path.replace(":path", ""), row.method.lower()) for row in API_ROWS
    )
    matches = DOCUMENT["paths"][f"{API}/matches"]["get"]["parameters"]
    found = {each["name"]: each["schema"] for each in matches}
    assert found["limit"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
    assert found["ply"] == {"type": "array", "items": {"type": "string"}}
    assert found["bot"] == {"type": "string"}
    references = set(json.dumps(DOCUMENT).split('"#/components/schemas/')[1:])
    assert {each.partition('"')[0] for each in references} == set(DOCUMENT["components"]["schemas"])
