"""Reads every match once: compares it with its hash and plan, and counts it for tallies and stored sums."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from arena_db.counted import IS_VOID
from arena_db.dialects import stream
from arena_db.errors import DatabaseError
from arena_db.failures import ODD
from arena_db.models import bots, entrants, versions
from arena_db.resumming import Deriving
from arena_db.row_hash import MATCH_COLUMNS, from_row, hash_with, same_of
from arena_db.sum_proof import SumProof
from arena_db.summing import hash_moves
from arena_db.tallying import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from arena_db.sum_proof import Half

_AT_ONCE: Final = 1000
"""Number of rows fetched at once: a store of any size is checked in little memory."""
_FIRST_PLAN: Final = len(MATCH_COLUMNS)
"""Index of the first column of the plan: both seats, encounter, number within it; then whether it is void."""
_POINTERS: Final = ("first_bot", "second_bot", "versions_id")
_SHARED: Final = (*KEYS, "is_final", "tier", *_POINTERS)
_KIND: Final = itemgetter(*(MATCH_COLUMNS.index(name) for name in _SHARED), _FIRST_PLAN, _FIRST_PLAN + 1)
"""Extracts the columns that a match shares with many others: first the keys of tallies, last both planned
seats."""
_OWN: Final = itemgetter(
    *(MATCH_COLUMNS.index(name) for name in ("id", "record_hash", "actions", "num_opening", "num_plies")),
    *(MATCH_COLUMNS.index(name) for name in ("opening_hash", "match_hash")),
    *range(_FIRST_PLAN + 2, _FIRST_PLAN + 5),
)
_BOTS: Final = from_row("first_bot", "second_bot")
_VERSIONS: Final = from_row("versions_id")

_QUERY: Final = (
    f"SELECT {', '.join(f'matches.{name}' for name in MATCH_COLUMNS)}, "  # noqa: S608 - our own names
    f"planned.first_seat, planned.second_seat, planned.encounter, planned.match_no, {IS_VOID} "
    "FROM matches LEFT JOIN planned ON planned.tournament_id = matches.tournament_id "
    "AND planned.number = matches.number ORDER BY matches.id"
)


class _Known(NamedTuple):
    """Small tables that matches refer to, each by its key."""

    identities: dict[int, str]
    versions: dict[int, str]
    seats: dict[tuple[int, int], int]
    """Ids of bots by tournament and seat."""


class _Kind:
    """The shared part of matches that differ only in their moves, times and seeds."""

    __slots__ = ("half", "is_as_planned", "num", "same", "tournament")

    def __init__(
        self, tournament: int, same: bytes | None, half: Half | None, *, is_as_planned: bool
    ) -> None:
        self.tournament = tournament
        self.same = same
        """See `row_hash.same_of`; None if a bot or a text is missing."""
        self.half = half
        """None if matches of this kind do not count in ratings."""
        self.is_as_planned = is_as_planned
        self.num = 0
        """Number of matches of this kind that are not void."""


class MatchReading:
    """The findings of one pass over all matches; complete once `find_faults` is exhausted."""

    def __init__(self) -> None:
        """Prepare a pass over the matches; none is read yet."""
        self._kinds: dict[tuple[Any, ...], _Kind] = {}
        self._proof: SumProof | None = None
        self._is_complete = False
        self.is_lacking = False
        """Whether matches could not be read, so that counts and sums prove nothing."""

    def find_faults(self, connection: Connection) -> Iterator[str]:
        """Yield a sentence for each stored match that differs from its hash or from its plan."""
        self._proof = _begin(connection)
        yield from self.read(connection)
        self._is_complete = True

    def read(self, connection: Connection) -> Iterator[str]:
        """Read the matches of a connection, and yield what `find_faults` does, which must be exhausted first.

        The proof of the sums needs the matches that are in files, too.
        """
        known, deriving = _load(connection), Deriving(connection)
        proof, kinds = self._proof, self._kinds
        for rows in stream(connection, _QUERY, _AT_ONCE):
            for row in rows:
                # Most columns are the same in many matches, so their part of the hash is computed once per
                # kind.
                shared = _KIND(row)
                kind = kinds.get(shared)
                if kind is None:
                    kind = kinds[shared] = _make_kind(row, shared, known, proof)
                number, record_hash, *own, is_void = _OWN(row)
                if number < 1:
                    yield f"match #{number} has an id below 1, which no match gets"
                if not kind.is_as_planned:
                    yield f"match #{number} is of other bots than planned"
                if kind.same is None or hash_with(kind.same, row) != record_hash:
                    yield f"match #{number} is not as it was stored"
                kind.num += not is_void
                if proof is not None and proof.is_open:
                    # The stored sums include only matches below the mark.
                    counts = kind.half is not None and not is_void and number < proof.mark
                    _prove(proof, deriving, kind, own, counts=counts)

    def tallies(self) -> set[tuple[Any, ...]] | None:
        """Return the rows of `tallies` as counted from the matches; None if not all were read."""
        if not self._is_complete:
            return None
        counts: dict[tuple[Any, ...], int] = {}
        for shared, kind in self._kinds.items():
            if kind.num:
                key = shared[: len(KEYS)]
                counts[key] = counts.get(key, 0) + kind.num
        return {(*key, num) for key, num in counts.items()}

    def proves_sums(self, connection: Connection) -> bool:
        """Return whether the stored sums and derived columns are proved to agree with the matches."""
        return self._is_complete and self._proof is not None and self._proof.holds(connection)


def _begin(connection: Connection) -> SumProof | None:
    try:
        return SumProof(connection)
    except (*ODD, DBAPIError, DatabaseError):
        # The check of the sums meets the same damage, and reports it.
        return None


def _prove(proof: SumProof, deriving: Deriving, kind: _Kind, own: list[Any], *, counts: bool) -> None:
    """Add a match to the proof; abandon the proof if the match has wrong derived columns."""
    actions, num_opening, num_plies, opening_hash, match_hash, encounter, match_no = own
    derived = deriving.of(kind.tournament, actions, num_opening)
    if derived != (num_plies, opening_hash) or encounter is None:
        proof.is_open = False
    elif counts and kind.half is not None:
        place = kind.tournament, encounter, match_no
        proof.add(kind.half, place, opening_hash, hash_moves(match_hash))


def _load(connection: Connection) -> _Known:
    seats = select(entrants.c.tournament_id, entrants.c.seat, entrants.c.bot_id)
    return _Known(
        dict(map(tuple, connection.execute(select(bots.c.id, bots.c.identity)))),
        dict(map(tuple, connection.execute(select(versions.c.id, versions.c.content)))),
        {(tournament, seat): bot for tournament, seat, bot in connection.execute(seats)},
    )


def _make_kind(row: tuple[Any, ...], shared: tuple[Any, ...], known: _Known, proof: SumProof | None) -> _Kind:
    tournament, first_seat, second_seat, outcome, _, rated, is_final, *_ = shared
    one, other = _BOTS(row)
    identities, content = known.identities, known.versions.get(_VERSIONS(row))
    same = None
    if one in identities and other in identities and content is not None:
        same = same_of(row, (identities[one], identities[other]), content)
    seats = (first_seat, second_seat)
    half = None
    if proof is not None and rated == 1 and is_final == 1:
        half = proof.half(tournament, seats, (one, other), outcome)
    is_as_planned = seats == shared[-2:] and (one, other) == tuple(
        known.seats.get((tournament, seat)) for seat in seats
    )
    return _Kind(tournament, same, half, is_as_planned=is_as_planned)
