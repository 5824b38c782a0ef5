"""Read-only access to the store for one answer."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

from arena.errors import NotFoundError
from arena.pages.links import Links, slugs_of
from arena.watching.query import Query
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Generator

    from arena.serve.settings import ServeSettings
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MOST_EVENTS: Final = 1_000_000


class Reading:
    """The store as one handler sees it; closed when the handler returns."""

    def __init__(self, store: Store, query: Query) -> None:
        """Keep an open store, and the query that cancels what is done with it."""
        self.store = store
        """Open to read only."""
        self.query = query
        """For sources of `watching` that take a query; its `store()` opens another connection."""

    @cached_property
    def links(self) -> Links:
        """Return the addresses of pages of this server."""
        return Links(root="/", suffix="", index="", slugs=self.slugs)

    @cached_property
    def slugs(self) -> dict[str, str]:
        """Return what tournaments are called in addresses, by name."""
        return slugs_of({record.name: record.uid for record in self._records})

    @cached_property
    def _records(self) -> list[TournamentRecord]:
        return self.store.tournaments(limit=_MOST_EVENTS)

    def tournament(self, slug: str) -> TournamentRecord:
        """Return the tournament that an address names: by its name, or by its uid where the name is no slug.

        Raises:
            NotFoundError: there is none; names the nearest.
        """
        found = self.store.tournament(slug)
        if found is None:
            found = next((record for record in self._records if record.uid == slug), None)
        if found is None:
            raise NotFoundError(
                f'there is no tournament "{slug}"{nearest(slug, [record.name for record in self._records])}'
            )
        return found


class Readers:
    """Opens the store for answers."""

    def __init__(self, settings: ServeSettings) -> None:
        """Open nothing yet."""
        self._option = settings.db

    @contextmanager
    def reading(self) -> Generator[Reading]:
        """Open the store for a `with` block.

        Raises:
            StoreError: it is gone, locked, damaged or newer; the text says so, never that it is empty.
        """
        query = Query(self._option)
        with query.store() as store:
            yield Reading(store, query)

    def close(self) -> None:
        """Close what is open."""
