"""Every page in Chromium: fits its window, is safe and small, complete without a script, and accessible."""

from __future__ import annotations

import gzip
from itertools import pairwise
from statistics import quantiles
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

    from browsing import Site

pytestmark = pytest.mark.browser

WIDTHS = (320, 390, 768, 1400, 700, 384)
"""Widths of windows in CSS pixels; the last two are windows of 1400 and 768 px at 200 % zoom."""
_OVERFLOW = "[document.documentElement.scrollWidth, innerWidth]"
_OUTLINE = """() => ({
  headings: [...document.querySelectorAll("h1,h2,h3")].map(each => Number(each.tagName[1])),
  nameless: [...document.querySelectorAll("a:not([aria-hidden]),button,summary,input,[role=img]")]
    .filter(each => !(each.textContent.trim() || each.ariaLabel || each.labels?.length))
    .map(each => each.outerHTML.slice(0, 90)),
  unnamed: [...document.querySelectorAll("nav,[role=region],[role=img]")]
    .filter(each => !each.ariaLabel).length,
  landmarks: ["header", "main", "footer"].map(tag => document.querySelectorAll("body > " + tag).length),
  captions: [...document.querySelectorAll("table")].filter(each => !each.caption?.textContent.trim()).length,
  scopes: [...document.querySelectorAll("th")].filter(each => !each.scope || !each.textContent.trim()).length,
  ids: document.querySelectorAll("[id]").length
    - new Set([...document.querySelectorAll("[id]")].map(each => each.id)).size,
  lang: document.documentElement.lang,
})"""
_FOCUS = """() => {
  const it = document.activeElement, box = it.getClientRects()[0], look = getComputedStyle(it);
  const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return {ring: look.outlineStyle + " " + look.outlineWidth, is_on_top: top === null || it.contains(top),
          is_body: it === document.body, what: it.outerHTML.slice(0, 90)};
}"""
_NARROW = """[...document.querySelectorAll("dd, dt")]
  .filter(each => each.clientWidth && each.clientWidth < 60 && each.textContent.length > 8)
  .map(each => each.outerHTML)"""
_COLOURS = """["--paper", "--b", "--sheet"].map(
  name => getComputedStyle(document.documentElement).getPropertyValue(name))"""
