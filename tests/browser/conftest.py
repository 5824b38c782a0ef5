"""A browser, and pages for it: a folder that is written here, or a server that runs somewhere."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

import pytest
from playwright.sync_api import sync_playwright

from arena.site.build import build
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.store import Store
from browsing import HOSTILE, NAMES, Site, crawl
from leagues import add_league

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield Chromium of the distribution."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        pytest.fail("there is no Chromium: apt install chromium, or make browsers as root")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Site:
    """Return the pages of a folder with hostile names, or those of `--base-url`."""
    first = str(request.config.getoption("--base-url"))
    if not first:
        folder = tmp_path_factory.mktemp("site")
        _write(folder)
        first = (folder / "out/index.html").as_uri()
    page = browser.new_page()
    pages = tuple(crawl(page, first))
    page.close()
    return Site(urldefrag(first)[0], pages)


def _write(folder: Path) -> None:
    with Store.open(folder / "arena.db", fast=True) as store:
        record = add_league(store, NAMES[:3], rounds=3, name="league", points=5)
        add_league(store, NAMES, name=HOSTILE, game="tic-tac-toe", reason=f"{HOSTILE} did it")
        add_league(store, NAMES[:2], name="stones", game="gomoku:k=4,size=8", rounds=2, limit="1/move hosted")
        for match in store.tournament_matches(record.id):
            plies = tuple(
                JudgedPly(value=0.0, loss=2.0 * (ply in {5, 7})) for ply in range(len(match.actions))
            )
            store.add_analysis(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=1.0))
        build(store, folder / "out", num_matches=12)
