"""Fixtures: a browser, and pages for it from a folder that is written here, or from a running server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

import pytest

from arena.site import build
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.store import Store
from browsing import HOSTILE, NAMES, Site, crawl
from leagues import League, add_league

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield the Chromium of the distribution."""
    # Imported here, because every run collects these tests, and few select them.
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        pytest.fail("there is no Chromium: apt install chromium, or make browsers as root")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with hostile names in everything."""
    path = tmp_path_factory.mktemp("site") / "arena.db"
    with Store.open(path, fast=True) as store:
        record = add_league(store, NAMES[:3], League(rounds=3, name="league", points=5))
        add_league(store, NAMES, League(name=HOSTILE, game="tic-tac-toe", reason=f"{HOSTILE} did it"))
        add_league(
            store, NAMES[:2], League(name="stones", game="gomoku:k=4,size=8", rounds=2, limit="1/move hosted")
        )
        for match in store.matches.of_tournament(record.id):
            plies = tuple(
                JudgedPly(value=0.0, loss=2.0 * (ply in {5, 7})) for ply in range(len(match.actions))
            )
            store.analyses.add(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=1.0))
    return path


@pytest.fixture(scope="session", params=["file", "served"])
def site(request: pytest.FixtureRequest, hostile: Path, browser: Browser) -> Iterator[Site]:
    """Yield the pages of a folder and of a server with hostile names, or those of `--base-url`."""
    given = str(request.config.getoption("--base-url"))
    if given and request.param == "file":
        pytest.skip("--base-url names a server")
    with ExitStack() as stack:
        if given:
            first = given
        elif request.param == "served":
            first = stack.enter_context(_served(hostile))
        else:
            with Store.open(hostile, read_only=True) as store:
                build(store, hostile.with_name("out"), num_matches=12)
            first = (hostile.with_name("out") / "index.html").as_uri()
        page = browser.new_page()
        pages = tuple(crawl(page, first))
        page.close()
        yield Site(urldefrag(first)[0], pages)


@contextmanager
def _served(path: Path) -> Generator[str]:
    """Yield the address of a server that shows a store; it ends with the block."""
    words = ["-m", "arena", "serve", "--db", str(path), "--anonymous", "--read-only", "--bind", "127.0.0.1:0"]
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - ours
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://[0-9.:]+/", line)
        try:
            assert found, line
            yield found[0]
        finally:
            server.terminate()
            server.wait(30)
