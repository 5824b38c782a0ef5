"""The forms of a label, from long to short: the name and the facts that distinguish bots of this name.

For `mcts:playouts=20` beside another `mcts` and bots of other names:
`mcts:playouts=20` · `mcts playouts=20` · `mcts p20` · `m p20` · `mp20` · `m20` · `20`.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from arena_db.called import LEAST_DIGITS, MARK
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NUM_DIGITS = LEAST_DIGITS
"""Preferred digits of an identity in a label."""
_TOKEN = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?|[^\W\d_]+|.", re.DOTALL)
"""A number, a word, or one other character."""
_VERSION = "@"
"""Key of a bot's version among its facts; it cannot be the name of an option."""


class NamedBot(NamedTuple):
    """The parts from which the labels of a bot are built."""

    identity: str
    """Hex digits; bots with the same identity are the same bot."""
    name: str
    """Name of the bot's entry point, or the name that a person chose."""
    text: str
    """Spec of the bot, or the name that a person chose."""
    options: tuple[tuple[str, str], ...] = ()
    """Options sorted by key."""
    version: str = ""
    twin: str = ""
    """`2` for the second seat of a bot that plays itself; otherwise empty."""


class Group:
    """The bots of one name and the facts that distinguish them."""

    def __init__(
        self, bots: Sequence[NamedBot], head: str, needed: Mapping[str, int], *, is_only: bool
    ) -> None:
        """Find the facts that differ.

        Args:
            bots: all bots of the name.
            head: the shortest prefix that is unique among all names.
            needed: digits that distinguish each identity from all others.
            is_only: whether there is no other name.
        """
        self._bots = bots
        self._name = bots[0].name
        self._head = head
        self._is_only = is_only
        facts = {bot: _facts(bot) for bot in bots}
        told = sorted({key for each in facts.values() for key in each})
        self._keys = [key for key in told if len({each.get(key) for each in facts.values()}) > 1]
        keys = unique_prefixes([key for key in self._keys if key != _VERSION])
        self._values: dict[NamedBot, dict[str, str]] = {bot: {} for bot in bots}
        for key in self._keys:
            given = {bot: each[key] for bot, each in facts.items() if key in each}
            for bot, value in _short_values(given).items():
                self._values[bot][key] = value
        self._long = {
            bot: {key: _written(key, f"{key}=", each[key]) for key in self._keys if key in each}
            for bot, each in facts.items()
        }
        self._short = {
            bot: {key: _written(key, keys.get(key, ""), value) for key, value in values.items()}
            for bot, values in self._values.items()
        }
        alike = Counter((tuple(each.items()), bot.twin) for bot, each in facts.items())
        self._tails = {
            bot: tail(
                bot, max(NUM_DIGITS, needed[bot.identity]) if alike[tuple(each.items()), bot.twin] > 1 else 0
            )
            for bot, each in facts.items()
        }

    def forms(self, width: int) -> list[dict[NamedBot, str]]:
        """Return the labels in each form in which all fit and differ, from long to short.

        If there is no such form, return the one with the most usable labels, perhaps none.
        """
        whole: list[dict[NamedBot, str]] = []
        best: dict[NamedBot, str] = {}
        for form in self._all_forms(width):
            labels = {bot: label + self._tails[bot] for bot, label in form.items() if label}
            counts = Counter(labels.values())
            good = {
                bot: label
                for bot, label in labels.items()
                if counts[label] == 1 and 0 < cell_len(label) <= width
            }
            if len(good) == len(self._bots):
                whole.append(good)
            if len(good) > len(best):
                best = good
        return whole or [best]

    def _all_forms(self, width: int) -> Iterable[dict[NamedBot, str]]:
        bots, head, keys = self._bots, self._head, self._keys
        yield {bot: cleaned(bot.text) for bot in bots}
        yield self._form(self._name, self._long, keys)
        yield self._form(self._name, self._short, keys)
        if not keys:
            short = cut(self._name, width - max(map(len, self._tails.values())))
            yield dict.fromkeys(bots, short if len(short) >= len(head) else "")
            return
        few = self._enough
        for told in (keys, few):
            yield self._form(head, self._short, told)
            if self._is_only:
                yield self._form("", self._short, told)
        yield {bot: label.replace(" ", "") for bot, label in self._form(head, self._short, few).items()}
        if len(few) == 1 and few != [_VERSION]:
            yield self._form(head, self._values, few)
            yield self._form("", self._values, few)

    def _form(
        self, head: str, parts: Mapping[NamedBot, Mapping[str, str]], keys: Sequence[str]
    ) -> dict[NamedBot, str]:
        """Return head and facts for each bot; a bot without any of the facts gets the head alone."""
        return {
            bot: (head + "".join(parts[bot].get(key, "") for key in keys)).strip() or self._head
            for bot in self._bots
        }

    @cached_property
    def _enough(self) -> list[str]:
        """Keys of a few facts that still distinguish all bots; long facts are dropped first."""
        kept = list(self._keys)
        room = {key: sum(len(parts.get(key, "")) for parts in self._short.values()) for key in kept}
        num_told = self._num_told(kept)
        for key in sorted(kept, key=lambda key: (-room[key], key)):
            fewer = [other for other in kept if other != key]
            if fewer and self._num_told(fewer) == num_told:
                kept = fewer
        return kept

    def _num_told(self, keys: Sequence[str]) -> int:
        return len({tuple(self._short[bot].get(key) for key in keys) for bot in self._bots})


