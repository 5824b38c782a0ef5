"""The first page of a tournament follows it while it is played; no link of any page is broken."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

import anyio
import httpx
import pytest

from api_clients import BASE, StreamReader, ask, served
from arena.pages.event import event_page
from arena.pages.event_live import event_fragments
from arena.pages.links import Links, slugs_of
from arena.pages.memo import Memo
from arena.serve.server import make_app
from arena.serve.server_options import ServeSettings
from arena.watching.feed import Model, advance, awaited
from arena.watching.page_source import event_view
from arena.watching.store_feed import StoreFeed
from arena_db.owner import current_owner
from arena_db.store import Store
from stores import add_cup
from streams import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.applications import Starlette

_HREF = re.compile(r'(?:href|src|action)="([^"]*)"')
_PARTS = ("bracket", "places", "standings")


def _part(html: str, name: str) -> str:
    begin = html.index(f'<section id="{name}"')
    return html[begin : html.index("</section>", begin)]


def _model(path: Path, number: int) -> Model:
    """Return the model of a hub after its first looks at a tournament."""
    feed = StoreFeed(str(path), number, is_read_only=True)
    model = awaited()
    try:
        for _ in range(3):
            batch = feed.poll()
            model = model if batch is None else advance(model, batch)
    finally:
        feed.close()
    return model


@pytest.mark.parametrize("name", ["spring", "cup"])
def test_what_follows_is_what_a_page_without_a_stream_shows(league_path: Path, name: str) -> None:
    with Store.open(league_path, read_only=True) as store:
        record = store.tournaments.find(name)
        assert record is not None
        links = Links(root="/", suffix="", index="", slugs=slugs_of({record.name: record.uid}))
        still = event_page(event_view(store, record), links)
        fragments = event_fragments(_model(league_path, record.id), links, 0.0, Memo())
    for part in _PARTS:
        assert _part(fragments[part], part) == _part(still, part)
    assert ("hidden>" in _part(still, "bracket")) == (name == "spring")
    newest = re.findall(r'href="(/t/[^"]*)"', _part(still, "newest"))
    assert re.findall(r'href="(/t/[^"]*)"', _part(fragments["newest"], "newest")) == newest


def test_the_first_page_of_a_tournament_follows_it(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    store = Store.open(path)
    cup = add_cup(store, "anna", "bob", name="spring", num=6)
    store.matches.save([cup.match(1)])
    record = store.tournaments.find("spring")
    assert record is not None

    async def body(client: httpx.AsyncClient, app: Starlette) -> None:
        html = {"accept": "text/html"}
        still = (await client.get("/t/spring", headers=html)).text
        assert "data-stream" not in still
        assert "http-equiv" not in still
        claimed = store.claim(record.id, current_owner())
        page = (await client.get("/t/spring", headers=html)).text
        # The cached list of running coordinators is up to a few seconds old.
        with anyio.fail_after(120):
            while "data-stream" not in page:
                await anyio.sleep(0.2)
                page = (await client.get("/t/spring", headers=html)).text
        assert 'data-stream="/t/spring/stream?of=tables"' in page
        assert '<noscript><meta http-equiv="refresh"' in page
        assert _part(page, "standings") == _part(still, "standings")
        frame = re.search(r'data-frame="([^"]+)"', page)
        assert frame
        reader = Reader(frame=frame[1])
        store.matches.save([cup.match(2), cup.match(3)])
        stream = f"/t/spring/stream?of=tables&after={reader.frame}"
        with anyio.fail_after(120):
            async with StreamReader(app, stream) as following:
                while (
                    "3/6 matches" not in reader.elements.get("progress", "")
                    or "standings" not in reader.elements
                ):
                    reader.hear((await following.message()).get("body", b""))
        fresh = (await client.get("/t/spring", headers=html)).text
        assert reader.elements["standings"] in fresh
        assert 'href="/t/spring/3"' in reader.elements["newest"]
        assert claimed is not None
        missing = await client.get("/t/spring/stream?of=table")
        assert (missing.status_code, "of=tables" in missing.text) == (404, True)

    served(path, body)
    store.close()


def test_a_bot_without_a_rated_match_has_a_page(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as store:
        cup = add_cup(store, "anna", "bob", name="spring")
        store.matches.save(
            [cup.match(1, rated=False, outcome="second", termination="crash", reason="it crashed")]
        )
        one = cup.entrants[0].bot.identity
    page = ask(path, f"/b/{one[:16]}", accept="text/html")
    assert page.status_code == 200
    for words in ("no rated match", "spring/1", "crash", one):
        assert words in page.text
    twin = ask(path, f"/b/{one[:16]}.json").json()
    assert twin["page"]["games"] == 0
    assert [row["number"] for row in twin["unrated"]] == [1]
    assert "/v/" not in ask(path, "/t/spring/1", accept="text/html").text


def test_no_link_of_a_server_leads_nowhere(league_path: Path) -> None:
    seen: dict[str, str] = {"/": ""}

    async def run() -> None:
        # A second passes between requests, so that the rate limit is not reached.
        ticks = count()
        app = make_app(ServeSettings(db=str(league_path), anonymous=True), clock=lambda: float(next(ticks)))
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=BASE) as client,
        ):
            waiting = ["/"]
            while waiting:
                path = waiting.pop()
                answer = await client.get(path, headers={"accept": "text/html"})
                assert answer.status_code == 200, f"{seen[path]} leads to {path}: {answer.text[:300]}"
                if not answer.headers["content-type"].startswith("text/html"):
                    continue
                for link in _HREF.findall(answer.text):
                    there = urljoin(path, urldefrag(str(link).replace("&amp;", "&"))[0])
                    if there.startswith("/") and there not in seen:
                        seen[there] = path
                        waiting.append(there)

    anyio.run(run)
    kinds = {re.sub(r"[0-9a-f]{8,}|\d+", "N", path) for path in seen}
    assert {"/", "/bots", "/leaderboard", "/b/N", "/t/spring/N", "/t/spring/v/N/N", "/t/cup/"} <= kinds
