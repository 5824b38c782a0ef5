"""Short names of bots that are told apart at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LABEL = 7
"""Characters of a label."""
MAX_NAME = 64
"""Characters of a name that are shown in full."""
_GAP = ".."
"""Stands for what is left out in the middle."""


def show_name(name: str) -> str:
    """Give a name as it may be shown: one line, nothing that steers a terminal, never empty."""
    return clean_text(name, MAX_NAME).strip() or "?"


def cut_middle(text: str, width: int) -> str:
    """Cut `text` to `width` characters; its beginning and its end stay."""
    if len(text) <= width:
        return text
    if width <= len(_GAP) + 1:
        return text[:width]
    tail = (width - len(_GAP)) // 2
    return text[: width - len(_GAP) - tail] + _GAP + text[len(text) - tail :]


def short_labels(names: Sequence[str], width: int = MAX_LABEL) -> tuple[str, ...]:
    """Give every name a label of at most `width` characters; different names get different labels.

    A label is the name before its options, cut in the middle; where that is taken, it ends with a number by
    the order of `names`. Equal names share a label.
    """
    labels: dict[str, str] = {}
    stems = {name: cut_middle(show_name(name).partition(":")[0] or "?", width) for name in names}
    for name in dict.fromkeys(names):
        stem = stems[name]
        alone = sum(other == stem for other in stems.values()) == 1
        labels[name] = stem if alone else _numbered(stem, width, {*labels.values(), *stems.values()})
    return tuple(labels[name] for name in names)


def _numbered(stem: str, width: int, taken: Iterable[str]) -> str:
    known = set(taken)
    number = 1
    while (label := f"{cut_middle(stem, width - len(str(number)) - 1)}-{number}") in known:
        number += 1
    return label


def fits_words(text: str, *names: str) -> bool:
    """Say whether each word of a text occurs in one of the names, in small letters or capitals."""
    known = " ".join(names).casefold()
    return all(word in known for word in text.casefold().split())
