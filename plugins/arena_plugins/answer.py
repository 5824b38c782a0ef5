"""Converts a bot's `PlayResult` into arena-bot/1 messages and rejects malformed results."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from arena_plugins.contract import PlayResult
from arena_plugins.errors import BotError
from arena_plugins.text import clean_text
from arena_plugins.wire import MAX_BOT_LINE, MAX_TEXT, Action, Info, Message, Resign, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from typing_extensions import TypeIs

_Number = TypeVar("_Number", int, float)

_MAX_PV = 256
"""Maximum number of actions of a principal variation that are sent; viewers do not show more."""
_LONGEST_PAIR = 48
"""Upper bound in bytes for one [action, number] pair of 64-bit values, with brackets and commas."""
_SURELY_SHORT = MAX_BOT_LINE // _LONGEST_PAIR // 2
"""Number of pairs that is certain to fit into one line; only longer answers are encoded to measure them."""
_LEAST, _TOO_MUCH = -(2**63), 2**64
"""Range of integers on the wire: the smallest allowed value, and the first value that is too large."""


def as_integer(value: object, what: str) -> int:
    """Convert an int or a NumPy integer to an int.

    Raises:
        BotError: `value` is a bool, is not an integer, or does not fit into 64 bits.
    """
    if type(value) is int:
        number = value
    elif isinstance(value, bool):  # tested before `operator.index`, which would turn True into action 1
        raise BotError(f"{what} is {value}, a bool")
    else:
        try:
            number = operator.index(value)  # pyright: ignore[reportArgumentType] - checked by the call itself
        except TypeError:
            raise BotError(f"{what} is {_short(value)}, not an integer") from None
    if not _LEAST <= number < _TOO_MUCH:
        raise BotError(f"{what} has more than 64 bits")
    return number


def as_float(value: object, what: str) -> float:
    """Convert a number to a float.

    Raises:
        BotError: `value` is not a number.
    """
    try:
        return float(value)  # pyright: ignore[reportArgumentType] - checked by the call itself
    except (TypeError, ValueError, OverflowError):
        raise BotError(f"{what} is {_short(value)}, not a number") from None


def checked_result(result: object) -> PlayResult:
    """Return `result` unchanged after checking that it is a PlayResult with an integer action.

    Raises:
        BotError: `result` has another type, or its action is not an integer.
    """
    if not isinstance(result, PlayResult):
        raise BotError(f"play returned {_short(result)}, not a PlayResult; return PlayResult(action)")
    if not result.resign:
        as_integer(result.action, "the action")
    return result


def make_answer(go_id: str, given: object, legal: Collection[int]) -> list[Message]:
    """Build the messages for a bot's result: an optional `info`, then `action` or `resign`.

    Policy and visits keep only legal actions with finite numbers. Both are dropped if the line would exceed
    `MAX_BOT_LINE` bytes.

    Raises:
        BotError: a field has a wrong type.
    """
    result = checked_result(given)
    if result.resign:
        return [Resign(id=go_id)]
    value = None if result.value is None else as_float(result.value, "the value")
    policy = None if result.policy is None else _pairs(result.policy, "policy", legal, float, as_float)
    visits = None if result.visits is None else _pairs(result.visits, "visits", legal, int, as_integer)
    action = Action(
        id=go_id,
        action=as_integer(result.action, "the action"),
        value=value if value is not None and math.isfinite(value) else None,
        policy=policy,
        visits=visits,
    )
    num_pairs = len(policy or ()) + len(visits or ())
    if num_pairs > _SURELY_SHORT and len(encode(action)) > MAX_BOT_LINE:
        action = Action(id=go_id, action=action.action, value=action.value)
    info = _info(go_id, result, action.value)
    return [action] if info is None else [info, action]


def _info(go_id: str, result: PlayResult, value: float | None) -> Info | None:
    if result.pv is None and result.nodes is None and result.depth is None and result.text is None:
        return None
    return Info(
        id=go_id,
        value=value,
        pv=None if result.pv is None else [as_integer(a, "an action of pv") for a in result.pv[:_MAX_PV]],
        nodes=None if result.nodes is None else as_integer(result.nodes, "nodes"),
        depth=None if result.depth is None else as_integer(result.depth, "depth"),
        text=None if result.text is None else clean_text(str(result.text), MAX_TEXT),
    )


def _pairs(
    given: object,
    what: str,
    legal: Collection[int],
    number: type[_Number],
    read: Callable[[object, str], _Number],
) -> list[tuple[int, _Number]]:
    if _is_plain(given, number, legal):
        return list(given.items())
    if not isinstance(given, Mapping):
        raise BotError(f"{what} is {_short(given)}, not a mapping from actions to numbers")
    items = cast("Mapping[object, object]", given)
    pairs = [(as_integer(action, f"a key of {what}"), read(n, what)) for action, n in items.items()]
    return [(action, n) for action, n in pairs if action in legal and math.isfinite(n)]


def _is_plain(given: object, number: type[_Number], legal: Collection[int]) -> TypeIs[dict[int, _Number]]:
    """Return whether `given` is a dict of legal actions to numbers that can be sent without conversion.

    Most answers are, and this test is cheaper than converting every pair.
    """
    if type(given) is not dict:
        return False
    pairs = cast("dict[int, float]", given)  # the key and value types are checked below
    numbers = pairs.values()
    return (
        {*map(type, pairs)} == {int}
        and {*map(type, numbers)} == {number}
        and (number is float or _LEAST <= min(numbers) <= max(numbers) < _TOO_MUCH)
        and math.isfinite(sum(numbers))
        and (list(pairs) == legal or pairs.keys() <= set(legal))
    )


def _short(value: object) -> str:
    return f"{clean_text(repr(value), 40)} ({type(value).__name__})"
