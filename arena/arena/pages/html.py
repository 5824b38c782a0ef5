"""Builds HTML that is safe by type: any text that is not `Html` is escaped."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from html import escape
from typing import Final, TypeAlias

from arena_plugins.text import clean_text

_VOID: Final = frozenset({"meta", "link", "input", "br", "img", "hr", "wbr"})
"""Elements without an end tag."""
_LEAVES: Final = frozenset({"path", "circle", "rect", "line", "use"})
"""SVG shapes, which are written as self-closing tags."""
_OPEN: Final = frozenset({"td", "th", "tr"})
"""Parts of tables, whose end tags HTML allows to omit; this makes a large table a fifth smaller."""
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_FORBIDDEN: Final = re.compile(r"on|style$|srcdoc$", re.IGNORECASE)
"""Attributes that would run a script or set a style; the content security policy refuses them, too."""
_BREAK: Final = re.compile(r"(?<=[:,])(?=[^:,])")
_MOST: Final = 4000
"""Maximum number of characters of one text; texts of bots have been cut earlier."""


class Html(str):
    """Markup made by `el`, `join` or `text`; any other text is escaped."""

    __slots__ = ()


Child: TypeAlias = Html | str | int | None
"""The content of an element; None adds nothing."""
Value: TypeAlias = str | int | float | bool | None
"""The value of an attribute: None and False leave it out, True writes only its name."""


def text(words: str | int) -> Html:
    """Return text as markup: control and directional characters are cleaned, the rest is escaped."""
    return _escaped(str(words))


# The texts of a page repeat: numbers, classes, coordinates and names of bots.
@lru_cache(maxsize=2048)
def _escaped(words: str) -> Html:
    return Html(escape(clean_text(words, _MOST)))


def join(*children: Child) -> Html:
    """Return the concatenation of several pieces."""
    return Html("".join(_child(child) for child in children if child is not None))


def el(tag: str, *children: Child, **attributes: Value) -> Html:
    """Return an element.

    Args:
        tag: name of the element.
        children: content of the element, in order.
        attributes: values by name; an underscore becomes a hyphen, a trailing one is removed (`class_`).

    Raises:
        ValueError: a name is invalid, or an attribute would run a script or set a style.
    """
    _check_tag(tag)
    start = "".join([f"<{tag}", *(_attribute(name, value) for name, value in attributes.items())])
    if tag in _LEAVES and not children:
        return Html(f"{start}/>")
    end = "" if tag in _VOID or tag in _OPEN else f"</{tag}>"
    return Html(f"{start}>{join(*children)}{end}")


@cache
def _check_tag(tag: str) -> None:
    if not _NAME.fullmatch(tag):
        raise ValueError(f"no element can be called {tag!r}")


def breakable(name: str) -> Html:
    """Return the name of a bot with line-break opportunities after `:` and `,`."""
    first, *rest = _BREAK.split(name)
    return join(first, *(join(el("wbr"), piece) for piece in rest))


def _child(child: Child) -> str:
    return child if isinstance(child, Html) else "" if child is None else text(child)


def _attribute(name: str, value: Value) -> str:
    key = _key(name)
    if value is None or value is False:
        return ""
    if value is True:
        return f" {key}"
    return f' {key}="{value if isinstance(value, int | float) else text(value)}"'


@cache
def _key(name: str) -> str:
    """Return the name of an attribute in markup; only page code makes names, so the cache stays small."""
    key = name.removesuffix("_").replace("_", "-")
    if not _NAME.fullmatch(key) or _FORBIDDEN.match(key):
        raise ValueError(f"no page sets the attribute {key!r}")
    return key
