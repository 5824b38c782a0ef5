"""Runs the attacks, or those of an operator, in a tier, and judges the result of each."""

from __future__ import annotations

import ast
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError
from arena.sandbox.attacks.promises import ATTACKS
from arena.sandbox.attacks.waking import BEGIN_S
from arena.sandbox.canaries.attackers import INTERPRETER, attacker, read_reports, send_order
from arena.sandbox.canaries.bait import set_out
from arena.sandbox.canaries.held import fills_scratch, hides_memory, misleads_removal
from arena.sandbox.canaries.signs import SHARED_CANARIES, Signs
from arena.sandbox.family import members
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Generator

    from arena.sandbox.process import Process

_LAST = 9
"""The attack that runs last, because it kills the opponent, which the others need alive."""
_SLOW = {23: misleads_removal, 24: fills_scratch, 36: hides_memory}
QUICK = frozenset(attack.number for attack in ATTACKS if attack.is_quick)
ALL = frozenset(attack.number for attack in ATTACKS)


class Outcomes(NamedTuple):
    """The results of a trial."""

    worked: frozenset[int]
    """The attacks whose canary was hurt, or that were not made; 0 if the control failed."""
    user: int | None
    """The user id the attacker ran as; None if it was the arena's."""
    errors: dict[int, str]
    """The errors the attacker got, by attack; for display, not used to judge."""
    tried: frozenset[int] = QUICK
    """The attacks that were made, or should have been."""


def try_attacks(tier: Tier, numbers: frozenset[int] = QUICK) -> Outcomes:
    """Run attacks in processes of this tier.

    Args:
        tier: the isolation tier.
        numbers: the attacks to run, `QUICK` or `ALL`.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    if numbers <= QUICK:
        worked, errors, user = _try_quick(tier)
        return Outcomes(frozenset(worked), user, errors)
    with _orphans(tier) as arena:
        # The other arena starts meanwhile, and its remaining processes have time to end.
        worked, errors, user = _try_quick(tier)
        arena.kill_arena()
        used = idle_cpu_s(tier)
        if used is None or used > ALLOWED_S:
            worked.add(29)
        worked |= {number for number, has_worked in _SLOW.items() if has_worked(tier)}
        worked |= arena.worked()
    return Outcomes(frozenset(worked), user, errors, ALL)


def _try_quick(tier: Tier) -> tuple[set[int], dict[int, str], int | None]:
    chosen = [attack for attack in ATTACKS if attack.is_quick]
    chosen.sort(key=lambda attack: attack.number == _LAST)
    with set_out(tier) as there:
        signs = Signs(there)
        send_order(there.attacker, there.targets, [(str(each.number), each.function) for each in chosen])
        reports = read_reports(there.attacker, there.pulse)
        signs.end()
        worked = signs.of_attacks(reports)
        user = there.attacker.user
    missing = {each.number for each in chosen if str(each.number) not in reports}
    errors = {int(key): str(report["error"]) for key, report in reports.items() if report["error"]}
    return worked | missing, errors, user


WAIT_S = 1.0
"""Seconds after the arena's death in which remaining processes may still be ending."""
_BEAT_S = 0.01
_ATTACKS = [("31", "outliving.attack_outlive"), ("32", "outliving.attack_daemon")]
_ARENA = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from arena.sandbox.canaries import tier_trial
tier_trial.have_attacker(sys.argv[2], sys.argv[3])
"""


class Orphans:
    """An arena in another process, with an attacker that tries to outlive it."""

    def __init__(self, process: subprocess.Popen[bytes], token: str) -> None:
        self._process = process
        self._token = token
        self._members: set[int] = set()
        self._attacked: set[int] = set()
        self._killed_at = 0.0

    def kill_arena(self) -> None:
        """Wait until the attacks have been made, then kill the arena."""
        line = self._process.stdout.readline() if self._process.stdout else b""
        with suppress(ValueError):
            told = json.loads(line)
            self._members, self._attacked = set(told["members"]), set(told["attacked"])
        self._process.kill()
        self._process.wait()
        self._killed_at = time.monotonic()

    def worked(self) -> set[int]:
        """Return the attacks that worked or were not made; wait at most `WAIT_S` for the processes to end."""
        while alive := self._alive():
            if time.monotonic() > self._killed_at + WAIT_S:
                break
            time.sleep(_BEAT_S)
        found = {31, 32} - self._attacked
        found |= {31} if alive & self._members else set()
        found |= {32} if alive - self._members else set()
        for pid in alive:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return found

    def _alive(self) -> set[int]:
        """Return the living processes that have the attacker's command line or were in its container."""
        if sys.platform != "linux":
            return self._members  # the attacks were never made, so nothing can be concluded from this
        own = {pid for pid in self._members if _is_alive(pid)}
        mark = self._token.encode()
        names = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
        return own | {int(name) for name in names if mark in _command_line(name)}