_MOST_TABS = 25
_PAPER_WIDTH = 960
"""Width in CSS pixels of A4 at 96 dpi and the smallest scale to which browsers shrink a page for printing."""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def test_no_page_is_wider_than_its_window(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    wide: list[str] = []
    for address in site.pages:
        page.goto(address, wait_until="domcontentloaded")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            needed, there = page.evaluate(_OVERFLOW)
            assert there == width
            wide += [f"{address}: {needed} of {there}"] * (needed > there)
    page.close()
    assert not wide, wide[:5]


def test_nothing_runs_is_asked_for_or_complained_of(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    said: list[str] = []
    asked: set[str] = set()

    def dismissed(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", dismissed)
    page.on("request", lambda request: asked.add(request.url))
    for address in site.pages:
        page.goto(address, wait_until="load")
        assert page.locator("script").count() == 1
        assert page.locator("img, iframe, object, embed, base").count() == 0
    page.close()
    assert said == []
    ours = urlsplit(site.first)[:2]
    assert {urlsplit(url)[:2] for url in asked} == {ours}


def test_a_page_needs_three_requests_and_is_small(browser: Browser, site: Site) -> None:
    for address in site.pages:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(address, wait_until="domcontentloaded")
        page.close()
        # A stream is opened only after these. A browser requests an icon in any case, and shows the page
        # meanwhile.
        assert len([url for url in asked if "stream" not in url and "icon" not in url]) <= 3, asked
    for address in site.pages:
        if not address.startswith("file:"):
            continue
        with urlopen(address) as file:  # noqa: S310 - a file that was written above
            content = file.read()
        assert len(content) <= 60_000, address
        assert len(gzip.compress(content)) <= 12_000, address


def test_without_a_script_all_is_there(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    plain, full = context.new_page(), browser.new_page()
    for address in site.pages[::3]:
        words: list[str] = []
        for page in (plain, full):
            page.goto(address, wait_until="domcontentloaded")
            # The first request for a tournament may arrive before its ratings are computed.
            while page.get_by_text("computing ratings").count():
                page.reload(wait_until="domcontentloaded")
            words.append(page.locator("main").inner_text())
        assert words[0] == words[1], address
    plain.goto(site.match())
    num = plain.locator("i.ply").count() - 1
    plain.locator(".steps a[aria-label='to the start']:visible").click()
    for ply in range(1, 4):
        plain.locator(".steps a[aria-label='one ply on']:visible").click()
        assert plain.url.endswith(f"#p{ply}")
        assert plain.locator(".steps > div:visible").inner_text().split()[2:5] == [str(ply), "/", str(num)]
        assert plain.locator(".board .stone:visible").count() == ply
    plain.go_back()
    assert plain.url.endswith("#p2")
    assert plain.locator(".board .stone:visible").count() == 2
    context.close()
    full.close()


def test_pages_can_be_heard(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    for address in site.pages:
        page.goto(address, wait_until="domcontentloaded")
        found = page.evaluate(_OUTLINE)
        headings = found["headings"]
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(headings)), address
        assert found["nameless"] == [], address
        wrong = {name: found[name] for name in ("unnamed", "captions", "scopes", "ids")}
        assert set(wrong.values()) == {0}, (address, wrong)
        assert found["landmarks"] == [1, 1, 1]
        assert found["lang"] == "en"
    page.close()


def test_whatever_has_the_focus_shows_it_and_is_not_covered(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    for part in ("", "/b/", "/v/", "table", "matches", "leaderboard"):
        page.goto(site.some(part), wait_until="domcontentloaded")
        for _ in range(_MOST_TABS):
            page.keyboard.press("Tab")
            found = page.evaluate(_FOCUS)
            if found["is_body"]:
                break
            assert found["ring"] == "solid 2px", found
            assert found["is_on_top"], found
    page.close()


def test_facts_have_room_on_a_phone(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 700})
    for address in site.pages:
        page.goto(address, wait_until="domcontentloaded")
        assert page.evaluate(_NARROW) == [], address
    page.close()


def test_paper_is_white_and_wide_enough(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": _PAPER_WIDTH, "height": 800}, color_scheme="dark")
    page.emulate_media(media="print")
    for address in site.pages[::3]:
        page.goto(address, wait_until="domcontentloaded")
        assert page.evaluate(_COLOURS) == ["#ffffff", "#1d4e89", "#2f6f9f"]
        needed, there = page.evaluate(_OVERFLOW)
        assert needed <= there, address
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_are_shown_as_text(browser: Browser, site: Site, scheme: str) -> None:
    if not site.first.startswith("file:"):
        pytest.skip("a server has the names that it has")
    page = browser.new_page(color_scheme=scheme)  # pyright: ignore[reportArgumentType] - one of both
    page.goto(site.some("bots.html"))
    words = page.locator("main").inner_text()
    for name in (
        "</script><script>alert(1)</script>",
        '"onload="alert(2)',
        "<img src=x onerror=alert(3)>",
        "x" * 256,
    ):
        assert name in words
    assert "\u202e" not in page.content()
    assert "\x1b" not in page.content()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(ground[4:].split(",")[0]) > 128) == (scheme == "light")
    page.close()


def test_first_paint(
    browser: Browser, site: Site, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Load pages of each kind cold; the times are printed and not judged, as they depend on the machine."""
    kinds = [
        site.first,
        site.match(),
        *(site.some(part) for part in ("leaderboard", "/b/", "/v/", "table", "matches")),
    ]
    times: list[float] = []
    num = int(str(request.config.getoption("--cold-loads")))
    for address in kinds:
        for _ in range(num):
            context = browser.new_context()
            page: Page = context.new_page()
            page.goto(address, wait_until="load")
            page.wait_for_function(f"() => {_PAINT} > 0")
            times.append(page.evaluate(_PAINT))
            context.close()
    median, p95 = quantiles(times, n=20)[9], quantiles(times, n=20)[18]
    with capsys.disabled():
        print(f"\nfirst paint: median {median:.0f} ms, p95 {p95:.0f} ms of {len(times)} cold loads")  # noqa: T201
    assert len(times) == len(kinds) * num
