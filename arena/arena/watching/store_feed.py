"""The feed of the dashboard: polls one read-only connection of the store for changes."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from arena.errors import ArenaError
from arena.home import damage_told, store_errors
from arena.live.events import BODIES, Event, unpack
from arena.live.reducer import reduce_all
from arena.results.names import Naming, naming_of
from arena.watching.dashboard_tables import DashboardTables
from arena.watching.feed import NOBODY, FeedUpdate, Health
from arena.watching.query import Query, StoreLost
from arena.watching.stored import end_events, past_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from arena.live.views import LiveView
    from arena_db.records import LiveEvent, TournamentRecord
    from arena_db.store import Store

_FAST_S: Final = 0.12
_SLOW_S: Final = 1.0
"""Seconds between two polls while a match is running, and while none is."""
_FACTS_S: Final = 2.0
"""Minimum seconds between two computations of the tables."""
_FACTS_SHARE: Final = 0.01
"""Maximum share of a core for computing tables, since matches are played at the same time."""
_HEALTH_S: Final = 1.0
"""Seconds between two checks of the process that runs the tournament, whose lease is renewed every 10 s."""
_LIMIT: Final = 500
"""Maximum number of events per poll: a long backlog is read by several polls, so that it delays no frame."""
_MOST_LOOKS: Final = 3
"""Maximum number of attempts to read results and running matches of the same moment."""
_UNKNOWN: Final = -1
"""Data version that is used if none was read."""
_KINDS: Final = {*BODIES}
_HELD: Final = frozenset({"preparing", "running"})
"""States in which events are more current than the tournament's row."""


