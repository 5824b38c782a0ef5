"""View-models of pages; each is also the page's twin in JSON."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from arena.live.tables import MatchRow, MatrixView, StandingsView
from arena.live.tournaments import TournamentRow
from arena.live.views import MatchView
from arena.results.brackets import BracketRow
from arena.results.place_table import PlaceRow


class TournamentPage(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament and its tables."""

    row: TournamentRow
    standings: StandingsView
    matrix: MatrixView
    places: tuple[PlaceRow, ...] = ()
    """Of a Swiss tournament."""
    bracket: tuple[BracketRow, ...] = ()
    """Of a knockout."""
    identities: Mapping[str, str] = {}
    """Of its bots, by name."""
    goal: str = ""
    """How far a sequential test is."""
    newest: tuple[MatchRow, ...] = ()
    """Its newest matches."""


class MatchPage(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match after its last ply, with all its moves."""

    match: MatchView
    tournament: str
    identities: tuple[str, str]
    ending: str
    """What happened at the end, in a sentence."""


class MatchListPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the matches of a tournament, newest first."""

    tournament: str
    number: int
    """Of the page, from 1."""
    num_pages: int
    total: int
    rows: tuple[MatchRow, ...]
    condition: str = ""
    """In the words of a filter, which all rows fit; empty for all matches."""


class LeaderboardPage(msgspec.Struct, frozen=True, kw_only=True):
    """The ratings of all games and pools, the largest first."""

    boards: tuple[StandingsView, ...]
    identities: Mapping[str, str] = {}
    """Of all bots in it, by name."""


class HomePage(msgspec.Struct, frozen=True, kw_only=True):
    """What is held and what was played last."""

    title: str
    events: tuple[TournamentRow, ...]
    """Newest first."""
    newest: tuple[MatchRow, ...] = ()
