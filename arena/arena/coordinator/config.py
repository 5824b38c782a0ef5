"""The configuration of a tournament, as options and as TOML; the keys are the long option names."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from arena.errors import ConfigError
from arena.executor.slots import SpeedRule
from arena.naming import check_text
from arena_plugins.regular import read_regular
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_MAX_ELO = 100_000.0
THEN_RATE = 32
"""Default number of rated pairs that `arena test` plays after the decision."""


class Refusal(NamedTuple):
    """A bot that was refused and left out of a tournament."""

    bot: str
    """Its label or, if it had none yet, its spec as written."""
    why: str
    """Why it was refused."""


DASK: Final = "dask:"
"""Prefix of an executor that is a scheduler of worker machines."""


def check_executor(executor: str) -> None:
    """Check the option --executor.

    Raises:
        ConfigError: there is no such executor.
    """
    if executor not in {"local", "inline"} and not executor.startswith(DASK):
        raise ConfigError(
            f"--executor {executor} is none of local, inline and dask:tls://HOST:PORT, the scheduler of "
            "worker machines"
        )


class TournamentConfig(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Everything that decides which matches are played and how; stored with the tournament."""

    bots: tuple[str, ...] = ()
    """Specs in seat order."""
    game: str = "connect-four"
    """Spec of the game."""
    type: Literal["round-robin", "gauntlet", "match", "swiss", "knockout", "ladder"] = "round-robin"
    rounds: int = 10
    """Pairs (or single matches, see `games`) per encounter; in a Swiss tournament the number of rounds."""
    pairs: int | None = None
    """In a Swiss tournament or a knockout: pairs per encounter, None for one. In a test: maximum number of
    pairs, None for one per opening."""
    tie_pairs: int = 2
    """In a knockout: further pairs of an encounter that is level."""
    double: bool = False
    """In a knockout: whether a bot is out only after two defeats."""
    third_place: bool = False
    """In a knockout: whether the losers of the semifinals meet."""
    seeding: Literal["given", "leaderboard"] = "given"
    """In a Swiss tournament or a knockout: whether seats follow the order given, or the ratings."""
    games: Literal[1, 2] = 2
    """Matches per encounter and round."""
    seeds: int = 1
    """In a gauntlet, how many of the first bots meet all others."""
    no_swap: bool = False
    reverse: bool = False
    openings: str = "auto"
    srand: int | None = None
    """Tournament seed; None draws one."""
    tc: str | None = None
    """Game clock, `moves/time+inc`."""
    st: float | None = None
    """Seconds per move; 5 if neither `tc` nor `nodes` is given."""
    nodes: int | None = None
    """Search nodes per move."""
    timemargin: int = 50
    """Milliseconds by which an answer may be late."""
    bank: float | None = None
    """Seconds per match in addition to `st`."""
    init_time: float = 60.0
    """Seconds that a bot may take to start."""
    on_preflight: Literal["stop", "skip"] = "stop"
    """Whether a bot that cannot be entered, or fails before the tournament, stops it or is left out."""
    isolation: Literal["auto", "none", "T1", "T2", "T3"] = "auto"
    require_tier: Literal["T0", "T1", "T2", "T3"] | None = None
    require_limits: Literal["kernel", "polled"] | None = None
    adjudicate: Literal["off", "solver"] = "off"
    executor: str = "local"
    """`local`, `inline`, or `dask:` and the address of the scheduler of worker machines."""
    keys: str | None = None
    """Key file for the scheduler of `executor`. It is not stored, because each machine has a file of its
    own."""
    cluster: str | None = None
    """`local:N`: a scheduler and N slots for this run only, on this machine."""
    speed: SpeedRule | None = None
    """What is done about the speed of worker machines; None: `pin` if a limit is a time, else `ignore`."""
    concurrency: int = 0
    """Number of concurrent matches; 0 = cores - 1, -k = k fewer than that."""
    force_concurrency: bool = False
    max_time: float | None = None
    """Seconds after which no new match begins."""
    stop_when: str | None = None
    """`error=E`: stop when every rating is within E Elo; for a ladder the option is called `until`."""
    sprt: str | None = None
    """The hypotheses that make a match a sequential test, in the format of `arena.schedules.sprt_words`."""
    then_rate: int = 0
    """In a test: number of rated pairs that are played after the decision."""
    rated: bool = False
    """In a test: whether its matches count for ratings, although it stops when one bot is ahead."""
    anchors: tuple[str, ...] = ()
    """`BOT=ELO`: bots of known strength; the table of a ladder is anchored at the first of them that takes
    part."""
    no_recover: bool = False
    """Whether the first fault of a bot stops the run."""
    score_interval: int = 1
    """Matches between score lines; 0 = at the end."""
    rating_interval: int = 10
    """Matches between tables; 0 = at the end."""
    log: bool = False
    """Whether the messages of every match are written to a file."""
    bot_output: Literal["all", "faults", "none"] | None = None
    """Matches whose bot output is kept; None: all matches of up to 50, otherwise those with faults."""
    event: str = ""
    site: str = ""
    name: str = ""
    looks: int = 1
    """Number of times that the verdict of a growing match was read. Not an option: each enlargement
    increments it."""
    refused: tuple[Refusal, ...] = ()
    """Bots left out by `on_preflight`. Not an option: written when the plan is stored, and ignored if the
    configuration of a stored tournament begins a new one."""

    def check(self) -> None:
        """Refuse option values that no tournament can be played with.

        Raises:
            ConfigError: the text names the option and its valid values.
        """
        for key, low in (
            ("rounds", 1),
            ("seeds", 1),
            ("pairs", 1),
            ("tie_pairs", 0),
            ("timemargin", 0),
            ("score_interval", 0),
            ("rating_interval", 0),
            ("then_rate", 0),
        ):
            value = getattr(self, key)
            if value is not None and value < low:
                raise ConfigError(
                    f"--{key.replace('_', '-')} {getattr(self, key)} is too small; give {low} or more"
                )
        for key in ("st", "bank", "init_time", "max_time"):
            value = getattr(self, key)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigError(f"--{key.replace('_', '-')} {value:g} is not a positive number of seconds")
        if self.nodes is not None and self.nodes < 1:
            raise ConfigError(f"--nodes {self.nodes} is too small; give 1 or more")
        if self.srand is not None and not 0 <= self.srand < 1 << 63:
            raise ConfigError(f"--srand {self.srand} is not a whole number from 0 to 2^63 - 1")
        check_executor(self.executor)
        for key in ("event", "site", "openings"):
            check_text(f"--{key}", getattr(self, key))
        self._check_type()
        self.error_goal()
        self.anchor_elos()
        self._check_test()

    @property
    def encounter_pairs(self) -> int:
        """Pairs per encounter of a Swiss tournament or a knockout."""
        return 1 if self.pairs is None else self.pairs

    @property
    def is_rated_by_itself(self) -> bool:
        """Whether its matches count for ratings; those of a test do not, unless that is requested."""
        return self.sprt is None or self.rated

    def _check_test(self) -> None:
        """Refuse an invalid sequential test, and options that only a test has.

        Raises:
            ConfigError: the text names the option and the way out.
        """
        if self.sprt is None:
            own = ("pairs", "then_rate", "rated") if self.type == "match" else ("then_rate", "rated")
            given = [f"--{key.replace('_', '-')}" for key in own if getattr(self, key)]
            if given:
                raise ConfigError(f"{given[0]} belongs to a sequential test; add --sprt gain")
            return
        if self.type != "match":
            raise ConfigError("--sprt tests one bot against another; write arena match A B --sprt gain")
        for key in ("no_swap", "stop_when"):
            if getattr(self, key):
                raise ConfigError(
                    f"--{key.replace('_', '-')} cannot be combined with a sequential test, which plays "
                    "pairs with sides swapped until it is decided; omit it"
                )
        if self.games == 1:
            raise ConfigError(
                "--games 1 cannot be combined with a sequential test, which counts pairs; omit it"
            )
        # Imported here, because it imports NumPy, which would delay other tournaments.
        from arena.schedules.sprt_words import parse_sprt

        parse_sprt(self.sprt)

    def _check_type(self) -> None:
        """Refuse options that have no meaning for this type of tournament.

        Raises:
            ConfigError: the text names the option and the type that it belongs to.
        """
        default = TournamentConfig()
        is_paired = self.type in {"swiss", "knockout"}
        for key, fits, why in (
            (
                "pairs",
                is_paired or self.type == "match",
                "is for --type swiss and knockout; give --rounds",
            ),
            ("seeding", is_paired, "is for --type swiss and knockout; name the bots in the order you want"),
            ("tie_pairs", self.type == "knockout", "is for --type knockout"),
            ("double", self.type == "knockout", "is for --type knockout"),
            ("third_place", self.type == "knockout", "is for --type knockout"),
            (
                "rounds",
                self.type != "knockout",
                "is not for a knockout, which ends with its final; give --pairs",
            ),
            ("games", not is_paired, f"is not for --type {self.type}, which plays whole pairs; give --pairs"),
            ("no_swap", not is_paired, f"is not for --type {self.type}, which plays both sides of each pair"),
            ("reverse", not is_paired, f"is not for --type {self.type}, which plays both sides of each pair"),
        ):
            if not fits and getattr(self, key) != getattr(default, key):
                raise ConfigError(f"--{key.replace('_', '-')} {why}")
        if self.double and self.third_place:
            raise ConfigError(
                "--third-place is not for --double, where the loser of the losers' final is third"
            )

    def error_goal(self) -> float | None:
        """Return E of `--stop-when error=E`, in Elo, or of a ladder's `--until error=E`; None without a goal.

        Raises:
            ConfigError: it cannot be parsed.
        """
        if self.stop_when is None:
            return None
        key, _, text = self.stop_when.partition("=")
        try:
            goal = float(text)
        except ValueError:
            goal = 0.0
        if key != "error" or not 0 < goal < float("inf"):
            option = "--until" if self.type == "ladder" else "--stop-when"
            raise ConfigError(
                f"{option} {self.stop_when} is not valid; write error=E with E in Elo, such as error=20"
            )
        return goal

    def anchor_elos(self) -> list[tuple[str, float]]:
        """Return bots and Elo of `anchors`, in the order given.

        Raises:
            ConfigError: one cannot be parsed.
        """
        return [parse_anchor(text) for text in self.anchors]

    def to_toml(self) -> str:
        """Return the TOML of every key that differs from its default."""
        values = msgspec.to_builtins(self)
        default = msgspec.to_builtins(TournamentConfig())
        # A JSON scalar or list is valid TOML, once DEL is escaped.
        return "".join(
            f"{key} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
            for key, value in values.items()
            if value != default[key]
        )


