"""Synthetic events of tournaments: matches of several games at once, with everything that may happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.live.events import Event, Fault, Finished, Move, RunState, Started, ThinkingInfo, make_event
from arena.live.reducer import reduce_all
from arena.live.views import LiveView
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from arena.games.k_in_a_row import KInARowState
    from arena.live.views import MatchView

GAMES = ("connect-four", "tic-tac-toe", "gomoku:k=4,size=6", "connect-four:cols=5,k=3,rows=4")
VISITS = ((0, 2), (1, 14), (2, 611), (3, 12), (4, 398), (5, 11), (6, 3))
POLICY = ((0, 0.04), (1, 0.09), (2, 0.32), (3, 0.13), (4, 0.31), (5, 0.08), (6, 0.03))
"""Evaluations of a first player in Connect Four."""
EVIL = (
    "[/]",
    "[link=http://e]x",
    "\x1b[31mred",
    "\x1b]52;c;AAAA\x07",
    "\u202eoen",
    "'; DROP TABLE matches",
    "../../x",
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "nul\x00byte",
    "new\nline\ttab",
    "日本語の名前です",
    "zero\u200bwidth",
)
"""Names that a hostile bot might choose."""


def played(
    game: str, moves: str, over: str = "", bots: tuple[str, str] = ("az", "mcts"), number: int = 313
) -> MatchView:
    """Return a match after `moves`, with evals, clocks and, in Connect Four, visits and a policy."""
    view = reduce_all(LiveView(), match_events(game, moves.split(), over, bots, number))
    return view.matches[number]


def match_events(
    game: str, moves: Sequence[str], over: str = "", bots: tuple[str, str] = ("az", "mcts"), number: int = 313
) -> Iterator[Event]:
    """Return the events of a match in which the first player expects 71 %, the second 35 % for the first."""
    yield make_event(
        1, Started(bots=bots, game=game, tc="10+0.1", clock_ms=(12_000, 9_000)), t=1.0, match=number
    )
    rules = make(game)
    state = rules.initial_state()
    by_column = game.startswith("connect-four")
    for ply, text in enumerate(moves, start=1):
        action = rules.parse_move(state, text)
        body = Move(
            action=action,
            value=0.42 if state.current_player == 0 else 0.3,
            elapsed_ms=900,
            clock_ms=(12_000, 9_000),
            visits=VISITS if by_column else ((action, 3), (0, 1)),
            policy=POLICY if by_column else None,
        )
        yield make_event(ply + 1, body, t=1.0 + ply, match=number, ply=ply)
        state = state.child(action)
    if over:
        end = Finished(outcome=over, termination="rules", reason="X wins by four in a row", plies=len(moves))  # pyright: ignore[reportArgumentType] # the caller's word
        yield make_event(len(moves) + 2, end, t=2.0 + len(moves), match=number, ply=len(moves))


def chance_events(seed: int, num_matches: int = 5) -> list[Event]:
    """Return the events of a tournament drawn by `seed`, with repeats, gaps and damage among them."""
    rng = seeded(seed)
    bodies = _interleaved(rng, [list(_chance_match(rng, number)) for number in range(1, num_matches + 1)])
    return [
        Event(
            seq=2 * place + rng.randrange(1, 3),
            tournament=1,
            match=event.match,
            attempt=event.attempt,
            ply=event.ply,
            kind=event.kind,
            payload=event.payload,
            t=100.0 + place,
        )
        for place, event in enumerate(bodies)
    ]


def _interleaved(rng: Random, matches: list[list[Event]]) -> Iterator[Event]:
    yield make_event(0, RunState(state="running", planned=9, done=2, name="rr-1"), t=0.0)
    while any(matches):
        events = rng.choice([events for events in matches if events])
        yield events.pop(0)
        if rng.random() < 0.05:
            yield _odd_event(rng)
    if rng.random() < 0.5:
        yield make_event(0, RunState(state="ended", planned=9, done=7, reason="stopped"), t=0.0)


def _odd_event(rng: Random) -> Event:
    odd = [
        Event(seq=0, tournament=1, match=1, kind="move", payload={"action": "three"}, t=0.0),
        Event(seq=0, tournament=1, match=None, kind="started", payload={}, t=0.0),
        make_event(0, Move(action=3), t=0.0, match=77, ply=4),
        make_event(0, Fault(player=0, termination="time_move", text="late"), t=0.0, match=1),
        make_event(0, RunState(state="paused", planned=9, done=3), t=0.0),
    ]
    return rng.choice(odd)


def _chance_match(rng: Random, number: int) -> Iterator[Event]:
    spec = rng.choice((*GAMES, "no-such-game"))
    for attempt in range(rng.choice((1, 1, 2))):
        names = (rng.choice(("az", "mcts:playouts=9", "\x1b[1m")), "td")
        start = Started(bots=names, game=spec, clock_ms=(9000, 9000), free_ms=rng.choice((0, 500)))
        yield replace(make_event(0, start, t=0.0, match=number), attempt=attempt)
        ply = 0
        for action in _chance_actions(rng, spec):
            if rng.random() < 0.4:
                info = ThinkingInfo(value=rng.uniform(-1, 1), nodes=rng.randrange(99))
                yield replace(make_event(0, info, t=0.0, match=number, ply=ply), attempt=attempt)
            ply += 1
            move = Move(
                action=action, value=rng.choice((None, rng.uniform(-1, 1))), clock_ms=(8000 - ply, 8000)
            )
            yield replace(make_event(0, move, t=0.0, match=number, ply=ply), attempt=attempt)
        if rng.random() < 0.8:
            outcome = rng.choice(("first", "second", "draw", "void"))
            termination = rng.choice(("rules", "time_game", "arena_stall"))
            body = Finished(outcome=outcome, termination=termination, plies=ply, is_final=attempt == 1)
            yield replace(make_event(0, body, t=0.0, match=number, ply=ply), attempt=attempt)


def _chance_actions(rng: Random, spec: str) -> Iterator[int]:
    if spec == "no-such-game":
        yield from (rng.randrange(9) for _ in range(3))
        return
    state: KInARowState = make(spec).initial_state()
    for _ in range(rng.randrange(12)):
        if state.is_terminal:
            return
        action = rng.choice(state.legal_actions) if rng.random() > 0.02 else 10**6
        yield action
        if action not in state.legal_actions:
            return
        state = state.child(action)
