"""Reads all pages of a store as a text browser does: tables, links, and the JSON of each page."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

import anyio
import httpx
from typing_extensions import override

from api_clients import BASE
from arena.serve.server import make_app
from arena.serve.server_options import ServeSettings

if TYPE_CHECKING:
    from pathlib import Path


class Shown:
    """A page and its JSON."""

    def __init__(self, html: str, twin: Any) -> None:  # noqa: ANN401 - JSON
        self.html = html
        self.twin = twin
        reader = _Reader()
        reader.feed(html)
        self.tables = {table.caption: table.rows for table in reader.tables}
        """Cells of the rows of all tables, by caption; no heads, words of a cell joined by blanks."""
        self.links = reader.links


class _Table:
    def __init__(self) -> None:
        self.caption = ""
        self.rows: list[list[str]] = []


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[_Table] = []
        self.links: list[str] = []
        self._in = ""
        self._gap = " "

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":
            self._gap = ""
        if tag == "a":
            self.links.append(dict(attrs).get("href") or "")
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
        gap, self._gap = self._gap, " "
        if self._in == "caption":
            self.tables[-1].caption += data
        if self._in == "tbody" and self.tables[-1].rows and self.tables[-1].rows[-1]:
            cell = self.tables[-1].rows[-1]
            cell[-1] = " ".join(f"{cell[-1]}{gap}{data}".split())


def pages_of(db: Path) -> dict[str, Shown]:
    """Return all pages of a store that links lead to from the first one, by address.

    Raises:
        AssertionError: a link leads nowhere; names it and the page that has it.
    """
    return anyio.run(_pages_of, db)


async def _pages_of(db: Path) -> dict[str, Shown]:
    # Rate limits are not under test, so their clock runs fast.
    app = make_app(ServeSettings(db=str(db), anonymous=True), clock=count(step=1).__next__)
    found: dict[str, Shown] = {}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=BASE) as client,
    ):
        waiting, seen = [("/", "")], {"/"}
        while waiting:
            address, whose = waiting.pop()
            answer = await client.get(address, headers={"accept": "text/html"})
            assert answer.status_code == 200, f"{whose} leads to {address}: {answer.status_code}"
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            found[address] = shown = Shown(answer.text, await _twin(client, address, answer.text))
            # Only the page of a running tournament links to its boards.
            boards = [f"{address}live"] if re.fullmatch(r"/t/[^/]+/", address) else []
            for link in [*shown.links, *boards]:
                target = urljoin(address, urldefrag(link)[0])
                is_far = target.startswith("/openings") and "+" in target
                if target.startswith("/") and target not in seen and not is_far:
                    seen.add(target)
                    waiting.append((target, address))
    return found


async def _twin(client: httpx.AsyncClient, address: str, html: str) -> Any:  # noqa: ANN401 - JSON
    link = re.search(r'type="application/json" href="([^"]+)"', html)
    if link is None:
        return None
    answer = await client.get(urljoin(address, unescape(link[1])))
    assert answer.status_code == 200, f"the twin of {address}: {answer.status_code}"
    return answer.json()
