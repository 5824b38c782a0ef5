"""Conditions on matches, one type for text, options, forms, URLs and SQL: `bot:az vs:mcts* ply<20`."""

from __future__ import annotations

import operator
import re
import shlex
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from arena.errors import ConfigError
from arena.results import values
from arena.results.names import called
from arena.results.values import is_pool
from arena_db.records import MatchFilter
from arena_db.wild import is_like, is_wild
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from arena.live.views import MatchView
    from arena_db.store import Store

HINT: Final = "bot:az vs:mcts* result:0-1 ply<20 end:time_move"
_SIGNS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_COMPARISON: Final = re.compile(r"(<=|>=|<|>|=|)\s*(.+)", re.DOTALL)
_WORD: Final = re.compile(r"([a-z]+)(<=|>=|<|>|=|:)(.*)", re.DOTALL)


class Word(NamedTuple):
    """A keyword of the condition language and the values that it accepts."""

    name: str
    field: str
    """Name of the field of `Condition`."""
    check: Callable[[str], object]
    """Function that raises `ConfigError` for an invalid value."""
    signs: tuple[str, ...] = ("=",)
    """Allowed comparisons; a keyword that allows only `:` has only `=`."""
    is_repeated: bool = False
    """Whether the keyword may occur several times; all occurrences must hold."""

    @property
    def shown(self) -> str:
        """The keyword with its sign, such as `bot:` or `ply<`."""
        return f"{self.name}{'<' if self.is_repeated else ':'}"


def _any(_: str) -> None:
    """Accept any text."""


