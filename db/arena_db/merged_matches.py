"""Merges the matches of a tournament from another store, with remarks, analyses and voids."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import insert, select, update

from arena_db.analyses import content_for
from arena_db.columns import values_of
from arena_db.corrections import changes, voids
from arena_db.counted import parts
from arena_db.errors import DamagedError
from arena_db.models import analyses, bots, entrants, matches, planned, remarks, versions
from arena_db.numbering import last_match
from arena_db.remarks import content_hash
from arena_db.row_hash import MATCH_COLUMNS, row_hash
from arena_db.saving import count_text, insert_text
from arena_db.server_rows import go_on_after
from arena_db.tallying import KEYS
from arena_db.voiding import find_judged, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Row

    from arena_db.errors import RefusedError

    _Row = Row[*tuple[Any, ...]]

_PAGE: Final = 5_000
"""Number of matches in memory at once: a merge of any size takes the same memory."""


class MergeSide(NamedTuple):
    """A store that takes part in a merge."""

    connection: Connection
    tournament: int
    """Id of the tournament there."""


class MatchMerge:
    """Merges the matches of one tournament, in the order of the other store."""

    def __init__(
        self,
        source: MergeSide,
        target: MergeSide,
        known_changes: dict[int, int],
        clash: Callable[[str], RefusedError],
        where: str,
    ) -> None:
        """Prepare the merge of one tournament.

        Args:
            source: a snapshot of the other store.
            target: holds the write lock; it has the tournament with its plan, bots and changes already.
            known_changes: ids here of the changes there.
            clash: returns the error for a difference.
            where: the other store, for messages.
        """
        self._source, self._there = source
        self._target, self._here = target
        self._changes = known_changes
        self._clash = clash
        self._where = where
        self._versions: dict[int, tuple[str, int]] = {}
        self._bots = _bots_by_seat(self._target, self._here)
        # No other process can use these ids: this transaction holds the write lock.
        self._next = last_match(self._target) + 1
        self._tallies: Counter[tuple[Any, ...]] = Counter()
        self.num_matches = 0
        """Number of matches that are new here."""
        self.num_rows = 0
        """Number of rows of all kinds that are new or changed here."""

    def run(self) -> None:
        """Merge all matches.

        Raises:
            RefusedError: a match is stored here with other content.
        """
        last = 0
        own = matches.c.tournament_id == self._there
        while True:
            page = select(matches).where(own, matches.c.id > last).order_by(matches.c.id).limit(_PAGE)
            rows = self._source.execute(page).all()
            if not rows:
                break
            self._merge(rows)
            last = rows[-1].id
        if self.num_matches and self._target.dialect.name == "postgresql":
            # The ids were not drawn from the server's sequence, which would assign them again.
            go_on_after(self._target, matches)
        values = [(*key, num) for key, num in self._tallies.items()]
        if values:
            self._target.exec_driver_sql(count_text(self._target.dialect.name), values)

    def _merge(self, rows: Sequence[_Row]) -> None:
        known = self._known(rows)
        here: dict[int, int] = {}
        new: list[_Row] = []
        added: list[tuple[Any, ...]] = []
        for row in rows:
            values, hash_here = self._values(row)
            found = known.get((row.number, row.attempt))
            if found is not None:
                if found[1] != hash_here:
                    raise self._clash(f"match {row.number}")
                here[row.id] = found[0]
                continue
            here[row.id] = values["id"] = self._next
            values["record_hash"] = hash_here
            self._next += 1
            added.append(tuple(values.values()))
            new.append(row)
        if added:
            statement = insert_text(self._target.dialect.name, with_id=True)
            if self._target.exec_driver_sql(statement, added).rowcount != len(added):
                # Another attempt is the final result here.
                raise self._clash(f"the result of a match between {rows[0].number} and {rows[-1].number}")
        self._mark(new)
        self._add_remarks(new)
        self._add_analyses(here)
        are_void = self._add_voids(here, {here[row.id] for row in new})
        for row in new:
            if here[row.id] not in are_void:
                self._tallies[self._tally(row)] += 1
        self.num_matches += len(new)
        self.num_rows += len(new)

    def _known(self, rows: Sequence[_Row]) -> dict[tuple[int, int], tuple[int, bytes]]:
        """Return id and hash of the matches here with these numbers, by number and attempt."""
        found: dict[tuple[int, int], tuple[int, bytes]] = {}
        names = (matches.c.number, matches.c.attempt, matches.c.id, matches.c.record_hash)
        own = matches.c.tournament_id == self._here
        # Number and attempt are the same in all stores; ids are not.
        for some in parts(sorted({row.number for row in rows})):
            for row in self._target.execute(select(*names).where(own, matches.c.number.in_(some))):
                found[row.number, row.attempt] = (row.id, row.record_hash)
        return found

    def _values(self, row: _Row) -> tuple[dict[str, Any], bytes]:
        """Return the columns of a match with the ids of this store, and its hash here."""
        content, versions_id = self._version(row.versions_id)
        first, second = self._bots[row.first_seat], self._bots[row.second_seat]
        values: dict[str, Any] = dict(zip(MATCH_COLUMNS, row, strict=True))
        # Checked before the row is copied, since the new hash below would hide damage.
        if row_hash(row, (first[1], second[1]), content) != row.record_hash:
            raise DamagedError(
                f"match #{row.id} of {self._where} is not as it was stored; nothing was changed"
            )
        values.update(
            tournament_id=self._here, first_bot=first[0], second_bot=second[0], versions_id=versions_id
        )
        return values, row_hash(tuple(values.values()), (first[1], second[1]), content)

    def _version(self, number: int) -> tuple[str, int]:
        """Return a version text of the other store, and its id here."""
        known = self._versions.get(number)
        if known is None:
            content = self._source.execute(
                select(versions.c.content).where(versions.c.id == number)
            ).scalar_one()
            here = self._target.scalar(select(versions.c.id).where(versions.c.content == content))
            if here is None:
                added = insert(versions).values(content=content).returning(versions.c.id)
                here = self._target.execute(added).scalar_one()
            known = self._versions[number] = (content, here)
        return known

    def _tally(self, row: _Row) -> tuple[Any, ...]:
        return tuple(self._here if name == "tournament_id" else getattr(row, name) for name in KEYS)

    def _mark(self, new: Sequence[_Row]) -> None:
        """Mark planned matches as done, and count void attempts."""
        own = planned.c.tournament_id == self._here
        done = [row.number for row in new if row.is_final]
        for some in parts(done):
            self._target.execute(update(planned).where(own, planned.c.number.in_(some)).values(state="done"))
        for row in new:
            # One by one: a match may have several void attempts.
            if not row.is_final:
                again = update(planned).where(own, planned.c.number == row.number)
                self._target.execute(again.values(attempt=planned.c.attempt + 1))

    def _add_remarks(self, new: Sequence[_Row]) -> None:
        wanted = {(row.number, row.attempt) for row in new}
        own = remarks.c.tournament_id == self._there
        for some in parts(sorted({number for number, _ in wanted})):
            said = self._source.execute(select(remarks).where(own, remarks.c.number.in_(some))).all()
            rows = [values_of(remarks, row) for row in said if (row.number, row.attempt) in wanted]
            for row in rows:
                place = (self._here, row["number"], row["attempt"])
                # The hash includes the id of the tournament, which differs between stores.
                row |= {"tournament_id": self._here, "content_hash": content_hash(place, row["content"])}
            if rows:
                self._target.execute(insert(remarks), rows)
                self.num_rows += len(rows)

    def _add_analyses(self, here: dict[int, int]) -> None:
        """Add the analyses; of two by the same judge the later one is kept."""
        for some in parts(sorted(here)):
            for row in self._source.execute(select(analyses).where(analyses.c.match_id.in_(some))):
                match = here[row.match_id]
                # With a new digest, because it includes the id of the match.
                content = content_for(match, row.name, row.made_at, row.content)
                values = values_of(analyses, row) | {"match_id": match, "content": content}
                own = (analyses.c.match_id == values["match_id"]) & (analyses.c.name == row.name)
                made_at = self._target.scalar(select(analyses.c.made_at).where(own))
                if made_at is None:
                    self._target.execute(insert(analyses).values(values))
                elif row.made_at > made_at:
                    later = {"content": content, "made_at": row.made_at}
                    self._target.execute(update(analyses).where(own).values(later))
                else:
                    continue
                self.num_rows += 1

    def _add_voids(self, here: dict[int, int], new: set[int]) -> set[int]:
        """Merge the voids of matches; return which of the new matches are void."""
        theirs: dict[int, list[tuple[int, int | None]]] = {}
        for some in parts(sorted(here)):
            for row in self._source.execute(select(voids).where(voids.c.match_id.in_(some))):
                undone = None if row.undone_change is None else self._changes[row.undone_change]
                place = theirs.setdefault(here[row.match_id], [])
                place.append((self._changes[row.change_id], undone))
        if not theirs:
            return set()
        before = {row.id: row.is_void for row in find_judged(self._target, sorted(theirs))}
        for match, made in theirs.items():
            self._merge_voids(match, made)
        after = find_judged(self._target, sorted(theirs))
        # Matches that were here before leave the tables or return to them; new ones are not in them yet.
        changed = [row for row in after if row.id not in new and row.is_void != before[row.id]]
        for make_void in (True, False):
            settle(self._target, [row for row in changed if row.is_void == make_void], make_void=make_void)
        return {row.id for row in after if row.is_void and row.id in new}

    def _merge_voids(self, match: int, made: Sequence[tuple[int, int | None]]) -> None:
        """Unite the voids of a match.

        A void that one store undid is undone; of two that are in force, the earlier one stays.
        """
        own = voids.c.match_id == match
        ours = {row.change_id: row.undone_change for row in self._target.execute(select(voids).where(own))}
        united = dict(ours)
        for change, undone in made:
            united[change] = united.get(change) or undone
        times = {
            row.id: (row.made_at, row.who, row.reason)
            for row in self._target.execute(select(changes).where(changes.c.id.in_(list(united))))
        }
        present = sorted((times[change], change) for change, undone in united.items() if undone is None)
        # At most one void may be in force: each later one is recorded as undone by the earliest.
        for _, change in present[1:]:
            united[change] = present[0][1]
        # Undone voids first: an index permits at most one void in force per match at any moment.
        for change, undone in sorted(united.items(), key=lambda item: item[1] is None):
            if change not in ours:
                self._target.execute(
                    insert(voids).values(match_id=match, change_id=change, undone_change=undone)
                )
            elif ours[change] != undone:
                this = (voids.c.match_id == match) & (voids.c.change_id == change)
                self._target.execute(update(voids).where(this).values(undone_change=undone))
            else:
                continue
            self.num_rows += 1


def _bots_by_seat(connection: Connection, tournament: int) -> dict[int, tuple[int, str]]:
    """Return id and identity of each bot of a tournament, by seat."""
    seats = select(entrants.c.seat, bots.c.id, bots.c.identity).where(entrants.c.tournament_id == tournament)
    seats = seats.join_from(entrants, bots, bots.c.id == entrants.c.bot_id)
    return {seat: (bot, identity) for seat, bot, identity in connection.execute(seats)}
