"""Merges tournaments of another store: their plans, bots, matches and changes.

A tournament is identified by its uid, a match by number and attempt within it, a bot by its identity. Rows
that are stored here already stay unchanged; a row stored here with other content stops the whole merge.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import func, insert, select, update

from arena_db import seals
from arena_db.clock import now
from arena_db.cold.thawing import find_cold, thawed, told_cold
from arena_db.columns import values_of
from arena_db.corrections import changes, origins
from arena_db.counted import parts
from arena_db.errors import RefusedError
from arena_db.kept import pools, rating_points, replays
from arena_db.merged_matches import MatchMerge, MergeSide
from arena_db.models import batches, bots, entrants, matches, planned, tournaments
from arena_db.numbering import next_tournament
from arena_db.planning import add_lease, free_name, pool_id, pool_record
from arena_db.records import UNBEGUN
from arena_db.voiding import refuse_running

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row, Table

    _Row = Row[*tuple[Any, ...]]

_OWN: Final = ("id", "name", "pool_id", "num_planned", "num_done", "num_dropped")
"""Columns of a tournament whose values are this store's own."""
_FIXED: Final = ("type", "game", "num_actions", "seed", "plan_version")
"""Columns that must be equal in two stores of one tournament."""
_PLAN: Final = ("encounter", "match_no", "first_seat", "second_seat", "opening")
_SEAT: Final = ("label", "time_limit")
_PLACE: Final = ("state", "joined_change", "left_change")
"""Columns of an entrant that change when it leaves or returns."""
_CHANGE: Final = ("kind", "subject", "reason", "who", "made_at")
"""Columns that identify a change to a tournament."""
_SEATING: Final = ("join", "leave", "disqualify")
"""Kinds of changes after which an entrant takes part, or no longer."""
_PROGRESS: Final = ("config", "num_total", "is_planned", "decision")
"""Columns that change while a tournament is played, besides the counts."""


class MergedTournament(NamedTuple):
    """What a merge did to a tournament."""

    name: str
    """Its name here; differs if another tournament had its name."""
    former_name: str
    """Its name in the other store."""
    num_matches: int
    """Number of matches that are new here."""
    num_rows: int
    """Number of rows of all kinds that are new or changed here; 0 if all were here before."""
    is_new: bool


def merge(
    source: Connection, target: Connection, where: str, *, only: int | None = None, moves: bool = False
) -> list[MergedTournament]:
    """Copy tournaments in one transaction, with all derived data except sums.

    Args:
        source: a snapshot of the other store.
        target: holds the write lock.
        where: the other store, for messages and to record where a tournament can continue.
        only: id of the only tournament in the other store; None for all.
        moves: whether the tournament leaves the other store, so that it is not a copy here.

    Raises:
        RefusedError: a tournament, match or plan differs from the one here with the same uid and number.
    """
    # In an order of their own, not by id: stores merged either way get their tournaments in the same order.
    found = select(tournaments).order_by(tournaments.c.created_at, tournaments.c.uid)
    if not moves:
        # A tournament that never began has nothing to merge, and another attempt may reuse its name.
        found = found.where(tournaments.c.state.not_in(UNBEGUN))
    if only is not None:
        found = found.where(tournaments.c.id == only)
    return [_merge_one(source, target, where, row, moves=moves) for row in source.execute(found).all()]


def _merge_one(
    source: Connection, target: Connection, where: str, row: _Row, *, moves: bool
) -> MergedTournament:
    """Merge one tournament, whether its matches are stored or in files on either side.

    Raises:
        RefusedError: as `merge`; or its matches are in files here, and the other store has something new.
    """
    known = target.scalar(select(tournaments.c.id).where(tournaments.c.uid == row.uid))
    there = find_cold(source, row.id)
    here = None if known is None else find_cold(target, known)
    with ExitStack() as stack:
        if there is not None:
            stack.enter_context(thawed(source, there))
        if here is not None:
            stack.enter_context(thawed(target, here))
        merged = _TournamentMerge(source, target, where, row).run(moves=moves)
        if here is not None and merged.num_rows:
            # What is new was added to the temporary tables, which are dropped.
            raise RefusedError(f"{where} has more of {here.name} than this store; {told_cold(here.name)}")
    return merged


