"""Addresses of pages, for a folder of files and for a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

PER_PAGE: Final = 150
"""Number of matches on one page of a list; about 50 kB of HTML."""


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses of pages, relative to one page."""

    root: str
    """The path from this page to the first one, with a trailing slash: `../../`, or `/` on a server."""
    suffix: str = ".html"
    """Suffix of the name of a page; empty on a server."""
    index: str = "index.html"
    """File name of a folder's page; empty on a server."""
    slugs: Mapping[str, str] = {}
    """Names of tournaments in addresses, by their real names."""
    matches: frozenset[tuple[str, int, int]] | None = None
    """Tournament, number and attempt of the matches that have a page; None means all."""
    bots: frozenset[str] | None = None
    """Identities of the bots that have a page; None means all."""
    events: frozenset[str] | None = None
    """Names of the tournaments that have pages; None means all."""
    pairs: frozenset[tuple[str, str, str]] | None = None
    """Tournament and both identities of the head-to-heads that have a page; None means all."""

    def home(self) -> str:
        """Return the address of the first page."""
        return f"{self.root}{self.index}"

    def page(self, name: str) -> str:
        """Return the address of a page next to the first one: `leaderboard`, `bots`."""
        return f"{self.root}{name}{self.suffix}"

    def asset(self, name: str) -> str:
        """Return the address of a style sheet or script."""
        return f"{self.root}a/{name}"

    def event(self, name: str, page: str = "") -> str:
        """Return the address of a tournament, or of a page of it: `table`, `matches`."""
        folder = f"{self.root}t/{self._slug(name)}/"
        return f"{folder}{page}{self.suffix}" if page else f"{folder}{self.index}"

    def matches_page(self, name: str, number: int, condition: str = "") -> str:
        """Return the address of a page of a tournament's list of matches.

        Args:
            name: name of the tournament.
            number: number of the page, from 1.
            condition: a filter, on a server only; empty for all matches.
        """
        page = self.event(name, "matches" if number == 1 else f"matches-{number}")
        return f"{page}?{urlencode({'q': condition})}" if condition else page

    def openings(self, game: str = "", moves: str = "") -> str:
        """Return the address of a position, on a server.

        Args:
            game: canonical spec; empty for the game with most matches.
            moves: moves from the initial position, separated by blanks.
        """
        asked = {name: text for name, text in (("game", game), ("moves", moves)) if text}
        return f"{self.page('openings')}?{urlencode(asked)}" if asked else self.page("openings")

    @property
    def is_served(self) -> bool:
        """Whether the pages come from a server, so that they can have parameters and streams."""
        return not self.index

    def match(self, name: str, number: int, attempt: int = 0, outcome: str = "") -> str | None:
        """Return the address of a match; None if it has no page."""
        kept = attempt if outcome == "void" else 0
        if self.matches is not None and (name, number, kept) not in self.matches:
            return None
        return self.event(name, match_page(number, attempt, outcome))

    def known_event(self, name: str) -> str | None:
        """Return the address of a tournament; None if it has no page."""
        return self.event(name) if self.events is None or name in self.events else None

    def match_text(self, address: str, form: str) -> str:
        """Return the address of a match as text.

        Args:
            address: address of the match, as for `match_at`.
            form: `pgn` or `sgf`.
        """
        name, _, number = address.rpartition("/")
        return f"{self.root}t/{self._slug(name)}/{number}.{form}"

    def match_at(self, address: str, ply: int | None = None) -> str | None:
        """Return the page of a match, given its address `live1/89` or `live1/89.1`; None if it has no page.

        Args:
            address: the address in the form of `naming.match_address`.
            ply: ply of the position shown first; None for the last one.
        """
        name, _, number = address.rpartition("/")
        planned, dot, attempt = number.partition(".")
        page = self.match(name, int(planned), int(attempt or 0), "void" if dot else "")
        return page if page is None or ply is None else f"{page}#p{ply}"

    def versus(self, name: str, one: str, other: str) -> str | None:
        """Return the address of two bots head to head in a tournament; None if they have no page.

        A folder has one page per pair of bots, so the order of the two may be swapped.

        Args:
            name: name of the tournament.
            one: identity of a bot.
            other: identity of the other.
        """
        if self.pairs is not None and (name, one, other) not in self.pairs:
            one, other = other, one
            if (name, one, other) not in self.pairs:
                return None
        return self.event(name, versus_page(one, other)) if one and other else None

    def bot(self, identity: str) -> str | None:
        """Return the address of a bot; None if it has no page."""
        if not identity or (self.bots is not None and identity not in self.bots):
            return None
        return f"{self.root}b/{bot_page(identity)}{self.suffix}"

    def _slug(self, name: str) -> str:
        return quote(self.slugs.get(name, name), safe="")


def match_page(number: int, attempt: int, outcome: str) -> str:
    """Return the name of a match's page in its tournament: its number, or number and attempt if void."""
    return f"{number}.{attempt}" if outcome == "void" else str(number)


def versus_page(one: str, other: str) -> str:
    """Return the name of a head-to-head's page in its tournament, made of both identities."""
    return f"v/{bot_page(one)}/{bot_page(other)}"


def bot_page(identity: str) -> str:
    """Return the name of a bot's page: the first 16 digits of its identity, enough to be unique."""
    return identity[:16]


def slugs_of(tournaments: Mapping[str, str]) -> dict[str, str]:
    """Return the names of tournaments in addresses: their own names where these are suitable.

    The identity of the tournament is used if the name needs escapes, consists of dots, or differs from
    another one only by case, since some file systems ignore case.

    Args:
        tournaments: identities by name.
    """
    lower = [name.casefold() for name in tournaments]
    return {
        name: name
        if quote(name, safe="") == name and name.strip(".") and lower.count(name.casefold()) == 1
        else uid
        for name, uid in tournaments.items()
    }