class StoreFeed:
    """Follows one tournament of a store; its errors are raised, and the next `poll` reopens the store."""

    def __init__(
        self,
        option: str | None,
        tournament: int,
        *,
        is_read_only: bool = False,
        rates_past: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to follow a tournament; nothing is opened yet.

        Args:
            option: path of the store; None for the default.
            tournament: id of the tournament.
            is_read_only: whether commands are rejected.
            rates_past: whether missing ratings over time are computed, which reads all matches.
            clock: returns seconds; decides when tables may be computed again.
        """
        self._option = option
        self._rates_past = rates_past
        self._query = Query(option)
        self._tournament = tournament
        self._is_read_only = is_read_only
        self._clock = clock
        self._stack = ExitStack()
        self._store: Store | None = None
        self._uid = ""
        self._version = _UNKNOWN
        self._seq = 0
        self._running: dict[int, int] = {}
        """Attempts of the running matches whose ends have not arrived, by number."""
        self._heard_t: float | None = None
        self._health = Health()
        self._health_at = -_HEALTH_S
        self._has_events = False
        self._naming = Naming({}, {})
        self._facts: DashboardTables | None = None
        self._facts_key: tuple[object, ...] = ()
        self._facts_at = -_FACTS_S
        self._facts_pause = _FACTS_S
        self._facts_are_due = True

    @property
    def interval(self) -> float:
        """Seconds to wait before the next `poll`."""
        if self._store is not None and self._version == _UNKNOWN:
            return 0.0
        is_played = self._running and not (self._health.is_gone or self._health.is_silent)
        return _FAST_S if is_played or (self._facts_are_due and not self._facts_key) else _SLOW_S

    def poll(self) -> FeedUpdate | None:
        """Return new data: first the current state, then the tables.

        Raises:
            Cancelled: `cancel` was called.
            StoreLost: the store is gone, replaced, locked or unreadable.
            StoreError: the store cannot be read for another reason.
            ArenaError: the tournament is gone.
        """
        self._query.check()
        try:
            with store_errors():
                batch = self._poll()
        except ArenaError as error:
            self.close()
            raise self._query.told(error) from error.__cause__
        self._query.check()
        return batch

    def cancel(self) -> None:
        """Abort the current `poll` and all later ones; may be called from any thread."""
        self._query.cancel()

    def close(self) -> None:
        """Close the store."""
        self._store = None
        self._version = _UNKNOWN
        self._stack.close()

    def _poll(self) -> FeedUpdate | None:
        is_opened = self._store is None
        if self._store is None:
            self._store = self._stack.enter_context(self._query.store())
            # Set before the first read, so that a later commit counts as a change at the next poll.
            self._version = self._store.data_version()
        # An open connection would continue to read a file that was moved or deleted.
        self._store.check_readable()
        with damage_told(self._store):
            return self._beginning(self._store) if is_opened else self._what_is_new(self._store)

    def _what_is_new(self, store: Store) -> FeedUpdate | None:
        version = store.data_version()
        is_changed = version != self._version
        self._facts_are_due = self._facts_are_due or is_changed
        # Checked before the events: if matches end faster than polls follow each other, each poll finds
        # events.
        if self._facts_are_due and self._clock() - self._facts_at >= self._facts_pause:
            batch = self._tables(store)
            if batch is not None:
                # The next poll reads the events, without waiting.
                self._version = _UNKNOWN if is_changed else self._version
                return batch
        if is_changed:
            # Set before the read, so that a commit during it is found by the next poll.
            self._version = version
            batch = self._following(store)
            if batch is not None:
                return batch
        before = self._health
        if self._is_expected and self._clock() - self._health_at >= _HEALTH_S:
            return None if self._look_at_health(store) == before else FeedUpdate(health=self._health)
        return None

    def _beginning(self, store: Store) -> FeedUpdate:
        """Return the current state: stored results and running matches of the same moment."""
        self._naming = naming_of(store, self._record(store))
        view, seq, events = self._moment(store)
        self._seq = seq
        self._running = {}
        self._heard_t = None
        self._hear(events)
        self._facts_are_due = True
        self._facts_key = ()
        self._has_events = bool(events)
        return FeedUpdate(view=view, ends=self._ends(store), health=self._look_at_health(store))

    def _moment(self, store: Store) -> tuple[LiveView, int, list[Event]]:
        """Read results and running matches of one moment, so that a match that ends counts exactly once."""
        for _ in range(_MOST_LOOKS - 1):
            found = self._look(store)
            # A match that ended between the reads would be missing in one, or be counted in both.
            if self._record(store).num_done == found[0].progress.done:
                return found
        return self._look(store)

    def _look(self, store: Store) -> tuple[LiveView, int, list[Event]]:
        record = self._record(store)
        snapshot = store.events.snapshot(record.id)
        events = list(translated(snapshot.events))
        past = past_view(store, record, self._naming.seats)
        view = reduce_all(past, events)
        # The row of the tournament is sealed and checked, events are not; they are trusted only for running
        # matches.
        known = past.progress
        progress = replace(
            view.progress,
            name=known.name,
            game=known.game,
            tc=known.tc,
            done=known.done,
            planned=known.planned,
            state=view.progress.state if record.state in _HELD else known.state,
        )
        return replace(view, seq=snapshot.seq, progress=progress), snapshot.seq, events

    def _following(self, store: Store) -> FeedUpdate | None:
        page = store.events.after(self._seq, _LIMIT, tournament=self._tournament)
        if page.has_gap:
            return self._beginning(store)
        if len(page.events) == _LIMIT:
            # There are more events: poll again without waiting.
            self._version = _UNKNOWN
        self._seq = page.seq
        events = list(translated(page.events))
        if any(event.kind in {"voided", "entrant"} for event in events):
            return self._after_changes(store, events)
        if events:
            self._has_events = True
            self._hear(events)
            is_due = self._clock() - self._health_at >= _HEALTH_S
            return FeedUpdate(events=events, health=self._look_at_health(store) if is_due else None)
        return None

    def _after_changes(self, store: Store, events: list[Event]) -> FeedUpdate:
        """Read all results again, since matches became void or valid, and the decisions with them."""
        # With the events, because some viewers print a line for each.
        return replace(self._beginning(store), events=events)

    def _tables(self, store: Store) -> FeedUpdate | None:
        self._facts_are_due = False
        self._facts_at = self._clock()
        record = self._record(store)
        key = self._key(store, record)
        if key == self._facts_key and not self._rate_beginning(store, record):
            return None
        is_first, self._facts_key = self._facts_key == (), key
        if self._facts is None:
            self._facts = DashboardTables(store, record)
        # CPU time is measured, because only computing takes a core from the matches.
        began_s = time.thread_time()
        tables = self._facts.make(store, record)
        is_renamed, self._naming = self._facts.naming != self._naming, self._facts.naming
        tables["trend_doing"] = "computing ratings over time ..." if self._lacks_beginning(record) else ""
        if self._lacks_beginning(record):
            # Show the tables first, their curves in a later batch.
            self._facts_are_due, self._facts_at = True, -self._facts_pause
        elif not is_first:
            self._facts_pause = max(_FACTS_S, (time.thread_time() - began_s) / _FACTS_SHARE)
        # Without events, progress can only be derived from stored results.
        if (is_first or self._has_events) and not is_renamed:
            found = FeedUpdate(facts=tables, goal=self._facts.goal)
        else:
            view, self._seq, events = self._moment(store)
            self._hear(events)
            found = FeedUpdate(view=view, facts=tables, goal=self._facts.goal)
        return replace(found, ends=self._ends(store), health=self._look_at_health(store))

    def _ends(self, store: Store) -> list[Event]:
        """Return ends of running matches with stored results; called after all reads that count these."""
        found = [
            store.matches.find_attempt(self._tournament, number, attempt)
            for number, attempt in self._running.items()
        ]
        return [event for match in found if match is not None for event in end_events(match)]

    def _lacks_beginning(self, record: TournamentRecord) -> bool:
        """Return whether ratings over time are wanted and still missing."""
        return self._rates_past and self._facts is not None and self._facts.lacks_beginning(record)

    def _rate_beginning(self, store: Store, record: TournamentRecord) -> bool:
        """Compute ratings over time for matches played before any were stored; return whether all exist."""
        if self._facts is None or not self._lacks_beginning(record):
            return False
        self._facts.rate_beginning(store, record, self._query.is_wanted)
        return not self._facts.lacks_beginning(record)

    @staticmethod
    def _key(store: Store, record: TournamentRecord) -> tuple[object, ...]:
        from arena_db.records import MatchFilter

        # Matches are numbered as they are stored, so the newest one stands for all of them.
        newest = store.matches.newest(MatchFilter(rated_only=False), limit=1)
        # Decisions about any tournament may change its tables.
        later = (store.changes.last(), tuple(sorted(store.ratings.replay_marks().items())))
        return (newest[0].id if newest else 0, record.num_done, record.num_total, record.state, *later)

    def _record(self, store: Store) -> TournamentRecord:
        record = store.tournaments.find(self._tournament)
        # After the store was replaced, another tournament may have the same id.
        if record is not None and record.uid == (self._uid or record.uid):
            self._uid = record.uid
            return record
        if self._uid:
            raise StoreLost(f"store {store.place.name} no longer has this tournament; looking again")
        raise ArenaError(f"tournament {self._tournament} is no longer in {store.place}")

    def _hear(self, events: Iterable[Event]) -> None:
        """Update the running matches and the coordinator's last sign of life."""
        for event in events:
            self._heard_t = max(event.t, self._heard_t or 0.0)
            if event.match is not None and event.kind == "started":
                self._running[event.match] = event.attempt
            elif event.match is not None and event.kind == "finished":
                self._running.pop(event.match, None)
            elif event.kind == "state" and event.payload.get("state") == "ended":
                self._running.clear()

    @property
    def _is_expected(self) -> bool:
        """Whether a process should be running the tournament, according to the last check."""
        return self._health.lease_until is not None

    def _look_at_health(self, store: Store) -> Health:
        """Check which process runs the tournament; an event counts as a sign of life, too."""
        self._health_at = self._clock()
        was_played = self._health.lease_until
        lease = store.leases.find(self._tournament)
        beat_t, until, is_silent = None, None, False
        if lease is not None and lease.is_alive:
            until, is_silent = lease.expires_at, lease.is_silent
            beat_t = max(lease.beat_at, self._heard_t or 0.0)
        elif self._record(store).state in ("running", "preparing"):
            until = NOBODY
        self._health = Health(
            store=store.place.name,
            heartbeat_t=beat_t,
            lease_until=until,
            is_silent=is_silent,
            is_read_only=self._is_read_only,
        )
        if was_played and not until:
            # Tables were postponed only because matches were being played; now none are.
            self._facts_pause = _FACTS_S
        return self._health


def translated(events: Iterable[LiveEvent]) -> Iterable[Event]:
    """Yield stored events in the form that viewers read; events of unknown kinds are skipped."""
    for event in events:
        if event.kind in _KINDS:
            yield Event(
                seq=event.seq,
                tournament=event.tournament,
                match=event.number,
                attempt=event.attempt,
                ply=event.ply,
                kind=event.kind,  # pyright: ignore[reportArgumentType] # checked above
                payload=_payload(event.payload),
                t=event.t,
            )


def _payload(text: str) -> Mapping[str, object]:
    """Decode a payload; a damaged one becomes empty, and the reducer adds a notice."""
    try:
        return unpack(text)
    except ArenaError:
        return {}
