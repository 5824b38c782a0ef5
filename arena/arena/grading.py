"""Judges, the exact solver or a bot, grade stored matches; an interruption loses no finished work."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from typing_extensions import override

from arena.analysis import (
    MAX_LINE,
    SOLVER,
    ActionScore,
    Ply,
    grading_nodes,
    has_solver,
    judge_plies,
    states_of,
)
from arena.coordinator.plan import choose_tier
from arena.entrants import resolve
from arena.errors import ArenaError, ConfigError
from arena.executor.preflight import describe_fault
from arena.executor.worker_seats import keep_compiled, make_seat
from arena.referee.bot_output import BotOutput
from arena.referee.clock import GameClock
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Answer, Resignation, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.results.grades import stored_ply
from arena.shelf.listing import list_bots
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_plugins import load_game
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.entrants import Competitor
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_db.records import StoredMatch
    from arena_db.store import Store
    from arena_plugins import Game, State

SECONDS = 1.0
"""Seconds per position, if neither the bot's spec nor `--nodes` sets a limit."""
_MARGIN_MS = 20_000
"""Milliseconds by which an answer may be late: the first one may wait for a compiler."""
_INIT_S = 60.0
"""Seconds that a judge may take to start, as in a tournament without `--init-time`."""
_NODES = "nodes"


class MatchJudge(Protocol):
    """Grades matches ply by ply."""

    name: str
    """Name under which gradings are stored: `solver`, or the spec of a bot."""
    identity: str
    """Identity of the bot; empty for the solver, whose values are exact."""

    def plies(self, game: Game, actions: Sequence[int], known: Mapping[int, JudgedPly]) -> Iterator[Ply]:
        """Yield the plies of a match with their grades, from the last action to the first one.

        Args:
            game: the rules.
            actions: actions from the initial state.
            known: plies that are graded already.

        Raises:
            IllegalMoveError: the actions are not legal in this game.
            ArenaError: the judge cannot grade them; the message says why.
        """
        ...

    def close(self) -> None:
        """Stop the judge's process, if it has one."""
        ...


def make_judge(
    by: str | None, game: Game, *, nodes: int | None, isolation: str, require_tier: str | None
) -> MatchJudge:
    """Return a judge for a game.

    Args:
        by: `solver` or the spec of a bot; None selects the solver.
        game: the game.
        nodes: limit of positions or search nodes per ply; None for the judge's own limit.
        isolation: auto, none or a tier, for a bot.
        require_tier: weakest acceptable tier; None for what this bot needs.

    Raises:
        ConfigError: there is no solver for the game, or the options are incompatible.
        PluginError: there is no such bot; the message names the closest one.
    """
    if nodes is not None and nodes < 1:
        raise ConfigError(f"--nodes {nodes} is not a whole number from 1")
    if by is None or by == SOLVER:
        if not has_solver(game):
            rows, columns = game.shape
            raise ConfigError(
                f"there is no exact solver for {game.name} {rows}x{columns}; name a bot that judges, "
                f"as in --by {_suggested()}; installed are {', '.join(_names())}"
            )
        return SolverJudge(nodes)
    spec = Spec.parse(by)
    if nodes is not None:
        if _NODES in spec.options:
            raise ConfigError(f"--nodes {nodes} and {by} both set a limit; leave one of them out")
        spec = spec._replace(options={**spec.options, _NODES: str(nodes)})
    competitor = resolve([str(spec)], margin_ms=_MARGIN_MS, in_place=isolation == "none")[0]
    tier = choose_tier(isolation, require_tier, [competitor])
    return BotJudge(competitor, tier)


def _names() -> list[str]:
    return list(list_bots().entries)


def _suggested() -> str:
    return "minimax" if "minimax" in _names() else "BOT"


class SolverJudge(MatchJudge):
    """The exact solver as a judge."""

    name = SOLVER
    identity = ""

    def __init__(self, nodes: int | None) -> None:
        """Set the node limit per ply; None for the default of gradings."""
        self._nodes = nodes

    @override
    def plies(self, game: Game, actions: Sequence[int], known: Mapping[int, JudgedPly]) -> Iterator[Ply]:
        lines = {ply: said.line for ply, said in known.items()}
        return judge_plies(game, actions, nodes=self._nodes or grading_nodes(game), known=lines)

    @override
    def close(self) -> None:
        """Do nothing: the solver runs in this process."""


