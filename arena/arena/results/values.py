"""Values in conditions (times, durations, results, limits, openings, pools), parsed as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, get_args

from arena.errors import ConfigError, IllegalMoveError, InvalidMoveError
from arena.games.notation import parse_moves
from arena.live.views import RESULTS
from arena.referee.timecontrol import TimeControl
from arena_db.pools import Process
from arena_db.records import OpeningFilter
from arena_db.wild import is_like, is_wild
from arena_plugins import game_spec, load_game
from arena_plugins.contract import Termination
from arena_plugins.errors import PluginError
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OUTCOMES: Final[Mapping[str, str]] = {result: outcome for outcome, result in RESULTS.items()} | {
    "1/2-1/2": "draw",
    "draw": "draw",
}
"""Outcome by the written form of a result."""
TIERS: Final = ("T0", "T1", "T2", "T3")
NO_OPENING: Final = "none"
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?")
_DIGITS: Final = 40
"""Maximum characters of an invalid number that a message repeats."""
_NODES: Final = re.compile(r"[0-9]{1,18}")
_WEEK: Final = re.compile(r"\d{4}-?W\d\d")
_DAY: Final = re.compile(r"\d{4}(-?)(?:\d\d\1\d\d|W\d\d(?:\1\d)?)")
_DAY_S: Final = 86_400.0
_CLOCK_S: Final = (_DAY_S, 3600.0, 60.0, 1.0)
"""Seconds of a time by the number of clock parts that are written (none, hour, minute, second)."""
_UNITS: Final[Mapping[str, int]] = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def seconds_of(text: str) -> tuple[float, float]:
    """Return the start and end of a time in seconds since 1970 (UTC): a date is a day, `12:00` a minute.

    The last part that is written determines the length: `T12` is an hour, `12:00:30` a second, `12:00:30.5` a
    tenth of a second, and the week `2026-W05` seven days.

    Raises:
        ConfigError: the text is not a time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"{text} is not a time like 2026-01-31T12:00 or 2026-01-31") from error
    start = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return start, start + _length(text)


def _length(text: str) -> float:
    """Return the length in seconds of a time in ISO 8601, according to its written parts."""
    day = _DAY.match(text)
    if day is None or day.end() == len(text):
        return 7 * _DAY_S if _WEEK.fullmatch(text) else _DAY_S
    clock = re.split(r"[+Z-]", text[day.end() + 1 :])[0]
    whole, *fraction = re.split("[.,]", clock)
    return 10.0 ** -min(len(fraction[0]), 6) if fraction else _CLOCK_S[sum(map(str.isdigit, whole)) // 2]


def milliseconds_of(text: str) -> int:
    """Return a duration in milliseconds: `10` and `10s` are seconds; `500ms`, `2m` and `1h` are allowed, too.

    Raises:
        ConfigError: the text is not a duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ConfigError(f"{text} is not a duration like 10 (seconds), 500ms, 2m or 1h")
    return round(float(found[1]) * _UNITS[found[2] or "s"])


def count_of(text: str) -> int:
    """Return a whole number of at most six digits.

    Raises:
        ConfigError: the text is not such a number.
    """
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise ConfigError(f"{text} is not a whole number from 0 to 999999")
    return int(text)


def check_result(text: str) -> None:
    """Raise if a text is not a result.

    Raises:
        ConfigError: the text is not a result; the message lists all results.
    """
    if text not in OUTCOMES:
        raise ConfigError(f"no result {text} (there are {', '.join(RESULTS.values())})")


def check_end(text: str) -> None:
    """Raise if no termination matches a text, which may be a pattern.

    Raises:
        ConfigError: no termination matches; the message lists all terminations.
    """
    if not any(is_like(kind, text) for kind in Termination):
        raise ConfigError(f"{text} is not one of {', '.join(Termination)}{nearest(text, Termination)}")


def check_tier(text: str) -> None:
    """Raise if a text is not an isolation tier.

    Raises:
        ConfigError: the text is not a tier; the message lists all tiers.
    """
    if text not in TIERS:
        raise ConfigError(f"{text} is not one of {', '.join(TIERS)}")


def game_of(text: str) -> str:
    """Return the canonical spec of a game; a pattern is returned unchanged.

    Raises:
        PluginError: there is no such game; the message names the closest one.
    """
    return text if is_wild(text) else game_spec(load_game(text))


def limit_of_words(tc: str, st: str, nodes: str) -> str:
    """Return the limit that options of a tournament set, in the notation of pool names.

    Args:
        tc: value of `--tc`, or a limit as tables show it: `10+0.1`, `5/move`; may be a pattern.
        st: seconds per move.
        nodes: search nodes per move.

    Raises:
        ConfigError: the values are not a valid limit.
    """
    if is_wild(tc):
        return tc
    if nodes and not _NODES.fullmatch(nodes):
        raise ConfigError(f"nodes {nodes[:_DIGITS]} is not a whole number from 1, of at most 18 digits")
    num_nodes = int(nodes) if nodes else None
    if not tc:
        try:
            seconds = float(st) if st else None
        except ValueError as error:
            raise ConfigError(f"st {st} is not a number of seconds") from error
        return str(TimeControl.parse(None, seconds, num_nodes))
    if st:
        raise ConfigError(f"tc {tc} and st {st} exclude each other; give one of them")
    limit = TimeControl.from_text(written_limit(tc)) if tc != "inf" else TimeControl.parse(tc, None, None)
    return str(limit if num_nodes is None else TimeControl.from_text(f"{limit} {num_nodes} nodes"))


def check_tc(text: str) -> None:
    """Raise `ConfigError` if a text is not a limit."""
    limit_of_words(text, "", "")


def check_st(text: str) -> None:
    """Raise `ConfigError` if a text is not a number of seconds per move."""
    limit_of_words("", text, "")


def check_nodes(text: str) -> None:
    """Raise `ConfigError` if a text is not a number of nodes."""
    limit_of_words("", "", text)


def openings_of(text: str, games: Iterable[str]) -> tuple[OpeningFilter, ...]:
    """Return the openings that a sequence of moves means in each of some games.

    Args:
        text: moves as tables show them, such as `d3 d4`; a trailing `*` allows more to follow; `none` selects
            matches from the initial position.
        games: canonical specs.

    Raises:
        ConfigError: the moves are legal in none of the games.
    """
    is_beginning = text.endswith("*")
    moves = "" if text == NO_OPENING else text.removesuffix("*")
    found: list[OpeningFilter] = []
    reasons: list[str] = []
    for spec in games:
        try:
            game = load_game(spec)
            actions = tuple(parse_moves(game, moves))
        except (PluginError, InvalidMoveError, IllegalMoveError) as error:
            reasons.append(f"{spec}: {error}")
            continue
        found.append(OpeningFilter(spec, game.num_actions, actions, is_beginning))
    if not found:
        raise ConfigError(f'no game can begin with "{text}" ({"; ".join(reasons) or "there is none"})')
    return tuple(found)


_PROCESSES: Final = get_args(Process)


def is_pool(text: str) -> bool:
    """Return whether a text is the full name of a pool, such as `5/move hosted`, and not only a limit."""
    return written_limit(text) != text


def written_limit(text: str) -> str:
    """Return the limit without the kind of process: `5/move` for `5/move hosted`."""
    limit, _, process = text.rpartition(" ")
    return limit if process in _PROCESSES else text
