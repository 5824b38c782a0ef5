"""Writes stored matches as text: PGN for any game, SGF for games with stones on a square board."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from arena.errors import ConfigError, ExportError, IllegalMoveError, InvalidMoveError
from arena.export._staging import replaced, staged
from arena.export.match_selection import MATCH_FORMATS, count
from arena.export.pgn import MoveComment, PgnMatch, print_pgn
from arena.export.sgf import SgfMatch, print_sgf
from arena.results.addresses import address_of
from arena.results.corrections import ending_of
from arena.results.names import long_names
from arena_db.wild import is_wild
from arena_plugins import Outcome, Termination, load_game
from arena_plugins.errors import PluginError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from arena.export.match_selection import ExportQuery
    from arena_db.records import Entrant, StoredMatch, TournamentRecord
    from arena_db.store import Store
    from arena_plugins import Game

_TEXT = 200
"""Maximum number of characters written of a name."""
_DIGITS = 4
"""Number of decimals of a reported value."""
_RESULTS: Final = {"first": "1-0", "second": "0-1", "draw": "1/2-1/2", "void": "*"}
_SGF_RESULTS: Final = {"first": "B+", "second": "W+", "draw": "0", "void": "Void"}
_NO_LIMIT = "-"


def export_matches(
    store: Store,
    query: ExportQuery,
    form: str,
    out: Path,
    *,
    progress: Callable[[int, int, int], None] | None = None,
) -> tuple[int, int]:
    """Write matches in stored order to a new file, atomically.

    Args:
        store: the store of the matches.
        query: the matches to export.
        form: one of `MATCH_FORMATS`.
        out: the file.
        progress: called with the finished matches, all matches, and their actions so far.

    Returns:
        The number of matches, and the number of bytes.

    Raises:
        ConfigError: no match is selected, a match is of a game the format does not support, or `out` exists.
        ExportError: the disk is full.
    """
    found = count(store, query)
    if not found.num_matches:
        raise ConfigError("no stored match fits; arena matches --unrated shows what there is")
    tournament = query.where.tournament
    # Labels are unique only within one tournament, and a pattern may match several.
    writer = MatchWriter(store, form, by_label=tournament is not None and not is_wild(tournament))
    for game in found.games:
        writer.check(game)
    num_matches = num_actions = 0
    with staged(out, is_folder=False) as part:
        with part.open("w", encoding="utf-8", newline="") as file:
            for page in store.bulk.whole_matches(query.selection()):
                file.writelines(writer.text(match) for match in page)
                num_matches += len(page)
                num_actions += sum(len(match.actions) for match in page)
                if progress is not None:
                    progress(num_matches, found.num_matches, num_actions)
        num_bytes = part.stat().st_size
    return num_matches, num_bytes


def rewrite_matches(store: Store, tournament: TournamentRecord, out: Path) -> None:
    """Write all finished, non-void matches of a tournament as PGN, replacing an existing file.

    Raises:
        ExportError: the file cannot be written; it is unchanged then, and `arena export --format pgn` can
            write the matches elsewhere.
    """
    writer = MatchWriter(store, "pgn", by_label=True)
    with replaced(out) as part, part.open("w", encoding="utf-8", newline="") as file:
        matches: Iterable[StoredMatch] = store.matches.of_tournament(tournament.id)
        file.writelines(writer.text(match) for match in matches if match.is_final and not match.void_reason)


def check_replaceable(out: Path) -> None:
    """Refuse a path at which no file can be written.

    Raises:
        ConfigError: the parent folder does not exist, or the path is a folder.
    """
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"there is no folder {out.absolute().parent}; make it first")
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; name a file")


@lru_cache(maxsize=32)
def _game(spec: str) -> Game:
    """Load a game once for all its matches."""
    return load_game(spec)


def can_write(game: str, form: str) -> bool:
    """Return whether matches of a game, given as a spec, can be written in one of `MATCH_FORMATS`."""
    try:
        return _can_say(_game(game), form)
    except PluginError:
        return False


def _can_say(rules: Game, form: str) -> bool:
    """Return whether a format supports a game; SGF needs stones on the cells of a square board."""
    rows, cols = rules.shape
    return form != "sgf" or (rows == cols and rules.num_actions == rows * cols)


class MatchWriter:
    """Formats the matches of a store as text, one by one."""

    def __init__(self, store: Store, form: str, *, by_label: bool) -> None:
        """Prepare a writer.

        Args:
            store: the store of the matches.
            form: one of `MATCH_FORMATS`.
            by_label: whether to name bots by their labels in the tournament; otherwise by their identity, so
                that a name means the same competitor in all tournaments.
        """
        if form not in MATCH_FORMATS:
            raise ConfigError(f"cannot write matches as {form}; use {' or '.join(MATCH_FORMATS)}")
        self._store = store
        self._form = form
        self._by_label = by_label
        self._tournaments: dict[int, tuple[TournamentRecord, Mapping[int, Entrant]]] = {}
        self._games: dict[str, Game] = {}
        self._names: Mapping[str, str] | None = None

    def check(self, game: str) -> None:
        """Refuse a game that the format does not support.

        Raises:
            ConfigError: the format does not support it; the message names a format that does.
        """
        if not _can_say(self._game(game), self._form):
            raise ConfigError(
                f"SGF supports only games with stones on a square board; write {game} with --format pgn"
            )

    def text(self, match: StoredMatch) -> str:
        """Return the text of a match."""
        return print_pgn(self.pgn(match)) if self._form == "pgn" else print_sgf(self.sgf(match))

    def pgn(self, match: StoredMatch) -> PgnMatch:
        """Convert a match to PGN."""
        tournament, _ = self._tournament(match)
        moves = self._moves(match)
        first, second = self._players(match)
        return PgnMatch(
            event=_clean(tournament.event or tournament.name),
            site=_clean(tournament.site) or "?",
            date=_date(match, "%Y.%m.%d"),
            round=str(match.number),
            white=first,
            black=second,
            result=_RESULTS[match.outcome],
            game=match.game,
            opening=" ".join(moves[: match.num_opening]),
            time_control=self._limit(match),
            termination=pgn_termination(Termination(match.termination)),
            reason=_clean(ending_of(match)),
            match_id=match.id,
            moves=moves,
            remarks=_remarks(match),
        )

    def sgf(self, match: StoredMatch) -> SgfMatch:
        """Convert a match to SGF."""
        tournament, _ = self._tournament(match)
        first, second = self._players(match)
        is_won = match.outcome in {Outcome.FIRST, Outcome.SECOND}
        return SgfMatch(
            game=match.game,
            size=self._game(match.game).shape[1],
            event=_clean(tournament.event or tournament.name),
            site=_clean(tournament.site),
            date=_date(match, "%Y-%m-%d"),
            round=str(match.number),
            black=first,
            white=second,
            time_control=self._limit(match),
            result=_SGF_RESULTS[match.outcome]
            + (_sgf_reason(Termination(match.termination)) if is_won else ""),
            match_id=match.id,
            actions=match.actions,
            remarks=_remarks(match),
        )

    def _moves(self, match: StoredMatch) -> tuple[str, ...]:
        game = self._game(match.game)
        state = game.initial_state()
        moves: list[str] = []
        try:
            for action in match.actions:
                moves.append(game.move(state, action))
                state = state.child(action)
        except (IllegalMoveError, InvalidMoveError) as error:
            raise ExportError(
                f"match {address_of(match)} breaks the rules of {game.name}: {error}"
            ) from error
        return tuple(moves)

    def _players(self, match: StoredMatch) -> tuple[str, str]:
        if self._by_label:
            return _clean(match.first_label), _clean(match.second_label)
        if self._names is None:
            bots = self._store.names.bots()
            self._names = dict(
                zip(bots, long_names(list(bots.values()), self._store.names.labels()), strict=True)
            )
        return _clean(self._names[match.first]), _clean(self._names[match.second])

    def _limit(self, match: StoredMatch) -> str:
        """Return the limit of both players; if they differ, the first player's, then the second player's."""
        tournament, entrants = self._tournament(match)
        common = tournament.pool.limit or _NO_LIMIT
        limits = [entrants[seat].limit or common for seat in (match.first_seat, match.second_seat)]
        return _clean(limits[0] if limits[0] == limits[1] else " : ".join(limits))

    def _tournament(self, match: StoredMatch) -> tuple[TournamentRecord, Mapping[int, Entrant]]:
        known = self._tournaments.get(match.tournament)
        if known is None:
            record = self._store.tournaments.find(match.tournament)
            if record is None:
                raise ExportError(f"match {match.id} belongs to no tournament; arena db check shows more")
            entrants = {
                entrant.seat: entrant for entrant in self._store.tournaments.entrants(match.tournament)
            }
            known = self._tournaments[match.tournament] = (record, entrants)
        return known

    def _game(self, spec: str) -> Game:
        if spec not in self._games:
            self._games[spec] = _game(spec)
        return self._games[spec]


def pgn_termination(termination: Termination) -> str:
    """Return PGN's word for a termination."""
    if termination in {Termination.RULES, Termination.RESIGN}:
        return "normal"
    if termination is Termination.ADJUDICATED:
        return "adjudication"
    if termination in {Termination.TIME_MOVE, Termination.TIME_GAME}:
        return "time forfeit"
    if termination in {Termination.ILLEGAL_MOVE, Termination.MALFORMED}:
        return "illegal move"
    return "unterminated" if termination.is_void else "abandoned"


def _sgf_reason(termination: Termination) -> str:
    if termination is Termination.RESIGN:
        return "R"
    if termination in {Termination.TIME_MOVE, Termination.TIME_GAME}:
        return "T"
    return "" if termination.is_regular else "F"


def _remarks(match: StoredMatch) -> tuple[MoveComment | None, ...]:
    return tuple(
        None
        if ply < match.num_opening
        else MoveComment(None if value is None else round(value, _DIGITS), time)
        for ply, (value, time) in enumerate(zip(match.values, match.times_ms, strict=True))
    )


def _date(match: StoredMatch, form: str) -> str:
    return datetime.fromtimestamp(match.started_at, UTC).strftime(form)


def _clean(text: str) -> str:
    return clean_text(text, _TEXT)
