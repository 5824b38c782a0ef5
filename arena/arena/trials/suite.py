"""Plays the hostile bots against a good one and compares what the referee decides with what it should."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.match import MatchSetup, play_match
from arena.referee.timecontrol import MARGIN_MS, TimeControl
from arena.sandbox.tier import Tier
from arena.trials.canary import Canary
from arena.trials.claims import accepted_names, unflagged_liar
from arena.trials.ground import Ground
from arena.trials.traces import num_descriptors, rss_bytes, surviving
from arena_plugins.contract import Outcome, Termination
from arena_plugins.hostile.table import TABLE, Misbehaviour
from arena_plugins.manager import load_game
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from arena.match import MatchResult
    from arena.referee.seats import Seat
    from arena_plugins.contract import Game

GAMES = ("connect-four", "tic-tac-toe", "gomoku")
"""The games the suite is played in, if no others are asked for."""
VERDICT_MS = 250
"""Milliseconds after limit and margin in which a verdict must be there."""
_STALLS = 3
"""So many times a match is played again because the arena was at fault."""
_IDLE_MS = 10.0
"""Milliseconds of CPU a bot may use per move of its opponent."""
_WARM = ("good", "slow")
"""The opponents that do nothing wrong."""
_FIRST = ("good", "memory-leak", "evil-text")
"""What is tried beforehand, since it uses most of the arena."""
_LARGE = ("evil-name", "false-deterministic", "inflating-arrays", "runs-at-install")
"""What uses more than a referee: a store, the shelf; tried beforehand, too, where it is tried at all."""
_IN_TIME = frozenset({Termination.TIME_MOVE, Termination.INIT_TIMEOUT})


class Trial(NamedTuple):
    """How one match against a hostile bot went."""

    number: int
    """Of the acceptance matrix; 0 for one that is not in it."""
    name: str
    game: str
    tier: str
    termination: str
    overshoot_ms: float
    """By how much a verdict of lateness came after limit and margin; 0 where nothing was too late."""
    num_stalls: int
    """How often it was played again because the arena was at fault."""
    deviations: tuple[str, ...]
    """What was not as it should be."""


class Left(NamedTuple):
    """What a whole suite left behind in this process and on the disk."""

    descriptors: int
    files: int
    rss_bytes: int


def run_suite(
    tiers: Sequence[str],
    games: Sequence[str] = GAMES,
    repeats: int = 1,
    select: Callable[[Misbehaviour], bool] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> tuple[list[Trial], Left]:
    """Play every hostile bot in every game and tier, `repeats` times; give the trials and what was left.

    Call it from the main thread.

    Args:
        tiers: isolation tiers, "T1" and up; a bot whose tier is stronger is left out of a weaker one.
        games: specs of games.
        repeats: how often each.
        select: which bots; None for all.
        on_trial: hears of each trial as soon as it is over.

    Raises:
        PluginError: there is no such game.
    """
    trials: list[Trial] = []
    rules = [load_game(spec) for spec in games]
    with _own_folder() as folder, closing(Canary(folder)) as canary:
        # What is made at first use, and kept, is no leak.
        for game in rules:
            list(
                _in_one_game(Ground(Tier(tiers[0]), game, canary, folder), 1, lambda row: row.name in _FIRST)
            )
        chosen = [row.name for row in TABLE if row.name in _LARGE and (select is None or select(row))]
        list(
            _in_one_game(Ground(Tier(tiers[0]), rules[0], canary, folder), 1, lambda row: row.name in chosen)
        )
        before = (num_descriptors(), rss_bytes())
        for tier in tiers:
            for game in rules:
                for trial in _in_one_game(Ground(Tier(tier), game, canary, folder), repeats, select):
                    trials.append(trial)
                    if on_trial is not None:
                        on_trial(trial)
        after = (num_descriptors(), rss_bytes())
        num_files = len(list(folder.glob("arena-bot-*")))
    return trials, Left(after[0] - before[0], num_files, after[1] - before[1])


@contextmanager
def _own_folder() -> Generator[Path]:
    """Give a folder in which, meanwhile, all temporary files are made."""
    usual = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="arena-trials-") as folder:
        # Bots that became another user must get through to their own folders.
        Path(folder).chmod(0o711)
        tempfile.tempdir = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = usual


def _in_one_game(
    ground: Ground, repeats: int, select: Callable[[Misbehaviour], bool] | None
) -> Iterator[Trial]:
    # The good ones stay warm over all trials: one bot's fault is nothing to another.
    with ExitStack() as stack:
        warm = {name: stack.enter_context(closing(ground.seat(_row(name), name))) for name in _WARM}
        for row in TABLE:
            if row.tier > ground.tier or (select is not None and not select(row)):
                continue
            for _ in range(repeats):
                yield _try(row, ground, warm)


def _try(row: Misbehaviour, ground: Ground, warm: Mapping[str, Seat]) -> Trial:
    token = secrets.token_hex(16)
    bot, opponent = ground.seat(row, token), warm.get(row.opponent) or ground.seat(_row(row.opponent), token)
    num_stalls = 0
    while True:
        with closing(bot):
            result = _play(row, ground.game, bot, opponent, stalls_count=num_stalls == _STALLS)
        if result.termination is not Termination.ARENA_STALL:
            break
        num_stalls += 1
    if row.opponent not in warm:
        opponent.close()
    deviations = [
        *_deviations(row, result),
        *_false_claims(row, ground, token),
        *_left(token, ground.canary),
    ]
    return Trial(
        number=row.number,
        name=row.name,
        game=ground.game.name,
        tier=ground.tier.value,
        termination=result.termination.value,
        overshoot_ms=_overshoot_ms(result),
        num_stalls=num_stalls,
        deviations=tuple(deviations),
    )


def _play(row: Misbehaviour, game: Game, bot: Seat, opponent: Seat, *, stalls_count: bool) -> MatchResult:
    limit, patient = TimeControl(mode="move", move_ms=row.limit_ms), TimeControl(mode="move", move_ms=20_000)
    setup = MatchSetup(
        id="trial", labels=("Hostile", "Good"), seeds=(1, 2), controls=(limit, patient), init_s=row.init_s
    )
    return play_match(game, (bot, opponent), setup, stalls_count=stalls_count)


def _row(name: str) -> Misbehaviour:
    return next(row for row in TABLE if row.name == name)


def _overshoot_ms(result: MatchResult) -> float:
    if result.fault is None or result.termination not in _IN_TIME:
        return 0.0
    margin_ms = MARGIN_MS if result.termination is Termination.TIME_MOVE else 0
    return round(float(result.fault["overrun_ms"] or 0) - margin_ms, 3)


def _deviations(row: Misbehaviour, result: MatchResult) -> Iterable[str]:
    if result.termination not in row.expected:
        yield f"ended in {result.termination}, not {' or '.join(row.expected)}: {result.fault}"
    if row.opponent not in _WARM and result.outcome is not Outcome.VOID:
        yield "both failed, and the match was not void"
    if (late := _overshoot_ms(result)) > VERDICT_MS:
        yield f"the verdict came {late:g} ms after the deadline"
    texts = [info.text for info in result.infos if info is not None and info.text is not None]
    said = [*texts, *(str(value) for value in (result.fault or {}).values())]
    if any(clean_text(line, 10_000) != line for text in said for line in text.split("\n")):
        yield "a text is not clean"
    yield from (text for text in texts if text.startswith("WORKED"))
    # One that may slip the pause forfeits by the rule for all bots; the others must be stopped.
    is_stopped = Termination.PONDERING not in row.expected
    if is_stopped and (result.idle_cpu_ms[0] or 0.0) > _IDLE_MS * (1 + len(result.actions) // 2):
        yield f"it used {result.idle_cpu_ms[0]} ms of CPU while its opponent thought"


def _false_claims(row: Misbehaviour, ground: Ground, token: str) -> Iterable[str]:
    """Give what else is accepted of those whose claims are no matter of a match."""
    folder = ground.folder / f"claims-{token}"
    if row.name == "evil-name":
        yield from accepted_names(folder)
    if row.name == "false-deterministic":
        yield from unflagged_liar(ground.tier, ground.game, folder)


def _left(token: str, canary: Canary) -> Iterable[str]:
    if survivors := surviving(token):
        yield f"processes survived: {survivors}"
    if harm := canary.find_harm():
        yield harm
