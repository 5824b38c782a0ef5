"""Enters, withdraws and disqualifies bots of a tournament; its coordinator notices through the store."""

from __future__ import annotations

import shlex
import time
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.coordinator.client import ANSWER_S
from arena.coordinator.config import parse_toml
from arena.coordinator.holder import heard_of
from arena.coordinator.plan import Plan, choose_tier, entrant_of, tournament_limit
from arena.coordinator.quarantine import Quarantine
from arena.coordinator.replaying import keep_replays
from arena.entrants import resolve, short
from arena.errors import ConfigError
from arena.home import home
from arena.results.addresses import find_entrants, find_tournament
from arena.results.corrections import author, rate_after_change, tell_entrant
from arena.results.rating_tables import standings
from arena.results.tournament_states import refuse_change, refuse_copy, state_of
from arena.sandbox.limits.exact import check_limits
from arena.schedules.ladder import is_settled
from arena_plugins import load_game
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.entrants import Competitor
    from arena.results.tables import Table
    from arena_db.entering import Rest
    from arena_db.records import BatchRecord, BotRecord, Entrant, PlannedMatch, TournamentRecord
    from arena_db.store import Store

_FIXED: Final = frozenset({"round-robin", "gauntlet"})
"""Types whose plan depends only on the entrants."""
_BY_PLACE: Final = 1
"""The version of plans that number encounters by their place in a round, not by seats."""


class LadderStatus(NamedTuple):
    """The state of a ladder."""

    name: str
    state: str
    """running, paused, stopped, finished, or left if its coordinator is gone."""
    playing: tuple[str, ...]
    """Labels of the bots that are paired."""
    newcomers: tuple[str, ...]
    """Labels of playing bots that joined and whose rating is not settled yet: they play first."""
    left: tuple[str, ...]
    """Labels of the bots that no longer take part."""
    num_matches: int
    """Number of matches with a result."""
    widest: float
    """Largest rating error of a playing bot, Elo; infinite if one has no matches."""
    goal: float | None
    """Goal for the largest error, Elo; None for a ladder without an end."""

    def __str__(self) -> str:
        """Return a summary in two lines."""
        state = "stopped, because its coordinator is gone" if self.state == "left" else self.state
        left = f"; left: {', '.join(self.left)}" if self.left else ""
        new = f"; new: {', '.join(self.newcomers)}" if self.newcomers else ""
        play = f"{len(self.playing)} play: {', '.join(self.playing)}" if self.playing else "no bot plays"
        return f"{self.name} is {state}: {self.num_matches} matches; {self._aim()}\n{play}{new}{left}"

    def goal_line(self) -> str:
        """Return the progress: `12 play, 1 new, 2 left; widest error 84 Elo, goal 60 Elo`."""
        counts = ((len(self.newcomers), "new"), (len(self.left), "left"))
        play = f"{len(self.playing)} play" if self.playing else "no bot plays"
        parts = [play, *(f"{num} {what}" for num, what in counts if num)]
        return f"{', '.join(parts)}; {self._aim()}"

    def _aim(self) -> str:
        goal = "no goal" if self.goal is None else f"goal {self.goal:g} Elo"
        if not self.playing:
            return goal
        widest = "not all are rated yet" if self.widest == inf else f"widest error {self.widest:.0f} Elo"
        return f"{widest}, {goal}"


