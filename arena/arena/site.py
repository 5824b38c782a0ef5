"""Writes a store as a folder of pages; a second run replaces only changed files, each of them atomically."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from arena.errors import ArenaError, ConfigError
from arena.export.match_selection import MATCH_FORMATS
from arena.pages.asset_files import asset_files
from arena.pages.bot import bot_page as bot_html
from arena.pages.bot import bots_page
from arena.pages.event import event_page, matches_page, table_page
from arena.pages.first_page import home_page, leaderboard_page
from arena.pages.links import PER_PAGE, Links, bot_page, match_page, slugs_of, versus_page
from arena.pages.replay_page import match_page as replay_page
from arena.pages.twins import twin_json
from arena.pages.versus_page import versus_page as versus_html
from arena.watching.page_source import (
    event_view,
    home_view,
    leaderboard_view,
    match_list,
    match_text,
    match_view,
)
from arena.watching.profiles import EventProfiles, Profiles
from arena_db.records import MatchFilter
from arena_plugins.contract import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.pages.html import Html
    from arena_db.records import StoredMatch, Tally, TournamentRecord
    from arena_db.store import Store

_VERSION: Final = 3
"""Version of the pages of matches and head-to-heads; a new version makes the next run rewrite them all."""
MOST_PAIRS: Final = 2000
"""Maximum number of head-to-heads with a page: newest tournaments first, then those with most matches."""
_BATCH: Final = 500
"""Number of matches read from the store at once."""
_MOST_FORFEITS: Final = 1000
"""Maximum number of forfeits of one kind in one tournament that get a page; the newest are chosen."""
_FORFEITS: Final = tuple(kind for kind in Termination if kind.is_fault)


class Built(NamedTuple):
    """The result of a run."""

    num_pages: int
    num_changed: int
    """Number of pages that were written."""
    num_bytes: int
    """Size of the whole site."""
    num_removed: int
    """Number of files that no longer belonged to a page."""


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
        store: the store, opened read-only.
        out: the folder.
        num_matches: number of newest matches of each tournament that get a page; every forfeit gets one, too.
        tournament: name of the only tournament to write; None for all that are not archived.
        title: heading of the first page.

    Raises:
        ConfigError: the folder holds other files.
    """
    folder = Folder(out)
    records = [
        record
        for record in store.tournaments.newest(limit=1_000_000, archived=False)
        if tournament in (None, record.name)
    ]
    site = _Site(store, folder, records, num_matches, is_whole=tournament is None)
    site.write_assets()
    home, board = home_view(store, title), leaderboard_view(store)
    site.page("index", lambda links: (home_page(home, links, "index.json"), home))
    site.page("leaderboard", lambda links: (leaderboard_page(board, links, "leaderboard.json"), board))
    site.write_bots()
    for record in records:
        site.write_event(record)
    site.write_mark()
    return Built(folder.num_pages, folder.num_changed, folder.num_bytes, folder.sweep())


