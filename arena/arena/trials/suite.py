"""Plays the hostile bots against a good one, checks the referee's verdicts, and finds what the bots leave."""

from __future__ import annotations

import ctypes
import os
import secrets
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from arena.match import MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.seats import SeatSetup
from arena.referee.timecontrol import MARGIN_MS, TimeControl
from arena.sandbox.tier import Tier
from arena.trials.canary import Canary, TrialEnvironment
from arena.trials.claims import accepted_names, unflagged_liar
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
"""The default games."""
VERDICT_MS = 250
"""Milliseconds after limit and margin within which a verdict is due."""
_STALLS = 3
"""Maximum number of repetitions of a match that stalled through the arena's fault."""
_IDLE_MS = 10.0
"""Milliseconds of CPU time that a bot may use per move of its opponent."""
_WARM = ("good", "slow")
"""Opponents that do not misbehave."""
_FIRST = ("good", "memory-leak", "evil-text")
"""Bots tried before the measurement, since they initialise most parts of the arena."""
_LARGE = ("evil-name", "false-deterministic", "inflating-arrays", "runs-at-install")
"""Trials that use a store or the shelf; those that are selected also run before the measurement."""
_SCRATCH = "arena-bot-*"
"""Pattern of the bots' scratch folders."""
_USUAL_STARTS = 5
_MORE_STARTS = 4
"""Number of times that a slow start is repeated."""
_SLOWER, _SLACK_MS = 3.0, 50.0
"""A start is slow if it exceeds this multiple of the usual time plus this slack in ms, which allows for
load."""
_IN_TIME = frozenset({Termination.TIME_MOVE, Termination.INIT_TIMEOUT})


class Trial(NamedTuple):
    """The result of one match against a hostile bot."""

    number: int
    """Number in the acceptance matrix; 0 if it is not part of it."""
    name: str
    game: str
    tier: str
    termination: str
    overshoot_ms: float
    """Milliseconds after limit and margin at which a verdict of lateness came; 0 if nothing was late."""
    num_stalls: int
    """Number of repetitions due to stalls of the arena."""
    deviations: tuple[str, ...]
    """Deviations from the expected behaviour."""
    next_start_ms: float = 0.0
    """Start time of the next bot in ms; 0 if it was not measured."""


class Left(NamedTuple):
    """What a whole suite left behind in this process and on disk."""

    descriptors: int
    files: int
    rss_bytes: int


class TrialPlan(NamedTuple):
    """Where hostile bots are tried, and how often."""

    tiers: Sequence[str]
    """Isolation tiers, "T1" and up; a bot that needs a stronger tier is skipped in a weaker one."""
    games: Sequence[str] = GAMES
    """Specs of games."""
    repeats: int = 1
    """Number of repetitions of each trial."""


def run_suite(
    plan: TrialPlan,
    select: Callable[[Misbehaviour], bool] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    *,
    times_starts: bool = False,
) -> tuple[list[Trial], Left]:
    """Play every hostile bot in every game and tier; return the trials and what they left behind.

    It must be called in the main thread.

    Args:
        plan: where the bots are tried, and how often.
        select: selects bots; None for all.
        on_trial: called with each finished trial.
        times_starts: whether a good bot is started after each trial, which must not take longer than before.

    Raises:
        PluginError: there is no such game.
    """
    tiers, games, repeats = plan
    trials: list[Trial] = []
    rules = [load_game(spec) for spec in games]
    with _own_folder() as folder, closing(Canary(folder)) as canary:
        # Run some trials first: objects that are created at first use and then kept are not leaks.
        for game in rules:
            list(
                _in_one_game(
                    TrialEnvironment(Tier(tiers[0]), game, canary, folder), 1, lambda row: row.name in _FIRST
                )
            )
        chosen = [row.name for row in TABLE if row.name in _LARGE and (select is None or select(row))]
        list(
            _in_one_game(
                TrialEnvironment(Tier(tiers[0]), rules[0], canary, folder), 1, lambda row: row.name in chosen
            )
        )
        before = (_num_descriptors(), _rss_bytes())
        for tier in tiers:
            for game in rules:
                environment = TrialEnvironment(Tier(tier), game, canary, folder)
                usual_ms = (
                    median(_start_ms(environment) for _ in range(_USUAL_STARTS)) if times_starts else 0.0
                )
                for played in _in_one_game(environment, repeats, select):
                    trial = _and_start(played, environment, usual_ms) if times_starts else played
                    trials.append(trial)
                    if on_trial is not None:
                        on_trial(trial)
        after = (_num_descriptors(), _rss_bytes())
        num_files = len(list(folder.glob(_SCRATCH)))
    return trials, Left(after[0] - before[0], num_files, after[1] - before[1])