def ladder_status(
    store: Store, ladder: TournamentRecord, tables: Sequence[Table] | None = None
) -> LadderStatus:
    """Return the state of a ladder, computed from all matches stored now.

    Args:
        store: contains the ladder.
        ladder: its record.
        tables: its standings, if they are known already.

    Raises:
        ArenaError: no ratings fit its results.
    """
    entrants = store.tournaments.entrants(ladder.id)
    playing = [entrant for entrant in entrants if entrant.state == "playing"]
    found = standings(store, ladder) if tables is None else tables
    rows = {row.name: row for table in found for row in table.rows}
    errors = {name: inf if row.error is None else row.error for name, row in rows.items()}
    newcomers = [
        entrant.label
        for entrant in playing
        if entrant.joined
        and not (entrant.label in rows and is_settled(rows[entrant.label].pairs, errors[entrant.label]))
    ]
    return LadderStatus(
        ladder.name,
        state_of(store, ladder),
        tuple(entrant.label for entrant in playing),
        tuple(newcomers),
        tuple(entrant.label for entrant in entrants if entrant.state != "playing"),
        ladder.num_done,
        max((errors.get(entrant.label, inf) for entrant in playing), default=inf),
        parse_toml(ladder.config, f"the stored configuration of {ladder.name}").error_goal(),
    )


def find_ladder(store: Store, name: str) -> TournamentRecord:
    """Return the ladder with this name.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: it is not a ladder.
    """
    record = find_tournament(store, name, unfinished=False)
    if record.type != "ladder":
        raise ConfigError(f"{record.name} is a {record.type}, not a ladder; arena entrants changes its bots")
    return record


def find_open_ladder(store: Store, name: str) -> TournamentRecord:
    """Return the ladder with this name if bots may join or leave it.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: it is not a ladder, has not begun, or came from another store by a merge.
    """
    record = find_ladder(store, name)
    refuse_copy(store, record)
    if not record.has_begun:
        raise ConfigError(
            f"{name} is {record.state} and has not begun; arena ladder run {name} BOT BOT starts it"
        )
    return record


def find_open_event(store: Store, name: str) -> TournamentRecord:
    """Return the tournament with this name if its bots may be changed.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: a person played in it, it is a sequential test, has not begun, or came from another store
            by a merge.
    """
    record = find_tournament(store, name, unfinished=False)
    refuse_change(store, record)
    return record


def plan_join(store: Store, event: TournamentRecord, text: str) -> Plan:
    """Return a plan of the one bot that is to join a tournament; its content is kept from now on.

    Args:
        store: contains the tournament.
        event: its record.
        text: the spec of the bot.

    Raises:
        ConfigError: no bot can join this tournament, the bot takes part already or may not rejoin, or another
            bot has its name there.
        PluginError: there is no such bot.
        ArenaError: the tier or the limits that the tournament requires are not available.
    """
    _refuse_closed(event)
    config = parse_toml(event.config, f"the stored configuration of {event.name}")
    (bot,) = resolve([text], margin_ms=config.timemargin, in_place=config.isolation == "none")
    _refuse_known(store, event, bot, text)
    tier = choose_tier(config.isolation, config.require_tier, [bot])
    check_limits(config.require_limits, tier)
    return Plan(config, load_game(event.game), [bot], tournament_limit(config), tier, openings=((),))


def join(store: Store, event: TournamentRecord, plan: Plan, *, reason: str) -> Entrant:
    """Enter the bot of a plan that `plan_join` returned; return it with its seat.

    Raises:
        StoreError: it was entered meanwhile.
    """
    (bot,) = plan.competitors
    # In a ladder a returning bot is paired again. In a fixed plan it plays what it missed. In a Swiss
    # tournament it plays only future rounds, because its opponents got points for the missed ones.
    rest: Rest = "again" if event.type in _FIXED else "never" if event.type == "swiss" else "as planned"
    entered = store.changes.join(event.id, entrant_of(bot), reason=reason, who=author(), rest=rest)
    # After the transaction: a viewer that hears of a bot must find it in the store.
    tell_entrant(store, event.id, entered.label, "join", reason)
    return entered


def leave(store: Store, event: TournamentRecord, name: str, *, reason: str) -> list[Entrant]:
    """Withdraw the bots with a name from a tournament, and return them; they keep their matches.

    Raises:
        NotFoundError: no bot of the tournament has this name.
        ConfigError: those with the name have left already.
    """
    found = [entrant for entrant in find_entrants(store, event, name) if entrant.state == "playing"]
    if not found:
        raise ConfigError(f"{name} has already left {event.name}")
    for entrant in found:
        store.changes.leave(event.id, entrant.seat, reason=reason, who=author())
        tell_entrant(store, event.id, entrant.label, "leave", reason)
    _ended(store, event)
    return found


