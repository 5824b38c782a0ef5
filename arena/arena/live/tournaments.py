"""View-models of tournaments: the list, and the form of a new one with the command line that it equals."""

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
"""How states are shown. While an event is `preparing` its bots are checked; one that fails that is `refused`.
`left` is one that nobody plays although nobody ended it, `silent` one whose process has not been heard of for
30 s, though it may live."""
_GROUPS = frozenset({"ladder", "entrants", "bots", "db"})
"""Commands that have commands of their own."""
TYPES = ("round-robin", "gauntlet", "match", "swiss", "knockout", "ladder", "test")
"""What the form offers; a test is a match that is decided by a sequential test."""
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
"""Fields that mean something in events of one type only."""
_DEFAULTS = {"isolation": "auto", "elimination": "single", "seeding": "given", "bounds": "gain"}
"""Of choices: what need not be said."""
ISOLATIONS = ("auto", "none", "T1", "T2", "T3")


class TournamentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored tournament."""

    id: int
    name: str
    """As it is called in the store."""
    type: str
    game: str
    tc: str
    state: State
    planned: int | None
    done: int
    created_t: float
    """UTC seconds."""
    bots: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Bots that were left out, each with the cause."""
    held_by: str = ""
    """Who plays it and when that process was last heard of: `pid 4711 on lab3, silent for 12 min`."""
    is_archived: bool = False
    reason: str = ""
    """Why it was refused; empty where it was not."""
    fixed: str = ""
    """Why nobody may leave it or be disqualified, or join it; empty where bots may."""

    @property
    def state_text(self) -> str:
        """The state in words."""
        return STATES[self.state] + (", archived" if self.is_archived else "")

    @property
    def can_resume(self) -> bool:
        """Whether it can be gone on with."""
        return self.state in ("left", "stopped", "silent", "refused")

    @property
    def is_held(self) -> bool:
        """Whether a process runs it, so that it can be stopped."""
        return self.state in ("preparing", "running", "paused")

    @property
    def is_open(self) -> bool:
        """Whether bots may join it."""
        return not self.fixed and self.type in ("round-robin", "gauntlet", "swiss", "ladder")

    @property
    def is_orphan(self) -> bool:
        """Whether it is a match of a person that nobody referees any more."""
        return self.type == "play" and self.state == "left"

    def resume_words(self) -> list[str]:
        """Return the command that goes on with it, as what stands behind `arena`."""
        return ["resume", *(["--take-over"] if self.state == "silent" else []), "--", self.name]


class TournamentForm(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wrote into the form; an empty field leaves the default of the command."""

    bots: str = ""
    """Specs, as on the command line."""
    type: str = "round-robin"
    game: str = ""
    rounds: str = ""
    games: str = ""
    pairs: str = ""
    """Of each encounter; of a test the most."""
    tie_pairs: str = ""
    elimination: str = "single"
    seeding: str = "given"
    until: str = ""
    """Of a ladder: Elo within which every rating is to be, as a number or as `error=E`."""
    bounds: str = "gain"
    """Of a test."""
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
        """Return whether a field means something in events of the chosen type."""
        return field in _OWN[self.type] or not any(field in own for own in _OWN.values())

    def bot_specs(self) -> list[str]:
        """Return the bots.

        Raises:
            ConfigError: a quotation mark is alone.
        """
        return _split("bots", self.bots)

    def words(self) -> list[str]:
        """Return the command line behind `arena`, a word each; what is at its default is left out.

        Raises:
            ConfigError: there is no bot, a ladder has no name, or a quotation mark is alone.
        """
        bots = self.bot_specs()
        if not bots:
            raise ConfigError("name the bots that are to play, as: mcts minimax:depth=4")
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
        # One word an option: a value that begins with - is then none of its own.
        given = [f"--{name}={value.strip()}" if value else f"--{name}" for name, value in options.items()]
        return [*command, *given, *_split("more", self.more), "--", *bots]

    def options(self) -> dict[str, str]:
        """Return the options that are given, by their long names, without the type; flags have no value."""
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
    """How long a tournament will take."""

    matches: int | None
    """None where nobody can know: it depends on results alone."""
    workers: int
    """Matches at once."""
    seconds: float | None
    """Of all matches, or of one where nobody knows how many; None where nothing is known to go by."""
    is_least: bool = False
    """Whether there may be more matches, by their results."""
    note: str = ""
    """What decides how many there are."""
    is_bound: bool = False
    """Whether of some pairs nothing is known but what the clocks allow, so that it cannot take longer."""
    num_stored: int = 0
    """Stored matches that it was reckoned from."""
    num_pairs: int = 0
    """Pairs of bots that meet."""
    num_known: int = 0
    """Pairs among them that have met under this limit in this tier before."""

    @property
    def text(self) -> str:
        """`90 matches, 3 at once, about 12 min, a guess (240 stored matches, 3 of 6 pairs have met)`."""
        note = f"{self.note}: " if self.note else ""
        least = "at least " if self.is_least else ""
        if self.matches is None:
            return f"{self.note}; {self.workers} matches at once{self._rate()}"
        start = f"{note}{least}{self.matches} matches, {self.workers} at once"
        if self.seconds is None:
            return f"{start}, nobody knows how long: no clock, and no stored match to go by"
        how_long = duration_text(self.seconds)
        known = self._known()
        if self.is_bound:
            by = known if self.num_stored else "no stored match to go by"
            return f"{start}, at most {how_long} by the clocks ({by})"
        return f"{start}, about {how_long}{self._guess()} ({known})"

    def _rate(self) -> str:
        """Return how many matches are played in a minute, where that is known."""
        if not self.seconds or self.is_bound:
            return ""
        rate = 60 * self.workers / self.seconds
        return f", about {rate:.{0 if rate > 1 else 1}f} a minute{self._guess()} ({self._known()})"

    def _known(self) -> str:
        return f"{self.num_stored} stored matches, {self.num_known} of {self.num_pairs} pairs have met"

    def _guess(self) -> str:
        return "" if self.num_known == self.num_pairs else ", a guess"


def command_line(words: list[str] | tuple[str, ...], db: str | None = None) -> str:
    """Write a command line as it would be typed into a shell.

    Args:
        words: what stands behind `arena`.
        db: path of the store; None for the usual place.
    """
    extra = [] if db is None else ["--db", db]
    num = num_command(words)
    return shlex.join(["arena", *words[:num], *extra, *words[num:]])


def num_command(words: Sequence[str]) -> int:
    """Return how many of the words behind `arena` name the command; options follow them."""
    return 2 if words and words[0] in _GROUPS else 1


def _split(field: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{field}: a quotation mark is without its partner") from error
