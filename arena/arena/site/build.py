"""Writes a store as a folder of pages; a second run writes only what has changed."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.pages.event import event_page, matches_page, table_page
from arena.pages.home import home_page, leaderboard_page
from arena.pages.links import PER_PAGE, Links, match_page, slugs_of
from arena.pages.plies import ply_rules
from arena.pages.replay import match_page as replay_page
from arena.pages.twins import twin_json
from arena.site.folder import MARK, Folder
from arena.watching.page_source import event_view, home_view, leaderboard_view, match_list, match_view
from arena_db.records import MatchFilter
from arena_plugins.contract import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.pages.html import Html
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

_VERSION: Final = 1
"""Of the pages of matches: when their look changes, those that are there are made anew."""
_BATCH: Final = 500
_MOST_FORFEITS: Final = 1000
"""Of one kind in one tournament, the newest."""
_FORFEITS: Final = tuple(kind for kind in Termination if kind.is_fault)


class Built(NamedTuple):
    """What a run has done."""

    num_pages: int
    num_changed: int
    """Pages that were written."""
    num_bytes: int
    """Of the whole site."""
    num_removed: int
    """Files that belonged to no page any more."""


def build(
    store: Store,
    out: Path,
    *,
    num_matches: int = 1000,
    tournament: str | None = None,
    title: str = "arena",
) -> Built:
    """Write the pages of a store.

    Args:
        store: read only.
        out: the folder.
        num_matches: of each tournament so many of its newest matches get a page, and every forfeit.
        tournament: only this one and the matches of it; None for all that are not archived.
        title: heading of the first page.

    Raises:
        ConfigError: the folder holds other files.
    """
    folder = Folder(out)
    records = [
        record
        for record in store.tournaments(limit=1_000_000, archived=False)
        if tournament in (None, record.name)
    ]
    site = _Site(store, folder, records, num_matches)
    site.write_assets()
    home, board = home_view(store, title), leaderboard_view(store)
    site.page("index", lambda links: (home_page(home, links, "index.json"), home))
    site.page("leaderboard", lambda links: (leaderboard_page(board, links, "leaderboard.json"), board))
    for record in records:
        site.write_event(record)
    site.write_mark()
    return Built(folder.num_pages, folder.num_changed, folder.num_bytes, folder.sweep())


class _Site:
    """One run: what every page needs to know of the others."""

    def __init__(
        self, store: Store, folder: Folder, records: Sequence[TournamentRecord], num_matches: int
    ) -> None:
        self._store = store
        self._folder = folder
        self._slugs = slugs_of({record.name: record.uid for record in records})
        self._before = _read_mark(folder)
        self._made: dict[str, str] = {}
        self._chosen = {record.name: _chosen(store, record, num_matches) for record in records}
        self._matches = frozenset(_key(match) for found in self._chosen.values() for match in found)

    def page(self, name: str, make: Callable[[Links], tuple[Html, object]]) -> None:
        """Write a page and its twin; `make` gets the addresses as this page sees them."""
        html, view = make(self._links(name))
        self._folder.write(f"{name}.html", html)
        self._folder.write(f"{name}.json", twin_json(view))

    def write_assets(self) -> None:
        """Write style sheets and scripts."""
        assets = files("arena.pages") / "assets"
        for asset in sorted(assets.iterdir(), key=lambda each: each.name):
            self._folder.write(f"a/{asset.name}", asset.read_bytes())
        self._folder.write("a/plies.css", ply_rules())

    def write_event(self, record: TournamentRecord) -> None:
        """Write the pages of a tournament and of its chosen matches."""
        slug = f"t/{self._slugs[record.name]}"
        view = event_view(self._store, record)
        self.page(f"{slug}/index", lambda links: (event_page(view, links, "index.json"), view))
        self.page(f"{slug}/table", lambda links: (table_page(view, links, "table.json"), view.matrix))
        for part in match_list(self._store, record, PER_PAGE):
            name = "matches" if part.number == 1 else f"matches-{part.number}"
            self.page(
                f"{slug}/{name}",
                lambda links, part=part, name=name: (matches_page(part, links, f"{name}.json"), part),
            )
        for match in self._chosen[record.name]:
            self._write_match(record, match, slug)

    def write_mark(self) -> None:
        """Write down what the pages of matches were made of, so that the next run leaves them as they are."""
        mark = {"version": _VERSION, "matches": dict(sorted(self._made.items()))}
        self._folder.write(MARK, json.dumps(mark, indent=0))

    def _write_match(self, record: TournamentRecord, match: StoredMatch, slug: str) -> None:
        name = f"{slug}/{match_page(match.number, match.attempt, match.outcome)}"
        made_of = _made_of(self._store, record, match)
        self._made[name] = made_of
        same = self._before.get(name) == made_of
        if same and self._folder.keep(f"{name}.html") and self._folder.keep(f"{name}.json"):
            return
        view = match_view(self._store, record, match)
        twin = f"{name.rpartition('/')[2]}.json"
        self.page(name, lambda links: (replay_page(view, links, twin), view))

    def _links(self, name: str) -> Links:
        return Links(root="../" * name.count("/"), slugs=self._slugs, matches=self._matches, bots=frozenset())


def _chosen(store: Store, record: TournamentRecord, num_matches: int) -> list[StoredMatch]:
    """Return the matches of a tournament that get a page: the newest, and every forfeit."""
    where = MatchFilter(tournament=record.name, rated_only=False)
    found = _newest(store, where, num_matches)
    known = {match.id for match in found}
    for kind in _FORFEITS:
        forfeits = _newest(store, replace(where, termination=kind), _MOST_FORFEITS)
        found += [match for match in forfeits if match.id not in known]
    return sorted(found, key=lambda match: -match.id)


def _newest(store: Store, where: MatchFilter, num: int) -> list[StoredMatch]:
    """Return the newest matches that fit, at most `num`."""
    found: list[StoredMatch] = []
    while len(found) < num:
        before = found[-1].id if found else None
        more = store.matches(where, before=before, limit=min(_BATCH, num - len(found)))
        if not more:
            break
        found += more
    return found


def _key(match: StoredMatch) -> tuple[str, int, int]:
    return match.tournament_name, match.number, match.attempt if match.outcome == "void" else 0


def _made_of(store: Store, record: TournamentRecord, match: StoredMatch) -> str:
    """Return a hash over what the page of a match shows."""
    remarks = store.remarks([match.id]).get(match.id)
    return sha256(repr((_VERSION, record.pool, match, remarks)).encode()).hexdigest()[:32]


def _read_mark(folder: Folder) -> dict[str, str]:
    """Return what pages of matches were made of; nothing where nobody knows, or they look otherwise now."""
    try:
        mark = json.loads((folder.path / MARK).read_text(encoding="utf-8"))
        return dict(mark["matches"]) if mark["version"] == _VERSION else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
