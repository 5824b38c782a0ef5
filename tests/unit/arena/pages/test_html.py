"""No text of a bot, a person or a file becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from arena.pages.html import Html, el, join, text
from live_samples import EVIL

HOSTILE = (
    *EVIL,
    "</script><script>alert(1)</script>",
    '"onload="alert(1)',
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "a" * 256,
    "\x1b]8;;http://e\x07",
    "&lt;b&gt;",
)


class _Reader(HTMLParser):
    """Collects elements with their attributes, and text, as a browser would."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    @override
    def handle_data(self, data: str) -> None:
        self.said.append(data)


def read(markup: str) -> _Reader:
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader


@pytest.mark.parametrize("words", HOSTILE)
def test_words_stay_words(words: str) -> None:
    found = read(el("p", words, title=words))
    assert [tag for tag, _ in found.elements] == ["p"]
    assert set(found.elements[0][1]) == {"title"}
    assert "".join(found.said) == found.elements[0][1]["title"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_in_any_place(words: str, value: str) -> None:
    found = read(el("p", words, el("b", words), title=value, lang=value))
    assert [(tag, set(attributes)) for tag, attributes in found.elements] == [
        ("p", {"title", "lang"}),
        ("b", set()),
    ]


def test_markup_in_words_is_none() -> None:
    # Randomly drawn text hardly ever is an element.
    evil = "<img src=x onerror='alert(1)'>&amp;"
    assert el("p", evil) == "<p>&lt;img src=x onerror=&#x27;alert(1)&#x27;&gt;&amp;amp;</p>"
    assert read(el("p", evil, title=evil)).elements == [("p", {"title": evil})]


def test_markup_is_not_escaped_twice() -> None:
    assert el("p", el("b", "x & y")) == "<p><b>x &amp; y</b></p>"
    assert join("<", Html("<br>"), None, 3) == "&lt;<br>3"


def test_attributes() -> None:
    assert el("a", "x", href="?a=1&b=2", class_="k", aria_label="l", hidden=True, id=None, lang=False) == (
        '<a href="?a=1&amp;b=2" class="k" aria-label="l" hidden>x</a>'
    )
    assert el("meta", charset="utf-8") == '<meta charset="utf-8">'


@pytest.mark.parametrize("name", ["onclick", "ONLOAD", "style", "srcdoc", "a b", "", "a>"])
def test_no_attribute_runs_or_styles(name: str) -> None:
    given_names: dict[str, Any] = {name: "x"}
    with pytest.raises(ValueError, match="attribute"):
        el("p", **given_names)


@pytest.mark.parametrize("tag", ["", "a b", "p>", "1"])
def test_no_element_of_another_name(tag: str) -> None:
    with pytest.raises(ValueError, match="element"):
        el(tag)


def test_marks_of_direction_and_control_characters_are_cleaned() -> None:
    assert "\u202e" not in text("\u202eevil")
    assert "\x1b" not in text("\x1b[31mred")
