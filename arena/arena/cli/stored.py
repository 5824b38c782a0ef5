"""Finds stored tournaments by what people call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.cli.exits import NotFoundError
from arena.errors import ConfigError
from arena_plugins.spec import NAME, nearest

if TYPE_CHECKING:
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

MAX_NUMBER: Final = (1 << 63) - 1
"""The largest number that a match can have: SQLite's."""
_MOST_DIGITS: Final = 100
LAST = "last"
"""Names the newest tournament, or the newest unfinished one."""


def find_tournament(store: Store, key: str | None, *, unfinished: bool) -> TournamentRecord:
    """Find a tournament by name; None or `last` is the newest one.

    Args:
        store: where it is.
        key: its name.
        unfinished: whether the newest means the newest unfinished one.

    Raises:
        NotFoundError: there is none; names the nearest.
    """
    if key is None or key == LAST:
        found = store.last_tournament(unfinished=unfinished)
        if found is None:
            kind = "unfinished tournament" if unfinished else "tournament"
            raise NotFoundError(f"there is no {kind} in {store.path}")
        return found
    found = store.tournament(key)
    if found is None:
        known = [tournament.name for tournament in store.tournaments()]
        way_out = f"the newest is {known[0]}" if known else "arena tournament holds the first one"
        raise NotFoundError(f'no tournament "{key}"{nearest(key, known)} ({way_out})')
    return found


def check_new_name(store: Store, name: str) -> None:
    """Refuse a name that another tournament has, or that could be taken for something else.

    Raises:
        ConfigError: says why.
    """
    if not name:
        return
    if not NAME.match(name) or name.isdecimal() or name == LAST:
        raise ConfigError(
            f'--name "{name}" cannot be one; use letters, digits, "_", ".", "-", at most 64, neither a bare '
            f'number nor "{LAST}"'
        )
    if store.tournament(name) is not None:
        raise ConfigError(
            f"there is a tournament {name} already; arena resume {name} goes on with it, another --name "
            "begins a new one"
        )


def find_address(store: Store, address: str) -> tuple[TournamentRecord, int | None]:
    """Find what an address names: a tournament, and the planned number of a match in it if it names one.

    Addresses are `NAME`, `NAME/89`, and `#20417` or `20417`, the number of a stored match.

    Raises:
        NotFoundError: there is none; names the nearest.
    """
    number = match_number(address.removeprefix("#"))
    if number is not None:
        match = find_match(store, number)
        return find_tournament(store, match.tournament_name, unfinished=False), match.number
    name, _, digits = address.rpartition("/")
    within = match_number(digits)
    if name and within is not None and store.tournament(address) is None:
        record = find_tournament(store, name, unfinished=False)
        if not 1 <= within <= record.num_planned:
            raise NotFoundError(
                f"no match {within} in {record.name}; its matches are numbered 1 to {record.num_planned}"
            )
        return record, within
    return find_tournament(store, address, unfinished=False), None


def match_number(text: str) -> int | None:
    """Return the number that a text of digits is; None for any other text.

    Of a number with more than 100 digits it returns the first 100: that is the number of no match either.
    """
    if not (text.isdecimal() and text.isascii()):
        return None
    # Python reads no number of 5,000 digits.
    return int((text.lstrip("0") or "0")[:_MOST_DIGITS])


def find_match(store: Store, number: int) -> StoredMatch:
    """Find a match by its number.

    Raises:
        NotFoundError: there is none.
    """
    found = store.match(number) if number <= MAX_NUMBER else None
    if found is None:
        raise NotFoundError(f"no match {number}; arena games lists the stored ones")
    return found
