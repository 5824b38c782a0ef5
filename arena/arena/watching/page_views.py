"""View-models of web pages; each is also the JSON form of its page."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from arena.live.opening_views import OpeningsView
from arena.live.table_views import MatchRow, MatrixView, StandingsView
from arena.live.tournament_views import TournamentRow
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
    """Places of a Swiss tournament."""
    bracket: tuple[BracketRow, ...] = ()
    """Encounters of a knockout."""
    identities: Mapping[str, str] = {}
    """Identities of the tournament's bots, by name."""
    goal: str = ""
    """Progress of a sequential test."""
    newest: tuple[MatchRow, ...] = ()
    """The newest matches of the tournament."""


class MatchPage(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match after its last ply, with all its moves."""

    match: MatchView
    tournament: str
    identities: tuple[str, str]
    ending: str
    """What happened at the end, in a sentence."""
    judge: str = ""
    """Judge of the grading; empty if there is none."""
    judged: tuple[float | None, ...] = ()
    """The judge's evaluation of the position before each ply, in percent for the first player."""
    clocks: tuple[tuple[int, int], ...] = ()
    """Both clocks after 0, 1, ... plies, in milliseconds; empty without clocks."""
    lost: Mapping[str, str] = {}
    """The value that actions lost, in words, by ply from 1."""
    has_versus: bool = False
    """Whether the two bots have a rated match in the tournament, and therefore a head-to-head page."""
    texts: tuple[str, ...] = ()
    """Formats in which the match can be downloaded: pgn, sgf."""


class MatchListPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the matches of a tournament, newest first."""

    tournament: str
    number: int
    """Number of the page, from 1."""
    num_pages: int
    total: int
    rows: tuple[MatchRow, ...]
    condition: str = ""
    """The filter that all rows pass, as text; empty for all matches."""


class LeaderboardPage(msgspec.Struct, frozen=True, kw_only=True):
    """The ratings of all games and pools, the largest first."""

    boards: tuple[StandingsView, ...]
    identities: Mapping[str, str] = {}
    """Identities of all bots on the page, by name."""


class HomePage(msgspec.Struct, frozen=True, kw_only=True):
    """The tournaments that are not archived, and the newest matches."""

    title: str
    events: tuple[TournamentRow, ...]
    """The tournaments, newest first."""
    newest: tuple[MatchRow, ...] = ()


class OpeningsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of the next moves in a position."""

    games: tuple[str, ...]
    """Specs of the games with a rated match, most matches first."""
    position: OpeningsView
    """The statistics, as in `arena openings`; without a game if no rated match is stored."""


class BotFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a list of bots."""

    name: str
    """Name of the bot, unique in the store."""
    identity: str
    version: str
    num_matches: int
    """Number of rated matches."""
    num_forfeits: int
    """Number of rated matches that the bot forfeited."""
    games: tuple[str, ...]
    """Specs of the bot's games, the one with the most matches first."""


class BotListPage(msgspec.Struct, frozen=True, kw_only=True):
    """All bots."""

    bots: tuple[BotFacts, ...]
    """One row per bot, ordered by name."""


class BotProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One identity of a bot, and its other versions."""

    name: str
    """Name of the bot, unique in the store."""
    identity: str
    spec: str
    distribution: str
    version: str
    content: str
    """SHA-256 of the file tree that is run; empty if the code was not hashed."""
    files: Mapping[str, str]
    """SHA-256 of the bot's weights and of the files that its options name, by name."""
    page: BotPage
    """The data of `arena bots show ~IDENTITY --format json`."""
    versions: tuple[VersionRow, ...]
    """All bots of this name with their ratings, by game and pool; contains this bot if it has a rated
    match."""
    unrated: tuple[MatchRow, ...] = ()
    """The newest matches, if the bot has no rated match."""
    endings: Mapping[str, str]
    """A sentence about the bot's newest forfeit of each kind, by termination."""
    addresses: Mapping[str, str]
    """Addresses of the matches in `page`, by id in the store."""
    met: Mapping[str, str] = {}
    """The newest tournament with a rated match against each opponent, by the opponent's identity."""


class VersusPage(msgspec.Struct, frozen=True, kw_only=True):
    """Two bots head to head in a tournament."""

    tournament: str
    labels: tuple[str, str]
    """Labels of the two bots in the tournament."""
    meeting: PoolMeeting
    """The data of `arena versus` for this tournament."""
    addresses: Mapping[str, str]
    """Addresses of the oldest match of each opening, by id in the store."""
