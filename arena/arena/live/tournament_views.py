"""View-models of tournaments: the list, and the form for a new one with the equivalent command line."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

import msgspec

from arena.errors import ConfigError
from arena.live.plain import duration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

State = Literal["preparing", "running", "paused", "silent", "left", "stopped", "finished", "refused"]
STATES: dict[State, str] = {
    "preparing": "preparing",
    "running": "running",
    "paused": "paused",
    "silent": "silent",
    "left": "no coordinator",
    "stopped": "stopped",
    "finished": "finished",
    "refused": "refused",
}
"""Displayed states. The bots of a `preparing` tournament are being checked; one that fails the check is
`refused`. A `left` tournament is unfinished and no process runs it; a `silent` one has a process that sent no
heartbeat for 30 s but may be alive."""
_GROUPS = frozenset({"ladder", "entrants", "bots", "db"})
"""Commands that have subcommands."""
TYPES = ("round-robin", "gauntlet", "match", "swiss", "knockout", "ladder", "test")
"""Types offered by the form; a test is a match decided by a sequential test."""
ELIMINATIONS = ("single", "third place", "double")
SEEDINGS = ("given", "leaderboard")
BOUNDS = ("gain", "non-regression")
_OWN: dict[str, tuple[str, ...]] = {
    "round-robin": ("rounds", "games"),
    "gauntlet": ("rounds", "games"),
    "match": ("rounds", "games"),
    "swiss": ("rounds", "pairs", "seeding"),
    "knockout": ("pairs", "tie_pairs", "elimination", "seeding"),
    "ladder": ("until",),
    "test": ("bounds", "pairs", "then_rate"),
}
"""Fields that apply only to some types."""
_DEFAULTS = {"isolation": "auto", "elimination": "single", "seeding": "given", "bounds": "gain"}
"""Default values of fields with choices; they are omitted from the command."""
ISOLATIONS = ("auto", "none", "T1", "T2", "T3")


class TournamentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored tournament."""

    id: int
    name: str
    """Name in the store."""
    type: str
    game: str
    tc: str
    state: State
    planned: int | None
    done: int
    created_t: float
    """Creation of the tournament, in seconds since 1970 (UTC)."""
    bots: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Bots that were left out, each with the cause."""
    held_by: str = ""
    """The process that runs the tournament, and its last heartbeat: `pid 4711 on lab3, silent for 12 min`."""
    is_archived: bool = False
    reason: str = ""
    """Why the tournament was refused; empty if it was not."""
    fixed: str = ""
    """Why entrants must not be changed; empty if they may be."""

    @property
    def state_text(self) -> str:
        """The state in words."""
        return STATES[self.state] + (", archived" if self.is_archived else "")

    @property
    def can_resume(self) -> bool:
        """Whether the tournament can be resumed."""
        return self.state in ("left", "stopped", "silent", "refused")

    @property
    def is_held(self) -> bool:
        """Whether a process runs the tournament, so that it can be stopped."""
        return self.state in ("preparing", "running", "paused")

    @property
    def is_open(self) -> bool:
        """Whether bots may join the tournament."""
        return not self.fixed and self.type in ("round-robin", "gauntlet", "swiss", "ladder")

    @property
    def is_orphan(self) -> bool:
        """Whether the row is a match of a person that no process referees any more."""
        return self.type == "play" and self.state == "left"

    def resume_words(self) -> list[str]:
        """Return the command that resumes the tournament, without `arena`."""
        return ["resume", *(["--take-over"] if self.state == "silent" else []), "--", self.name]


class TournamentForm(msgspec.Struct, frozen=True, kw_only=True):
    """Input of the form; an empty field selects the default of the command."""

    bots: str = ""
    """Specs, as on the command line."""
    type: str = "round-robin"
    game: str = ""
    rounds: str = ""
    games: str = ""
    pairs: str = ""
    """Pairs per encounter; for a test, the maximum."""
    tie_pairs: str = ""
    elimination: str = "single"
    seeding: str = "given"
    until: str = ""
    """Ladder: maximum error of every rating in Elo, as a number or as `error=E`."""
    bounds: str = "gain"
    """Bounds of a sequential test."""
    then_rate: str = ""
    tc: str = ""
    st: str = ""
    nodes: str = ""
    openings: str = ""
    isolation: str = "auto"
    concurrency: str = ""
    name: str = ""
    more: str = ""
    """Further options of the command, as on the command line."""

    def has(self, field: str) -> bool:
        """Return whether a field applies to the chosen type."""
        return field in _OWN[self.type] or not any(field in own for own in _OWN.values())

    def bot_specs(self) -> list[str]:
        """Return the specs of the bots.

        Raises:
            ConfigError: a quotation mark is not closed.
        """
        return _split("bots", self.bots)

    def words(self) -> list[str]:
        """Return the equivalent command line without `arena`, as a list of words; defaults are omitted.

        Raises:
            ConfigError: there is no bot, a ladder has no name, or a quotation mark is not closed.
        """
        bots = self.bot_specs()
        if not bots:
            raise ConfigError("name the bots that are to play, such as mcts minimax:depth=4")
        options = self.options()
        command = ["tournament"]
        if self.type in {"match", "test"}:
            command = [self.type]
        elif self.type == "ladder":
            command = ["ladder", "run"]
            name = options.pop("name", "").strip()
            if not name:
                raise ConfigError("give the ladder a name, by which bots join and leave it")
            bots = [name, *bots]
        elif self.type != "round-robin":
            options = {"type": self.type, **options}
        # `--name=value` in one word, so that a value that starts with - is not parsed as an option.
        given = [f"--{name}={value.strip()}" if value else f"--{name}" for name, value in options.items()]
        return [*command, *given, *_split("more", self.more), "--", *bots]

    def options(self) -> dict[str, str]:
        """Return the options that are set, by long name, without the type; flags have an empty value."""
        until = self.until.strip()
        values = {
            "game": self.game,
            "rounds": self.rounds,
            "games": self.games,
            "pairs": self.pairs,
            "tie_pairs": self.tie_pairs,
            "seeding": self.seeding,
            "until": f"error={until}" if until and "=" not in until else until,
            "bounds": self.bounds,
            "then_rate": self.then_rate,
            "tc": self.tc,
            "st": self.st,
            "nodes": self.nodes,
            "openings": self.openings,
            "isolation": self.isolation,
            "concurrency": self.concurrency,
            "name": self.name,
        }
        found = {
            {"bounds": "sprt"}.get(key, key.replace("_", "-")): value
            for key, value in values.items()
            if self.has(key) and value.strip() and value != _DEFAULTS.get(key)
        }
        if self.has("elimination") and self.elimination != "single":
            found[self.elimination.replace(" ", "-")] = ""
        return found


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The expected length of a tournament."""

    matches: int | None
    """Number of matches; None if it depends only on results."""
    workers: int
    """Number of matches played at once."""
    seconds: float | None
    """Seconds of all matches, or of one if their number is unknown; None if there is no basis for an
    estimate."""
    is_least: bool = False
    """Whether results may require more matches."""
    note: str = ""
    """The facts that the number of matches depends on, in words."""
    is_bound: bool = False
    """Whether the clocks were the only basis for some pairs, so that `seconds` is an upper bound."""
    num_stored: int = 0
    """Number of stored matches on which the estimate is based."""
    num_pairs: int = 0
    """Number of pairs of bots that meet."""
    num_known: int = 0
    """Number of pairs of bots that have met before under the limit of the tournament, in its tier."""

    @property
    def text(self) -> str:
        """The estimate as text: `90 matches, 3 at once, about 12 min (240 stored matches, ...)`."""
        note = f"{self.note}: " if self.note else ""
        least = "at least " if self.is_least else ""
        if self.matches is None:
            matches = "match" if self.workers == 1 else "matches"
            return f"{self.note}; {self.workers} {matches} at once{self._rate()}"
        start = f"{note}{least}{self.matches} matches, {self.workers} at once"
        if self.seconds is None:
            return f"{start}, duration unknown: there is neither a clock nor a stored match"
        how_long = duration_text(self.seconds)
        known = self._known()
        if self.is_bound:
            by = known if self.num_stored else "no stored match to go by"
            return f"{start}, at most {how_long} by the clocks ({by})"
        return f"{start}, about {how_long}{self._guess()} ({known})"

    def _rate(self) -> str:
        """Return the number of matches per minute as text; empty if it is unknown."""
        if not self.seconds or self.is_bound:
            return ""
        rate = 60 * self.workers / self.seconds
        return f", about {rate:.{0 if rate > 1 else 1}f} a minute{self._guess()} ({self._known()})"

    def _known(self) -> str:
        return f"{self.num_stored} stored matches, {self.num_known} of {self.num_pairs} pairs have met"

    def _guess(self) -> str:
        return "" if self.num_known == self.num_pairs else ", a guess"


def command_line(words: list[str] | tuple[str, ...], db: str | None = None) -> str:
    """Return a command line quoted for a shell.

    Args:
        words: the command line without `arena`.
        db: path of the store; None for the default.
    """
    extra = [] if db is None else ["--db", db]
    num = num_command(words)
    return shlex.join(["arena", *words[:num], *extra, *words[num:]])


def num_command(words: Sequence[str]) -> int:
    """Return how many words, without `arena`, name the command; options follow them."""
    return 2 if words and words[0] in _GROUPS else 1


def _split(field: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{field}: a quotation mark is unmatched") from error
