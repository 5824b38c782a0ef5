"""Labels of bots: built from facts, unique at a given width, and never numbered.

A label is the spec of a bot or, if that is too long, its name with the facts that distinguish it from other
bots of this name: version, options, digits of its identity. From long to short:

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
"""Width of a label in a dashboard, in cells; two labels and ` v ` are the title of its smallest board."""
LIST_WIDTHS = range(6, 33)
"""Widths in cells that a bot may get in a list of all stored matches."""
_MAX_POOLS = 12
"""Maximum number of leaderboards shown beside a tournament."""
_LONG_DIGITS = 6
"""Minimum digits of an identity in an unabbreviated name, as in addresses."""
_TWIN = re.compile(r"_(\d+)\Z")


def named_bot(bot: BotRecord, label: str = "", *, twin: str = "") -> NamedBot:
    """Return the parts from which the labels of a bot are built.

    Args:
        bot: the competitor.
        label: label of the bot in a tournament; empty if it never entered one.
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
    """Return the parts of labels for a tournament's bots; `seats` has each bot with its label there."""
    known: dict[str, str] = {}
    named: list[NamedBot] = []
    for bot, label in seats:
        found = _TWIN.search(label)
        is_twin = found is not None and known.get(bot.identity) == label[: found.start()]
        known.setdefault(bot.identity, label)
        named.append(named_bot(bot, label, twin=found[1] if found and is_twin else ""))
    return named


class Naming(NamedTuple):
    """Labels of bots in one context, such as a dashboard."""

    seats: Mapping[str, str]
    """Labels of the tournament's bots, by their names in the tournament."""
    bots: Mapping[str, str]
    """Labels of all bots, by identity."""

    def label_of(self, identity: str) -> str:
        """Return the label of a bot, or digits of its identity if it was added after labelling."""
        return self.bots.get(identity) or f"{MARK}{identity[: LABEL_WIDTH - 1]}"


def naming_of(store: Store, tournament: TournamentRecord, width: int = LABEL_WIDTH) -> Naming:
    """Return common labels for the bots of a tournament and those of the leaderboards beside it.

    A bot thus has the same label on every screen of a dashboard.

    Args:
        store: the store with the bots.
        tournament: the tournament.
        width: cells of a label.
    """
    entrants = store.tournaments.entrants(tournament.id)
    seats = named_seats((entrant.bot, entrant.label) for entrant in entrants)
    own = {bot.identity for bot in seats}
    known, called = store.names.bots(), store.names.labels()
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
    """Resolve a label to the bot's name, or `~` and its identity.

    Args:
        store: the store with the bots.
        text: name, spec, pattern or label, as screens show it.
        tournament: tournament on whose dashboard the label was shown; the newest if there is no such
            tournament.

    Returns:
        The text itself if it is the name of a bot or no known label.
    """
    if "@" in text:
        # In a spec `@` may match several bots; a table may print the same text as the unique name of one bot.
        bots = store.names.bots()
        printed = dict(zip(long_names(list(bots.values()), store.names.labels()), bots, strict=True))
        if text in printed:
            return f"{MARK}{printed[text]}"
    if not text or is_wild(text) or store.names.has_entrant(text):
        return text
    record = store.tournaments.find(tournament) or store.tournaments.last(unfinished=False)
    identity = "" if record is None else identity_of(store, record, text)
    if identity:
        return f"{MARK}{identity}"
    names = store.names.entrant_labels()
    for width in LIST_WIDTHS:
        for name, label in zip(names, shortened(names, width), strict=True):
            if label == text:
                return name
    return text


def identity_of(store: Store, tournament: TournamentRecord, label: str) -> str:
    """Return the identity of the bot with a label on a tournament's dashboard; empty if none."""
    naming = naming_of(store, tournament)
    for entrant in store.tournaments.entrants(tournament.id):
        if naming.seats[entrant.label] == label:
            return entrant.bot.identity
    return next((identity for identity, known in naming.bots.items() if known == label), "")


