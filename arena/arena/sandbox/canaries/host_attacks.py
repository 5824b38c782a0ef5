"""A host's own attacks: functions in a file, each run by a new attacker against new canaries."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.sandbox.canaries.attackers import read_reports, send_order
from arena.sandbox.canaries.bait import set_out
from arena.sandbox.canaries.signs import SHARED_CANARIES, Signs

if TYPE_CHECKING:
    from pathlib import Path

    from arena.sandbox.tier import Tier

_PREFIX = "attack_"
_CONTROL = 0
_MOST_TRIALS = 4
"""An attack on a shared target is repeated: the attack changes it every time, another program does not."""


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
