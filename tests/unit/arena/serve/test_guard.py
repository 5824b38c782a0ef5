"""Authorisation: every route, for every kind of caller, origin and host."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import httpx
import msgspec
import pytest
from starlette.routing import Route as Registered

from arena.pages.html import Html
from arena.secret_tokens import new_token
from arena.serve.rows import DataRoute, FileRoute, PageRoute, Raw, StreamAnswer, StreamRoute
from arena.serve.server import ROUTES, make_app
from arena.serve.server_options import ServeSettings
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from arena.serve.rows import Route

HOST: Final = "127.0.0.1:8642"
OWN: Final = f"http://{HOST}"
RANKS: Final = {"none": 0, "viewer": 1, "bot": 2, "author": 3, "host": 4}
CALLERS: Final = {
    "nobody": 0,
    "viewer": 1,
    "bot": 2,
    "author": 3,
    "other author": 3,
    "host": 4,
    "host's link": 4,
    "viewer's cookie": 1,
    "host's cookie": 4,
    "revoked cookie": 0,
    "revoked": None,
    "expired": None,
}
"""Rank of each caller; None for an invalid token, which is refused wherever tokens are checked."""
ORIGINS: Final = {"none": None, "own": OWN, "foreign": "https://evil.example", "null": "null"}
HOSTS: Final = {"ours": HOST, "foreign": "evil.example:8642"}


OF: Final = "'s"
STYLE: Final[tuple[str, dict[str, str]]] = ("/a/style.css", {})


class Ticks:
    """A clock so fast that no rate limit is reached."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 1
        return self._now


class Nothing(msgspec.Struct, frozen=True):
    """An empty request body."""


async def _chunks() -> AsyncGenerator[bytes]:
    yield b"data\n\n"


async def _stream(_: object) -> StreamAnswer:
    return StreamAnswer(content=_chunks())


def _empty(*_: object) -> dict[str, str]:
    return {}


def _page(*_: object) -> Html:
    return Html("page")


def _style(_: object) -> Raw:
    return Raw(content=b"", media_type="text/css")


def _quick(route: Route) -> Route:
    """Return a route with a handler that answers at once: the guard runs before handlers."""
    replace = msgspec.structs.replace
    if isinstance(route, PageRoute):
        return replace(route, handle=_empty, show=_page, twin_of=_empty)
    if isinstance(route, DataRoute):
        return replace(route, handle=_empty)
    return replace(route, handle=_style if isinstance(route, FileRoute) else _stream)


WRITE: Final = DataRoute(path="/try/write", method="POST", role="author", handle=_empty, body=Nothing)
TABLE: Final = (*map(_quick, ROUTES), WRITE)


def _paths(route: Route) -> list[str]:
    found = [route.path, *([route.twin_path] if isinstance(route, PageRoute) else [])]
    return [re.sub(r"\{[a-z_]+(:path)?\}", "7", path) for path in found]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("guard") / "arena.db"
    found = {
        name: new_token("viewer")
        for name in ("viewer", "bot", "author", "other author", "host", "revoked", "expired")
    }
    with Store.open(path, fast=True) as store:
        for name, token in found.items():
            role = name.rpartition(" ")[2] if name in CALLERS and name.rpartition(" ")[2] in RANKS else "host"
            store.tokens.add(
                name.replace(" ", "-"),
                sha256(token.encode()).digest(),
                role,
                expires_at=1.0 if name == "expired" else None,
                bot="b" if role == "bot" else "",
            )
        store.tokens.revoke("revoked")
    return path, found


