"""The texts beside the board of a play: turn, answers, ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len

from arena.coordinator.commands import AskHint, MakeMove
from arena.errors import ArenaError
from arena.live.geometry import find_game, position
from arena.live.views import MatchView
from arena.person.session_config import PERSON, is_rated
from arena.tui.shell.chrome import HeaderPart
from arena.tui.text import clip, safe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from arena.coordinator.commands import BoardCommand
    from arena.live.views import LiveView
    from arena.tui.glyphs import Glyphs
    from arena_db.records import TournamentRecord

_MAX_NAME = 24
"""Width in cells up to which a bot is shown by its name, not by its label."""
_QUIET = frozenset({"played", "taken back", "you resign", "a new match, sides swapped"})
"""Answers that are not shown, since the next event makes them clear."""


class PlayState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a play as its screen knows it."""

    name: str = ""
    is_rated: bool = False
    match: MatchView | None = None
    """The newest match."""
    player: int = 0
    """The person's player in it, 0 or 1."""
    pending: MakeMove | None = None
    """A move that the referee has not confirmed yet."""
    hinted: int | None = None
    """The action of the last hint for this position."""
    note: str = ""
    """The last answer, or why something was not done."""
    is_dead: bool = False
    """Whether the coordinator has ended."""

    def but(self, **changes: Any) -> PlayState:  # noqa: ANN401 # of any field
        """Return a copy with changes."""
        return replace(self, **changes)

    @property
    def is_turn(self) -> bool:
        """Whether it is the person's turn."""
        match = self.match
        return match is not None and not match.is_over and not self.is_dead and match.to_move == self.player

    @property
    def can_move(self) -> bool:
        """Whether the person can send a move: it is their turn, and no move is pending."""
        return self.is_turn and self.pending is None

    @property
    def refusal(self) -> str:
        """The reason why no move can be made."""
        if self.match is None:
            return "not begun yet"
        if self.is_dead:
            return "the coordinator has ended; n continues from here"
        return "the match is over" if self.match.is_over else "not your turn"

    def begun(self, record: TournamentRecord) -> PlayState:
        """Return the state after a play has begun."""
        return self.but(name=record.name, is_rated=is_rated(record), note="", is_dead=False, pending=None)

    def told(self, view: LiveView, trouble: str) -> PlayState:
        """Return the state after new data from the feed."""
        if not view.matches:
            return self.but(note=trouble or self.note)
        match = view.matches[max(view.matches)]
        seats = [seat.name for seat in match.seats]
        player = seats.index(PERSON) if PERSON in seats else 0
        before = self.match
        is_new = before is None or (before.number, before.ply) != (match.number, match.ply)
        changes: dict[str, Any] = {"match": match, "player": player}
        if is_new:
            changes |= {"hinted": None, "note": ""}
        if self.pending is not None and (match.number, match.ply) != (self.pending.number, self.pending.ply):
            changes["pending"] = None
        if match.is_over:
            changes["pending"] = None
        if trouble:
            changes["note"] = trouble
        return self.but(**changes)

    def moving(self, action: int) -> PlayState:
        """Return the state with a pending move."""
        match = self.match
        command = None if match is None else MakeMove(number=match.number, ply=match.ply, action=action)
        return self.but(pending=command, hinted=None)

    def answered(self, command: BoardCommand, answer: str) -> PlayState:
        """Return the state after an answer; an answer about a past position is ignored."""
        match = self.match
        if match is None or (command.number, command.ply) != (match.number, match.ply):
            return self
        seen = self.but(note="" if answer in _QUIET else answer)
        if isinstance(command, MakeMove) and answer != "played":
            return seen.but(pending=None)
        if isinstance(command, AskHint):
            return seen.but(hinted=_action_of(match, answer))
        return seen


def play_header(seen: PlayState, glyphs: Glyphs) -> Sequence[HeaderPart]:
    """Return play, game, players, and whether the match is rated."""
    match = seen.match
    what = seen.name if match is None else match.address
    parts = [HeaderPart("arena", "title"), HeaderPart("PLAY", "focus"), HeaderPart(safe(what))]
    if seen.is_dead:
        parts.append(HeaderPart("no coordinator", "alert"))
    if match is not None:
        bot = _bot_name(match, seen)
        you, other = glyphs.players[seen.player], glyphs.players[1 - seen.player]
        parts += [
            HeaderPart(f"you ({you}) v {bot} ({other})", "", 1),
            HeaderPart(safe(match.game), "", 2),
            HeaderPart(safe(match.tc), "", 4),
            HeaderPart("rated" if seen.is_rated else "unrated", "", 5),
        ]
    return [part for part in parts if part.text]


def status_of(seen: PlayState, now: float, glyphs: Glyphs) -> tuple[str, str]:
    """Return the status line and its style."""
    match = seen.match
    if match is None or seen.is_dead:
        return safe(seen.note), "alert" if seen.is_dead else "dim"
    note = f"   {safe(seen.note)}" if seen.note else ""
    if match.trouble:
        return safe(match.trouble), "alert"
    if match.is_over:
        return f"{_ending(seen, match)}   n new  u undo{note}", "title"
    if seen.pending is not None:
        return (
            f"you play {_move_of(match, seen.pending.action)}, asked{note.replace('asked', '').rstrip()}",
            "dim",
        )
    if seen.is_turn:
        return f"your move ({glyphs.players[seen.player]}){note}", "focus"
    return f"{_bot_name(match, seen)} thinks {max(0.0, now - match.last_t):.0f} s{note}", "dim"


def _bot_name(match: MatchView, seen: PlayState) -> str:
    """Return the name of the bot, or its label if the name is too long."""
    seat = match.seats[1 - seen.player]
    return clip(seat.name if cell_len(seat.name) <= _MAX_NAME else seat.label, _MAX_NAME)


def _ending(seen: PlayState, match: MatchView) -> str:
    won = {"first": 0, "second": 1}.get(match.outcome)
    said = {"draw": "a draw", "void": "void"}.get(match.outcome)
    if won is not None:
        said = "you win" if won == seen.player else "you lose"
    return f"{said}: {safe(match.reason) or match.termination}"


def _move_of(match: MatchView, action: int | None) -> str:
    try:
        return find_game(match.game).move(position(match.game, match.actions), action or 0)
    except ArenaError:
        return str(action)


def _action_of(match: MatchView, answer: str) -> int | None:
    """Return the action of a hint, whose first word is a move."""
    try:
        return find_game(match.game).parse_move(position(match.game, match.actions), answer.partition(" ")[0])
    except ArenaError:
        return None
