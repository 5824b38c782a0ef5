"""Other parts of the API: caching, cancelled queries, commands, badges, hostile clients."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree as ET

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import text

from api_clients import ask, served
from arena.live.events import Move, Started, pack
from arena.results.condition import Condition
from arena.results.leaderboards import rate
from arena.serve import answer_cache, endpoints
from arena.serve.api import bot_rows
from arena.serve.api.badge_rows import badge, text_width
from arena.serve.problems import ProblemError
from arena.serve.reading import Reading
from arena.serve.server_options import ServeSettings
from arena.watching.query import Query
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from arena_db.store import Store
from live_samples import EVIL
from stores import START, add_cup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from starlette.applications import Starlette

    from arena.results.tables import Row
    from command_line import CommandLine

API = "/api/v1"
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
COMMANDS = f"{API}/tournaments/spring/commands"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, name="spring")
        store.matches.save([cup.match(number) for number in range(1, 5)])
        yield store


def test_an_answer_is_made_once_until_the_store_changes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        made.append("")
        return rate(*given, **named)

    monkeypatch.setattr(bot_rows, "rate", counted)

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        first = await client.get(f"{API}/leaderboard")
        second = await client.get(f"{API}/leaderboard")
        assert second.content == first.content
        same = await client.get(f"{API}/leaderboard", headers={"if-none-match": first.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        assert len(made) == 1
        await client.get(f"{API}/leaderboard?game=connect-four")
        assert len(made) == 2
        await anyio.to_thread.run_sync(lambda: store.changes.void([1], reason="a test", who="me"))
        third = await client.get(f"{API}/leaderboard", headers={"if-none-match": first.headers["etag"]})
        assert third.status_code == 200
        assert third.content != first.content
        assert len(made) == 3

    served(store.path, body)


def test_a_store_that_was_replaced_is_another_one(store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Store.open(other) as second:
        add_cup(second, name="autumn")

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        del app
        assert len((await client.get(f"{API}/matches")).json()) == 4
        store.close()
        for end in ("", "-wal", "-shm"):
            store.path.with_name(f"arena.db{end}").unlink(missing_ok=True)
        other.rename(store.path)
        assert (await client.get(f"{API}/matches")).json() == []
        store.path.unlink()
        gone = await client.get(f"{API}/matches")
        assert (gone.status_code, gone.headers["content-type"]) == (503, "application/problem+json")

    served(store.path, body)


def test_what_is_kept_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "_MOST_KEPT", 3)

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        for limit in range(1, 8):
            await client.get(f"{API}/matches?limit={limit}")
        kept: dict[tuple[str, str], object] = app.state.serving.part(answer_cache.AnswerCache)._kept  # noqa: SLF001
        assert [key[1] for key in kept] == ["limit=5", "limit=6", "limit=7"]
        monkeypatch.setattr(answer_cache, "_MOST_BYTES", 10)
        await client.get(f"{API}/matches?limit=9")
        assert kept == {}

    served(store.path, body)


def test_a_question_that_takes_too_long_is_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "LONGEST_S", 0.01)
    query = Query(str(store.path))

    def slow() -> None:
        while reading.query.is_wanted():
            time.sleep(0.001)
        with reading.store._access.read() as connection:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            connection.execute(text(_ENDLESS)).all()

    with query.store() as read:
        reading = Reading(read, query)
        with pytest.raises(ProblemError, match="took longer") as raised:
            endpoints.within_time_limit(reading, slow)
    assert raised.value.status == 503
    assert raised.value.headers["retry-after"] == "30"


def test_a_command_is_answered_by_who_runs_the_tournament(store: Store) -> None:
    record = store.tournaments.find("spring")
    assert record is not None
    held = store.claim(record.id, current_owner())
    assert held is not None
    heard: list[str] = []
    answers: list[httpx.Response] = []

    async def run() -> None:
        while not heard:
            for command in await anyio.to_thread.run_sync(held.commands.take, record.id):
                heard.append(command.kind)
                await anyio.to_thread.run_sync(held.commands.answer, command.id, "it pauses")
            await anyio.sleep(0.01)

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        host = {"authorization": f"Bearer {app.state.callers.host_token}"}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            answers.append(await client.post(COMMANDS, json={"kind": "pause"}, headers=host))
        (answer,) = answers
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"kind": "pause", "tournament": "spring", "answer": "it pauses"}
        assert heard == ["pause"]
        for body, status in (
            ({"kind": "explode"}, 400),
            ({"kind": "move", "number": 1, "ply": 0, "action": 1}, 400),
            ({"kind": "pause", "x": 1}, 400),
            ({}, 400),
        ):
            refused = await client.post(COMMANDS, json=body, headers=host)
            assert refused.status_code == status, refused.text
        assert (await client.post(COMMANDS, content=b"kind=pause", headers=host)).status_code == 415
        assert (await client.post(COMMANDS, json={"kind": "pause"})).status_code == 401
        away = await client.post(COMMANDS.replace("spring", "sprung"), json={"kind": "stop"}, headers=host)
        assert away.status_code == 404

    served(store.path, body)
    assert store.commands.take(record.id) == []


def test_nobody_obeys_where_nobody_runs_and_where_all_is_read_only(store: Store) -> None:
    async def idle(client: httpx.AsyncClient, app: Starlette) -> None:
        host = {"authorization": f"Bearer {app.state.callers.host_token}"}
        answer = await client.post(COMMANDS, json={"kind": "stop"}, headers=host)
        assert answer.status_code == 409
        assert "spring" in answer.json()["detail"]

    async def closed(client: httpx.AsyncClient, app: Starlette) -> None:
        host = {"authorization": f"Bearer {app.state.callers.host_token}"}
        answer = await client.post(COMMANDS, json={"kind": "stop"}, headers=host)
        assert answer.status_code == 403

    served(store.path, idle)
    served(store.path, closed, ServeSettings(anonymous=True, read_only=True))
    assert store.commands.take(1) == []


def test_a_badge_shows_the_rating_of_the_leaderboard(league: CommandLine) -> None:
    bots = ask(league.db, f"{API}/bots").json()
    bot = next(bot for bot in bots if bot["name"] == "mcts")
    answer = ask(league.db, f"/badge/{bot['identity'][:16]}.svg")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    with Store.open(league.db, read_only=True) as store:
        found = rate(store, Condition(game="tic-tac-toe"))
    assert found is not None
    row = next(row for table in found.tables for row in table.rows if row.identity == bot["identity"])
    assert row.error is not None
    words = [text.text for text in ET.fromstring(answer.text).iter(f"{SVG}text")]  # noqa: S314 - ours
    mark = "?" if row.rests_on_prior else ""
    assert words == [bot["label"], f"{row.elo:.0f}{mark} ± {row.error:.0f} · tic-tac-toe"]
    none = ask(league.db, f"/badge/{bot['identity'][:16]}.svg?pool=nothing")
    assert "not rated yet" in none.text
    assert ask(league.db, "/badge/ffffffffffff.svg").status_code == 404
    assert ask(league.db, "/healthz").json() == {"status": "ok"}


def _row(league: CommandLine) -> Row:
    with Store.open(league.db, read_only=True) as store:
        found = rate(store, Condition(game="tic-tac-toe"))
    assert found is not None
    return found.tables[0].rows[0]


@pytest.mark.parametrize(
    "name", [*EVIL, "</title><script>alert(1)</script>", '"onload="x', "a" * 256, "", "棋" * 50]
)
def test_a_badge_is_a_picture_whatever_the_name_is(league: CommandLine, name: str) -> None:
    text = badge(name, name, _row(league))
    root = ET.fromstring(text)  # noqa: S314 - ours
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {"svg", "title", "rect", "text"}
    known = {
        "x",
        "y",
        "width",
        "height",
        "rx",
        "fill",
        "font-family",
        "font-size",
        "textLength",
        "lengthAdjust",
    }
    for element in root.iter():
        assert set(element.attrib) <= known | {"viewBox", "role", "aria-label"}
    assert not any(c in text for c in "\x1b\x07\x00\u202e\r\n")
    # Each text fits into its half of the picture.
    left, right = root.iter(f"{SVG}text")
    end = float(left.get("x", 0)) + float(left.get("textLength", 0))
    assert end + 6 <= float(right.get("x", 0)) - 6
    assert float(right.get("x", 0)) + float(right.get("textLength", 0)) + 6 <= float(root.get("width", 0))


def test_the_width_of_a_text_is_that_of_its_characters() -> None:
    assert text_width("") == 0
    assert text_width("iiii") < text_width("aaaa") < text_width("MMMM")
    assert text_width("棋棋") == 22
    assert text_width("a\u0301") == text_width("a") == 7
    # Widths of Verdana's characters at 11 px as browsers measure them, within a twentieth.
    for words, measured in (("connect-four", 73.6), ("1523 ± 41", 60.5), ("alphazero", 56.0)):
        assert abs(text_width(words) - measured) <= 0.1 * measured


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", f"{API}/matches", 200),
        ("HEAD", f"{API}/tournaments/spring/events", 200),
        ("OPTIONS", f"{API}/matches", 405),
        ("POST", f"{API}/matches", 405),
        ("PUT", COMMANDS, 405),
        ("DELETE", f"{API}/bots/mcts", 405),
        ("GET", COMMANDS, 405),
        ("GET", f"{API}/matches/", 200),
        ("GET", f"{API}/bots/%00", 404),
        ("GET", f"{API}/bots/{'a' * 4000}", 404),
        ("GET", f"{API}/bots/..%2F..%2Fetc%2Fpasswd", 404),
        ("GET", f"{API}/bots/%E2%80%AEoen", 404),
        ("GET", f"{API}/bots/%FF%FE", 404),
        ("GET", f"{API}/bots/%27%20OR%201=1--", 404),
        ("GET", f"{API}/tournaments/%00", 404),
        ("GET", f"{API}/tournaments/..", 404),
        ("GET", f"{API}/matches/spring/%D9%A1", 404),
        ("GET", f"{API}/matches/spring/-1", 404),
        ("GET", f"{API}/matches/spring/1.99999999999", 404),
        ("GET", f"{API}/matches?bot=%00", 404),
        ("GET", f"{API}/matches?opening=%00", 400),
        ("GET", f"{API}/matches?bot=*", 200),
        ("GET", f"{API}/matches?bot=%5B", 404),
        ("GET", f"{API}/matches?nodes=99999999999999999999999", 400),
        ("GET", f"{API}/matches?ply={'9' * 4000}", 400),
        ("GET", f"{API}/matches?date=%3E9999-12-31T23:59", 200),
        ("GET", f"{API}/matches?duration=%3E999999999h", 200),
        ("GET", f"{API}/matches?before=0", 404),
        ("GET", "/badge/%3Cscript%3E.svg", 404),
        ("GET", "/badge/.svg", 404),
    ],
)
def test_what_strangers_send_is_answered_and_never_a_fault(
    league_path: Path, method: str, path: str, status: int
) -> None:
    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        host = {"authorization": f"Bearer {app.state.callers.host_token}"}
        answer = await client.request(method, path, headers=host)
        assert answer.status_code == status, answer.text
        if method == "HEAD":
            assert answer.content == b""
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"

    served(league_path, body)


@pytest.mark.parametrize(("delay", "shown"), [(0, [3, 2, 4, 5]), (1, [3, 2, 4]), (9, [3, 2])])
def test_delay_holds_the_last_plies_of_a_running_match_back(
    store: Store, delay: int, shown: list[int]
) -> None:
    record = store.tournaments.find("spring")
    assert record is not None
    held = store.claim(record.id, current_owner())
    assert held is not None
    begun = Started(bots=("b", "c"), game="connect-four", opening=(3, 2))
    bodies = [(0, "started", begun), (3, "move", Move(action=4)), (4, "move", Move(action=5))]
    held.events.append(
        [
            LiveEvent(tournament=record.id, number=5, ply=ply, kind=kind, payload=pack(body), t=START)
            for ply, kind, body in bodies
        ]
    )

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        found = (await client.get(f"{API}/matches/spring/5")).json()
        assert (found["state"], found["actions"], found["num_opening"]) == ("running", shown, 2)
        host = {"authorization": f"Bearer {app.state.callers.host_token}"}
        assert (await client.get(f"{API}/matches/spring/5", headers=host)).json()["actions"] == [3, 2, 4, 5]

    served(store.path, body, ServeSettings(anonymous=True, delay=delay))


def test_a_name_of_hexadecimal_digits_is_a_name_first(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "c0ffee", "b")
        store.matches.save([cup.match(1)])
        other = cup.entrants[1].bot.identity[:6]
    assert ask(tmp_path / "arena.db", f"{API}/bots/c0ffee").json()["bot"] == "c0ffee"
    assert ask(tmp_path / "arena.db", f"{API}/bots/{other}").json()["bot"] == f"~{other}"


def test_a_store_in_the_place_of_another_has_another_version(store: Store, tmp_path: Path) -> None:
    class Server:
        settings = ServeSettings(db=str(store.path))

    version = answer_cache.StoreVersion(cast("Any", Server()))
    first = version.now()
    assert first == version.now()
    assert first is not None
    with Store.open(tmp_path / "other.db") as other:
        add_cup(other, name="autumn")
    # The old file continues to exist, unchanged, for connections that have it open.
    (tmp_path / "other.db").replace(store.path)
    second = version.now()
    assert second not in {None, first}
    store.path.rename(tmp_path / "away.db")
    assert version.now() is None
    (tmp_path / "away.db").rename(store.path)
    assert version.now() not in {None, first, second}
    version.close()


def test_a_badge_is_of_the_pool_where_the_bot_played_most(store: Store) -> None:
    cup = add_cup(store, name="small", game="tic-tac-toe", num_actions=9)
    store.matches.save([cup.match(1)])
    address = f"/badge/{cup.entrants[0].bot.identity}.svg"
    assert "· connect-four" in ask(store.path, address).text
    assert "· tic-tac-toe" in ask(store.path, f"{address}?game=tic*").text
