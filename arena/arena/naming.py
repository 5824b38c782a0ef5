"""Labels and texts in the store: their maximum lengths, and how equal labels are made unique."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError, OptionError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LABEL = 256
"""Maximum characters of a label."""
MAX_TEXT = 4096
"""Maximum characters of a spec, an event or a site."""
_MAX_NAME = 64
"""Maximum characters of a name that a person gives to a bot."""
_DIGITS = 8
_NUM_VERSIONED = 2
"""Number of names, at the end of the list, that contain the version; the last one has digits of the content,
too."""


class Called(NamedTuple):
    """Possible names of a competitor."""

    identity: str
    """Identity; competitors with the same identity are the same bot."""
    names: tuple[str, ...]
    """The names, at least one, from the shortest to the most specific."""
    is_given: bool
    """Whether a person chose the name."""

    def with_version(self) -> Called:
        """Return the competitor with only the names that contain its version; not for a chosen name."""
        return self._replace(names=self.names[-_NUM_VERSIONED:])


def labels_of(bots: Sequence[Called]) -> list[str]:
    """Return a label for each competitor: the shortest of its names that no other bot has.

    If a bot is entered twice, its second label is `A_2`.

    Raises:
        ConfigError: a person gave two bots the same name.
    """
    chosen = [0] * len(bots)
    while clashes := _clashes([bot.names[number] for bot, number in zip(bots, chosen, strict=True)], bots):
        given = next((bots[i].names[0] for i in clashes if bots[i].is_given), None)
        if given is not None:
            raise ConfigError(f"two bots are called {given}; give them different values of name=")
        longer = [i for i in clashes if chosen[i] + 1 < len(bots[i].names)]
        if not longer:
            break
        for i in longer:
            chosen[i] += 1
    taken: list[str] = []
    for bot, number in zip(bots, chosen, strict=True):
        name = bot.names[number]
        others = (f"{name}_{ordinal}" for ordinal in count(2))
        label = cut_label(name)
        while label in taken:
            label = cut_label(next(others))
        taken.append(label)
    return taken


def _clashes(names: Sequence[str], bots: Sequence[Called]) -> list[int]:
    """Return the indices of names that different bots share."""
    owners: dict[str, set[str]] = {}
    for name, bot in zip(names, bots, strict=True):
        owners.setdefault(name, set()).add(bot.identity)
    return [i for i, name in enumerate(names) if len(owners[name]) > 1]


def match_address(tournament: str, number: int, attempt: int = 0, outcome: str = "") -> str:
    """Return the address of a match: `live1/89`, or `live1/89.1` for a void attempt.

    Args:
        tournament: name of the tournament; empty if the context implies it.
        number: number of the match in its plan, from 1.
        attempt: number of earlier void attempts.
        outcome: outcome of the attempt. `live1/89` is the attempt that counts, or the newest one.
    """
    return f"{tournament}/{number}{f'.{attempt}' if outcome == 'void' else ''}"


def cut_label(text: str) -> str:
    """Return a label of at most `MAX_LABEL` characters.

    A longer text is cut and ends with `…+` and 8 hex digits of the SHA-256 of the whole text, so that long
    specs with the same prefix get different labels.
    """
    if len(text) <= MAX_LABEL:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: MAX_LABEL - _DIGITS - 2]}…+{digest}"


def check_name(owner: str, name: str) -> str:
    """Return the name that a person gave to a bot, if it is valid.

    Raises:
        OptionError: the name is empty, too long, or not a single line of text.
    """
    if not name or clean_text(name, _MAX_NAME) != name or name != name.strip():
        raise OptionError(
            f"{owner}: name={clean_text(name, _MAX_NAME)} cannot be a name; write 1 to {_MAX_NAME} "
            "characters in one line"
        )
    return name


def check_text(what: str, text: str, most: int = MAX_TEXT) -> str:
    """Return a text, if the store can hold it unchanged.

    Args:
        what: name of the text, for the message.
        text: the text.
        most: maximum number of characters.

    Raises:
        ConfigError: the text is too long, contains a NUL character, or is not valid Unicode.
    """
    if len(text) > most:
        raise ConfigError(f"{what} has {len(text):,} characters; give at most {most:,}")
    if "\0" in text:
        raise ConfigError(f"{what} contains a NUL character, at which the store would cut it off; remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{what} is not valid UTF-8 (character {error.start + 1}); give a text") from error
    return text


def count_text(done: int, total: int | None, between: str = "/") -> str:
    """Return `3/1944`, the number of finished and of all matches; `3` if the total is unknown."""
    return f"{done}" if total is None else f"{done}{between}{total}"
