"""The texts around the board of a replay or of a person's session: turn, answers, ending."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len

from arena.coordinator.commands import AskHint, MakeMove
from arena.errors import ArenaError
from arena.live.geometry import find_game, position
from arena.live.plain import long_clock_text
from arena.live.views import RESULTS, MatchView, end_word
from arena.person.session_config import PERSON, is_rated
from arena.tui.shell.chrome import HeaderPart
from arena.tui.text import clip, join, safe
from arena.tui.widgets.bars import bar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from arena.coordinator.commands import BoardCommand
    from arena.live.replay_views import PlyGrade, Recorded, Replay
    from arena.live.views import LiveView
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line
    from arena.watching.one_match import OneMatch
    from arena_db.records import TournamentRecord

_MAX_NAME = 24
"""Maximum width in cells of a bot's name; a bot with a longer name is shown by its label."""
_WIDE = 120
"""Minimum columns of a terminal with a long evaluation bar."""
_BAR, _WIDE_BAR = 10, 32
"""Width of the evaluation bar on normal and on wide terminals, in cells."""


def replay_header(match: OneMatch | None, glyphs: Glyphs, width: int) -> Sequence[HeaderPart]:
    """Return address, bots, game, result, day; bots by their labels if their names do not fit in `width`."""
    parts = [HeaderPart("arena", "title"), HeaderPart("REPLAY", "focus")]
    if match is None:
        return parts
    recorded = match.recorded
    parts.append(HeaderPart(safe(match.address)))
    names = [
        clip(label or name if cell_len(name) > _MAX_NAME else name, _MAX_NAME)
        for name, label in zip(map(safe, recorded.bots), recorded.labels, strict=True)
    ]
    day = datetime.fromtimestamp(recorded.started_t, UTC).date().isoformat()
    end = f"{RESULTS[recorded.outcome]} {end_word(recorded.termination, recorded.void_reason)}"

    def pair(first: str, second: str) -> str:
        return f"{first} ({glyphs.players[0]}) v {second} ({glyphs.players[1]})"

    who = pair(*names)
    # Width of the parts that every header has, with the blanks between them.
    if sum(cell_len(text) + 2 for text in (*(part.text for part in parts), who, end)) - 1 > width:
        who = pair(*(label or name for name, label in zip(names, recorded.labels, strict=True)))
    return [
        *parts,
        HeaderPart(safe(recorded.game), "", 2),
        HeaderPart(who, "", 1),
        HeaderPart(end),
        HeaderPart(day, "", 3),
    ]


def search_texts(match: MatchView, glyphs: Glyphs) -> list[Line]:
    """Return the last evaluation and search figures of both bots, as far as known."""
    lines: list[Line] = []
    for player, seat in enumerate(match.seats):
        glyph, style = glyphs.players[player], ("first", "second")[player]
        said = f"ply {seat.thoughts_ply:>3} {'-':>5}" if seat.thoughts_ply else "-"
        if seat.eval is not None:
            said = f"ply {seat.thoughts_ply:>3} {seat.eval:4.0f}%"
        lines.append(((f" {glyph}", style), (f" {said}", "")))
    for player, seat in enumerate(match.seats):
        facts: list[tuple[str, str]] = []
        if seat.thoughts is not None:
            if seat.thoughts.visits is not None:
                facts.append(("visits", str(sum(visits for _, visits in seat.thoughts.visits))))
            for name, value in (("nodes", seat.thoughts.nodes), ("depth", seat.thoughts.depth)):
                if value is not None:
                    facts.append((name, str(value)))
        if seat.clock_ms is not None:
            facts.append(("clock", long_clock_text(seat.clock_ms)))
        lines += [((f" {name} {glyphs.players[player]} {text}", ""),) for name, text in facts]
    if match.moves and match.moves[-1].elapsed_ms is not None:
        lines.append(((f" move {match.moves[-1].elapsed_ms} ms", ""),))
    return lines


