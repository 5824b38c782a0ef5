"""The pages that a browser visits: their addresses, and names that hostile bots might choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urldefrag, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

NAMES = (
    "alphazero",
    "</script><script>alert(1)</script>",
    '"onload="alert(2)',
    "<img src=x onerror=alert(3)>",
    "\u202eoen",
    "\x1b[31mred",
    "x" * 256,
)
"""Names of bots: an ordinary one, and hostile ones."""
HOSTILE = "<img src=http://e.example/x onerror=alert(4)>"
"""Name of a tournament, and how one of its matches ended."""
_NO_PAGES = (".json", ".pgn", ".sgf")
_ADDRESSES = "all => all.map(each => new URL(each.getAttribute('href'), document.baseURI).href)"
"""Addresses of links, read by attribute: links within pictures have no such property."""


class Site(NamedTuple):
    """The pages to visit."""

    first: str
    """Address of the first page."""
    pages: tuple[str, ...]
    """Addresses of all pages, each once."""

    def some(self, part: str) -> str:
        """Return the first page whose address contains a text."""
        return next(page for page in self.pages if part in page)

    def match(self) -> str:
        """Return the page of the match with the highest number among those that have marks."""
        return max((page for page in self.pages if "/t/league/" in page and _number(page)), key=_number)


def _number(page: str) -> int:
    name = page.rpartition("/")[2].removesuffix(".html")
    return int(name) if name.isdigit() else 0


def crawl(page: Page, first: str) -> Iterator[str]:
    """Yield the addresses of all pages that links lead to, beginning with the first one."""
    waiting, seen = [first], {urldefrag(first)[0]}
    while waiting:
        address = waiting.pop()
        page.goto(address, wait_until="domcontentloaded")
        yield urldefrag(page.url)[0]
        links = page.eval_on_selector_all("a[href]:not([download])", _ADDRESSES)
        for link in links:
            there = urldefrag(str(link))[0]
            # Only the positions after one move are visited, out of the many positions of the openings.
            is_far = "/openings?" in there and "+" in urlsplit(there).query
            is_ours = urlsplit(there)[:2] == urlsplit(first)[:2] and not is_far
            if is_ours and there not in seen and not urlsplit(there).path.endswith(_NO_PAGES):
                seen.add(there)
                waiting.append(there)
