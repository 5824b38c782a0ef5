"""Configuration of a person's session against a bot, as options and as TOML; stored with the session."""

from __future__ import annotations

import hashlib
import json
import secrets
import tomllib
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from arena.errors import ArenaError, ConfigError
from arena.referee.timecontrol import TimeControl
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.entrants import Competitor
    from arena_db.records import TournamentRecord
    from arena_plugins import Game

PERSON = "human"
"""Label and spec of a person, who stays anonymous."""
PERSON_SEAT, BOT_SEAT = 0, 1
"""Seats of the two entrants of a session."""
MOVE_S = 3600.0
"""Seconds that a person has for a move if there is no clock."""


class PlayConfig(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Everything that determines how a person plays against a bot."""

    type: Literal["play"] = "play"
    bot: str
    """Spec of the bot."""
    game: str = "connect-four"
    side: Literal["first", "second"] = "first"
    """Side of the person in the first match."""
    opening: tuple[int, ...] = ()
    """Actions of the opening of every match."""
    clock: str | None = None
    """Game clock of both players, `moves/time+inc`; without one a person has `MOVE_S` per move."""
    st: float | None = None
    """Seconds per move of the bot; 5 if neither `clock` nor `nodes` is set."""
    nodes: int | None = None
    """Search nodes per move of the bot."""
    hint: str = ""
    """Spec of the bot that gives hints; empty for a strong default."""
    rated: bool = False
    """Whether the matches count for ratings; if so, there are no undos and no hints."""
    isolation: Literal["auto", "none", "T1", "T2", "T3"] = "auto"
    require_tier: Literal["T0", "T1", "T2", "T3"] | None = None
    require_limits: Literal["kernel", "polled"] | None = None
    init_time: float = 60.0
    """Seconds that the bot may take to start."""
    srand: int = 0
    """Seed of all randomness."""
    name: str = ""
    """Name of the session; empty for `play-N`."""

    def to_toml(self) -> str:
        """Return the keys that differ from their defaults as TOML."""
        values = msgspec.to_builtins(self)
        default = msgspec.to_builtins(PlayConfig(bot=""))
        # JSON scalars and lists of numbers are valid TOML, except that TOML requires DEL to be escaped.
        return "".join(
            f"{key} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
            for key, value in values.items()
            if key == "type" or value != default[key]
        )


class SessionPlan(NamedTuple):
    """A session that is ready to be stored."""

    config: PlayConfig
    game: Game
    person: Competitor
    bot: Competitor
    hinter: Competitor | None
    """The bot that gives hints; None if none is named."""
    person_control: TimeControl
    bot_control: TimeControl


def parse_play(text: str, source: str) -> PlayConfig:
    """Parse the TOML that `to_toml` wrote.

    Raises:
        ConfigError: the text is not valid; the message starts with `source`.
    """
    try:
        return msgspec.convert(tomllib.loads(text), PlayConfig)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{source}: {error}") from error


def is_rated(tournament: TournamentRecord) -> bool:
    """Return whether the matches of a stored session count for ratings."""
    return parse_play(tournament.config, tournament.name).rated


def play_config(values: Mapping[str, object]) -> PlayConfig:
    """Return a configuration from values by field; the opening is given as moves, the seed may be missing.

    Raises:
        ConfigError: a value has the wrong type, or the opening cannot be parsed.
        PluginError: there is no such game.
    """
    opening = read_opening(load_game(str(values["game"])), str(values.get("opening", "")))
    given = {key.replace("_", "-"): value for key, value in values.items()}
    try:
        return msgspec.convert({"srand": secrets.randbits(63), **given, "opening": opening}, PlayConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(f"these options are not valid: {error}") from error


def make_play(config: PlayConfig, bot: Competitor | None = None) -> SessionPlan:
    """Find game and bots of a session and check its options; nothing is stored, no bot is started.

    Args:
        config: the configuration.
        bot: the bot as it was entered; None to find it by its spec.

    Raises:
        ConfigError: the configuration is not playable.
        PluginError: the game or a bot cannot be found.
        OptionError: a limit in the spec of a bot is not a number.
    """
    # Imported late: a screen that only offers the form must not load the shelf of bots and package metadata.
    from arena.entrants import resolve

    game = load_game(config.game)
    _check_opening(game, config.opening)
    if not 0 < config.init_time < float("inf"):
        raise ConfigError(f"--init-time {config.init_time:g} is not a positive number of seconds")
    if config.rated and config.hint:
        raise ConfigError("--rated and --hint exclude each other: there are no hints in rated matches")
    bot_control = TimeControl.parse(config.clock, config.st, config.nodes)
    person_control = TimeControl.parse(config.clock, None if config.clock else MOVE_S, None)
    if bot is None:
        (bot,) = resolve([config.bot], margin_ms=bot_control.margin_ms, in_place=config.isolation == "none")
    if bot.label == PERSON:
        bot = msgspec.structs.replace(bot, label=f"{PERSON}_2")
    hinter = resolve([config.hint], margin_ms=bot_control.margin_ms)[0] if config.hint else None
    # Files are named by absolute paths, so that the session can be resumed from any folder.
    config = msgspec.structs.replace(config, bot=bot.spec, hint=hinter.spec if hinter else "")
    return SessionPlan(config, game, person(), bot, hinter, person_control, bot.limit or bot_control)


def person() -> Competitor:
    """Return the person as an entrant."""
    from arena.entrants import Competitor
    from arena_db.records import BotRecord

    identity = hashlib.sha256(json.dumps([PERSON, "", "", {}]).encode()).hexdigest()
    record = BotRecord(identity=identity, name=PERSON, spec=PERSON, distribution="", version="", files="{}")
    return Competitor(label=PERSON, record=record, spec=PERSON, entry="", options={}, limit=None)


def play_from(game: str, actions: tuple[int, ...], specs: tuple[str, str], to_move: int) -> PlayConfig:
    """Return a session that continues from a position, with the person in place of the side to move.

    If a person has played before, they keep their side.

    Args:
        game: spec of the game.
        actions: actions that lead to the position.
        specs: specs of the first and the second player.
        to_move: the player to move, 0 or 1.
    """
    player = specs.index(PERSON) if PERSON in specs else to_move
    return PlayConfig(
        bot=specs[1 - player],
        game=game,
        side="second" if player else "first",
        opening=actions,
        srand=secrets.randbits(63),
    )


def read_opening(game: Game, text: str) -> tuple[int, ...]:
    """Parse moves as people write them, separated by blanks or commas.

    Raises:
        ConfigError: one is not a move, or is illegal in its position.
    """
    state = game.initial_state()
    actions: list[int] = []
    for word in text.replace(",", " ").split():
        try:
            actions.append(game.parse_move(state, word))
            state = state.child(actions[-1])
        except ArenaError as error:
            raise ConfigError(f"--opening, move {len(actions) + 1}: {error}") from error
    return tuple(actions)


def _check_opening(game: Game, actions: tuple[int, ...]) -> None:
    state = game.initial_state()
    for ply, action in enumerate(actions):
        if action not in state.legal_actions:
            raise ConfigError(f"--opening, move {ply + 1}: action {action} is not legal there")
        state = state.child(action)
    if state.is_terminal:
        raise ConfigError("--opening ends the game")


def words_of(plan: SessionPlan) -> list[str]:
    """Return the command, without `arena`, of the coordinator that plays a session."""
    config = plan.config
    words = ["play", "--headless", "--game", config.game, f"--{config.side}"]
    state, moves = plan.game.initial_state(), list[str]()
    for action in config.opening:
        moves.append(plan.game.move(state, action))
        state = state.child(action)
    given = {
        "--clock": config.clock,
        "--st": config.st,
        "--nodes": config.nodes,
        "--hint": config.hint,
        "--opening": " ".join(moves),
        "--isolation": config.isolation,
        "--require-tier": config.require_tier,
        "--require-limits": config.require_limits,
        "--name": config.name,
    }
    for option, value in given.items():
        if value not in ("", None):
            words += [option, str(value)]
    return [*words, *(["--rated"] if config.rated else []), "--", config.bot]
