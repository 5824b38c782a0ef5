"""The hubs of a server: one for each followed tournament, at most 16."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from arena.serve.live_hub import Hub
from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from arena.pages.links import Links
    from arena.serve.request_context import Serving
    from arena_db.records import TournamentRecord

MAX_HUBS: Final = 16
"""Maximum number of tournaments that are followed at once."""
_READ_S: Final = 3.0
"""Maximum seconds that a page waits for the first poll of its tournament."""


class Hubs:
    """Creates hubs on demand; an idle hub ends by itself."""

    def __init__(self, serving: Serving) -> None:
        """Create an empty collection."""
        self._settings = serving.settings
        self._lock = Lock()
        self._hubs: dict[int, Hub] = {}
        self._ids: dict[str, int] = {}
        self._is_closed = False

    def known(self, slug: str) -> Hub | None:
        """Return the hub of the tournament with this slug, if there is one, without reading the store.

        Viewers can thus reconnect and see the last state while the store is unavailable.
        """
        with self._lock:
            return self._hubs.get(self._ids.get(slug, -1))

    def hub(self, slug: str, record: TournamentRecord, links: Links) -> Hub | None:
        """Return the hub of a tournament, after its first poll; None if there are too many hubs.

        Args:
            slug: name of the tournament in addresses.
            record: the tournament.
            links: addresses of other pages.
        """
        with self._lock:
            found = self._hubs.get(record.id)
            if found is None:
                if len(self._hubs) >= MAX_HUBS or self._is_closed:
                    return None
                feed = StoreFeed(self._settings.db, record.id, is_read_only=True)
                found = self._hubs[record.id] = Hub(feed, links, delay=self._settings.delay)
                found.start(f"hub-{record.id}", lambda hub, id_=record.id: self._let_go(hub, id_))
            self._ids[slug] = record.id
            found.want()
        found.wait(_READ_S)
        return found

    def close(self) -> None:
        """Stop all hubs."""
        with self._lock:
            self._is_closed = True
            hubs = list(self._hubs.values())
            self._hubs.clear()
        for hub in hubs:
            hub.stop()

    def _let_go(self, hub: Hub, number: int) -> bool:
        """Remove a hub if it is still idle; return whether it was removed."""
        with self._lock:
            if not hub.is_idle:
                return False
            if self._hubs.get(number) is hub:
                del self._hubs[number]
            self._ids = {slug: id_ for slug, id_ in self._ids.items() if id_ != number}
            return True


def read_once(settings_db: str | None, record: TournamentRecord, links: Links, delay: int) -> Hub:
    """Return a hub without a thread, polled once, for a page without a stream."""
    feed = StoreFeed(settings_db, record.id, is_read_only=True)
    hub = Hub(feed, links, delay=delay)
    try:
        hub.look()
    finally:
        feed.close()
    return hub
