"""View-models of tournaments: the list, and the form of a new one with the command line that it equals."""

from __future__ import annotations

import shlex
from typing import Literal

import msgspec

from arena.errors import ConfigError
from arena.live.plain import duration_text

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
TYPES = ("round-robin", "gauntlet", "match")
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
    reason: str = ""
    """Why it was refused; empty where it was not."""

    @property
    def state_text(self) -> str:
        """The state in words."""
        return STATES[self.state]

    @property
    def can_resume(self) -> bool:
        """Whether it can be gone on with."""
        return self.state in ("left", "stopped", "silent", "refused")

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
    tc: str = ""
    st: str = ""
    nodes: str = ""
    openings: str = ""
    isolation: str = "auto"
    concurrency: str = ""
    name: str = ""
    more: str = ""
    """Further options of the command, as on the command line."""

    def bot_specs(self) -> list[str]:
        """Give the bots.

        Raises:
            ConfigError: a quotation mark is alone.
        """
        return _split("bots", self.bots)

    def words(self) -> list[str]:
        """Give the command line behind `arena`, a word each; what is at its default is left out.

        Raises:
            ConfigError: there is no bot, or a quotation mark is alone.
        """
        bots = self.bot_specs()
        if not bots:
            raise ConfigError("name the bots that are to play, as: mcts minimax:depth=4")
        options = {name: value.strip() for name, value in self.options().items()}
        if self.type not in ("match", "round-robin"):
            options = {"type": self.type, **options}
        command = "match" if self.type == "match" else "tournament"
        # One word an option: a value that begins with - is then none of its own.
        given = [f"--{name}={value}" for name, value in options.items()]
        return [command, *given, *_split("more", self.more), "--", *bots]

    def options(self) -> dict[str, str]:
        """Give the options that have a value, by their long names; without the type."""
        values = {
            "game": self.game,
            "rounds": self.rounds,
            "games": self.games,
            "tc": self.tc,
            "st": self.st,
            "nodes": self.nodes,
            "openings": self.openings,
            "isolation": "" if self.isolation == "auto" else self.isolation,
            "concurrency": self.concurrency,
            "name": self.name,
        }
        return {name: value for name, value in values.items() if value.strip()}


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """How long a tournament will take."""

    matches: int
    workers: int
    """Matches at once."""
    seconds: float | None
    """None where nothing is known to go by."""
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
        start = f"{self.matches} matches, {self.workers} at once"
        if self.seconds is None:
            return f"{start}, nobody knows how long: no clock, and no stored match to go by"
        how_long = duration_text(self.seconds)
        known = f"{self.num_stored} stored matches, {self.num_known} of {self.num_pairs} pairs have met"
        if self.is_bound:
            by = known if self.num_stored else "no stored match to go by"
            return f"{start}, at most {how_long} by the clocks ({by})"
        guess = "" if self.num_known == self.num_pairs else ", a guess"
        return f"{start}, about {how_long}{guess} ({known})"


def command_line(words: list[str] | tuple[str, ...], db: str | None = None) -> str:
    """Write a command line as it would be typed into a shell.

    Args:
        words: what stands behind `arena`.
        db: path of the store; None for the usual place.
    """
    extra = [] if db is None else ["--db", db]
    return shlex.join(["arena", *words[:1], *extra, *words[1:]])


def _split(field: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{field}: a quotation mark is without its partner") from error