def disqualify(store: Store, event: TournamentRecord, name: str, *, reason: str) -> list[tuple[Entrant, int]]:
    """Disqualify the bots with a name; return each with the number of its matches that became void.

    Raises:
        NotFoundError: no bot of the tournament has this name.
        ConfigError: those with the name were disqualified already, or there is no reason.
    """
    if not reason.strip():
        raise ConfigError("--reason is empty; give a reason, which is shown to everybody")
    # Those that have left are included: their matches count until they become void.
    found = [entrant for entrant in find_entrants(store, event, name) if entrant.state != "out"]
    if not found:
        raise ConfigError(f"{name} was already disqualified from {event.name}")
    done: list[tuple[Entrant, int]] = []
    for entrant in found:
        num = store.changes.disqualify(event.id, entrant.seat, reason=reason, who=author())
        tell_entrant(store, event.id, entrant.label, "disqualify", reason)
        done.append((entrant, num))
    _ended(store, event)
    return done


def _ended(store: Store, event: TournamentRecord) -> None:
    """Update the ratings of a tournament, unless a run of it does."""
    rate_after_change(store, event.id)
    keep_replays(store, event.id)


def _refuse_closed(event: TournamentRecord) -> None:
    """Refuse a bot for a tournament that no bot can join.

    Raises:
        ConfigError: the text names the types that bots can join.
    """
    others = "bots join a ladder, a round robin, a gauntlet or a Swiss tournament"
    if event.type == "knockout":
        raise ConfigError(f"{event.name} is a knockout, which no bot can join after the draw; {others}")
    if event.type == "match":
        raise ConfigError(f"{event.name} is a match of two bots, which no third bot can join; {others}")
    if event.type in _FIXED and event.plan_version == _BY_PLACE:
        raise ConfigError(
            f"the plan of {event.name} was made by an older version of arena, so no bot can be added; "
            "start a new tournament"
        )


def _refuse_known(store: Store, ladder: TournamentRecord, bot: Competitor, text: str) -> None:
    spec = Spec.parse(text)
    named = spec._replace(options={**spec.options, "name": f"{bot.label}-2"})
    for other in store.tournaments.entrants(ladder.id):
        # By identity: the same name with other files is another competitor, the same files are a return.
        if other.bot.identity == bot.record.identity:
            _refuse_return(store, ladder, other)
            why = Quarantine.of_tournament(store, ladder.name).why(other.bot.identity)
            if why and ladder.type == "ladder":
                raise ConfigError(
                    f"{other.label} was withdrawn from {ladder.name} because {why}, and would be again; mend "
                    f"it, and give it another name: arena ladder join {ladder.name} {shlex.quote(str(named))}"
                )
            return
        if other.label == bot.label:
            raise ConfigError(
                f"{bot.label} is the name of another bot in {ladder.name}, which keeps its matches: "
                f"{_describe(other.bot)}, and this is {_describe(bot.record)}; give it another name: "
                f"arena entrants add {ladder.name} {shlex.quote(str(named))}"
            )


def _refuse_return(store: Store, event: TournamentRecord, known: Entrant) -> None:
    """Refuse a bot that takes part already, or may not rejoin.

    Raises:
        ConfigError: the text says why.
    """
    if known.state == "playing":
        raise ConfigError(f"{known.label} takes part in {event.name} already")
    if known.state == "out":
        raise ConfigError(
            f"{known.label} was disqualified from {event.name}; arena unvoid --tournament {event.name} --bot "
            f"{known.label} counts its matches again, but it plays no more"
        )
    lease = store.leases.find(event.id)
    # The coordinator has dropped the bot's matches and would not notice its return; a ladder plans new ones.
    if event.type in _FIXED and lease is not None and lease.is_alive:
        raise ConfigError(
            f"{known.label} has left {event.name}, which is being run; arena stop {event.name}, then it can "
            "rejoin"
        )