def _and_start(trial: Trial, environment: TrialEnvironment, usual_ms: float) -> Trial:
    """Start a good bot after a trial; add a deviation if that takes longer than usual."""
    next_ms = _start_ms(environment)
    most_ms = _SLOWER * usual_ms + _SLACK_MS
    for _ in range(_MORE_STARTS):
        # Load on the machine slows single starts; leftovers of a bot slow all of them.
        if next_ms <= most_ms:
            break
        next_ms = min(next_ms, _start_ms(environment))
    if next_ms > most_ms:
        slow = f"the next start took {next_ms:.0f} ms, before it was {usual_ms:.0f} ms"
        trial = trial._replace(deviations=(*trial.deviations, slow))
    return trial._replace(next_start_ms=round(next_ms, 3))


def _start_ms(environment: TrialEnvironment) -> float:
    """Return the milliseconds that a good bot needs to start and get ready."""
    control = TimeControl(mode="move", move_ms=1000)
    began = time.monotonic()
    with closing(environment.seat(_row("good"), secrets.token_hex(16))) as seat:
        seat.start(SeatSetup(match="start", game=environment.game, player=0, seed=1, control=control))
        return 1000 * (time.monotonic() - began)


@contextmanager
def _own_folder() -> Generator[Path]:
    """Yield a folder that holds all temporary files created within the `with` block."""
    usual = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="arena-trials-") as folder:
        # Bots that run as other users must be able to reach their folders inside.
        Path(folder).chmod(0o711)
        tempfile.tempdir = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = usual


def _in_one_game(
    environment: TrialEnvironment, repeats: int, select: Callable[[Misbehaviour], bool] | None
) -> Iterator[Trial]:
    # The good bots stay warm over all trials: a fault of one bot must not affect another.
    with ExitStack() as stack:
        warm = {name: stack.enter_context(closing(environment.seat(_row(name), name))) for name in _WARM}
        for row in TABLE:
            if row.tier > environment.tier or (select is not None and not select(row)):
                continue
            for _ in range(repeats):
                yield _try(row, environment, warm)


