"""Completes the configuration of a sequential test, and creates its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from arena.entrants import resolve
from arena.errors import ConfigError
from arena.pairing.openings import OpeningPlan, longest_list, make_openings
from arena.schedules.sprt_schedule import SprtSchedule
from arena.schedules.sprt_words import parse_sprt, sprt_text
from arena.shelf.kept import last_other
from arena_plugins import game_spec

if TYPE_CHECKING:
    from arena.coordinator.config import TournamentConfig
    from arena_plugins import Game

FEWEST_OPENINGS: Final = 200
"""Minimum number of openings; with fewer, most tests of two nearly equal bots would end undecided."""
MOST_OPENINGS: Final = 2000
"""Maximum number of openings unless more pairs are requested; longer lists take long to make."""
_BOTS: Final = 2


def with_opponent(config: TournamentConfig) -> TournamentConfig:
    """Return the configuration of a test with its second bot; by default the last kept bot of the same name.

    Raises:
        ConfigError: no other bot of that name is kept, or the number of bots is not one or two.
        PluginError: the tested bot cannot be found.
    """
    if len(config.bots) == _BOTS:
        return config
    if len(config.bots) != 1:
        raise ConfigError(f"a sequential test needs two bots; {len(config.bots)} given: arena test NEW OLD")
    (bot,) = resolve(config.bots, margin_ms=config.timemargin, keep=False)
    old = last_other(bot.record)
    if old is None:
        raise ConfigError(
            f"no earlier version of {bot.record.name} is kept to test it against; arena bots keep "
            f"{bot.record.name} before the next change, or name an opponent: arena test {config.bots[0]} BOT"
        )
    return msgspec.structs.replace(config, bots=(*config.bots, old.address))


def settle(config: TournamentConfig, game: Game) -> TournamentConfig:
    """Return the configuration of a test with its hypotheses, openings and maximum of pairs filled in.

    The test therefore stays the same when presets or lists of openings change later.

    Args:
        config: configuration of a test, with its seed.
        game: its game.

    Raises:
        ConfigError: the game has too few openings, or they cannot be read.
    """
    asked = OpeningPlan.parse(config.openings)
    most = max(MOST_OPENINGS, config.pairs or 0)
    plan, openings = longest_list(game, asked, seed=config.srand or 0, most=most)
    num = len(set(openings))
    if num < FEWEST_OPENINGS:
        raise ConfigError(
            f"a sequential test needs {FEWEST_OPENINGS} different openings, because it plays none twice, and "
            f"{game_spec(game)} has {num} here (--openings {plan}); arena match plays a fixed "
            "number of pairs"
        )
    return msgspec.structs.replace(
        config,
        sprt=sprt_text(parse_sprt(config.sprt or "")),
        openings=str(plan),
        pairs=min(config.pairs or num, num),
    )


def sprt_schedule(config: TournamentConfig, game: Game) -> SprtSchedule:
    """Return the schedule of a test whose configuration was completed by `settle`.

    Raises:
        ConfigError: its openings cannot be read, or they do not all differ.
    """
    num_pairs = config.pairs or 0
    found = make_openings(game, OpeningPlan.parse(config.openings), seed=config.srand or 0, wanted=num_pairs)
    if len(found.openings) < num_pairs:
        raise ConfigError(
            f"the openings of this test have changed since it began (--openings {config.openings}); "
            "restore them, or start a new test"
        )
    return SprtSchedule(
        test=parse_sprt(config.sprt or ""),
        openings=found.openings,
        then_rate=config.then_rate,
        reverse=config.reverse,
    )
