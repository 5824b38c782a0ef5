"""The application over ASGI: pages, their JSON, errors."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from arena.serve.server import make_app
from arena.serve.server_options import ServeSettings
from arena.site import build
from arena_db.store import Store
from stores import add_cup
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

EVIL = '</title><script>alert(1)</script>"onload=x\u202e\x1b[31m\x07/../\n'


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "arena.db"
    sitting = Sitting(path, config("random", "minimax:depth=1", name="spring"))
    sitting.play()
    sitting.store.close()
    return path


def _ask(db: Path, path: str, **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        app = make_app(ServeSettings(db=str(db), anonymous=True))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
            return await client.get(path, headers=headers)

    return anyio.run(ask)


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/t/spring", "/t/spring/table"])
def test_a_page_has_the_headers_of_security(played: Path, path: str) -> None:
    answer = _ask(played, path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_bots_pairs_and_texts_are_served(played: Path) -> None:
    bots = _ask(played, "/bots.json").json()["bots"]
    assert sorted(bot["name"] for bot in bots) == ["minimax:depth=1", "random"]
    one, other = (bot["identity"][:16] for bot in bots)
    page = _ask(played, f"/b/{one}", accept="text/html")
    assert f'href="/b/{other}"' in page.text
    table = _ask(played, "/t/spring/table", accept="text/html").text
    assert f'href="/t/spring/v/{one}/{other}"' in table
    assert f'href="/t/spring/v/{other}/{one}"' in table
    there, back = (
        _ask(played, f"/t/spring/v/{pair}.json").json() for pair in (f"{one}/{other}", f"{other}/{one}")
    )
    assert there["labels"] == back["labels"][::-1]
    assert there["meeting"]["cell"]["wins"] == back["meeting"]["cell"]["losses"]
    match = _ask(played, "/t/spring/1", accept="text/html").text
    for form in ("pgn", "sgf"):
        assert f'href="/t/spring/1.{form}"' in match
        answer = _ask(played, f"/t/spring/1.{form}")
        assert answer.headers["content-type"].startswith("text/plain")
    assert '[Round "1"]' in _ask(played, "/t/spring/1.pgn").text
    for path in ("/b/ffffffffffff", f"/t/spring/v/{one}/{one}", "/t/spring/9.pgn"):
        assert _ask(played, path, accept="text/html").status_code == 404


def test_an_unknown_address_is_a_page_for_browsers_and_json_for_programs(played: Path) -> None:
    page = _ask(played, "/t/sprung", accept="text/html")
    assert page.status_code == 404
    assert "did you mean &quot;spring&quot;" in page.text
    data = _ask(played, "/t/sprung/index.json", accept="text/html")
    assert data.headers["content-type"] == "application/problem+json"
    assert data.json()["status"] == 404


def test_a_store_that_is_gone_is_said_so(tmp_path: Path) -> None:
    answer = _ask(tmp_path / "arena.db", "/", accept="text/html")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert "is gone" in answer.text


def test_an_unknown_page_names_what_is_near(played: Path) -> None:
    assert "did you mean &quot;/leaderboard&quot;" in _ask(played, "/leaderbord", accept="text/html").text
    assert "did you mean &quot;table&quot;" in _ask(played, "/t/spring/tabel", accept="text/html").text
    assert "spring/1 to spring/2" in _ask(played, "/t/spring/77", accept="text/html").text


def test_hostile_names_are_cleaned_in_pages_json_headers_and_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as store:
        cup = add_cup(store, "a/<script>alert(1)</script>", "b/\x1b[31m\u202eb\x07", name=EVIL)
        store.matches.save([cup.match(1)])
        record = store.tournaments.find(EVIL)
        assert record is not None
    caplog.set_level("INFO")
    # Such a name needs escapes, so the address has the uid of the tournament.
    for address in ("/", f"/t/{record.uid}", f"/t/{record.uid}/matches", "/index.json"):
        answer = _ask(path, address, accept="text/html")
        assert answer.status_code == 200, address
        is_json = address.endswith(".json")
        assert answer.headers["content-type"].startswith("application/json" if is_json else "text/html")
        assert is_json or "<script>" not in answer.text
        assert not {"\x1b", "\x07"} & set(answer.text)
        assert is_json or "\u202e" not in answer.text
    near = _ask(path, "/t/%1b[31m%0aSet-Cookie:a%22onload=", accept="text/html")
    assert near.status_code == 404
    assert 'a"onload' not in near.text
    assert "set-cookie" not in near.headers
    lines = [record.getMessage() for record in caplog.records if record.name.endswith("guard.access")]
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)


def test_the_log_is_free_of_tokens(played: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    _ask(played, "/t/spring?token=arena_v_secret&x=1")
    _ask(played, "/t/spring", authorization="Bearer arena_v_secret", cookie="arena-8642=arena_v_secret")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("arena")]
    assert any("GET /t/spring 401" in line for line in ours)
    assert not any("secret" in line for line in ours)


def _remove(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def test_a_store_that_moves_is_missed_and_found_again(played: Path, tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    shutil.copy(played, path)

    async def ask() -> list[int]:
        app = make_app(ServeSettings(db=str(path), anonymous=True))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
            statuses = [(await client.get("/t/spring")).status_code]
            path.rename(tmp_path / "away.db")
            statuses.append((await client.get("/t/spring")).status_code)
            # Another store at the same path is not read through the old connection.
            Store.open(path).close()
            statuses.append((await client.get("/t/spring")).status_code)
            _remove(path)
            (tmp_path / "away.db").rename(path)
            statuses.append((await client.get("/t/spring")).status_code)
            path.write_bytes(b"no store at all, but a file with words in it" * 200)
            statuses.append((await client.get("/t/spring")).status_code)
            await app.state.serving.close()
        return statuses

    assert anyio.run(ask) == [200, 503, 404, 200, 503]


def test_numbers_of_pages_and_folders_are_the_same(played: Path, tmp_path: Path) -> None:
    with Store.open(played, read_only=True) as store:
        build(store, tmp_path / "site")
    for served, file in (
        ("/t/spring/index.json", "t/spring/index.json"),
        ("/t/spring/table.json", "t/spring/table.json"),
        ("/t/spring/matches.json", "t/spring/matches.json"),
        ("/t/spring/1.json", "t/spring/1.json"),
        ("/leaderboard.json", "leaderboard.json"),
        ("/index.json", "index.json"),
    ):
        assert _ask(played, served).content == (tmp_path / "site" / file).read_bytes(), served


def test_an_answer_that_is_known_is_not_sent_again(played: Path) -> None:
    whole = _ask(played, "/t/spring")
    same = _ask(played, "/t/spring", **{"if-none-match": f'"x", {whole.headers["etag"]}'})
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == whole.headers["etag"]
    other = _ask(played, "/t/spring/table", **{"if-none-match": whole.headers["etag"]})
    assert other.status_code == 200
    assert whole.headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("takes", "is_zipped"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("identity", False), ("", False)],
)
def test_answers_are_compressed_where_they_are_taken(played: Path, takes: str, *, is_zipped: bool) -> None:
    answer = _ask(played, "/t/spring", **{"accept-encoding": takes})
    assert (answer.headers.get("content-encoding") == "gzip") == is_zipped
    assert "</html>" in answer.text
    assert (int(answer.headers["content-length"]) < len(answer.text)) == is_zipped


def test_pages_of_a_list_are_those_of_the_whole_list(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path, fast=True) as store:
        cup = add_cup(store, "a", "b", name="long", num=420)
        store.matches.save([cup.match(number) for number in range(1, 421)])
    seen: list[int] = []
    for page in ("matches", "matches-2", "matches-3"):
        found = _ask(path, f"/t/long/{page}.json").json()
        assert (found["total"], found["num_pages"]) == (420, 3)
        seen += [row["number"] for row in found["rows"]]
    assert seen == list(range(420, 0, -1))
    assert _ask(path, "/t/long/matches-4.json").status_code == 404
    assert _ask(path, "/t/long/matches-0.json").status_code == 404
    some = _ask(path, "/t/long/matches.json?q=ply%3C0").json()
    assert (some["total"], some["rows"], some["condition"]) == (0, [], "ply<0")
    assert "matches-2?q=bot%3Aa" in _ask(path, "/t/long/matches?q=bot:a").text


def test_bots_and_head_to_heads_have_the_pages_of_a_folder(played: Path, tmp_path: Path) -> None:
    with Store.open(played, read_only=True) as store:
        build(store, tmp_path / "site")
    twins = [*tmp_path.glob("site/b/*.json"), *tmp_path.glob("site/t/spring/v/*/*.json")]
    twins += [tmp_path / "site/bots.json", tmp_path / "site/t/spring/1.pgn", tmp_path / "site/t/spring/1.sgf"]
    assert len(twins) == 6
    for file in twins:
        path = f"/{file.relative_to(tmp_path / 'site')}"
        answer = _ask(played, path)
        assert answer.content == file.read_bytes(), path
        if file.suffix == ".json":
            assert "</html>" in _ask(played, path.removesuffix(".json")).text
    assert _ask(played, "/t/spring/9.pgn").status_code == 404
    assert _ask(played, "/t/spring/x%22.pgn").status_code == 404