class _Site:
    """One call of `build`: the folder it writes to, and the data that every page needs."""

    def __init__(
        self,
        store: Store,
        folder: Folder,
        records: Sequence[TournamentRecord],
        num_matches: int,
        *,
        is_whole: bool,
    ) -> None:
        self._store = store
        self._folder = folder
        self._before = _read_mark(folder)
        self._made: dict[str, str] = {}
        self._chosen = {record.name: _chosen(store, record, num_matches) for record in records}
        self._profiles = Profiles(store)
        self._bots = self._profiles.identities
        if not is_whole:
            seated = {
                seat.bot.identity for record in records for seat in store.tournaments.entrants(record.id)
            }
            self._bots = tuple(identity for identity in self._bots if identity in seated)
        self._pairs = _chosen_pairs(self._profiles, records)
        self._all = Links(
            root="",
            slugs=slugs_of({record.name: record.uid for record in records}),
            matches=frozenset(_key(match) for found in self._chosen.values() for match in found),
            bots=frozenset(self._bots),
            events=frozenset(record.name for record in records),
            pairs=frozenset((name, *pair) for name, pairs in self._pairs.items() for pair in pairs),
        )

    def page(self, name: str, make: Callable[[Links], tuple[Html, object]]) -> None:
        """Write a page and its twin; `make` is called with the addresses relative to this page."""
        html, view = make(self._links(name))
        self._folder.write(f"{name}.html", html)
        self._folder.write(f"{name}.json", twin_json(view))

    def write_assets(self) -> None:
        """Write style sheets and scripts."""
        for name, content in sorted(asset_files().items()):
            self._folder.write(f"a/{name}", content)

    def write_bots(self) -> None:
        """Write the list of bots and their pages; all are rewritten, since any match changes ratings."""
        bots = self._profiles.bots()
        bots = msgspec.structs.replace(
            bots, bots=tuple(bot for bot in bots.bots if self._all.bot(bot.identity) is not None)
        )
        self.page("bots", lambda links: (bots_page(bots, links, "bots.json"), bots))
        for identity in self._bots:
            profile = self._profiles.bot(identity)
            name = bot_page(identity)
            self.page(
                f"b/{name}",
                lambda links, profile=profile, name=name: (
                    bot_html(profile, links, f"{name}.json"),
                    profile,
                ),
            )

    def write_event(self, record: TournamentRecord) -> None:
        """Write the pages of a tournament, of its chosen matches and of its head-to-heads."""
        slug = f"t/{self._all.slugs[record.name]}"
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
        self._write_pairs(record, slug)

    def write_mark(self) -> None:
        """Store the digest of each page's data, so that the next run skips unchanged pages."""
        mark = {"version": _VERSION, "made": dict(sorted(self._made.items()))}
        self._folder.write(MARK, json.dumps(mark, indent=0))

    def _write_match(self, record: TournamentRecord, match: StoredMatch, slug: str) -> None:
        name = f"{slug}/{match_page(match.number, match.attempt, match.outcome)}"
        bots = (match.first, match.second)
        linked = [self._all.bot(identity) for identity in bots], self._all.versus(record.name, *bots)
        if self._is_kept(name, (record.pool, match, _said(self._store, match), linked)):
            return
        view = match_view(self._store, record, match)
        twin = f"{name.rpartition('/')[2]}.json"
        self.page(name, lambda links: (replay_page(view, links, twin), view))
        for form in view.texts:
            # A match that breaks the rules of its game has a page, which reports this, but no text form.
            with suppress(ArenaError):
                self._folder.write(f"{name}.{form}", match_text(self._store, match, form))

    def _write_pairs(self, record: TournamentRecord, slug: str) -> None:
        pairs = self._pairs[record.name]
        if not pairs:
            return
        counts: defaultdict[frozenset[str], list[Tally]] = defaultdict(list)
        for tally in self._store.sums.tallies(MatchFilter(tournament=record.name, rated_only=False)):
            counts[frozenset((tally.first, tally.second))].append(tally)
        linked: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for match in self._chosen[record.name]:
            linked[frozenset((match.first, match.second))].append(match.id)
        where = MatchFilter(tournament=record.name)
        common = self._store.changes.last(), self._store.plays.last_gradings(where)
        event = EventProfiles(self._store, record)
        for one, other in pairs:
            name = f"{slug}/{versus_page(one, other)}"
            both = frozenset((one, other))
            if self._is_kept(name, (common, counts[both], linked[both], event.expected(one, other))):
                continue
            view = event.versus(one, other)
            twin = f"{name.rpartition('/')[2]}.json"
            self.page(name, lambda links, view=view, twin=twin: (versus_html(view, links, twin), view))

    def _is_kept(self, name: str, facts: object) -> bool:
        """Return whether a page and its files exist, made from the same data; if so, they are kept."""
        made_of = sha256(repr((_VERSION, facts)).encode()).hexdigest()[:32]
        self._made[name] = made_of
        if self._before.get(name) != made_of or not self._folder.keep(f"{name}.html"):
            return False
        for form in MATCH_FORMATS:
            self._folder.keep(f"{name}.{form}")
        return self._folder.keep(f"{name}.json")

    def _links(self, name: str) -> Links:
        return msgspec.structs.replace(self._all, root="../" * name.count("/"))


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
    """Return the newest matches that match the filter, at most `num`."""
    found: list[StoredMatch] = []
    while len(found) < num:
        before = found[-1].id if found else None
        more = store.matches.newest(where, before=before, limit=min(_BATCH, num - len(found)))
        if not more:
            break
        found += more
    return found


