"""Reads from the store of a ladder the waits of its bots, its newcomers and the code that played."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_db.changes import ChangeRecord
    from arena_db.records import BatchRecord, Entrant, PlannedMatch
    from arena_db.store import Store

_ROWS = 6
_UNNOTICED_S = 5.0
"""Joins in the last seconds before the death of a coordinator are not counted: it may have died first."""


class Played(NamedTuple):
    """The required facts of a stored match."""

    number: int
    began: float
    ended: float
    seats: tuple[int, int]
    first_moves: tuple[int | None, int | None]
    """First action of each player after the opening; None if there was none."""
    is_forfeit: bool


class FirstMatch(NamedTuple):
    """How long a bot that joined waited for its first match."""

    wait_s: float
    """From the stored change to the beginning of the match."""
    after_free_s: float
    """From the stored change, or from the end of the next pair of any bots if that is later."""


class LadderFacts(NamedTuple):
    """Plan, matches and changes of one ladder."""

    num_planned: int
    num_dropped: int
    """Of them, those that are not played because a bot left."""
    num_unplayed: int
    entrants: Sequence[Entrant]
    changes: Sequence[ChangeRecord]
    batches: Sequence[BatchRecord]
    plan: Sequence[PlannedMatch]
    played: Sequence[Played]
    """Final matches, in the order of storing."""

    @classmethod
    def of(cls, store: Store, name: str) -> LadderFacts:
        """Read a ladder.

        Raises:
            LookupError: there is no ladder of this name.
        """
        record = store.tournaments.find(name)
        if record is None:
            raise LookupError(name)
        played: list[Played] = []
        for match in store.matches.of_tournament(record.id):
            if not match.is_final:
                continue
            began = match.num_opening
            moves: list[int | None] = [None, None]
            for ply in range(began, min(began + 2, len(match.actions))):
                moves[ply % 2] = match.actions[ply]
            played.append(
                Played(
                    match.number,
                    match.started_at,
                    match.started_at + match.duration_ms / 1000,
                    (match.first_seat, match.second_seat),
                    (moves[0], moves[1]),
                    match.termination != "rules",
                )
            )
        return cls(
            record.num_planned,
            record.num_dropped,
            len(store.plans.unplayed(record.id)),
            store.tournaments.entrants(record.id),
            store.changes.of(record.id),
            store.plans.batches(record.id),
            store.plans.planned(record.id),
            played,
        )

    @property
    def num_done(self) -> int:
        """Number of matches with a result."""
        return len(self.played)

    @property
    def done(self) -> set[int]:
        """Return the numbers of the matches with a result."""
        return {match.number for match in self.played}

    @property
    def num_forfeits(self) -> int:
        """Number of matches that were not decided by the rules."""
        return sum(match.is_forfeit for match in self.played)

    @property
    def num_not_once(self) -> int:
        """Number of planned matches that are stored twice, or neither stored, open nor dropped."""
        doubled = len(self.played) - len(self.done)
        return doubled + abs(self.num_planned - self.num_dropped - self.num_unplayed - len(self.done))

    @property
    def num_unpaired(self) -> int:
        """Number of active bots that were never paired, or are in half a pair."""
        seen = Counter(seat for match in self.plan for seat in (match.first, match.second))
        playing = [one.seat for one in self.entrants if one.state == "playing"]
        return sum(not seen[seat] for seat in playing) + sum(num % 2 for num in seen.values())

    def num_foreign_moves(self, columns: Mapping[str, int]) -> int:
        """Return how many first moves are not those of the bot that joined.

        Args:
            columns: first move of each bot, by label; the column may be full by then.
        """
        wanted = {one.seat: columns[one.label] for one in self.entrants}
        openings = {match.number: match.opening for match in self.plan}
        wrong = 0
        for match in self.played:
            for player, move in enumerate(match.first_moves):
                column = wanted[match.seats[player]]
                if move is None or move == column:
                    continue
                # The opponent may have filled the last place of the column a moment ago.
                wrong += openings[match.number].count(column) < _ROWS - 1
        return wrong

    def longest_waits(self) -> dict[int, float]:
        """Return, by seat, the longest distance from one pair to the next, in units of the mean distance.

        With `n` active bots a bot is paired every n / 2 pairs on average. While a bot waits, n may change;
        the largest counts.
        """
        here: dict[int, tuple[int, int]] = {}
        """By active seat: its last pair, and the largest number of active bots since."""
        longest = dict.fromkeys((one.seat for one in self.entrants), 0.0)
        for batch in self.batches:
            playing = self._playing(batch.basis_change)
            first_pair = (batch.first - 1) // 2
            here = {seat: here.get(seat, (first_pair - 1, 0)) for seat in playing}
            here = {seat: (last, max(most, len(playing))) for seat, (last, most) in here.items()}
            for match in self.plan[batch.first - 1 : batch.last : 2]:
                pair = (match.number - 1) // 2
                for seat in (match.first, match.second):
                    last, most = here[seat]
                    longest[seat] = max(longest[seat], (pair - last) / (most / 2))
                    here[seat] = pair, len(playing)
        return longest

    def _playing(self, change: int) -> set[int]:
        """Return the active seats after a change."""
        seats = {one.label: one.seat for one in self.entrants}
        playing = {one.seat for one in self.entrants if not one.joined}
        for each in self.changes:
            if each.id > change:
                break
            if each.kind == "join":
                playing.add(seats[each.subject])
            elif each.kind == "leave":
                playing.discard(seats[each.subject])
        return playing

    def first_matches(self, deaths: Sequence[tuple[float, float]]) -> list[FirstMatch]:
        """Return the wait of each bot that joined while the ladder was running.

        Args:
            deaths: when coordinators died, and when the next one played.
        """
        seats = {one.label: one.seat for one in self.entrants}
        ends: dict[int, float] = {}
        for match in self.played:
            pair = (match.number - 1) // 2
            ends[pair] = max(ends.get(pair, 0.0), match.ended)
        found: list[FirstMatch] = []
        for change in self.changes:
            at = change.made_at
            if change.kind != "join" or any(
                died - _UNNOTICED_S <= at <= again + _UNNOTICED_S for died, again in deaths
            ):
                continue
            seat = seats[change.subject]
            begins = (one.began for one in self.played if seat in one.seats and one.began > at)
            began = min(begins, default=inf)
            free = min((end for end in ends.values() if end > at), default=at)
            if began < inf:
                found.append(FirstMatch(began - at, max(0.0, began - free)))
        return found
