"""A replay in Chromium: keys, links, address, board, curve and moves agree at each ply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from browsing import Site

pytestmark = pytest.mark.browser
_STATE = """() => {
  const seen = all => [...document.querySelectorAll(all)].filter(
    each => getComputedStyle(each).visibility === "visible" && each.getClientRects().length);
  const lit = [...document.querySelectorAll(".moves td")].filter(
    each => getComputedStyle(each).backgroundColor !== "rgba(0, 0, 0, 0)");
  return {
    hash: location.hash,
    stones: seen(".board .stone").length,
    last: seen(".board .last").map(each => each.getAttribute("class")),
    strips: seen(".curve .strip").map(each => each.getAttribute("class")),
    steps: seen(".steps > div").map(each => each.getAttribute("class").split(" ")[0]),
    moves: lit.map(each => each.className.split(" ")[0]),
  };
}"""


@pytest.fixture
def replay(browser: Browser, site: Site) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto(site.first)
    page.goto(site.match())
    yield page
    page.close()


def _agrees(page: Page, ply: int) -> None:
    """Check that all parts of the page show a ply."""
    page.wait_for_function(f"() => location.hash === '#p{ply}'")
    state = page.evaluate(_STATE)
    assert state["stones"] == ply
    assert state["steps"] == [f"s{ply}"]
    here = [f"{kind}{ply}" for kind in ("last l", "strip c", "m")] if ply else []
    assert [*state["last"], *state["strips"], *state["moves"]] == here


def test_keys(replay: Page) -> None:
    last = replay.locator("i.ply").count() - 1
    marked = [
        int(name.split()[0][1:])
        for name in replay.eval_on_selector_all(".moves .marked", "all => all.map(a => a.className)")
    ]
    assert marked
    replay.keyboard.press("Home")
    _agrees(replay, 0)
    replay.keyboard.press("ArrowLeft")
    _agrees(replay, 0)
    for ply in range(1, last + 1):
        replay.keyboard.press("ArrowRight")
        _agrees(replay, ply)
    replay.keyboard.press("ArrowRight")
    _agrees(replay, last)
    replay.keyboard.press("ArrowLeft")
    _agrees(replay, last - 1)
    replay.keyboard.press("End")
    _agrees(replay, last)
    replay.keyboard.press("Home")
    for ply in marked:
        replay.keyboard.press("b")
        _agrees(replay, ply)
    replay.keyboard.press("End")
    for ply in [ply for ply in reversed(marked) if ply < last]:
        replay.keyboard.press("B")
        _agrees(replay, ply)


def test_it_plays_and_stops(replay: Page) -> None:
    last = replay.locator("i.ply").count() - 1
    replay.keyboard.press("Home")
    replay.keyboard.press(" ")
    replay.wait_for_function("() => location.hash === '#p2'")
    replay.keyboard.press(" ")
    ply = int(replay.evaluate("location.hash.slice(2)"))
    _agrees(replay, ply)
    assert ply < last
    replay.keyboard.press("End")
    _agrees(replay, last)


def test_the_back_button_leaves_a_match_that_was_stepped_through_by_keys(replay: Page, site: Site) -> None:
    for key in ("Home", "ArrowRight", "ArrowRight"):
        replay.keyboard.press(key)
    _agrees(replay, 2)
    replay.go_back()
    assert replay.url == site.first


def test_focus_stays_on_the_links_and_is_seen(replay: Page) -> None:
    replay.locator(".steps a[aria-label='to the start']:visible").click()
    link = replay.locator(".steps a[aria-label='one ply on']:visible")
    link.focus()
    for ply in range(1, 4):
        replay.keyboard.press("Enter")
        _agrees(replay, ply)
        focus = replay.evaluate(
            "[document.activeElement.ariaLabel, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert focus == ["one ply on", "solid"]


def test_a_ply_has_an_address(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    page.goto(f"{site.match()}#p3")
    _agrees(page, 3)
    page.locator(".moves .m5 a").click()
    _agrees(page, 5)
    page.go_back()
    _agrees(page, 3)
    page.close()