def parse_anchor(text: str) -> tuple[str, float]:
    """Parse `BOT=ELO`; it is split at the last `=`, because a bot's spec may contain others.

    Raises:
        ConfigError: it cannot be parsed.
    """
    bot, _, elo = text.rpartition("=")
    try:
        value = float(elo)
    except ValueError:
        value = float("nan")
    if not bot or not -_MAX_ELO <= value <= _MAX_ELO:
        raise ConfigError(f"--anchor {text} is not valid; write BOT=ELO, such as random=1000")
    return bot, value


def config_from(values: Mapping[str, Any], source: str) -> TournamentConfig:
    """Return the configuration of values by their long option names.

    Raises:
        ConfigError: an unknown key (with the nearest known one) or a wrong value; the text names `source`.
    """
    known = [field.encode_name for field in msgspec.structs.fields(TournamentConfig)]
    for key in values:
        if key not in known:
            raise ConfigError(f'{source}: unknown key "{key}"{nearest(key, known)}')
    try:
        return msgspec.convert(dict(values), TournamentConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Read a tournament file.

    Raises:
        ConfigError: the file is missing or is not TOML; the text names the line.
    """
    try:
        return tomllib.loads(read_regular(path).decode())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}") from error


def refusals(config: str) -> tuple[Refusal, ...]:
    """Return the bots that a stored tournament left out; empty for a session.

    Args:
        config: the stored TOML of a tournament or of a session.
    """
    return msgspec.convert(tomllib.loads(config).get("refused", []), tuple[Refusal, ...])


def parse_toml(text: str, source: str) -> TournamentConfig:
    """Parse the TOML that `to_toml` wrote."""
    return config_from(tomllib.loads(text), source)
