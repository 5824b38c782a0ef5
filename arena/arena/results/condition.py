"""The language of filters: `bot:az vs:mcts* result:0-1 ply<20 end:time_move`."""

from __future__ import annotations

import operator
import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ConfigError
from arena.live.views import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arena.live.tables import MatchRow
    from arena.live.views import MatchView
    from arena_db.records import MatchFilter

HINT: Final = "bot:az vs:mcts* result:0-1 ply<20 end:time_move"
_WORDS: Final = ("bot", "vs", "result", "end", "tournament", "game")
_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_PLY: Final = re.compile(r"ply(<=|>=|<|>|=|:)(\d{1,6})")
_OUTCOMES: Final = {result: outcome for outcome, result in RESULTS.items()} | {
    "1/2-1/2": "draw",
    "draw": "draw",
}
_WILD: Final = "*?"


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """What a filter asks for; empty is no condition. `*` and `?` stand for any text, any character."""

    bot: str = ""
    vs: str = ""
    result: str = ""
    """1-0, 0-1, 1/2 or void."""
    end: str = ""
    """A termination."""
    tournament: str = ""
    game: str = ""
    plies: tuple[tuple[str, int], ...] = ()
    """Comparisons with the number of plies, all of which hold."""

    @property
    def is_empty(self) -> bool:
        """Whether every match fits."""
        return self == Condition()

    @property
    def outcome(self) -> str:
        """What the result means: first, second, draw or void; empty without one."""
        return _OUTCOMES[self.result] if self.result else ""

    def to_store(self) -> MatchFilter:
        """Give what the store can look for itself: exact names, result, termination."""
        from arena_db.records import MatchFilter

        return MatchFilter(
            bot=_exact(self.bot),
            vs=_exact(self.vs),
            tournament=_exact(self.tournament),
            game=_exact(self.game),
            termination=_exact(self.end),
            outcome=self.outcome or None,
            rated_only=False,
        )

    def to_filter(self) -> MatchFilter:
        """Give all of it as the store takes it: what `arena games` and `arena export` look for."""
        from dataclasses import replace

        return replace(
            self.to_store(),
            bot=self.bot or None,
            vs=self.vs or None,
            tournament=self.tournament or None,
            game=self.game or None,
            termination=self.end or None,
            plies=self.plies,
        )

    def rest(self) -> Condition:
        """Give what is left to look for in each row: all with `*` or `?`, and plies."""
        wild = {
            name: getattr(self, name)
            for name in ("bot", "vs", "end", "tournament", "game")
            if _is_wild(getattr(self, name))
        }
        # Both names are about one match: where one is left, the sides have to be told apart.
        if "bot" in wild or "vs" in wild:
            wild |= {"bot": self.bot, "vs": self.vs}
        return Condition(plies=self.plies, **wild)

    def fits(self, row: MatchRow) -> bool:
        """Say whether a row fits, names by label, spec or the name before its options."""
        return (
            self._fits_names((row.names,))
            and all(_COMPARISONS[sign](row.plies, number) for sign, number in self.plies)
            and _like(self.end, row.termination)
            and _like(self.tournament, row.tournament)
            and _like(self.game, row.game)
            and (not self.result or row.outcome == self.outcome)
        )

    def fits_board(self, match: MatchView) -> bool:
        """Say whether a match of the wall fits; of one that is played, result and end fit nothing."""
        full = (match.seats[0].name, match.seats[1].name)
        short = (match.seats[0].label, match.seats[1].label)
        return (
            self._fits_names((full, short))
            and all(_COMPARISONS[sign](match.ply, number) for sign, number in self.plies)
            and _like(self.end, match.termination)
            and _like(self.game, match.game)
            and (not self.result or match.outcome == self.outcome)
        )

    def _fits_names(self, pairs: Sequence[tuple[str, str]]) -> bool:
        return any(
            _like_bot(self.bot, pair[place]) and _like_bot(self.vs, pair[1 - place])
            for pair in pairs
            for place in (0, 1)
        )


def read_condition(text: str) -> Condition:
    """Read a filter.

    Raises:
        ConfigError: a word is none; says which there are.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"the filter {text} has a quotation mark without its partner") from error
    found: dict[str, str] = {}
    plies: list[tuple[str, int]] = []
    for word in words:
        if comparison := _PLY.fullmatch(word):
            plies.append((comparison[1].replace(":", "="), int(comparison[2])))
            continue
        key, colon, value = word.partition(":")
        if not colon or key not in _WORDS or not value:
            raise ConfigError(f'no filter "{word}"; there are {": ".join(_WORDS)}:, ply<20, ply>20, ply=20')
        if key == "result" and value not in _OUTCOMES:
            raise ConfigError(f"no result {value}; there are {', '.join(RESULTS.values())}")
        found[key] = value
    return Condition(plies=tuple(plies), **found)


def word(key: str, value: str) -> str:
    """Write one word of a filter, quoted where needed."""
    return f"{key}:{shlex.quote(value)}"


def _is_wild(text: str) -> bool:
    return any(sign in text for sign in _WILD)


def _exact(text: str) -> str | None:
    return None if not text or _is_wild(text) else text


def _like(wanted: str, text: str) -> bool:
    return not wanted or fnmatchcase(text, _pattern(wanted))


def _like_bot(wanted: str, name: str) -> bool:
    address = name.partition(":")[0]
    return any(_like(wanted, text) for text in (name, address, address.partition("@")[0]))


def _pattern(wanted: str) -> str:
    # Brackets are part of names, no sets of characters.
    return wanted.replace("[", "[[]")