class BotJudge(MatchJudge):
    """A bot as a judge: it is asked for its move and its evaluation in every position of a match."""

    def __init__(self, competitor: Competitor, tier: Tier) -> None:
        """Prepare the judge; the bot is started at the first question.

        Args:
            competitor: the bot.
            tier: isolation tier.
        """
        self.name = competitor.record.spec
        self.identity = competitor.record.identity
        self._competitor = competitor
        self._tier = tier
        self._seat: Seat | None = None

    @override
    def plies(self, game: Game, actions: Sequence[int], known: Mapping[int, JudgedPly]) -> Iterator[Ply]:
        states = states_of(game, actions)
        after: float | None = None
        """Expected result of the position graded last, for its side to move."""
        reached = len(actions) + 1
        for ply in reversed(range(len(actions))):
            if ply in known:
                after, reached = known[ply].value, ply
                continue
            if reached != ply + 1:
                after = self._final(game, states[-1])
            answer = self._ask(game, states[ply])
            yield _judged(ply, states, actions[ply], answer, after)
            after, reached = answer.thoughts.value, ply

    @override
    def close(self) -> None:
        if self._seat is not None:
            with suppress(Exception):
                self._seat.close()

    def _final(self, game: Game, state: State) -> float | None:
        """Return the last position's value for its side to move; ask the bot if the match is not over."""
        if state.is_terminal:
            return state.returns[state.current_player]
        return self._ask(game, state).thoughts.value

    def _ask(self, game: Game, state: State) -> Answer:
        """Ask about one position in a new match, so that the answer depends on nothing else."""
        label = self._competitor.label
        control = self._competitor.limit or TimeControl.parse(None, SECONDS, None, margin_ms=_MARGIN_MS)
        setup = SeatSetup(
            match="grade", game=game, player=state.current_player, seed=0, control=control, init_s=_INIT_S
        )
        if self._seat is None:
            self._seat = make_seat(self._competitor, game.name, self._tier, adjust=keep_compiled)
            if isinstance(self._seat, InProcessSeat):
                # The bot's output is not part of the report.
                self._seat.output = BotOutput()
        found = self._seat.start(setup) or self._seat.ask(
            state, len(state.history), GameClock((control, control))
        )
        if isinstance(found, Resignation):
            raise ArenaError(f"{label} cannot judge: it resigns at ply {len(state.history) + 1}")
        if not isinstance(found, Answer):
            raise ArenaError(f"{label} cannot judge: {describe_fault(found)}")
        if found.thoughts.value is None:
            raise ArenaError(
                f"{label} cannot judge: it reports no values; name a bot that does, as in --by {_suggested()}"
            )
        return found


def _judged(ply: int, states: Sequence[State], action: int, answer: Answer, after: float | None) -> Ply:
    """Return the grade of an action according to a bot.

    Args:
        ply: index of the action, from 0.
        states: all states of the match.
        action: the action that was played.
        answer: the bot's answer in the position before.
        after: the bot's expected result in the position after, for the side to move there; None if unknown.
    """
    player, value = states[ply].current_player, answer.thoughts.value
    following = states[ply + 1]
    if action == answer.action:
        played = value
    elif following.is_terminal:
        played = following.returns[player]
    else:
        played = None if after is None else after if following.current_player == player else -after
    pv = answer.thoughts.pv or ()
    scores = {answer.action: ActionScore(value, None), action: ActionScore(played, None)}
    return Ply(
        ply=ply,
        player=player,
        action=action,
        best=(answer.action,),
        value_before=value,
        value_after=played,
        distance_before=None,
        distance_after=None,
        scores=dict(sorted(scores.items())),
        line=pv[:MAX_LINE] if pv[:1] == (answer.action,) else (answer.action,),
    )


_WRITE_S = 0.2
"""Minimum seconds between two writes, each of which is synced to the disk; a kill loses at most this much
work."""


def grade_match(
    store: Store,
    match: StoredMatch,
    judge: MatchJudge,
    *,
    keep: bool,
    tell: Callable[[JudgedMatch, Ply], None],
) -> JudgedMatch:
    """Grade a match from its last action to its first one, storing results as they come.

    Plies that this judge has graded before are kept, unless they are from another version of the bot or lack
    scores.

    Args:
        store: the store with the match.
        match: the match.
        judge: the judge.
        keep: whether results are stored.
        tell: called with each graded ply and the grading so far.

    Raises:
        IllegalMoveError: the match violates the rules of its game.
        ArenaError: the judge cannot grade it, or the store cannot be written.
    """
    if keep:
        # Checked first, because grades could not be stored in a cold tournament.
        store.cold.require_warm(match.tournament)
    analysis = _begun(store, match, judge)
    known = {ply: said for ply, said in enumerate(analysis.plies) if said.is_judged}
    written, unwritten = 0.0, False
    try:
        for ply in judge.plies(load_game(match.game), match.actions, known):
            plies = [*analysis.plies]
            plies[ply.ply] = stored_ply(ply)
            analysis = replace(analysis, plies=tuple(plies), made_at=time.time())
            unwritten = True
            if keep and time.monotonic() - written >= _WRITE_S:
                store.analyses.add(analysis)
                written, unwritten = time.monotonic(), False
            tell(analysis, ply)
    except BaseException:
        # The original exception matters more than a failure to store the last plies.
        if keep and unwritten:
            with suppress(Exception):
                store.analyses.add(analysis)
        raise
    if keep and unwritten:
        store.analyses.add(analysis)
    return analysis


def _begun(store: Store, match: StoredMatch, judge: MatchJudge) -> JudgedMatch:
    """Return the stored grading of this judge, without the plies that must be graded again."""
    blank = JudgedMatch(
        match=match.id,
        name=judge.name,
        plies=(JudgedPly(),) * len(match.actions),
        made_at=time.time(),
        identity=judge.identity,
    )
    found = store.analyses.of([match.id], name=judge.name).get(match.id, ())
    if not found or found[0].identity != judge.identity:
        return blank
    # In a complete grading, unsolved plies are tried again, since there may be more nodes this time.
    is_again = found[0].is_complete
    kept = (ply.scores and not (is_again and ply.value is None) for ply in found[0].plies)
    plies = zip(found[0].plies, kept, strict=True)
    return replace(found[0], plies=tuple(ply if is_kept else JudgedPly() for ply, is_kept in plies))
