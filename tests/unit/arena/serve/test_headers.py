"""Headers: repeated ones in requests, and those of every answer."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx
import pytest

from api_clients import BASE
from arena.errors import StoreError
from arena.secret_tokens import digest_of
from arena.serve.callers import Callers
from arena.serve.sending import SECURITY, Whole, raw_headers
from arena.serve.server import make_app
from arena.serve.server_options import ServeSettings
from arena_db.errors import LockedError
from arena_db.store import Store
from arena_db.tokens import StoredTokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from starlette.applications import Starlette

Header = tuple[str, str]
DAY: Final = 86_400


def _served(settings: ServeSettings, body: Callable[[httpx.AsyncClient, Starlette], Awaitable[None]]) -> None:
    async def run() -> None:
        app = make_app(settings, clock=lambda: 0.0)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=BASE) as client:
            await body(client, app)

    anyio.run(run)


def _get(
    settings: ServeSettings, path: str, headers: Sequence[Header] = (), method: str = "GET"
) -> httpx.Response:
    found: list[httpx.Response] = []

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        known = [(name, value.replace("TOKEN", app.state.callers.host_token)) for name, value in headers]
        found.append(await client.request(method, path, headers=known))

    _served(settings, body)
    return found[0]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("cookie", "arena-8642=TOKEN")], 200),
        # HTTP/2 splits cookies into several headers, and proxies pass them on like this.
        ([("cookie", "x=1"), ("cookie", "arena-8642=TOKEN")], 200),
        ([("cookie", "arena-8642=TOKEN"), ("cookie", "x=1")], 200),
        ([("authorization", "Bearer TOKEN"), ("authorization", "Bearer TOKEN")], 401),
        ([("authorization", "Basic TOKEN")], 401),
        ([("authorization", "TOKEN")], 401),
        ([("authorization", "Bearer nobody"), ("cookie", "arena-8642=TOKEN")], 401),
        ([("cookie", "arena-8643=TOKEN")], 401),
        ([("cookie", "__Host-arena=TOKEN")], 401),
    ],
)
def test_who_asks_is_found_in_one_header_alone(league_path: Path, headers: list[Header], status: int) -> None:
    assert _get(ServeSettings(db=str(league_path)), "/bots.json", headers).status_code == status


def test_a_host_that_is_given_twice_is_none_of_ours() -> None:
    twice = [("host", "127.0.0.1:8642"), ("host", "evil.example")]
    assert _get(ServeSettings(anonymous=True), "/a/style.css", twice).status_code == 421


def test_a_request_of_http_1_0_without_a_host_is_refused() -> None:
    messages: list[Any] = []

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        messages.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/a/style.css",
        "query_string": b"",
        "headers": [],
    }
    anyio.run(make_app(ServeSettings(anonymous=True)), scope, receive, send)
    assert messages[0]["status"] == 421


@pytest.mark.parametrize(
    ("hops", "forwarded", "alike"),
    [
        (1, ["1.1.1.1", "2.2.2.2"], "9.9.9.9, 2.2.2.2"),
        (2, ["1.1.1.1, 2.2.2.2"], "9.9.9.9, 1.1.1.1, 3.3.3.3"),
        (3, ["1.1.1.1, 2.2.2.2"], "1.1.1.1"),
    ],
)
def test_the_address_is_the_one_that_the_outermost_of_our_proxies_saw(
    hops: int, forwarded: list[str], alike: str
) -> None:
    statuses: list[int] = []

    async def body(client: httpx.AsyncClient, _: Starlette) -> None:
        many = [("x-forwarded-for", address) for address in forwarded]
        for _number in range(300):
            await client.get("/a/style.css", headers=many)
        statuses.append((await client.get("/a/style.css", headers={"x-forwarded-for": alike})).status_code)
        statuses.append(
            (await client.get("/a/style.css", headers={"x-forwarded-for": "7.7.7.7"})).status_code
        )

    _served(ServeSettings(anonymous=True, proxy_hops=hops), body)
    assert statuses == [429, 200]


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/a/style.css", "/healthz", "/api/v1/bots", "/t/spring/1.pgn"]
)
@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_every_answer_says_what_it_depends_on_and_what_a_page_may(
    league_path: Path, path: str, accept: str
) -> None:
    answer = _get(ServeSettings(db=str(league_path), anonymous=True), path, [("accept", accept)])
    # A page and its error depend on the requested form, the encoding and the caller.
    assert answer.headers["vary"] == "accept, accept-encoding, cookie"
    for name, value in SECURITY:
        assert answer.headers.get_list(name.decode()) == [value.decode()]
    assert "set-cookie" not in answer.headers
    assert "server" not in answer.headers


def test_pages_run_and_load_what_we_serve_alone() -> None:
    policy = dict(SECURITY)[b"content-security-policy"].decode()
    sources = dict(part.split(" ", 1) for part in policy.split("; "))
    own = ("style-src", "script-src", "img-src", "connect-src", "form-action")
    none = ("default-src", "base-uri", "frame-ancestors")
    assert sources == dict.fromkeys(own, "'self'") | dict.fromkeys(none, "'none'")


def test_a_header_is_one_line_of_plain_characters() -> None:
    # The file has the name of a tournament, which its creator chose.
    name = 'attachment; filename="a\r\nset-cookie: b=c\x00é"'
    plain = b'attachment; filename="aset-cookie: b=c"'
    assert raw_headers({"Content-Disposition": name}) == [(b"content-disposition", plain)]


@pytest.mark.parametrize("path", ["/", "/nothing", "/bots.json", "/a/style.css"])
def test_head_has_the_headers_of_get_and_no_body(league_path: Path, path: str) -> None:
    settings = ServeSettings(db=str(league_path), anonymous=True)
    whole, head = (_get(settings, path, method=method) for method in ("GET", "HEAD"))
    assert head.content == b""
    assert head.status_code == whole.status_code
    assert dict(head.headers) == dict(whole.headers)
    assert int(head.headers["content-length"]) > 0


def test_a_tag_is_answered_with_304_for_get_and_head_alone() -> None:
    whole = Whole(b"x" * 1000, "text/plain")

    def sent(method: str, *headers: Header) -> list[Any]:
        messages: list[Any] = []

        async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
            messages.append(message)

        anyio.run(whole.send_to, {"method": method}, dict(headers), send)
        return [messages[0]["status"], messages[1]["body"]]

    tag = ("if-none-match", f'"other", {whole.etag}')
    assert sent("GET", tag) == sent("HEAD", tag) == [304, b""]
    assert sent("GET", ("if-none-match", "*")) == [304, b""]
    assert sent("GET", ("if-none-match", '"other"')) == [200, b"x" * 1000]
    assert sent("HEAD") == [200, b""]
    assert sent("POST", tag) == [200, b"x" * 1000]


@pytest.mark.parametrize(
    ("accepted", "is_zipped"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.000", False), ("br", False)],
)
def test_what_is_compressed_is_what_the_client_takes(accepted: str, *, is_zipped: bool) -> None:
    answer = _get(ServeSettings(anonymous=True), "/a/style.css", [("accept-encoding", accepted)])
    assert (answer.headers.get("content-encoding") == "gzip") == is_zipped
    assert answer.content.startswith(b":root")


@pytest.mark.parametrize(("size", "is_zipped"), [(599, False), (600, True)])
def test_what_fits_a_packet_is_not_compressed(size: int, *, is_zipped: bool) -> None:
    content = b"x" * size
    zipped = Whole(content, "text/css").zipped
    assert (zipped is not None) == is_zipped
    assert zipped is None or gzip.decompress(zipped) == content
    assert Whole(content, "image/png").zipped is None


def test_a_text_that_is_no_token_of_ours_is_looked_for_nowhere(tmp_path: Path) -> None:
    async def ask() -> None:
        callers = make_app(ServeSettings(db=str(tmp_path / "none.db"))).state.callers
        for text in ("", "nobody", "x" * 100_000, f"arena_{'x' * 195}"):
            assert await callers.find(text) is None
        with pytest.raises(StoreError):
            await callers.find(f"arena_{'x' * 194}")

    anyio.run(ask)


def test_a_use_of_a_token_is_written_down_once_a_day_and_not_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path, fast=True) as store:
        store.tokens.add("anna", digest_of("arena_v_anna"), "viewer")
    noted: list[int] = []
    note = StoredTokens.note_use

    def counted(tokens: StoredTokens, token: int, day: int) -> None:
        noted.append(day)
        note(tokens, token, day)

    def locked(_: StoredTokens, token: int, day: int) -> None:
        noted.append(day)
        raise LockedError(f"no use of {token} can be noted")

    monkeypatch.setattr(StoredTokens, "note_use", counted)
    now = [100.5 * DAY]

    async def ask(*, read_only: bool) -> None:
        app = make_app(ServeSettings(db=str(path), read_only=read_only))
        callers = Callers(app.state.serving, lambda: now[0])
        for hours in (0, 1, 2, 13, 14):
            now[0] = 100.5 * DAY + 3600 * hours
            found = await callers.find("arena_v_anna")
            assert found is not None
            assert (found.account, found.role) == ("anna", "viewer")
        await app.state.serving.close()

    anyio.run(lambda: ask(read_only=True))
    assert noted == []
    # A store that cannot be written is not tried again at each request.
    monkeypatch.setattr(StoredTokens, "note_use", locked)
    anyio.run(lambda: ask(read_only=False))
    assert noted == [100, 101]
    noted.clear()
    monkeypatch.setattr(StoredTokens, "note_use", counted)
    anyio.run(lambda: ask(read_only=False))
    assert noted == [100, 101]
    with Store.open(path, read_only=True) as store:
        assert [each.used_on for each in store.tokens.all()] == [101]