_ORDER: Final = tuple(_SIGNS)
WORDS: Final[Mapping[str, Word]] = {
    word.name: word
    for word in (
        Word("bot", "bot", _any),
        Word("vs", "vs", _any),
        Word("result", "result", values.check_result),
        Word("end", "end", values.check_end),
        Word("ply", "plies", values.count_of, _ORDER, is_repeated=True),
        Word("opening", "opening", _any),
        Word("date", "dates", values.seconds_of, _ORDER, is_repeated=True),
        Word("duration", "durations", values.milliseconds_of, _ORDER, is_repeated=True),
        Word("mistakes", "mistakes", values.count_of, _ORDER, is_repeated=True),
        Word("graded", "graded", _any),
        Word("tournament", "tournament", _any),
        Word("game", "game", _any),
        Word("pool", "pool", _any),
        Word("tc", "tc", values.check_tc),
        Word("st", "st", values.check_st),
        Word("nodes", "nodes", values.check_nodes),
        Word("tier", "tier", values.check_tier, ("=", ">=")),
        Word("machine", "machine", _any),
    )
}
_OF_POOLS: Final = ("tournament", "game", "pool", "tc", "st", "nodes")
TABLE_WORDS: Final = frozenset({"bot", "vs", "date", "tier", "machine", *_OF_POOLS})
"""Keywords that rating tables accept; ratings of matches chosen by result or length would be biased."""
BOARD_WORDS: Final = frozenset({"bot", "vs", "result", "end", "ply", "game"})
"""Keywords that can be evaluated while a match is being played."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A query for matches; all conditions must hold, and an empty field is no condition.

    In texts `*` matches any text and `?` any character. Comparisons are pairs of sign and text as written;
    they were validated when they were parsed.
    """

    bot: str = ""
    vs: str = ""
    result: str = ""
    """Result: 1-0, 0-1, 1/2 or void."""
    end: str = ""
    """Termination, which may be a pattern."""
    plies: tuple[tuple[str, str], ...] = ()
    """Comparisons with the number of actions."""
    opening: str = ""
    """Moves of the opening; a trailing `*` allows more to follow."""
    dates: tuple[tuple[str, str], ...] = ()
    """Comparisons with the time at which the match began, UTC."""
    durations: tuple[tuple[str, str], ...] = ()
    mistakes: tuple[tuple[str, str], ...] = ()
    """Comparisons with the number of mistakes of both bots, as counted by one judge."""
    graded: str = ""
    """Whether the match is graded: yes, no or the name of a judge."""
    tournament: str = ""
    game: str = ""
    pool: str = ""
    """Limit and kind of process, such as `5/move hosted`."""
    tc: str = ""
    """Limit, as on the command line of a tournament, together with `st` and `nodes`."""
    st: str = ""
    nodes: str = ""
    tier: str = ""
    """Isolation tier: `T2`, or `>=T2` for T2 and stronger tiers."""
    machine: str = ""
    """Host name of the worker machine that played the match."""

    @property
    def is_empty(self) -> bool:
        """Whether every match fits."""
        return self == Condition()

    @property
    def outcome(self) -> str:
        """The outcome that `result` means: first, second, draw or void; empty if there is none."""
        return values.OUTCOMES[self.result] if self.result else ""

    def pairs(self) -> list[tuple[str, str]]:
        """Return the keywords that are set, with their values; comparisons start with their sign."""
        found: list[tuple[str, str]] = []
        for word in WORDS.values():
            given = getattr(self, word.field)
            if word.is_repeated:
                found += [(word.name, f"{sign}{value}") for sign, value in given]
            elif given:
                found.append((word.name, given))
        return found

    @property
    def text(self) -> str:
        """The condition as text; `read_condition` parses it."""
        return " ".join(_typed(name, value) for name, value in self.pairs())

    def limit(self) -> str | None:
        """Return the limit of the matches in the notation of pool names; None if any limit fits.

        Raises:
            ConfigError: the conditions on the limit exclude each other.
        """
        if not (self.tc or self.st or self.nodes):
            return None
        return values.limit_of_words(self.tc, self.st, self.nodes)

    def only(self, words: Iterable[str], where: str) -> Condition:
        """Return the condition unchanged if it uses only allowed keywords.

        Args:
            words: the allowed keywords.
            where: the list that is filtered, for the message, such as `the wall`.

        Raises:
            ConfigError: another keyword is used; the message names the allowed ones.
        """
        takes = [word.name for word in WORDS.values() if word.name in set(words)]
        for name, _ in self.pairs():
            if name not in takes:
                raise ConfigError(f"{where} cannot be filtered by {name}; there are {', '.join(takes)}")
        return self

    def spelled_out(self, store: Store, tournament: str = "") -> Condition:
        """Return the condition with dashboard labels replaced by identities; see `names.called`."""
        whose = tournament or self.tournament
        bot, vs = (called(store, text, whose) for text in (self.bot, self.vs))
        return replace(self, bot=bot, vs=vs)

    def to_filter(
        self, store: Store | None = None, *, rated_only: bool = False, tournament: str = ""
    ) -> MatchFilter:
        """Return the condition as a filter of the store.

        Args:
            store: store whose games an opening may belong to; None if `game` names the game.
            rated_only: whether only matches that count for ratings fit.
            tournament: tournament on whose dashboard the condition was typed; labels are resolved there.

        Raises:
            ConfigError: the opening is legal in none of the games.
            PluginError: there is no such game.
        """
        meant = self if store is None else self.spelled_out(store, tournament)
        since, until = _span(self.dates)
        game = values.game_of(self.game) if self.game else None
        return MatchFilter(
            bot=meant.bot or None,
            vs=meant.vs or None,
            outcome=self.outcome or None,
            termination=self.end or None,
            plies=_counts(self.plies),
            openings=values.openings_of(self.opening, _games(game, store)) if self.opening else (),
            since=since,
            until=until,
            durations=tuple((sign, values.milliseconds_of(text)) for sign, text in self.durations),
            mistakes=_counts(self.mistakes),
            is_graded={"yes": True, "no": False}.get(self.graded),
            judge=self.graded if self.graded not in {"", "yes", "no"} else None,
            tournament=self.tournament or None,
            game=game,
            pool=self.pool or (self.tc if is_pool(self.tc) else None),
            limit=self.limit(),
            tier=None if self.tier.startswith(">") else self.tier or None,
            min_tier=self.tier.removeprefix(">=") if self.tier.startswith(">") else None,
            machine=self.machine or None,
            rated_only=rated_only,
        )

    def fits_board(self, match: MatchView) -> bool:
        """Return whether a match with a live board fits; result and end never fit a running match."""
        full = (match.seats[0].name, match.seats[1].name)
        short = (match.seats[0].label, match.seats[1].label)
        return (
            self._fits_names((full, short))
            and all(_SIGNS[sign](match.ply, number) for sign, number in _counts(self.plies))
            and (not self.end or is_like(match.termination, self.end))
            and (not self.game or is_like(match.game, self.game))
            and (not self.result or match.outcome == self.outcome)
        )

    def _fits_names(self, pairs: Sequence[tuple[str, str]]) -> bool:
        return any(
            is_bot(self.bot, pair[place]) and is_bot(self.vs, pair[1 - place])
            for pair in pairs
            for place in (0, 1)
        )