def _written(key: str, head: str, value: str) -> str:
    return f"@{value}" if key == _VERSION else f" {head}{value}"


def tail(bot: NamedBot, digits: int) -> str:
    """Return the end of a label: digits of the identity, and the number of a twin."""
    digits = max(digits, NUM_DIGITS) if digits else 0
    return f"{MARK * (digits > 0)}{bot.identity[:digits]}{'_' * bool(bot.twin)}{bot.twin}"


def _facts(bot: NamedBot) -> dict[str, str]:
    version = {_VERSION: bot.version} if bot.version else {}
    return version | dict(bot.options)


def _short_values(values: Mapping[NamedBot, str]) -> dict[NamedBot, str]:
    """Return the values without the tokens that all of them share; no value becomes empty.

    `runs/a/step400.npz` and `runs/a/step800.npz` become `400` and `800`.
    """
    tokens = {bot: _TOKEN.findall(value) for bot, value in values.items()}
    rows = list(tokens.values())
    if len(rows) < 2 or not all(rows):  # noqa: PLR2004 - one shares all its tokens with itself
        return dict(values)
    if len({len(row) for row in rows}) == 1:
        kept = [place for place, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
        if not kept:
            return dict(values)
        return {bot: _joined([row[place] for place in kept], kept) for bot, row in tokens.items()}
    least = min(map(len, rows)) - 1
    start = min(least, *(_num_shared(rows[0], row) for row in rows))
    end = min(least - start, *(_num_shared(rows[0][::-1], row[::-1]) for row in rows))
    return {bot: "".join(row[start : len(row) - end]) for bot, row in tokens.items()}


def _joined(tokens: Sequence[str], places: Sequence[int]) -> str:
    """Join tokens; a `.` separates two numbers or two words between which a token was dropped."""
    text = tokens[0]
    for before, place, token in zip(places, places[1:], tokens[1:], strict=False):
        is_torn = place - before > 1 and text[-1].isalnum() and text[-1].isdigit() == token[0].isdigit()
        text += f"{'.' * is_torn}{token}"
    return text


def unique_prefixes(words: Iterable[str]) -> dict[str, str]:
    """Return the shortest prefix of each word that no other word has; else the whole word."""
    known = sorted(set(words))
    found: dict[str, str] = {}
    for place, word in enumerate(known):
        # In sorted order the words with the longest shared prefix are neighbours.
        near = [known[other] for other in (place - 1, place + 1) if 0 <= other < len(known)]
        shared = max((_num_shared(word, other) for other in near), default=0)
        found[word] = word[: shared + 1]
    return found


def cut(text: str, width: int) -> str:
    """Return the longest prefix of a text that takes at most `width` cells, without trailing blanks."""
    while text and cell_len(text) > width:
        text = text[:-1]
    return text.rstrip()


def _num_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common prefix of two sequences."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def cleaned(text: str) -> str:
    """Return a text as one line without control characters."""
    return clean_text(text, max(1, len(text))).strip()