class Case(NamedTuple):
    """One request."""

    caller: str
    origin: str
    host: str
    marked: bool
    """Whether it has the header that our script sends."""

    def headers(self, tokens: dict[str, str]) -> dict[str, str]:
        """Return the headers of the request."""
        found = {"host": HOSTS[self.host]}
        if "cookie" in self.caller:
            found["cookie"] = f"x=1; arena-8642={tokens[self.caller.split()[0].removesuffix(OF)]}"
        elif self.caller != "nobody":
            found["authorization"] = f"bearer {tokens[self.caller]}"
        if ORIGINS[self.origin] is not None:
            found["origin"] = str(ORIGINS[self.origin])
        return found | ({"x-arena": "1"} if self.marked else {})

    def expected(self, route: Route, *, anonymous: bool) -> int:
        """Return the status required by the rules; 200 stands for every answer of the handler."""
        rank = CALLERS[self.caller]
        is_read = route.method == "GET"
        if self.host == "foreign":
            return 421
        if rank is None and (not is_read or route.role != "none"):
            return 401
        if not is_read and self._is_foreign(rank or 0):
            return 403
        needed = 0 if anonymous and route.role == "viewer" else RANKS[route.role]
        if (rank or 0) >= needed:
            return 200
        return 403 if rank else 401

    def _is_foreign(self, rank: int) -> bool:
        by_page = "cookie" in self.caller and rank > 0
        return self.origin in {"foreign", "null"} or (by_page and not (self.origin == "own" and self.marked))


@pytest.mark.parametrize("anonymous", [False, True])
def test_every_route_by_everybody(tokens: tuple[Path, dict[str, str]], anonymous: bool) -> None:  # noqa: FBT001
    path, known = tokens
    app = make_app(ServeSettings(db=str(path), anonymous=anonymous), TABLE, Ticks())
    known = {**known, "host's link": app.state.callers.host_token}
    wrong: list[str] = []

    async def ask(client: httpx.AsyncClient, route: Route, address: str, case: Case) -> None:
        body = None if route.method == "GET" else {"words": "x"}
        answer = await client.request(route.method, address, headers=case.headers(known), json=body)
        expected = case.expected(route, anonymous=anonymous)
        status = answer.status_code
        if (status if status in {401, 403, 421} else 200) != expected:
            wrong.append(f"{route.method} {address} {case}: {status}, not {expected}")
        if expected == 200 and status not in {200, 400, 404}:
            wrong.append(f"{route.method} {address} {case}: {status}")
        if "content-security-policy" not in answer.headers:
            wrong.append(f"{address} {case}: no policy")

    async def ask_all() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=OWN) as client:
            for route in TABLE:
                marks = (False,) if route.method == "GET" else (False, True)
                # The origin of a read does not matter; one with a foreign origin shows this.
                origins = ("none", "foreign") if route.method == "GET" else ORIGINS
                callers = ("nobody", "viewer", "host's cookie", "revoked") if anonymous else CALLERS
                for case in map(Case._make, product(callers, origins, HOSTS, marks)):
                    for address in _paths(route):
                        await ask(client, route, address, case)

    anyio.run(ask_all)
    assert wrong == []


def test_what_is_served_is_what_the_table_says() -> None:
    app = make_app(ServeSettings())
    served = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Registered)
        for method in route.methods or ()
    }
    table = {
        (path, method)
        for route in ROUTES
        for path in (route.path, *([route.twin_path] if isinstance(route, PageRoute) else []))
        for method in ({"GET", "HEAD"} if route.method == "GET" else {route.method})
    }
    assert served == table
    assert len(app.routes) == len({(route.path, route.method) for route in ROUTES}) + sum(
        isinstance(route, PageRoute) for route in ROUTES
    )
    assert all(route.summary for route in ROUTES)
    assert all(
        isinstance(route, StreamRoute)
        or route.role != "none"
        or isinstance(route, FileRoute)
        or "health" in route.path
        for route in ROUTES
    )


def test_two_rows_for_one_address_are_refused() -> None:
    again = msgspec.structs.replace(ROUTES[0], summary="Once more.")
    with pytest.raises(ValueError, match="two rows for GET /"):
        make_app(ServeSettings(), (*ROUTES, again))


def _ask(
    settings: ServeSettings, *asked: tuple[str, dict[str, str]], clock: Callable[[], float] = lambda: 0.0
) -> list[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        app = make_app(settings, TABLE, clock)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=settings.public_url or OWN) as http:
            token = app.state.callers.host_token
            return [await http.get(path.replace("TOKEN", token), headers=given) for path, given in asked]

    return anyio.run(ask)


