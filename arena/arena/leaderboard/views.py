"""What the store's tallies tell: standings of one tournament, the leaderboard over all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.leaderboard.sides import Field
from arena.leaderboard.tables import Table, make_tables
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from arena_db.store import Store


def standings(store: Store, tournament: str, *, anchor: tuple[str, float] | None = None) -> list[Table]:
    """Give the tables of one tournament; more than one where bots are not connected by matches.

    Raises:
        ConfigError: the anchor is none of its bots.
    """
    record = store.tournament(tournament)
    if record is None:
        raise ConfigError(f"no tournament {tournament}")
    names = tuple(entrant.label for entrant in store.entrants(record.id))
    tallies = tuple(store.tallies(MatchFilter(tournament=record.name)))
    field = Field(names, lambda tally: (tally.first_seat, tally.second_seat), tallies)
    return make_tables(field, record.game, record.pool, anchor=anchor)


def pools(store: Store, where: MatchFilter) -> list[tuple[str, str, int]]:
    """List game, pool and number of matches of all pools, the largest first."""
    sizes: Counter[tuple[str, str]] = Counter()
    for tally in store.tallies(where):
        sizes[tally.game, tally.pool] += tally.num_matches
    return [(game, pool, number) for (game, pool), number in sizes.most_common()]


def leaderboard(
    store: Store, where: MatchFilter, pool: str, *, anchor: tuple[str, float] | None = None
) -> list[Table]:
    """Give the tables of one game over all tournaments of a pool; `all` mixes the pools.

    Raises:
        ConfigError: the anchor is none of the bots.
    """
    bots = store.bots()
    tallies = tuple(
        tally for tally in store.tallies(where) if pool in ("all", tally.pool) and tally.first != tally.second
    )
    identities = sorted({tally.first for tally in tallies} | {tally.second for tally in tallies})
    index = {identity: number for number, identity in enumerate(identities)}
    specs = [bots[identity].spec for identity in identities]
    # Two versions of one bot are two competitors; only then does a name need more than the spec.
    names = tuple(
        spec if specs.count(spec) == 1 else f"{spec}#{identity[:6]}"
        for spec, identity in zip(specs, identities, strict=True)
    )
    field = Field(names, lambda tally: (index[tally.first], index[tally.second]), tallies)
    return make_tables(field, where.game or "", pool, anchor=anchor)
