"""View-models of pages; each is also the page's twin in JSON."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from arena.live.openings import OpeningsView
from arena.live.tables import MatchRow, MatrixView, StandingsView
from arena.live.tournaments import TournamentRow
from arena.live.views import MatchView
from arena.results.bot_page import BotPage, VersionRow
from arena.results.brackets import BracketRow
from arena.results.place_table import PlaceRow
from arena.results.versus import PoolMeeting


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
    judge: str = ""
    """Who graded the match; empty where nobody did."""
    judged: tuple[float | None, ...] = ()
    """What the judge says of the position before each ply, percent for the first player."""
    clocks: tuple[tuple[int, int], ...] = ()
    """What both clocks showed after 0, 1, ... plies, milliseconds; empty without clocks."""
    lost: Mapping[str, str] = {}
    """What actions gave away, in words, by ply from 1."""
    has_versus: bool = False
    """Whether the two bots have a rated match in the tournament, so that they have a head-to-head."""
    texts: tuple[str, ...] = ()
    """The forms in which the match can be downloaded: pgn, sgf."""


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


class OpeningsPage(msgspec.Struct, frozen=True, kw_only=True):
    """What was played next in a position."""

    games: tuple[str, ...]
    """Specs of the games with a rated match, most matches first."""
    position: OpeningsView
    """As `arena openings` counts it; of no game where no rated match is stored."""


class BotFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a list of bots."""

    name: str
    """Unique in the store."""
    identity: str
    version: str
    num_matches: int
    """Rated ones."""
    num_forfeits: int
    """Of these."""
    games: tuple[str, ...]
    """Specs, the one with most matches first."""


class BotListPage(msgspec.Struct, frozen=True, kw_only=True):
    """All bots."""

    bots: tuple[BotFacts, ...]
    """By name."""


class BotProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One identity of a bot, and its other versions."""

    name: str
    """Unique in the store."""
    identity: str
    spec: str
    distribution: str
    version: str
    content: str
    """SHA-256 of the file tree that is run; empty where the code was not hashed."""
    files: Mapping[str, str]
    """SHA-256 by name: its weights and the files that its options name."""
    page: BotPage
    """The facts, as `arena bots show ~IDENTITY --format json` prints them."""
    versions: tuple[VersionRow, ...]
    """All bots of its name with their ratings, by game and pool; it is among them if it has a rated match."""
    unrated: tuple[MatchRow, ...] = ()
    """The newest matches of a bot without a rated one."""
    endings: Mapping[str, str]
    """How its newest forfeit of each kind ended, in words, by termination."""
    addresses: Mapping[str, str]
    """Of matches that `page` names, by the store's number."""


class VersusPage(msgspec.Struct, frozen=True, kw_only=True):
    """Two bots head to head in a tournament."""

    tournament: str
    labels: tuple[str, str]
    """What the two are called there."""
    meeting: PoolMeeting
    """The facts, as `arena versus` prints them for this tournament."""
    addresses: Mapping[str, str]
    """Of the oldest match of each opening, by the store's number."""