def test_a_token_in_an_address_is_traded_for_a_cookie() -> None:
    (answer,) = _ask(ServeSettings(), ("/t/7/table?q=a%26b&token=TOKEN&x=1", {}))
    assert answer.status_code == 303
    assert answer.headers["location"] == "/t/7/table?q=a%26b&x=1"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("arena-8642=arena_h_")
    assert "HttpOnly; SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert answer.headers["cache-control"] == "no-store"


def test_behind_tls_the_cookie_is_bound_to_it() -> None:
    settings = ServeSettings(public_url="https://arena.example")
    (answer,) = _ask(settings, ("/?token=TOKEN", {}))
    assert answer.headers["set-cookie"].startswith("__Host-arena=")
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_a_link_of_another_site_leads_on_by_a_page() -> None:
    # A browser withholds a new strict cookie after a redirect that another site's link started.
    (answer,) = _ask(ServeSettings(), ("/t/7?token=TOKEN", {"sec-fetch-site": "cross-site"}))
    assert answer.status_code == 200
    assert "set-cookie" in answer.headers
    assert 'content="0; url=/t/7"' in answer.text
    assert "arena_h_" not in answer.text


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/%0d%0aset-cookie:%20a=b"])
def test_a_trade_leads_to_no_other_host(path: str) -> None:
    (answer,) = _ask(ServeSettings(), (f"{OWN}{path}?token=TOKEN", {}))
    assert re.match(r"/[^/\\]", answer.headers["location"])
    assert answer.headers.get_list("set-cookie") == [answer.headers["set-cookie"]]
    assert "a=b" not in answer.headers["set-cookie"]


def test_a_link_that_counts_no_more_is_refused_and_sets_no_cookie() -> None:
    (answer,) = _ask(ServeSettings(), ("/?token=arena", {}))
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_an_address_has_a_budget() -> None:
    *first, last = _ask(ServeSettings(), *[STYLE] * 301)
    assert {answer.status_code for answer in first} == {200}
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) >= 1
    assert last.json()["title"] == "Too Many Requests"


def test_the_address_of_a_client_is_believed_from_our_proxy_alone() -> None:
    spoofed = [("/a/style.css", {"x-forwarded-for": f"1.2.3.{number}"}) for number in range(301)]
    assert _ask(ServeSettings(), *spoofed)[-1].status_code == 429
    assert _ask(ServeSettings(proxy_hops=1), *spoofed)[-1].status_code == 200
    # Entries that a client writes before the proxy's entry change nothing.
    longer = [("/a/style.css", {"x-forwarded-for": f"{number}, 9.9.9.9"}) for number in range(301)]
    assert _ask(ServeSettings(proxy_hops=1), *longer)[-1].status_code == 429


def test_a_server_that_is_read_only_refuses_commands(tokens: tuple[Path, dict[str, str]]) -> None:
    path, known = tokens

    async def ask() -> httpx.Response:
        app = make_app(ServeSettings(db=str(path), read_only=True), TABLE)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=OWN) as http:
            headers = {"authorization": f"Bearer {known['host']}"}
            return await http.post("/try/write", json={}, headers=headers)

    answer = anyio.run(ask)
    assert answer.status_code == 403
    assert "read-only" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("LOCALHOST:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:8642", 200),
        ("lab.local:8642", 200),
        ("arena.example", 200),
        ("ARENA.example:443", 200),
        ("arena.example.evil.example", 421),
        ("127.0.0.2", 421),
        ("", 421),
        ("127.0.0.1:8642@evil.example", 421),
        ("localhost,evil.example", 421),
    ],
)
def test_the_names_of_the_server(host: str, status: int) -> None:
    settings = ServeSettings(host="lab.local", public_url="https://arena.example")
    assert _ask(settings, ("/a/style.css", {"host": host}))[0].status_code == status