def _describe(bot: BotRecord) -> str:
    return f"{bot.spec} with content {short(bot.content)}"


_LOOK_S: Final = 0.05
"""Seconds between two polls for a batch that was planned after a change."""


def answer_to_join(store: Store, ladder: TournamentRecord, entrant: Entrant, wait_s: float = ANSWER_S) -> str:
    """Return what the coordinator of a ladder does with a bot that has just joined, as text.

    Every batch records the newest change it was planned from, so no message has to be sent.

    Args:
        store: the store in which the bot joined.
        ladder: its record.
        entrant: the bot, with its seat.
        wait_s: seconds to wait for the batch with its first match.

    Raises:
        ConfigError: the coordinator cannot start the bot and has withdrawn it.
    """
    change, end = store.changes.last(ladder.id), time.monotonic() + wait_s
    while _is_run(store, ladder):
        _refuse_withdrawn(store, ladder, entrant)
        found = store.plans.batches(ladder.id, since=change)
        first = _first_match(store, ladder, found, entrant.seat)
        if first is not None:
            other = first.second if first.first == entrant.seat else first.first
            label = store.tournaments.entrants(ladder.id)[other].label
            return f"its first match is {first.number}, against {label}"
        if time.monotonic() >= end:
            return "others that joined go first" if found else _no_answer(store, ladder, "plays it")
        time.sleep(_LOOK_S)
    return f"{ladder.name} is not being run; arena ladder run {ladder.name} lets it play"


def answer_to_leave(store: Store, ladder: TournamentRecord, wait_s: float = ANSWER_S) -> str:
    """Return what the coordinator of a ladder does with bots that have just left, as text.

    Args:
        store: the store in which they left.
        ladder: its record.
        wait_s: seconds to wait for the first batch without them.
    """
    change, end = store.changes.last(ladder.id), time.monotonic() + wait_s
    while _is_run(store, ladder):
        found = store.plans.batches(ladder.id, since=change)
        if found:
            return f"from match {found[0].first} on it is not paired"
        if time.monotonic() >= end:
            return _no_answer(store, ladder, "plans without it")
        time.sleep(_LOOK_S)
    return f"{ladder.name} is not being run"


def _refuse_withdrawn(store: Store, ladder: TournamentRecord, entrant: Entrant) -> None:
    """Refuse a bot that no longer takes part: its coordinator withdraws a newcomer that it cannot start.

    Raises:
        ConfigError: the text has the reason.
    """
    if store.tournaments.entrants(ladder.id)[entrant.seat].state == "playing":
        return
    moves = [each for each in store.changes.of(ladder.id) if each.subject == entrant.label]
    raise ConfigError(
        f"{entrant.label} left {ladder.name} before its first match: {moves[-1].reason}; this command keeps "
        f"bots in {home()}: set ARENA_HOME to that of the coordinator and join again"
    )


def _first_match(
    store: Store, ladder: TournamentRecord, found: list[BatchRecord], seat: int
) -> PlannedMatch | None:
    if not found:
        return None
    planned = store.plans.planned(ladder.id, after=found[0].first - 1)
    return next((match for match in planned if seat in {match.first, match.second}), None)


def _is_run(store: Store, ladder: TournamentRecord) -> bool:
    lease = store.leases.find(ladder.id)
    return lease is not None and lease.is_alive


def _no_answer(store: Store, ladder: TournamentRecord, does: str) -> str:
    """Return why no batch came, and what the coordinator does later."""
    if state_of(store, store.tournaments.find(ladder.id) or ladder) == "paused":
        return f"{ladder.name} is paused and {does} when it is resumed"
    lease = store.leases.find(ladder.id)
    who = "its coordinator" if lease is None else heard_of(lease)
    return f"no answer yet from {who}, which {does} from its next batch on"