def _try(row: Misbehaviour, environment: TrialEnvironment, warm: Mapping[str, Seat]) -> Trial:
    token = secrets.token_hex(16)
    bot, opponent = (
        environment.seat(row, token),
        warm.get(row.opponent) or environment.seat(_row(row.opponent), token),
    )
    num_stalls, num_orphans = 0, _num_orphans(environment, warm.values())
    while True:
        with closing(bot):
            result = _play(row, environment.game, bot, opponent, stalls_count=num_stalls == _STALLS)
        if result.termination is not Termination.ARENA_STALL:
            break
        num_stalls += 1
    if row.opponent not in warm:
        opponent.close()
    deviations = [
        *_deviations(row, environment.tier, result),
        *_false_claims(row, environment, token),
        *_left(token, environment.canary, _num_orphans(environment, warm.values()) - num_orphans),
    ]
    return Trial(
        number=row.number,
        name=row.name,
        game=environment.game.name,
        tier=environment.tier.value,
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
    over_ms, given_back_ms = (float(result.fault.get(key) or 0) for key in ("overrun_ms", "given_back_ms"))
    return round(over_ms - margin_ms - given_back_ms, 3)


def _deviations(row: Misbehaviour, tier: Tier, result: MatchResult) -> Iterable[str]:
    expected = row.expected_in(tier.value)
    if result.termination not in expected:
        yield f"ended in {result.termination}, not {' or '.join(expected)}: {result.fault}"
    if row.opponent not in _WARM and result.outcome is not Outcome.VOID:
        yield "both failed, and the match was not void"
    if (late := _overshoot_ms(result)) > VERDICT_MS:
        yield f"the verdict came {late:g} ms after the deadline"
    texts = [info.text for info in result.infos if info is not None and info.text is not None]
    said = [*texts, *(str(value) for value in (result.fault or {}).values())]
    if any(clean_text(line, 10_000) != line for text in said for line in text.split("\n")):
        yield "a text is not clean"
    yield from (text for text in texts if text.startswith("WORKED"))
    if (result.idle_cpu_ms[0] or 0.0) > _IDLE_MS * (1 + len(result.actions) // 2):
        yield f"it used {result.idle_cpu_ms[0]} ms of CPU while its opponent thought"


def _false_claims(row: Misbehaviour, environment: TrialEnvironment, token: str) -> Iterable[str]:
    """Yield the false claims that are accepted, for bots whose claims do not concern a match."""
    folder = environment.folder / f"claims-{token}"
    if row.name == "evil-name":
        yield from accepted_names(folder)
    if row.name == "false-deterministic":
        yield from unflagged_liar(environment.tier, environment.game, folder)


def _num_orphans(environment: TrialEnvironment, warm: Iterable[Seat]) -> int:
    """Count the scratch folders without a bot; only warm bots may be alive at this time."""
    num_alive = sum(isinstance(seat, HostedSeat) and seat.pid is not None for seat in warm)
    return len(list(environment.folder.glob(_SCRATCH))) - num_alive


def _left(token: str, canary: Canary, num_folders: int) -> Iterable[str]:
    if survivors := surviving(token):
        yield f"processes survived: {survivors}"
    if left := leftovers(token):
        yield f"it left {', '.join(left)}"
    if num_folders > 0:
        yield f"its scratch folder was left, or that of its opponent ({num_folders})"
    if harm := canary.find_harm():
        yield harm


_GONE_S = 2.0
"""Seconds that the kernel may take to remove a killed process."""
_KEY_DIGITS = 7
"""Hex digits of a mark that form the key of a segment, as in `arena_plugins.hostile`."""
_REMOVE = 0
"""The command IPC_RMID of `shmctl` (linux/ipc.h), which removes a segment."""


def surviving(token: str) -> list[int]:
    """Return the processes with `token` among their arguments, after a grace period; Linux only."""
    deadline = time.monotonic() + _GONE_S
    while (found := _with_argument(token)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def leftovers(mark: str) -> list[str]:
    """Return what a bot left in the kernel under names made of `mark`; remove all but mounts. Linux only."""
    found: list[str] = []
    libc, key = ctypes.CDLL(None), int(mark[:_KEY_DIGITS], 16)
    for words in map(str.split, _lines("/proc/sysvipc/shm")):
        if words[0] == str(key):
            libc.shmctl(int(words[1]), _REMOVE, None)
            found.append("a segment of System V shared memory")
    # Message queues are not listed everywhere; a successful removal shows that one existed.
    remove_queue = getattr(libc, "mq_unlink", None)
    if remove_queue is not None and remove_queue(f"/{mark}".encode()) == 0:
        found.append("a POSIX message queue")
    file = Path("/dev/shm", mark)  # noqa: S108 - nothing is created there
    if file.exists():
        file.unlink()
        found.append("a file in /dev/shm")
    if any(mark in line for line in _lines("/proc/self/mountinfo")):
        found.append("a mount")
    return found


def _num_descriptors() -> int:
    """Return the number of open descriptors of this process; 0 if the system does not report it."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0  # noqa: PTH208 - a generator would count its own


def _rss_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _with_argument(token: str) -> list[int]:
    mark, found = token.encode(), list[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if mark in arguments:
            found.append(int(folder.name))
    return found
