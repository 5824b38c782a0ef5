"""Places: the targets of addresses and of searches by name, for the command palette and `arena open`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from arena.errors import NotFoundError
from arena.home import has_store, open_store
from arena.live.tournament_views import STATES
from arena.live.views import RESULTS
from arena.naming import count_text
from arena.results.addresses import Address, bot_address, find_place, planned_match
from arena.results.tested import kind_of
from arena.results.tournament_states import state_of
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.watching.query import Query
    from arena_db.records import BotRecord, TournamentRecord
    from arena_db.store import Store

Kind = Literal["tournament", "match", "bot"]
MOST: Final = 20
"""Maximum number of places that a search returns."""
_MAX_TEXT: Final = 200
_DIGITS: Final = 6
_SCREENS: Final = {"live": "boards", "table": "crosstable", "matches": "list of matches"}
"""Content of the screens of a tournament."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament, one of its screens, a match, a position or a bot, with its address."""

    kind: Kind
    address: str
    """Address with which `arena open` and the palette find the place again."""
    about: str
    """Description in one line."""
    command: tuple[str, ...]
    """Words of the command that prints the place, without `arena`."""
    tournament: int = 0
    """Id of the tournament; 0 for a bot."""
    tournament_name: str = ""
    screen: str = ""
    """Screen of the tournament: `live`, `table` or `matches`; empty for another place."""
    match: int = 0
    """Id of the match in the store; 0 if it has no result."""
    number: int = 0
    """Number of the match in its tournament; 0 for no match."""
    ply: int | None = None
    """Number of plies of the position; None for no position."""
    bot: str = ""
    """Name of the bot's entry point."""
    identity: str = ""
    """Identity of the bot, hex digits."""
    rank: int = 0
    """Quality of a search hit: 0 exact name, 1 prefix of a name, 2 part of a name."""


def place_of(store: Store, found: Address | BotRecord) -> Place:
    """Return the place of a resolved address or bot."""
    return (
        _place_of(store, found)
        if isinstance(found, Address)
        else _bot_place(store, found, store.names.bots())
    )


def read_place(option: str | None, text: str) -> Place:
    """Return the place that an address names.

    Args:
        option: path of the store; None for the default.
        text: the address.

    Raises:
        NotFoundError: there is no such place; the message names the closest one.
        StoreError: the store cannot be read.
    """
    if not has_store(option):
        raise NotFoundError(f"there is no {text}: nothing has been played yet; arena tournament begins")
    with open_store(option, read_only=True, create=False) as store:
        return place_of(store, find_place(store, text))


def search_places(query: Query, text: str) -> list[Place]:
    """Return up to `MOST` tournaments, matches and bots that match a text, the best first.

    The text is an address, or words that all occur in a name. Exact names come first, then names with this
    prefix; among equal ones the newest comes first.

    Args:
        query: the query, which is cancelled when the user continues typing.
        text: the text typed so far.

    Raises:
        Cancelled: the query was cancelled.
        StoreLost, StoreError: the store cannot be read.
    """
    text = text.strip()
    if not text:
        return []
    with query.store() as store:
        found = _exact(store, text)
        hits = store.names.search(text, MOST, query.is_wanted)
        query.check()
        bots = store.names.bots() if any(hit.kind == "bot" for hit in hits) else {}
        for hit in hits:
            record = store.tournaments.find(hit.name) if hit.kind == "tournament" else None
            if record is not None:
                place = _place_of(store, Address(record))
            elif hit.name in bots:
                place = _bot_place(store, bots[hit.name], bots)
            else:
                continue
            found.append(msgspec.structs.replace(place, rank=hit.rank))
    return list({(place.kind, place.address): place for place in reversed(found)}.values())[::-1][:MOST]


def _exact(store: Store, text: str) -> list[Place]:
    """Return the screen, match or position with this address, or the bot with this name or label."""
    try:
        found = find_place(store, text)
    except NotFoundError:
        return []
    if isinstance(found, Address):
        return [] if found.number is None and not found.screen else [_place_of(store, found)]
    return [place_of(store, found)]


def _place_of(store: Store, address: Address) -> Place:
    record = address.tournament
    if address.number is None:
        about, command = _about_tournament(store, record), ("watch", record.name)
        if address.screen:
            about = f"{_SCREENS[address.screen]} of {record.name}, {about}"
            command = {
                "table": ("crosstable", record.name),
                "matches": ("matches", "--tournament", record.name),
            }.get(address.screen, command)
        return _made(address, "tournament", about, command)
    if address.match is None:
        return _made(address, "match", _about_planned(store, address), ("watch", str(address)))
    what = f"position of {address._replace(ply=None)}, " if address.ply is not None else ""
    match = address.match
    about = (
        f"{what}match, {record.game}, {match.first_label} v {match.second_label}, "
        f"{RESULTS[match.outcome]} by {match.termination}, {len(match.actions)} plies"
    )
    return _made(address, "match", about, ("show", str(address)))


def _made(address: Address, kind: Kind, about: str, command: tuple[str, ...]) -> Place:
    return Place(
        kind=kind,
        address=str(address),
        about=clean_text(about, _MAX_TEXT),
        command=command,
        tournament=address.tournament.id,
        tournament_name=address.tournament.name,
        screen=address.screen,
        match=0 if address.match is None else address.match.id,
        number=address.number or 0,
        ply=address.ply,
    )


def _about_tournament(store: Store, record: TournamentRecord) -> str:
    done = count_text(record.num_done, record.num_total, " of ")
    state = STATES[state_of(store, record)]
    return f"tournament, {kind_of(record)} of {record.game} {record.pool.short}, {done} matches, {state}"


def _about_planned(store: Store, address: Address) -> str:
    planned = planned_match(store, address)
    labels = {entrant.seat: entrant.label for entrant in store.tournaments.entrants(address.tournament.id)}
    who = f"{labels[planned.first]} v {labels[planned.second]}"
    return f"match, {address.tournament.game}, {who}, no result yet"


def _bot_place(store: Store, bot: BotRecord, others: Mapping[str, BotRecord]) -> Place:
    address = bot_address(store, bot, others.values())
    version = f" {bot.distribution} {bot.version}".rstrip() if bot.version else ""
    return Place(
        kind="bot",
        address=address,
        about=clean_text(f"bot {bot.name}{version}, identity ~{bot.identity[:_DIGITS]}", _MAX_TEXT),
        command=("bots", "show", address),
        bot=bot.name,
        identity=bot.identity,
    )