def _rated_beside(store: Store, tournament: TournamentRecord) -> set[str]:
    """Return the identities of all bots on the leaderboards shown beside a tournament."""
    sizes: Counter[tuple[str, str]] = Counter()
    members: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for tally in store.sums.pool_counts(MatchFilter()).tallies:
        sizes[tally.game, tally.pool] += tally.num_matches
        members[tally.game, tally.pool] |= {tally.first, tally.second}
    shown = largest_pools(sizes, tournament)
    return {identity for pool in shown for identity in members[pool]}


def largest_pools(
    sizes: Mapping[tuple[str, str], int], tournament: TournamentRecord
) -> list[tuple[str, str]]:
    """Return game and pool of the leaderboards beside a tournament: its own first, then the largest.

    Equally large ones are ordered by name, whatever the order of `sizes`.

    Args:
        sizes: number of rated matches by game and pool.
        tournament: the tournament.
    """
    own = (tournament.game, tournament.pool)
    return sorted(sizes, key=lambda pool: (pool != own, -sizes[pool], pool))[:_MAX_POOLS]


def _options(text: str) -> tuple[tuple[str, str], ...]:
    try:
        options = Spec.parse(text).options
    except PluginError:
        return ()
    return tuple((key, cleaned(options[key])) for key in sorted(options))


def names_of(bots: Sequence[NamedBot], width: int) -> tuple[str, ...]:
    """Return a label of at most `width` cells for each bot; different bots have different labels.

    The order of `bots` is irrelevant, and equal bots share a label.

    Args:
        bots: all bots that are shown together.
        width: width in terminal cells, at least 5.

    Raises:
        ArenaError: there are too many bots to distinguish at this width.
    """
    labels = _labels(frozenset(bots), width)
    return tuple(labels[bot] for bot in bots)


@lru_cache(maxsize=8)
def _labels(bots: frozenset[NamedBot], width: int) -> Mapping[NamedBot, str]:
    """Return the label of each bot; cached, since a dashboard requests labels of the same bots repeatedly."""
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
    # If bots of different names share a label, both names switch to their next form.
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
    """Return short forms of texts, such as names of runs, in `width` cells; like `names_of`."""
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
    """Return an unabbreviated name for each competitor, for tables about several tournaments.

    The name is the spec, or the one that a person chose; if two are equal, versions or digits of the
    identities follow.

    Args:
        records: different competitors.
        called: their most recent labels by identity; competitors that are missing are named by their specs.
    """
    bots = [named_bot(record, called.get(record.identity, "")) for record in records]
    names = _where_alike([bot.text for bot in bots], [_with_version(bot) for bot in bots])
    digits = _digits_needed(bots)
    return tuple(_where_alike(names, [_with_digits(bot, digits[bot.identity]) for bot in bots]))


def _where_alike(names: Sequence[str], longer: Sequence[str]) -> list[str]:
    """Return the names; those that are not unique are replaced by their longer forms."""
    counts = Counter(names)
    return [name if counts[name] == 1 else other for name, other in zip(names, longer, strict=True)]


def _with_version(bot: NamedBot) -> str:
    name, colon, rest = bot.text.partition(":")
    return f"{name}@{bot.version}{colon}{rest}" if bot.version else bot.text


def _with_digits(bot: NamedBot, needed: int) -> str:
    return f"{bot.text}{MARK}{bot.identity[: max(_LONG_DIGITS, needed)]}"


def _digits_needed(bots: Iterable[NamedBot]) -> dict[str, int]:
    """Return how many digits distinguish each identity from all others."""
    prefixes = unique_prefixes({bot.identity for bot in bots})
    return {identity: len(prefix) for identity, prefix in prefixes.items()}


def _by_identity(
    bots: Sequence[NamedBot], needed: Mapping[str, int], taken: Iterable[str], width: int
) -> dict[NamedBot, str]:
    """Return labels with digits of identities: as many as needed, after as much of the name as fits.

    If those digits do not fit, other digits of the identity are tried.

    Raises:
        ArenaError: no digits distinguish the bots.
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