def status_line(match: MatchView, recorded: Recorded, glyphs: Glyphs) -> str:
    """Return the line below the board: last move, side to move, and the grade of the last move."""
    if match.trouble:
        return match.trouble
    last = ""
    if match.moves:
        move = match.moves[-1]
        last = f"last {glyphs.players[move.player]} {move.text}"
    judged = _grade_of(match, recorded)
    grade = "none" if judged is None else judged.mark or "ok"
    if match.is_over:
        return f"{last}    {match.result} {match.end}  grade {grade}".strip()
    side = glyphs.players[match.to_move] if match.to_move in (0, 1) else "-"
    return f"{last}    to move {side}  grade {grade}".strip()


def grade_text(match: MatchView, recorded: Recorded) -> str:
    """Return the grade of the last move: `? gives a win away`; empty if the move has no grade."""
    judged = _grade_of(match, recorded)
    return "" if judged is None else f"{judged.mark} {judged.text}".strip()


def _grade_of(match: MatchView, recorded: Recorded) -> PlyGrade | None:
    """Return the grade of the last move."""
    return recorded.grades[match.ply - 1] if 0 < match.ply <= len(recorded.grades) else None


def about_lines(replay: Replay, ply: int, progress: str, width: int, glyphs: Glyphs) -> list[Line]:
    """Return three lines: evaluation with the judge's advice, the ending, the opening.

    Args:
        replay: the match.
        ply: ply of the position.
        progress: progress of a running grading; empty without one.
        width: cells of a line.
        glyphs: glyphs to draw with.
    """
    return [_standing(replay, ply, progress, width, glyphs), *ending_lines(replay)]


def ending_lines(replay: Replay) -> list[Line]:
    """Return two lines: how a match ended, and how it began."""
    recorded = replay.recorded
    opening = "empty board"
    if recorded.num_opening:
        moves = replay.at(recorded.num_opening).moves
        opening = " ".join(move.text for move in moves)
    end = f" end: {recorded.reason or recorded.termination}, ply {replay.num_plies}"
    clock = f"     clock {recorded.tc}" if recorded.tc else ""
    first, second = recorded.bots
    who = f" first {first}   second {second}   opening: {opening}"
    return [((f"{end}{clock}", ""),), ((who, "dim"),)]


def _standing(replay: Replay, ply: int, progress: str, width: int, glyphs: Glyphs) -> Line:
    """Return the evaluation bar, followed by the progress of a grading or the judge's advice."""
    percent, grade, head = replay.eval_at(ply), replay.grade(ply), join(" ")
    if percent is not None:
        cells = _WIDE_BAR if width >= _WIDE else _BAR
        head = join(
            ((f" {glyphs.players[0]}", "first"),),
            " ",
            bar(percent / 100, cells, glyphs),
            f" {percent:3.0f}%  ",
        )
    if progress:
        return join(head, progress)
    if grade is not None:
        # The line of moves comes last, so that only its end is cut.
        words = f"{replay.recorded.judge}: {grade.advice}".split(" ")
        used = sum(cell_len(text) for text, _ in head)
        while len(words) > 1 and used + cell_len(" ".join(words)) > width:
            words.pop()
        return join(head, " ".join(words))
    return join(
        head, "" if replay.recorded.grades else "this match has not been judged; g judges it, J by a bot"
    )


_QUIET = frozenset({"played", "taken back", "you resign", "a new match, sides swapped"})
"""Answers that are not shown, since the next event makes them clear."""


class PlayState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session as its screen knows it."""

    name: str = ""
    is_rated: bool = False
    match: MatchView | None = None
    """The newest match."""
    player: int = 0
    """Which player the person is, 0 or 1."""
    pending: MakeMove | None = None
    """A move that the referee has not confirmed yet."""
    hinted: int | None = None
    """The action of the last hint for this position."""
    note: str = ""
    """The last answer, or the reason why an action was not carried out."""
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
        """Return the state after a session has begun."""
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
    """Return session, game, players, and whether the match is rated."""
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