class _TournamentMerge:
    """Merges one tournament."""

    def __init__(self, source: Connection, target: Connection, where: str, row: _Row) -> None:
        self._source = source
        self._target = target
        self._where = where
        self._row = row
        self._here = 0
        self._num_rows = 0
        self._is_later = False
        """Whether the other store has joins, leaves or disqualifications that this one lacks."""
        self._is_earlier = False
        """Whether this store has joins, leaves or disqualifications that the other one lacks."""

    def run(self, *, moves: bool) -> MergedTournament:
        """Merge the tournament; return what was done."""
        row = self._row
        known = self._target.execute(select(tournaments).where(tournaments.c.uid == row.uid)).first()
        is_new = known is None
        if known is None:
            self._here = self._add_tournament(moves=moves)
        else:
            self._here = known.id
            # It is sealed again at the end, which would hide earlier damage.
            seals.require_sound(self._target, known.id)
            self._compare(known)
        origin = select(origins.c.tournament_id).where(origins.c.tournament_id == self._here)
        # A copy follows its original; the original does not follow any copy.
        may_grow = is_new or self._target.scalar(origin) is not None
        # First, because entrants, voids and batches refer to changes by the ids that these get here.
        known_changes = self._merge_changes()
        if may_grow:
            self._merge_entrants(known_changes)
        self._merge_plan(may_grow=may_grow)
        there, here = MergeSide(self._source, row.id), MergeSide(self._target, self._here)
        found = MatchMerge(there, here, known_changes, self._clash, self._where)
        found.run()
        self._num_rows += found.num_rows
        if found.num_matches and not is_new:
            refuse_running(self._target, self._here)
        if may_grow:
            self._add_batches(known_changes)
        if is_new:
            self._add_points()
            self._add_replay()
        self._count(None if known is None else known, may_grow=may_grow)
        # Last: seals are over the rows as they are in this store, with its own ids.
        seals.seal_anew(self._target, self._here)
        name = self._target.scalar(select(tournaments.c.name).where(tournaments.c.id == self._here))
        return MergedTournament(str(name), row.name, found.num_matches, self._num_rows, is_new)

    def _clash(self, what: str) -> RefusedError:
        """Return the error for a difference between the stores."""
        return RefusedError(
            f"{what} of tournament {self._row.name} differs between this store and {self._where}, so it went "
            "on in two places; nothing was merged; arena remove moves it out of one of them"
        )

    def _insert(self, table: Table, rows: Iterable[dict[str, Any]]) -> None:
        values = list(rows)
        if values:
            self._target.execute(insert(table), values)
            self._num_rows += len(values)

    def _add_tournament(self, *, moves: bool) -> int:
        row, target = self._row, self._target
        values = {name: value for name, value in values_of(tournaments, row).items() if name not in _OWN}
        pool = self._source.execute(select(pools).where(pools.c.id == row.pool_id)).one()
        here = next_tournament(target)
        values |= {
            "id": here,
            "name": free_name(target, row.name),
            "pool_id": pool_id(target, pool.game, pool_record(pool)),
            # Counted later, from the rows that are merged.
            "num_planned": 0,
            "num_done": 0,
            "num_dropped": 0,
        }
        origin = self._source.execute(select(origins).where(origins.c.tournament_id == row.id)).first()
        if values["state"] == "running" and not moves:
            # The run, if there is one, is in the other store.
            values["state"] = "stopped"
        self._insert(tournaments, [values])
        add_lease(target, here)
        if origin is not None or not moves:
            # A copy of a copy names the store in which the tournament is played, not the one between.
            source = self._where if origin is None else origin.source
            at = now() if origin is None else origin.merged_at
            target.execute(insert(origins).values(tournament_id=here, source=source, merged_at=at))
        return here

    def _merge_changes(self) -> dict[int, int]:
        """Add the changes that are missing here; return the id here of each change there."""
        # By content: ids of changes are those of each store.
        ours = {
            tuple(getattr(row, name) for name in _CHANGE): row.id
            for row in self._target.execute(select(changes).where(changes.c.tournament_id == self._here))
        }
        known: dict[int, int] = {}
        seatings = {number for change, number in ours.items() if change[0] in _SEATING}
        theirs = select(changes).where(changes.c.tournament_id == self._row.id).order_by(changes.c.id)
        for row in self._source.execute(theirs):
            values = {name: getattr(row, name) for name in _CHANGE}
            number = ours.get(tuple(values.values()))
            if number is None:
                added = insert(changes).values(values | {"tournament_id": self._here})
                number = self._target.execute(added.returning(changes.c.id)).scalar_one()
                self._num_rows += 1
                self._is_later |= row.kind in _SEATING
            known[row.id] = number
        self._is_earlier = not seatings <= set(known.values())
        return known

    def _merge_entrants(self, known_changes: dict[int, int]) -> None:
        """Add the entrants that are missing here; copy their states unless this store has later changes."""
        own = entrants.c.tournament_id == self._here
        ours = {row.seat: row for row in self._target.execute(select(entrants).where(own))}
        theirs = select(entrants).where(entrants.c.tournament_id == self._row.id).order_by(entrants.c.seat)
        for row in self._source.execute(theirs):
            values = values_of(entrants, row) | {"tournament_id": self._here, "bot_id": self._bot(row.bot_id)}
            for name in ("joined_change", "left_change"):
                values[name] = known_changes.get(values[name])
            known = ours.get(row.seat)
            if known is None:
                self._insert(entrants, [values])
            elif not self._is_earlier:
                # Not only those that left: a bot may also return, or be disqualified after it left.
                changed = {name: values[name] for name in _PLACE if values[name] != getattr(known, name)}
                if changed:
                    seat = update(entrants).where(own, entrants.c.seat == row.seat)
                    self._target.execute(seat.values(changed))
                    self._num_rows += 1

    def _bot(self, number: int) -> int:
        """Return the id here of a bot of the other store; insert it if it is missing."""
        row = self._source.execute(select(bots).where(bots.c.id == number)).one()
        # By identity, which is that of the content: ids are those of each store.
        known = self._target.scalar(select(bots.c.id).where(bots.c.identity == row.identity))
        if known is None:
            values = {name: value for name, value in values_of(bots, row).items() if name != "id"}
            known = self._target.execute(insert(bots).values(values).returning(bots.c.id)).scalar_one()
            self._num_rows += 1
        return known

    def _compare(self, known: _Row) -> None:
        """Refuse a tournament that contradicts the one with the same uid here."""
        for name in _FIXED:
            if getattr(known, name) != getattr(self._row, name):
                raise self._clash(f"the {name.replace('_', ' ')}")
        seats = [
            {
                row.seat: (row.identity, *(getattr(row, name) for name in _SEAT))
                for row in connection.execute(
                    select(entrants, bots.c.identity)
                    .join_from(entrants, bots, bots.c.id == entrants.c.bot_id)
                    .where(entrants.c.tournament_id == number)
                )
            }
            for connection, number in ((self._source, self._row.id), (self._target, known.id))
        ]
        # One store may have more entrants than the other, but what both have must be the same.
        common = seats[0].keys() & seats[1].keys()
        differing = [seat for seat in common if seats[0][seat] != seats[1][seat]]
        if differing or (not common and seats[0]):
            raise self._clash(f"the bot at seat {min(differing, default=0)}")

    def _merge_plan(self, *, may_grow: bool) -> None:
        """Add the planned matches that are missing here."""
        theirs = self._source.execute(
            select(planned).where(planned.c.tournament_id == self._row.id).order_by(planned.c.number)
        )
        ours = {
            row.number: row
            for row in self._target.execute(select(planned).where(planned.c.tournament_id == self._here))
        }
        new: list[dict[str, Any]] = []
        moved: dict[str, list[int]] = {"dropped": [], "planned": []}
        # A dropped match is planned again only for a bot that returned. Otherwise the other store has not
        # dropped it yet: a run does so some time after the change.
        may_return = may_grow and self._is_later
        may_drop = may_grow and not self._is_earlier
        for row in theirs:
            known = ours.get(row.number)
            if known is None:
                # Its state is updated later from its matches.
                state = "dropped" if row.state == "dropped" else "planned"
                values = values_of(planned, row) | {"tournament_id": self._here, "state": state, "attempt": 0}
                new.append(values)
            elif any(getattr(row, name) != getattr(known, name) for name in _PLAN):
                raise self._clash(f"planned match {row.number}")
            elif (may_drop and (known.state, row.state) == ("planned", "dropped")) or (
                may_return and (known.state, row.state) == ("dropped", "planned")
            ):
                moved[row.state].append(row.number)
        if new and not may_grow:
            raise self._clash(f"the number of planned matches ({len(ours)})")
        self._insert(planned, new)
        for state, numbers in moved.items():
            for some in parts(numbers):
                own = (planned.c.tournament_id == self._here) & planned.c.number.in_(some)
                self._target.execute(update(planned).where(own).values(state=state))
            self._num_rows += len(numbers)

    def _add_batches(self, known_changes: dict[int, int]) -> None:
        """Add the batches that are missing here; their bases are translated to ids of this store."""
        own = batches.c.tournament_id == self._here
        known = set(self._target.scalars(select(batches.c.number).where(own)))
        theirs = self._source.execute(select(batches).where(batches.c.tournament_id == self._row.id)).all()
        for row in theirs:
            if row.number not in known:
                # The newest change that the batch knew; changes of one tournament keep their order here.
                seen = [here for there, here in known_changes.items() if there <= row.basis_change]
                values = values_of(batches, row) | {
                    "tournament_id": self._here,
                    "basis_match": self._match_here(row.basis_match),
                    "basis_change": max(seen, default=0),
                }
                self._insert(batches, [values])

    def _match_here(self, last: int) -> int:
        """Return the id here of the last match up to an id in the other store; 0 for none."""
        newest = select(matches.c.number, matches.c.attempt).where(
            matches.c.tournament_id == self._row.id, matches.c.id <= last
        )
        place = self._source.execute(newest.order_by(matches.c.id.desc()).limit(1)).first()
        if place is None:
            return 0
        own = matches.c.tournament_id == self._here
        here = select(matches.c.id).where(
            own, matches.c.number == place.number, matches.c.attempt == place.attempt
        )
        return self._target.execute(here).scalar_one()

    def _add_points(self) -> None:
        """Add the ratings over time: matches keep their order, so each point stays valid."""
        theirs = select(rating_points).where(rating_points.c.tournament_id == self._row.id)
        here: dict[int, int] = {}
        rows: list[dict[str, Any]] = []
        for row in self._source.execute(theirs).all():
            if row.match_id not in here:
                here[row.match_id] = self._match_here(row.match_id)
            rows.append(
                values_of(rating_points, row) | {"tournament_id": self._here, "match_id": here[row.match_id]}
            )
        self._insert(rating_points, rows)

    def _add_replay(self) -> None:
        """Add the replayed ratings; they include the same matches here."""
        own = select(replays).where(replays.c.tournament_id == self._row.id)
        for row in self._source.execute(own).all():
            match = self._match_here(row.match_id)
            self._insert(
                replays, [values_of(replays, row) | {"tournament_id": self._here, "match_id": match}]
            )

    def _count(self, known: _Row | None, *, may_grow: bool) -> None:
        """Count planned and done matches; adopt the other store's state if that is further advanced."""
        own = planned.c.tournament_id == self._here
        states = dict.fromkeys(("planned", "done", "dropped"), 0)
        counted = select(planned.c.state, func.count()).where(own).group_by(planned.c.state)
        states.update((state, num) for state, num in self._target.execute(counted))
        values: dict[str, Any] = {
            "num_planned": sum(states.values()),
            "num_done": states["done"],
            "num_dropped": states["dropped"],
        }
        # A return makes dropped matches planned again, so the tournament has come less far than before it.
        is_further = known is not None and (self._is_later or _progress(self._row) > _progress(known))
        if is_further and may_grow and not self._is_earlier:
            values |= {name: getattr(self._row, name) for name in _PROGRESS}
            values["state"] = "finished" if self._row.state == "finished" else "stopped"
            self._num_rows += 1
        self._target.execute(update(tournaments).where(tournaments.c.id == self._here).values(values))


def _progress(row: _Row) -> tuple[int, int, bool]:
    """Return how far a tournament has come in one store; comparable between two stores."""
    return row.num_planned, row.num_done + row.num_dropped, row.state == "finished"
