"""Addresses: the names by which all commands accept tournaments, matches, positions and bots.

| address | meaning |
| --- | --- |
| `live1`, `last` | a tournament; the newest one |
| `live1/table` | one of its screens: live, table, matches |
| `live1/89` | a match by its number in the plan, even before it is played |
| `live1/89.1` | one attempt at that match, from 0 |
| `live1/89:17` | the position after 17 plies |
| `20417`, `#20417` | a stored match by its id in the store |
| `mcts:playouts=20` | a bot by its spec |
| `~7f3a9c`, `mcts~7f3a` | a bot by at least 4 digits of its identity |
| `mcts@0.1.0` | a bot by name and version |
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError, NotFoundError
from arena.naming import match_address
from arena.results.names import identity_of
from arena_db.called import MARK, is_called
from arena_plugins.spec import NAME, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena_db.records import BotRecord, Entrant, PlannedMatch, StoredMatch, TournamentRecord
    from arena_db.store import Store

LAST = "last"
"""Address of the newest tournament; for some commands, of the newest unfinished one."""
SCREENS = ("live", "table", "matches")
"""Screens of a tournament that have addresses."""
_WITHIN = re.compile(r"(?P<number>[0-9]+)(?:\.(?P<attempt>[0-9]{1,9}))?(?::(?P<ply>[0-9]{1,9}))?")
"""The part of a match address after the last `/`."""
_MOST_DIGITS = 100
_DIGITS = 6
"""Minimum digits of an identity in the address of a bot."""
_MOST_NAMED = 6
"""Maximum number of bots that an error lists."""
_STORED = re.compile(r"#?(?P<number>[0-9]+)(?::(?P<ply>[0-9]{1,9}))?")


class Address(NamedTuple):
    """A parsed address: a tournament, optionally a match in it, optionally a position in that."""

    tournament: TournamentRecord
    number: int | None = None
    """Number of the match in the plan; None if the address is that of a tournament."""
    match: StoredMatch | None = None
    """The attempt that was named, else the one that counts; None while there is no result."""
    attempt: int | None = None
    """The attempt, if the address names one."""
    ply: int | None = None
    """Number of plies played in the position."""
    screen: str = ""
    """One of `SCREENS`, or empty."""

    def __str__(self) -> str:
        """Return the canonical address, whichever form was parsed."""
        if self.number is None:
            return f"{self.tournament.name}{f'/{self.screen}' if self.screen else ''}"
        attempt = "" if self.attempt is None else f".{self.attempt}"
        text = f"{match_address(self.tournament.name, self.number)}{attempt}"
        return text if self.ply is None else f"{text}:{self.ply}"


def address_of(match: StoredMatch) -> str:
    """Return the address of a stored match."""
    return match_address(match.tournament_name, match.number, match.attempt, match.outcome)


def find_address(store: Store, text: str) -> Address:
    """Find the match, position or screen that an address names; a tournament with this name takes precedence.

    Raises:
        NotFoundError: the address names nothing; the message contains the closest name.
    """
    if text == LAST or store.tournaments.find(text) is not None:
        return Address(find_tournament(store, text, unfinished=False))
    stored = _STORED.fullmatch(text)
    if stored is not None:
        return _by_store_number(store, _number(stored["number"]) or 0, _number(stored["ply"]))
    name, _, tail = text.rpartition("/")
    within = _WITHIN.fullmatch(tail)
    if name and within is not None:
        record = find_tournament(store, name, unfinished=False)
        number, attempt, ply = (_number(within[key]) for key in ("number", "attempt", "ply"))
        return _within(store, record, number or 0, attempt, ply)
    if name and tail in SCREENS:
        return Address(find_tournament(store, name, unfinished=False), screen=tail)
    record = find_tournament(store, text, unfinished=False)
    return Address(record)


def find_place(store: Store, text: str) -> Address | BotRecord:
    """Find the tournament, screen, match, position or bot that an address names; tournaments come first.

    Raises:
        NotFoundError: the address names nothing or several bots; the message contains the closest name, or
            the bots.
    """
    try:
        return find_address(store, text)
    except NotFoundError:
        name, _, tail = text.rpartition("/")
        if _STORED.fullmatch(text) or (store.tournaments.find(name) is not None and _WITHIN.fullmatch(tail)):
            raise
    return find_bot(store, text)


def find_bot(store: Store, text: str) -> BotRecord:
    """Find the stored bot with this spec, name, version, identity prefix or label.

    Raises:
        NotFoundError: there is no such bot, or several; the message contains the closest name, or all names.
    """
    records, labels = store.names.bots(), store.names.labels()
    found = [
        record
        for record in records.values()
        if is_called(
            text,
            (record.name, record.spec, labels.get(record.identity, record.spec)),
            version=record.version,
            identity=record.identity,
        )
    ]
    exact = [record for record in found if record.spec == text]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        newest = store.tournaments.last(unfinished=False)
        identity = "" if newest is None else identity_of(store, newest, text)
        if identity:
            return records[identity]
        bots = {name for each in records.values() for name in (each.name, each.spec)}
        known = [*(each.name for each in store.tournaments.newest()), *sorted(bots)]
        raise NotFoundError(
            f'nothing is called "{text}"{nearest(text, known)} (arena tournaments lists tournaments, arena '
            "bots list lists bots)"
        )
    several = exact or found
    names = [bot_address(store, record, records.values()) for record in several[:_MOST_NAMED]]
    more = f" and {len(several) - _MOST_NAMED} more" if len(several) > _MOST_NAMED else ""
    raise NotFoundError(f'"{text}" matches {len(several)} bots: {", ".join(names)}{more}; name one of them')


def bot_address(store: Store, bot: BotRecord, others: Iterable[BotRecord]) -> str:
    """Return the address of a bot: its spec, with digits of its identity if the spec is ambiguous.

    Args:
        store: the store with the bot.
        bot: the bot.
        others: all bots of the store; may include the bot itself.
    """
    same = [other for other in others if other.spec == bot.spec and other.identity != bot.identity]
    if not same and bot.spec != LAST and store.tournaments.find(bot.spec) is None:
        return bot.spec
    digits = _DIGITS
    while any(other.identity.startswith(bot.identity[:digits]) for other in same):
        digits += 1
    return f"{bot.spec}{MARK}{bot.identity[:digits]}"


def find_played(store: Store, text: str) -> tuple[StoredMatch, Address]:
    """Find a played match; return it with its address.

    Raises:
        NotFoundError: the address does not name a match, or the match has no result yet.
    """
    address = find_address(store, text)
    if address.number is None:
        raise NotFoundError(f"{address} is a tournament, not a match; {_planned(address.tournament)}")
    if address.match is None:
        raise NotFoundError(f"{address} has no result yet; arena watch {address} shows it while it is played")
    return address.match, address


def find_in(store: Store, record: TournamentRecord, text: str) -> Address:
    """Find a match of a tournament, even before it is played.

    Args:
        store: the store with the tournament.
        record: the tournament.
        text: the address without the tournament: `89`, or `89.1` for one attempt.

    Raises:
        NotFoundError: the text names no match, or no attempt at one.
    """
    within = _WITHIN.fullmatch(text)
    if within is None:
        raise NotFoundError(f'there is no match "{text}" in {record.name}; {_planned(record)}')
    number, attempt, ply = (_number(within[key]) for key in ("number", "attempt", "ply"))
    return _within(store, record, number or 0, attempt, ply)


def find_tournament(store: Store, key: str | None, *, unfinished: bool) -> TournamentRecord:
    """Find a tournament by name; None or `last` selects the newest one.

    Args:
        store: the store to search.
        key: name of the tournament.
        unfinished: whether the newest means the newest unfinished one.

    Raises:
        NotFoundError: there is no such tournament; the message names the closest one.
    """
    found = None if key is None else store.tournaments.find(key)
    if found is not None:
        return found
    if key is None or key == LAST:
        found = store.tournaments.last(unfinished=unfinished)
        if found is None:
            kind = "unfinished tournament" if unfinished else "tournament"
            raise NotFoundError(f"there is no {kind} in {store.place}")
        return found
    removal = next((each for each in store.transfers.removals() if each.name == key), None)
    if removal is not None:
        raise NotFoundError(
            f"no tournament {key}: {removal.who} moved it to {removal.file}; "
            f"arena db merge {shlex.quote(removal.file)} takes it back"
        )
    known = [tournament.name for tournament in store.tournaments.newest()]
    way_out = f"the newest is {known[0]}" if known else "arena tournament holds the first one"
    raise NotFoundError(f'no tournament "{key}"{nearest(key, known)} ({way_out})')


def find_event(store: Store, key: str | None, *, unfinished: bool) -> TournamentRecord:
    """Find a tournament by its name or by the address of anything in it; None or `last` is the newest.

    Args:
        store: the store to search.
        key: the address.
        unfinished: whether the newest means the newest unfinished one.

    Raises:
        NotFoundError: there is no such tournament; the message names the closest one.
    """
    if key is None or key == LAST:
        return find_tournament(store, key, unfinished=unfinished)
    return find_address(store, key).tournament


def check_new_name(store: Store, name: str) -> None:
    """Reject a name that another tournament has or that could be read as another address.

    The name of a tournament that never began, because it was refused or its preparation was killed, may be
    reused.

    Raises:
        ConfigError: the name is rejected; the message says why.
    """
    if not name:
        return
    if not NAME.match(name) or name.isdecimal() or name == LAST:
        raise ConfigError(
            f'--name "{name}" is not valid; use letters, digits, "_", ".", "-", at most 64, neither a bare '
            f'number nor "{LAST}"'
        )
    known = store.tournaments.find(name)
    if known is None:
        return
    if known.has_begun or known.archived_at is not None:
        raise ConfigError(
            f"there is a tournament {name} already; arena resume {name} continues it, another --name "
            "begins a new one"
        )
    lease = store.leases.find(known.id)
    if lease is not None and lease.is_alive:
        raise ConfigError(
            f"{name} is being prepared by {lease.owner.called}; arena watch {name} shows it, another --name "
            "begins a new one"
        )


def find_entrants(store: Store, tournament: TournamentRecord, text: str | None) -> list[Entrant]:
    """Find the entrants that match a text: all with a matching spec, or the one with this label.

    Args:
        store: the store with the tournament.
        tournament: the tournament.
        text: label in the tournament, name, spec, `mcts@0.1.0`, `mcts~7f3a`, or label on its dashboard; None
            for all entrants.

    Raises:
        NotFoundError: no entrant matches; the message names the closest label.
    """
    entrants = store.tournaments.entrants(tournament.id)
    if text is None:
        return entrants
    found = [entrant for entrant in entrants if entrant.label == text] or [
        entrant
        for entrant in entrants
        if is_called(
            text,
            (entrant.label, entrant.bot.name, entrant.bot.spec),
            version=entrant.bot.version,
            identity=entrant.bot.identity,
        )
    ]
    if not found:
        identity = identity_of(store, tournament, text)
        found = [entrant for entrant in entrants if entrant.bot.identity == identity]
    if not found:
        labels = [entrant.label for entrant in entrants]
        raise NotFoundError(
            f'no bot "{text}" in {tournament.name}{nearest(text, labels)} (there are {", ".join(labels)})'
        )
    return found


def planned_match(store: Store, address: Address) -> PlannedMatch:
    """Return the planned match that an address names.

    Raises:
        NotFoundError: the plan has no such match.
    """
    number = address.number or 0
    found = store.plans.planned(address.tournament.id, after=number - 1, limit=1)
    if not found or found[0].number != number:
        raise NotFoundError(f"there is no match {address}")
    return found[0]


def _planned(record: TournamentRecord) -> str:
    """Return a clause with the addresses of the matches that are planned so far."""
    if not record.num_planned:
        return "no match of it is planned yet"
    known = "its matches are" if record.is_planned else "the matches planned so far are"
    return f"{known} {record.name}/1 to {record.name}/{record.num_planned}"


def _number(text: str | None) -> int | None:
    # int() rejects numbers of more than 4,300 digits. Truncating to 100 digits is safe: no match has such a
    # number.
    return None if text is None else int((text.lstrip("0") or "0")[:_MOST_DIGITS])


def _by_store_number(store: Store, number: int, ply: int | None) -> Address:
    match = store.matches.find(number) if number < 1 << 63 else None
    record = None if match is None else store.tournaments.find(match.tournament)
    if match is None or record is None:
        raise NotFoundError(f"no match {number} in the store; arena matches lists the stored ones")

    attempt = match.attempt if match.outcome == "void" else None
    return _checked(Address(record, match.number, match, attempt, ply))


def _within(
    store: Store, record: TournamentRecord, number: int, attempt: int | None, ply: int | None
) -> Address:
    if not 1 <= number <= record.num_planned:
        raise NotFoundError(f"no match {number} in {record.name}; {_planned(record)}")
    attempts = _attempts(store, record, number)
    if attempt is None:
        return _checked(Address(record, number, attempts[-1] if attempts else None, None, ply))
    if attempt >= len(attempts):
        address = match_address(record.name, number)
        there = (
            "it has no result yet"
            if not attempts
            else f"its attempts are {address}.0 to {address}.{len(attempts) - 1}"
            if len(attempts) > 1
            else f"its only attempt is {address}.0"
        )
        raise NotFoundError(f"no attempt {attempt} at {address}; {there}")
    return _checked(Address(record, number, attempts[attempt], attempt, ply))


def _attempts(store: Store, record: TournamentRecord, number: int) -> list[StoredMatch]:
    """Return the stored attempts at a match, oldest first; all but the last are void."""
    found: list[StoredMatch] = []
    while (match := store.matches.find_attempt(record.id, number, len(found))) is not None:
        found.append(match)
    return found


def _checked(address: Address) -> Address:
    """Return an address after checking that its match, if known, has the position.

    Raises:
        NotFoundError: the match has fewer plies.
    """
    if address.ply is not None and address.match is not None and address.ply > len(address.match.actions):
        match = address._replace(ply=None)
        raise NotFoundError(f"no ply {address.ply} in {match}; it has {len(address.match.actions)} plies")
    return address