@contextmanager
def _orphans(tier: Tier) -> Generator[Orphans]:
    """Start an arena with an attacker; kill it at the end of the block, and remove the files it leaves."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-orphans-")))
        folder.chmod(0o711)  # a bot with another user must be able to pass through
        process = stack.enter_context(
            subprocess.Popen(  # noqa: S603 - runs this interpreter with our own script
                [*INTERPRETER, "-c", _ARENA, json.dumps(sys.path), tier.value, token],
                env={**os.environ, "TMPDIR": str(folder)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        stack.callback(process.kill)
        yield Orphans(process, token)


def have_attacker(tier: str, token: str) -> None:
    """Start an attacker, have it attack, print its process ids and wait; runs in the arena that is killed."""
    with attacker(Tier(tier), token=token) as process:
        send_order(process, {}, _ATTACKS)
        reports = read_reports(process)
        told = {"members": list(members(process.pid)), "attacked": [int(key) for key in reports]}
        print(json.dumps(told), flush=True)  # noqa: T201 - read by the other arena
        sys.stdin.read()


def _is_alive(pid: int) -> bool:
    try:
        # The state follows the name in parentheses, which may contain any characters.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except (OSError, IndexError):
        return False


def _command_line(name: str) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{name}/cmdline").read_bytes()
    except OSError:
        return b""


PAUSE_S = 0.15
"""Seconds for which `arena doctor` stops an attacker."""
STOP = getattr(signal, "SIGSTOP", 0)
ALLOWED_S = 0.02
"""CPU seconds that are tolerated."""
_STOP_S = 0.05
"""Seconds that the threads of a process may take to stop."""
_PROCESS_CLOCK = 2
"""CPUCLOCK_SCHED, as in `arena.referee.pause`."""


def idle_cpu_s(tier: Tier, pause_s: float = PAUSE_S) -> float | None:
    """Return the CPU seconds an attacker uses while it is stopped; None if it did not attack.

    Args:
        tier: its isolation tier.
        pause_s: how long it is stopped, in seconds.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    # The default limits, because each of the attacker's threads reserves address space.
    with attacker(tier, resources=Resources()) as process:
        send_order(process, {}, [("29", "waking.attack_wake")])
        reports = read_reports(process)
        time.sleep(2 * BEGIN_S)
        os.killpg(process.pid, STOP)
        # On a busy machine a process with many threads takes a while to stop, which is not to be measured.
        time.sleep(_STOP_S)
        before = _cpu_s(process)
        time.sleep(pause_s / 2)
        # As in a match, in which the question is sent before the process is resumed.
        with suppress(OSError):
            os.write(process.stdin, b"\n")
        time.sleep(pause_s / 2)
        used = _cpu_s(process) - before
    return used if "29" in reports else None


def _cpu_s(process: Process) -> float:
    used = 0.0
    for pid in members(process.pid) if sys.platform == "linux" else ():
        with suppress(OSError):
            used += time.clock_gettime(~pid << 3 | _PROCESS_CLOCK)
    return used


_PREFIX = "attack_"
_CONTROL = 0
_MOST_TRIALS = 4
"""Maximum trials of an attack on a shared target: the attack changes it every time, another program does
not."""


def names_in(file: Path) -> dict[str, str]:
    """Return the names of the attacks in a file, by function; the file is parsed, but not executed here.

    An attack is a module-level function `attack_*(targets)`; the first line of its docstring is its name.

    Raises:
        ConfigError: the file cannot be read, is not valid Python, or contains no attack.
    """
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except OSError as error:
        raise ConfigError(f"cannot read the attacks of {file}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{file} is not a Python file: {error}") from error
    found = {
        node.name: (ast.get_docstring(node) or node.name).splitlines()[0]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(_PREFIX)
    }
    if not found:
        raise ConfigError(f"{file} has no attack; define a function {_PREFIX}NAME(targets) in it")
    return found


def try_own(tier: Tier, file: Path, names: dict[str, str]) -> dict[str, bool]:
    """Run the attacks of a file in a tier.

    An attack worked if its function returned a true value, or if a canary was hurt: something was changed,
    reached or killed, or the returned value contains a secret.

    Args:
        tier: the isolation tier.
        file: a Python file; it can import only the standard library.
        names: the names of the attacks, by function.

    Returns:
        Whether each attack worked, by function; empty if the tier cannot be set up.
    """
    try:
        return {function: _has_worked(tier, str(file.resolve()), function) for function in names}
    except (ConfigError, OSError):
        return {}


def _has_worked(tier: Tier, file: str, function: str) -> bool:
    """Return whether an attack worked; if only a shared canary shows it, it must do so in every trial."""
    for _ in range(_MOST_TRIALS):
        word, hurt = _try_once(tier, file, function)
        if word or hurt - SHARED_CANARIES or not hurt:
            return word or bool(hurt)
    return True


def _try_once(tier: Tier, file: str, function: str) -> tuple[bool, set[int]]:
    """Run an attack once; return whether it claims success, and the numbers of the canaries it hurt."""
    with set_out(tier, [file]) as there:
        signs = Signs(there)
        send_order(there.attacker, there.targets, [(function, function)], file)
        reports = read_reports(there.attacker, there.pulse)
        signs.end()
        got = reports.get(function, {}).get("got")
        return bool(got), signs.of_text(str(got)) - {_CONTROL}
