"""Labels of bots: made of facts, unique at the width that is asked for, never of an ordinal.

A label is the spec of a bot or, where that is too long, its name with what tells it from other bots of that
name: version, options, digits of its identity. From long to short:

    mcts:playouts=20,c=1.4 · mcts playouts=20 · mcts p20 · m p20 · p20 (one name only) · mp20 · m20 · m~7f3a
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from arena.errors import ArenaError
from arena.live.labels import show_name
from arena.results.label_forms import NUM_DIGITS, Group, NamedBot, cleaned, cut, tail, unique_prefixes
from arena_db.called import MARK
from arena_db.records import MatchFilter
from arena_db.wild import is_wild
from arena_plugins.errors import PluginError
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena_db.records import BotRecord, TournamentRecord
    from arena_db.store import Store

LABEL_WIDTH = 6
"""Cells of a label in a dashboard; two of them and ` v ` are the title of its smallest board."""
LIST_WIDTHS = range(6, 33)
"""Cells that a bot may have in a list of all stored matches."""
_MAX_POOLS = 12
"""Leaderboards that are shown beside a tournament."""
_LONG_DIGITS = 6
"""Digits of an identity in a name of any length; as many as an address needs."""
_TWIN = re.compile(r"_(\d+)\Z")


def named_bot(bot: BotRecord, label: str = "", *, twin: str = "") -> NamedBot:
    """Return what a bot can be called by.

    Args:
        bot: the competitor.
        label: what it was called in a tournament; empty where it never was in one.
        twin: see `NamedBot`.
    """
    label = label.removesuffix(f"_{twin}") if twin else label
    is_given = bool(label) and not re.match(rf"{re.escape(bot.name)}(?:\Z|[:@+]|_\d+\Z)", label)
    text = label if is_given or label.startswith(f"{bot.name}:") else bot.spec
    if text.startswith(f"{bot.spec}_"):
        text = bot.spec
    options = _options(bot.spec if is_given else text) or _options(bot.spec)
    name = show_name(label if is_given else bot.name)
    return NamedBot(bot.identity, name, text, options, cleaned(bot.version), twin)


def named_seats(seats: Iterable[tuple[BotRecord, str]]) -> list[NamedBot]:
    """Return what the bots of one tournament can be called by, given with their labels in it, by seat."""
    known: dict[str, str] = {}
    named: list[NamedBot] = []
    for bot, label in seats:
        found = _TWIN.search(label)
        is_twin = found is not None and known.get(bot.identity) == label[: found.start()]
        known.setdefault(bot.identity, label)
        named.append(named_bot(bot, label, twin=found[1] if found and is_twin else ""))
    return named


class Naming(NamedTuple):
    """What bots are called in one context, such as a dashboard."""

    seats: Mapping[str, str]
    """Labels of the bots of its tournament, by their names there."""
    bots: Mapping[str, str]
    """Labels of all its bots by identity."""

    def label_of(self, identity: str) -> str:
        """Return the label of a bot; of one that came a moment ago, digits of its identity."""
        return self.bots.get(identity) or f"{MARK}{identity[: LABEL_WIDTH - 1]}"


def naming_of(store: Store, tournament: TournamentRecord, width: int = LABEL_WIDTH) -> Naming:
    """Name the bots of a tournament and those of the leaderboards beside it together.

    So a bot has one label on every screen of a dashboard.

    Args:
        store: where they are.
        tournament: the tournament.
        width: cells of a label.
    """
    entrants = store.entrants(tournament.id)
    seats = named_seats((entrant.bot, entrant.label) for entrant in entrants)
    own = {bot.identity for bot in seats}
    known, called = store.bots(), store.labels()
    others = [
        named_bot(known[identity], called.get(identity, ""))
        for identity in sorted(_rated_beside(store, tournament) - own)
    ]
    labels = names_of([*seats, *others], width)
    by_identity: dict[str, str] = {}
    for bot, label in zip([*seats, *others], labels, strict=True):
        by_identity.setdefault(bot.identity, label)
    by_name = {entrant.label: label for entrant, label in zip(entrants, labels, strict=False)}
    return Naming(by_name, by_identity)


def called(store: Store, text: str, tournament: str = "") -> str:
    """Return what the store calls a bot: `~` and its identity, or its name, where the text is a label.

    Args:
        store: where the bots are.
        text: a name, spec, pattern or label, as screens show it.
        tournament: whose dashboard has the label; the newest one where there is none of this name.

    Returns:
        The text itself where a bot goes by it, or where it is no label either.
    """
    if "@" in text:
        # Facts of several bots, but in a table the name of one.
        bots = store.bots()
        printed = dict(zip(long_names(list(bots.values()), store.labels()), bots, strict=True))
        if text in printed:
            return f"{MARK}{printed[text]}"
    if not text or is_wild(text) or store.has_entrant(text):
        return text
    record = store.tournament(tournament) or store.last_tournament(unfinished=False)
    identity = "" if record is None else identity_of(store, record, text)
    if identity:
        return f"{MARK}{identity}"
    names = store.entrant_labels()
    for width in LIST_WIDTHS:
        for name, label in zip(names, shortened(names, width), strict=True):
            if label == text:
                return name
    return text


def identity_of(store: Store, tournament: TournamentRecord, label: str) -> str:
    """Return the identity of the bot that has a label on the dashboard of a tournament; empty for none."""
    naming = naming_of(store, tournament)
    for entrant in store.entrants(tournament.id):
        if naming.seats[entrant.label] == label:
            return entrant.bot.identity
    return next((identity for identity, known in naming.bots.items() if known == label), "")


def _rated_beside(store: Store, tournament: TournamentRecord) -> set[str]:
    """Return the identities of all bots on the leaderboards that are shown beside a tournament."""
    sizes: Counter[tuple[str, str]] = Counter()
    members: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for tally in store.tallies(MatchFilter()):
        if tally.first != tally.second:
            sizes[tally.game, tally.pool] += tally.num_matches
            members[tally.game, tally.pool] |= {tally.first, tally.second}
    shown = largest_pools(sizes, tournament)
    return {identity for pool in shown for identity in members[pool]}


def largest_pools(sizes: Counter[tuple[str, str]], tournament: TournamentRecord) -> list[tuple[str, str]]:
    """Return game and pool of the leaderboards shown beside a tournament: its own first, then the largest.

    Args:
        sizes: number of rated matches by game and pool.
        tournament: the tournament.
    """
    own = (tournament.game, tournament.pool)
    return sorted((pool for pool, _ in sizes.most_common()), key=lambda pool: pool != own)[:_MAX_POOLS]


def _options(text: str) -> tuple[tuple[str, str], ...]:
    try:
        options = Spec.parse(text).options
    except PluginError:
        return ()
    return tuple((key, cleaned(options[key])) for key in sorted(options))


def names_of(bots: Sequence[NamedBot], width: int) -> tuple[str, ...]:
    """Return a label of at most `width` cells for each bot; different bots have different labels.

    The order of `bots` makes no difference, and equal bots share a label.

    Args:
        bots: all that are seen together.
        width: cells of the terminal, at least 5.

    Raises:
        ArenaError: so many bots cannot be told apart at this width.
    """
    labels = _labels(frozenset(bots), width)
    return tuple(labels[bot] for bot in bots)


@lru_cache(maxsize=8)
def _labels(bots: frozenset[NamedBot], width: int) -> Mapping[NamedBot, str]:
    """Return the label of each bot; a dashboard asks again and again for those of the same bots."""
    known = sorted(bots)
    needed = _digits_needed(known)
    groups: defaultdict[str, list[NamedBot]] = defaultdict(list)
    for bot in known:
        groups[bot.name].append(bot)
    heads = unique_prefixes(groups)
    forms = {
        name: Group(members, heads[name], needed, is_only=len(groups) == 1).forms(width)
        for name, members in groups.items()
    }
    # A label that a bot of another name has, too, makes both names take their next form.
    chosen = dict.fromkeys(groups, 0)
    while True:
        labels = {bot: label for name in groups for bot, label in forms[name][chosen[name]].items()}
        counts = Counter(labels.values())
        clashing = {bot for bot, label in labels.items() if counts[label] > 1}
        longer = {bot.name for bot in clashing if chosen[bot.name] + 1 < len(forms[bot.name])}
        if not longer:
            break
        for name in longer:
            chosen[name] += 1
    kept = {bot: label for bot, label in labels.items() if bot not in clashing}
    return kept | _by_identity([bot for bot in known if bot not in kept], needed, kept.values(), width)


def shortened(texts: Sequence[str], width: int) -> tuple[str, ...]:
    """Return what texts, such as names of runs, are called in `width` cells; like `names_of`."""
    bots = [
        NamedBot(
            hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
            show_name(text.partition(":")[0]),
            text,
            _options(text),
        )
        for text in texts
    ]
    return names_of(bots, width)


def long_names(records: Sequence[BotRecord], called: Mapping[str, str]) -> tuple[str, ...]:
    """Return a name of any length for each competitor, for tables and files beyond one tournament.

    It is the spec or the name that a person gave; where two have the same, their versions or digits of their
    identities follow.

    Args:
        records: different competitors.
        called: what they were called last, by identity; those that are missing are named by their specs.
    """
    bots = [named_bot(record, called.get(record.identity, "")) for record in records]
    names = _where_alike([bot.text for bot in bots], [_with_version(bot) for bot in bots])
    digits = _digits_needed(bots)
    return tuple(_where_alike(names, [_with_digits(bot, digits[bot.identity]) for bot in bots]))


def _where_alike(names: Sequence[str], longer: Sequence[str]) -> list[str]:
    """Return the names, those that are not unique in their longer form."""
    counts = Counter(names)
    return [name if counts[name] == 1 else other for name, other in zip(names, longer, strict=True)]


def _with_version(bot: NamedBot) -> str:
    name, colon, rest = bot.text.partition(":")
    return f"{name}@{bot.version}{colon}{rest}" if bot.version else bot.text


def _with_digits(bot: NamedBot, needed: int) -> str:
    return f"{bot.text}{MARK}{bot.identity[: max(_LONG_DIGITS, needed)]}"


def _digits_needed(bots: Iterable[NamedBot]) -> dict[str, int]:
    """Return how many digits tell each identity from all others."""
    prefixes = unique_prefixes({bot.identity for bot in bots})
    return {identity: len(prefix) for identity, prefix in prefixes.items()}


def _by_identity(
    bots: Sequence[NamedBot], needed: Mapping[str, int], taken: Iterable[str], width: int
) -> dict[NamedBot, str]:
    """Return labels with digits of identities: as many as tell them apart, after as much of the name as fits.

    Where even those digits do not fit, others of the identity are taken.

    Raises:
        ArenaError: no digits tell them apart.
    """
    labels: dict[NamedBot, str] = {}
    used = set(taken)
    for bot in bots:
        end = tail(bot, 0)
        room = max(1, width - len(MARK) - len(end))
        candidates = [
            f"{cut(bot.name, room - num)}{MARK}{bot.identity[:num]}{end}"
            for num in (max(NUM_DIGITS, needed[bot.identity]), needed[bot.identity])
            if num <= room
        ]
        starts = range(max(1, len(bot.identity) - room + 1))
        candidates += [f"{MARK}{bot.identity[start : start + room]}{end}" for start in starts]
        label = next((text for text in candidates if text not in used and cell_len(text) <= width), None)
        if label is None:
            raise ArenaError(f"{len(needed)} bots cannot be told apart in {width} cells")
        labels[bot] = label
        used.add(label)
    return labels
