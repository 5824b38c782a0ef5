"""Quarantine of bots that fail again and again: the rest of their matches are walkovers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from arena.referee.blame import forfeiter
from arena_db.records import MatchFilter
from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from typing import Self

    from arena_db.records import MatchRecord
    from arena_db.store import Store

MAX_INIT_FAULTS = 3
"""Number of failed starts from which a bot is quarantined: each may take the whole start limit, a minute."""
MIN_MATCHES = 20
"""Minimum number of matches before the share of forfeits is considered; then a single forfeit is never
enough."""
MAX_FORFEITS_IN_TEN = 1
"""Forfeits per ten matches from which a bot is quarantined."""

_INIT = frozenset({Termination.INIT_CRASH, Termination.INIT_TIMEOUT, Termination.NO_COMMON_PROTOCOL})


class Quarantine:
    """Counts the faults of every bot of one tournament, by its identity."""

    def __init__(self) -> None:
        self._matches: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._init_faults: Counter[str] = Counter()

    @classmethod
    def of_tournament(cls, store: Store, name: str) -> Self:
        """Return the quarantine after all stored matches of a tournament."""
        # From the stored counts, so that a resumed run treats a bot as the run before did.
        quarantine = cls()
        for tally in store.sums.tallies(MatchFilter(tournament=name, rated_only=False)):
            quarantine.add(tally.first, tally.second, tally.outcome, tally.termination, tally.num_matches)
        return quarantine

    def add(self, first: str, second: str, outcome: str, termination: str, count: int = 1) -> None:
        """Count matches with one result; void matches do not count."""
        ended = Termination(termination)
        # A walkover follows from a quarantine; as a match without a fault it would lower the share that the
        # quarantine rests on, and end it.
        if outcome == Outcome.VOID or ended is Termination.WALKOVER:
            return
        self._matches[first] += count
        self._matches[second] += count
        player = forfeiter(outcome, termination)
        if player is not None:
            bot = (first, second)[player]
            self._faults[bot] += count
            self._init_faults[bot] += count * (ended in _INIT)

    def add_record(self, record: MatchRecord) -> None:
        """Count one match."""
        self.add(record.first, record.second, record.outcome, record.termination)

    def holds(self, identity: str) -> bool:
        """Return whether a bot is quarantined."""
        return bool(self.why(identity))

    def why(self, identity: str) -> str:
        """Return why a bot is quarantined, in a few words; empty if it is not."""
        if self._init_faults[identity] >= MAX_INIT_FAULTS:
            return f"it failed to start {self._init_faults[identity]} times"
        matches, faults = self._matches[identity], self._faults[identity]
        if matches < MIN_MATCHES or 10 * faults < MAX_FORFEITS_IN_TEN * matches:
            return ""
        return f"it forfeited {faults} of {matches} matches"
