"""Text in terminal cells: cut, padded and joined from styled pieces."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias

from rich.cells import cell_len, set_cell_size

from arena_plugins.text import clean_text

Span: TypeAlias = tuple[str, str]
"""Text and the name of its style (`first`, `dim`, …; empty is plain)."""
Line: TypeAlias = tuple[Span, ...]

_SPANS: Final[dict[Span, Span]] = {}
"""Interned spans of boards: there are few different ones, which cached lines should share."""
_MAX_SPANS = 2000
"""Number of interned spans at which the table is cleared."""
_GAP = ".."
_MAX = 1000
"""Maximum characters of a cleaned text: more than the widest terminal shows in a line."""
_STOPS = ",;:."
_BRACKETS: Final = re.compile(r" \([^()]*\)")
_AGAINST = " v "
_LEAST_PAIR = 6
"""Minimum width of two names, in cells."""


def safe(text: str) -> str:
    """Return the text without control characters; for nearly all texts a quick check suffices."""
    return text if text.isprintable() else clean_text(text, _MAX)


def clip(text: str, width: int) -> str:
    """Cut a name in the middle, so that it takes at most `width` cells."""
    text = safe(text)
    if cell_len(text) <= width:
        return text
    if width <= len(_GAP) + 1:
        return set_cell_size(text, max(0, width)).rstrip() if width > 0 else ""
    tail_width = (width - len(_GAP)) // 2
    head = set_cell_size(text, width - len(_GAP) - tail_width)
    tail = ""
    for character in reversed(text):
        if cell_len(character + tail) > tail_width:
            break
        tail = character + tail
    return head + _GAP + tail


def shorten(text: str, width: int) -> str:
    """Cut a sentence between words to at most `width` cells, so that no number is cut.

    Parts in round brackets are removed first.
    """
    text = safe(text)
    if cell_len(text) <= width:
        return text
    return cut_sentence(_BRACKETS.sub("", text), width)


def cut_sentence(text: str, width: int) -> str:
    """Cut a sentence between words to at most `width` cells; two dots mark the cut.

    If the first word alone is too long, it is cut in the middle like a name.
    """
    text = safe(text)
    if cell_len(text) <= width:
        return text
    words = text.split(" ")
    while len(words) > 1 and cell_len(" ".join(words)) + len(_GAP) > width:
        words.pop()
    return clip(words[0], width) if len(words) == 1 else f"{' '.join(words).rstrip(_STOPS)}{_GAP}"


def clip_pair(first: str, second: str, width: int) -> str:
    """Return `first v second` in at most `width` cells: each name is cut in its own middle.

    Below nine cells there is no room for both names, and the text is cut as one name.
    """
    room = width - len(_AGAINST)
    if room < _LEAST_PAIR:
        return clip(f"{first}{_AGAINST}{second}", width)
    lengths = [cell_len(safe(name)) for name in (first, second)]
    half = room // 2
    # The longer name gets the cells that the shorter one does not need; an odd cell goes to the first.
    for_first = max(room - half, room - lengths[1])
    for_second = room - min(for_first, lengths[0])
    return f"{clip(first, for_first)}{_AGAINST}{clip(second, for_second)}"


def left(text: str, width: int) -> str:
    """Return text cut and padded to exactly `width` cells, left-aligned."""
    return set_cell_size(clip(text, width), max(0, width))


def right(text: str, width: int) -> str:
    """Return text cut and padded to exactly `width` cells, right-aligned."""
    cut = clip(text, width)
    return " " * (width - cell_len(cut)) + cut


@lru_cache(maxsize=512)
def line_width(line: Line) -> int:
    """Return the width of a line in cells."""
    return sum(cell_len(text) for text, _ in line)


def join(*parts: Line | str) -> Line:
    """Join lines and plain texts."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans.append((part, ""))
        else:
            spans += part
    return tuple(spans)


def _shared(span: Span) -> Span:
    """Return the interned span that equals this one."""
    if len(_SPANS) >= _MAX_SPANS:
        _SPANS.clear()
    return _SPANS.setdefault(span, span)


def merge(characters: list[str], styles: list[str]) -> Line:
    """Join single characters; neighbours of the same style share a span."""
    spans: list[Span] = []
    begin = 0
    for place in range(1, len(characters) + 1):
        if place == len(characters) or styles[place] != styles[begin]:
            spans.append(_shared(("".join(characters[begin:place]), styles[begin])))
            begin = place
    return tuple(spans)


@lru_cache(maxsize=512)
def fit(line: Line, width: int) -> Line:
    """Cut or pad a line to exactly `width` cells."""
    spans: list[Span] = []
    room = width
    for span in line:
        text, style = span
        shown = safe(text)
        cells = cell_len(shown)
        if cells > room:
            shown, cells = set_cell_size(shown, room), room
        if cells:
            spans.append(span if shown is text else (shown, style))
        room -= cells
        if room <= 0:
            return tuple(spans)
    return (*spans, (" " * room, ""))