def _key(match: StoredMatch) -> tuple[str, int, int]:
    return match.tournament_name, match.number, match.attempt if match.outcome == "void" else 0


def _said(store: Store, match: StoredMatch) -> object:
    """Return the remarks of bots and the analyses of judges on a match."""
    return store.matches.remarks([match.id]).get(match.id), store.analyses.of([match.id]).get(match.id)


def _chosen_pairs(
    profiles: Profiles, records: Sequence[TournamentRecord]
) -> dict[str, list[tuple[str, str]]]:
    """Return the head-to-heads with a page, by tournament; `records` are newest first."""
    found: dict[str, list[tuple[str, str]]] = {}
    left = MOST_PAIRS
    for record in records:
        found[record.name] = profiles.pairs(record.id)[:left]
        left -= len(found[record.name])
    return found


def _read_mark(folder: Folder) -> dict[str, str]:
    """Return the digests of the previous run; empty if unknown, or if the markup has changed since."""
    try:
        mark = json.loads((folder.path / MARK).read_text(encoding="utf-8"))
        return dict(mark["made"]) if mark["version"] == _VERSION else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


MARK: Final = ".arena-site.json"
"""The file that identifies a folder as an exported site; it holds the digests of the pages."""


class Folder:
    """The folder to which pages are written; counts pages, changes and bytes."""

    def __init__(self, path: Path) -> None:
        """Open a folder; it is created if it does not exist.

        Raises:
            ConfigError: the path is not a folder, or the folder holds files that are not those of a site.
        """
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file; name a folder for the site")
        if path.is_dir() and not (path / MARK).is_file() and any(path.iterdir()):
            raise ConfigError(f"{path} holds other files; name an empty folder, or one of an earlier site")
        path.mkdir(parents=True, exist_ok=True)
        # The mark is created first, so that a run after a killed one accepts the folder.
        if not (path / MARK).exists():
            (path / MARK).touch()
        self.path = path
        self.num_pages = 0
        self.num_changed = 0
        self.num_bytes = 0
        self._kept: set[str] = set()

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file unless it has this content already; readers see the old file or the new one."""
        data = content.encode() if isinstance(content, str) else content
        path = self.path / name
        self._keep(name, len(data))
        try:
            if path.read_bytes() == data:
                return
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(data)
        part.replace(path)
        self.num_changed += name.endswith(".html")

    def keep(self, name: str) -> bool:
        """Keep a file unchanged; return whether it exists."""
        try:
            size = (self.path / name).stat().st_size
        except FileNotFoundError:
            return False
        self._keep(name, size)
        return True

    def sweep(self) -> int:
        """Remove files of no current page, and parts that a killed run left; return how many."""
        num_removed = 0
        for root, folders, files in os.walk(self.path, topdown=False):
            for file in files:
                path = Path(root, file)
                if path.relative_to(self.path).as_posix() not in self._kept:
                    path.unlink()
                    num_removed += 1
            for folder in folders:
                path = Path(root, folder)
                if not path.is_symlink() and not any(path.iterdir()):
                    path.rmdir()
        return num_removed

    def _keep(self, name: str, size: int) -> None:
        self._kept.add(name)
        self.num_pages += name.endswith(".html")
        self.num_bytes += size
