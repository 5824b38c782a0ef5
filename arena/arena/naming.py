"""Labels and texts that the store keeps: how long they may be, and how two of one label are told apart."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError, OptionError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LABEL = 256
"""Characters of a label."""
MAX_TEXT = 4096
"""Characters of a spec, an event or a site."""
_MAX_NAME = 64
"""Characters of a name that a person gives to a bot."""
_DIGITS = 8


class Called(NamedTuple):
    """What a competitor may be called."""

    identity: str
    """Competitors of one identity are one bot."""
    names: tuple[str, ...]
    """From the shortest on, each more telling than the one before; at least one."""
    is_given: bool
    """Whether a person chose the name."""


def labels_of(bots: Sequence[Called]) -> list[str]:
    """Return a label for each competitor: the shortest of its names that no other bot has.

    The second of two twins is called `A_2`.

    Raises:
        ConfigError: two bots were given one name.
    """
    chosen = [0] * len(bots)
    while clashes := _clashes([bot.names[number] for bot, number in zip(bots, chosen, strict=True)], bots):
        given = next((bots[i].names[0] for i in clashes if bots[i].is_given), None)
        if given is not None:
            raise ConfigError(f"two bots are called {given}; give each another name=")
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
    """Return the places of names that different bots have."""
    owners: dict[str, set[str]] = {}
    for name, bot in zip(names, bots, strict=True):
        owners.setdefault(name, set()).add(bot.identity)
    return [i for i, name in enumerate(names) if len(owners[name]) > 1]


def match_address(tournament: str, number: int, attempt: int = 0, outcome: str = "") -> str:
    """Return the address of a match: `live1/89`, and `live1/89.1` for an attempt that came to nothing.

    Args:
        tournament: its name; empty where the context says which one it is.
        number: of the match in its plan, from 1.
        attempt: how many void attempts came before.
        outcome: of the attempt. `live1/89` is the one that counts, or the newest.
    """
    return f"{tournament}/{number}{f'.{attempt}' if outcome == 'void' else ''}"


def cut_label(text: str) -> str:
    """Return a label of at most `MAX_LABEL` characters.

    A longer text is cut and ends with `…+` and 8 hex digits of the SHA-256 of the whole, so that two long
    specs with the same beginning stay apart.
    """
    if len(text) <= MAX_LABEL:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: MAX_LABEL - _DIGITS - 2]}…+{digest}"


def check_name(owner: str, name: str) -> str:
    """Return the name that a person gave to a bot.

    Raises:
        OptionError: it is empty, too long, or more than a line of text.
    """
    if not name or clean_text(name, _MAX_NAME) != name or name != name.strip():
        raise OptionError(
            f"{owner}: name={clean_text(name, _MAX_NAME)} cannot be a name; write 1 to {_MAX_NAME} "
            "characters in one line"
        )
    return name


def check_text(what: str, text: str, most: int = MAX_TEXT) -> str:
    """Return a text that the store can hold as it is.

    Args:
        what: its name, for the message.
        text: the text.
        most: the most characters it may have.

    Raises:
        ConfigError: it is too long, has a NUL character, or is no Unicode text.
    """
    if len(text) > most:
        raise ConfigError(f"{what} has {len(text):,} characters; give at most {most:,}")
    if "\0" in text:
        raise ConfigError(
            f"{what} has a NUL character, with which the store would lose its end; leave it out"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{what} is no valid UTF-8 (character {error.start + 1}); give a text") from error
    return text


def count_text(done: int, total: int | None, between: str = "/") -> str:
    """Return `3/1944`, how many matches are done of how many; `3` where nobody can know the total."""
    return f"{done}" if total is None else f"{done}{between}{total}"