def read_condition(text: str) -> Condition:
    """Parse a condition from text.

    Raises:
        ConfigError: a keyword or a value is invalid; the message names it and the closest valid one.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"the filter {text} has an unmatched quotation mark") from error
    return read_pairs(map(_split, words))


def read_pairs(pairs: Iterable[tuple[str, str]]) -> Condition:
    """Parse a condition from pairs of keyword and value, as options and forms supply them.

    A value may start with a sign, `<20`; without one it means equality.

    Raises:
        ConfigError: a keyword or a value is invalid, or a keyword that may occur only once is repeated.
    """
    found: dict[str, str] = {}
    compared: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, value in pairs:
        word = _word(name)
        sign, rest = _compared(word, value)
        try:
            word.check(rest)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
        if word.is_repeated:
            compared[word.field].append((sign, rest))
        elif word.field in found:
            raise ConfigError(f'{name}: "{found[word.field]}" and "{rest}" exclude each other; give one')
        else:
            found[word.field] = rest if sign == "=" else sign + rest
    condition = msgspec.convert({**found, **compared}, Condition)
    condition.limit()
    return condition


def word(key: str, value: str) -> str:
    """Return one term of a filter as text, quoted if needed."""
    return f"{key}:{_quoted(value)}"


def is_bot(wanted: str, name: str) -> bool:
    """Return whether a bot matches a pattern by its label, spec, or name without options or version."""
    address = name.partition(":")[0]
    return not wanted or any(is_like(text, wanted) for text in (name, address, address.partition("@")[0]))


def _split(text: str) -> tuple[str, str]:
    found = _WORD.fullmatch(text)
    name, sign, value = (text, ":", "") if found is None else found.groups()
    word = _word(name)
    _check_value(word, value)
    if len(word.signs) == 1:
        _check_sign(word, sign.replace(":", "="))
        return name, value
    return name, f"{sign.replace(':', '=')}{value}"


def _word(name: str) -> Word:
    if name not in WORDS:
        raise ConfigError(_unknown(name))
    return WORDS[name]


def _unknown(name: str) -> str:
    there = " ".join(word.shown for word in WORDS.values())
    return f'no filter "{name}"{nearest(name, WORDS)} (there are {there})'


def _compared(word: Word, value: str) -> tuple[str, str]:
    """Split a value into its sign and the rest."""
    found = _COMPARISON.fullmatch(value) if len(word.signs) > 1 else None
    sign, rest = ("=", value) if found is None else (found[1] or "=", found[2])
    _check_value(word, rest)
    _check_sign(word, sign)
    return sign, rest


def _check_value(word: Word, value: str) -> None:
    if not value.strip():
        raise ConfigError(f"{word.name} has no value; write {word.shown}VALUE")


def _check_sign(word: Word, sign: str) -> None:
    if sign not in word.signs:
        takes = " or ".join(":" if known == "=" else known for known in word.signs)
        raise ConfigError(f"{word.name} takes {takes}, not {sign}")


def _typed(name: str, value: str) -> str:
    sign = next((sign for sign in ("<=", ">=", "<", ">", "=") if value.startswith(sign)), "")
    if sign and len(WORDS[name].signs) > 1:
        return f"{name}{sign}{_quoted(value[len(sign) :])}"
    return word(name, value)


def _quoted(text: str) -> str:
    """Quote a text only if the parser needs it, so that patterns stay readable."""
    return shlex.quote(text) if re.search(r"[\s'\"\\]", text) else text


def _counts(comparisons: Iterable[tuple[str, str]]) -> tuple[tuple[str, int], ...]:
    return tuple((sign, values.count_of(text)) for sign, text in comparisons)


def _span(dates: Iterable[tuple[str, str]]) -> tuple[float | None, float | None]:
    """Return the earliest time that fits and the first later time that does not; None for no bound."""
    since: list[float] = []
    until: list[float] = []
    for sign, text in dates:
        start, end = values.seconds_of(text)
        since += {">=": [start], "=": [start], ">": [end]}.get(sign, [])
        until += {"<": [start], "<=": [end], "=": [end]}.get(sign, [])
    return max(since, default=None), min(until, default=None)


def _games(game: str | None, store: Store | None) -> list[str]:
    """Return the games that an opening may belong to."""
    if game is not None and not is_wild(game):
        return [game]
    if store is None:
        raise ConfigError("opening: name its game, too, as game:connect-four")
    known = {tally.game for tally in store.sums.tallies(MatchFilter(rated_only=False))}
    return sorted(spec for spec in known if game is None or is_like(spec, game))
