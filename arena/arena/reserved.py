"""Options of every bot that the arena evaluates and the bot does not see: limit, permissions, name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.errors import OptionError
from arena.referee.timecontrol import TimeControl
from arena.sandbox.launch.calls import ALLOWABLE
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from arena_plugins.spec import Spec

NAME: Final = "name"
"""Key of the option with the name that a person gives to the bot."""
_LIMIT_KEYS = ("tc", "st", "nodes")
_PROCFS = "procfs"
_ALLOW = "allow"
OUR_KEYS: Final = (*_LIMIT_KEYS, _PROCFS, _ALLOW, NAME)


def may_read_proc(spec: Spec) -> bool:
    """Return the value of the option `procfs`.

    Raises:
        OptionError: the value is neither on nor off.
    """
    return OptionReader(spec.name, spec.options).flag(_PROCFS, default=False)


def allowed_calls(spec: Spec) -> tuple[str, ...]:
    """Return the names in the option `allow`, which are joined by plus signs.

    Raises:
        OptionError: a name is not on the list.
    """
    names = tuple(dict.fromkeys(filter(None, spec.options.get(_ALLOW, "").split("+"))))
    for name in names:
        if name not in ALLOWABLE:
            raise OptionError(f"{spec}: {_ALLOW}={name} is not one of {', '.join(ALLOWABLE)}")
    return names


def own_limit(spec: Spec, margin_ms: int) -> TimeControl | None:
    """Return the limit that a spec sets for its bot; None if the tournament's limit applies.

    Raises:
        OptionError: a value is not a number.
        ConfigError: the values do not form a possible limit.
    """
    if not any(key in spec.options for key in _LIMIT_KEYS):
        return None
    try:
        seconds = float(spec.options["st"]) if "st" in spec.options else None
        nodes = int(spec.options["nodes"]) if "nodes" in spec.options else None
    except ValueError as error:
        raise OptionError(f"{spec}: st is a number of seconds, nodes a whole number") from error
    return TimeControl.parse(spec.options.get("tc"), seconds, nodes, margin_ms=margin_ms)
