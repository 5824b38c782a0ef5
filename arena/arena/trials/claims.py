"""Tests of what bots claim about themselves: names, installation without running code, determinism."""

from __future__ import annotations

import os
import zipfile
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from arena.coordinator.config import config_from
from arena.coordinator.hold import Listener, hold
from arena.coordinator.plan import make_plan, store_plan
from arena.coordinator.prepare import PreparedTournament
from arena.coordinator.verify import verify_match
from arena.entrants import resolve
from arena.errors import ArenaError
from arena.executor.worker_seats import make_seat
from arena.shelf.install import install
from arena.shelf.listing import list_bots
from arena.trials.rogues import spoils
from arena_db.store import Store
from arena_plugins.contract import Termination
from arena_plugins.entries import BOTS, list_plugins
from arena_plugins.manager import game_spec
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_plugins.contract import Game
    from arena_plugins.hostile.table import Misbehaviour

NAMES = (
    "[/]",
    "\x1b[2J",
    "\x1b]52;c;eA==\x07",
    "\u202eexe",
    "'; DROP TABLE bots;--",
    "../../x",
    "=cmd",
    "a" * 10_000,
    "nul\0",
    "two words",
)
"""Names that no bot may have."""
_QUIET_SOURCE = """
import sys
from arena_plugins import PlayResult, hookimpl

if "arena_plugins.host" not in sys.modules:
    {harm}

class Bot:
    def play(self, state, limit):
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""
_LIAR_SOURCE = """
import secrets
from arena_plugins import PlayResult, hookimpl

class Bot:
    deterministic = True

    def play(self, state, limit):
        return PlayResult(secrets.choice(state.legal_actions))

@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""
_LIAR = "liar"
_MATCH = {
    "type": "match", "rounds": 1, "games": 1, "openings": "none", "srand": 1, "st": 60.0,
    "executor": "inline", "require-tier": "T1",
}  # fmt: skip
_REPLAYS = 8
"""Number of replays: four free random moves are repeated once in about a hundred times, so eight repetitions
in a row are practically impossible."""


def installed_seat(row: Misbehaviour, tier: Tier, game: Game, folder: Path, store: str) -> Seat:
    """Install a wheel that contains every kind of file that other tools run; return the seat of its bot.

    Args:
        row: the misbehaviour.
        tier: isolation tier.
        game: the game.
        folder: folder for the installation; it is created.
        store: file that the code would damage if it ran outside the bot's host.
    """
    name, module, harm = row.name, row.name.replace("-", "_"), spoils(store)
    sources = {
        f"{module}.py": _QUIET_SOURCE.format(harm=harm),
        f"{module}.pth": f"import sys; exec({harm!r})\n",
        **dict.fromkeys(("sitecustomize.py", "usercustomize.py", "setup.py"), harm),
    }
    folder.mkdir()
    with own_home(folder / "home"):
        install_bot(name, sources, folder / "wheels")
        return make_seat(resolve([name], margin_ms=0)[0], game.name, tier)


def accepted_names(folder: Path) -> Iterator[str]:
    """Offer bots with harmful names; yield those that are accepted, or refused with an unclean message.

    Args:
        folder: folder for the wheels; it is created.
    """
    folder.mkdir()
    with own_home(folder / "home"):
        for number, name in enumerate(NAMES):
            place = folder / str(number)
            place.mkdir()
            wheel = _make_wheel(name, {}, place)
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(place)
            said = [problem.reason for problem in list_plugins(BOTS, [str(place)]).problems]
            said.append(_refusal(install, str(wheel)))
            if len(said) == 1 or not all(said) or not _refusal(_enter, name):
                yield f"a bot may be called {name[:80]!r}"
            if any(clean_text(reason, len(reason)) != reason for reason in said):
                yield f"the name {name[:80]!r} is refused in words that are not clean"
        if listing := list_bots().entries.keys() & set(NAMES):
            yield f"bots are listed that may not be called so: {listing}"


def unflagged_liar(tier: Tier, game: Game, folder: Path) -> Iterator[str]:
    """Play a bot that falsely claims determinism; yield a deviation if `arena verify` never notices.

    Args:
        tier: isolation tier.
        game: the game.
        folder: folder for the store and the shelf; it is created.
    """
    folder.mkdir()
    own = {"bots": [_LIAR, "random"], "game": game_spec(game), "isolation": tier.value}
    config = config_from({**_MATCH, **own}, "a trial")
    with own_home(folder / "home"), closing(Store.open(folder / "arena.db")) as store:
        install_bot(_LIAR, {f"{_LIAR}.py": _LIAR_SOURCE}, folder / "wheels")
        plan = make_plan(config)
        tournament = store_plan(store, plan)
        hold(store, PreparedTournament(tournament, plan, num_workers=1), Listener(_ignore, _ignore))
        (match,) = store.matches.of_tournament(tournament.id)
        if match.termination != Termination.RULES:
            yield f"its match ended in {match.termination}: {match.fault}"
        if all(verify_match(store, match).agrees for _ in range(_REPLAYS)):
            yield "arena verify does not find out that it is not deterministic"


def _enter(name: str) -> None:
    resolve([name], margin_ms=0)


def _refusal(attempt: Callable[[str], object], what: str) -> str:
    """Return the message of a refusal; empty if the attempt is not refused."""
    try:
        attempt(what)
    except ArenaError as error:
        return str(error)
    return ""


def _ignore(_: object) -> None:
    """Ignore a message."""


_HOME = "ARENA_HOME"


@contextmanager
def own_home(folder: Path) -> Generator[None]:
    """Set the arena's home to `folder` within a `with` block."""
    before = os.environ.get(_HOME)
    os.environ[_HOME] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_HOME]
        else:
            os.environ[_HOME] = before


def install_bot(name: str, sources: Mapping[str, str], folder: Path) -> None:
    """Build a wheel and install it, as `arena bots install` does.

    Args:
        name: name of the bot; its module has the same name with `_` for `-`.
        sources: content of the wheel's files by path.
        folder: folder for the wheel; it is created.

    Raises:
        PluginError: it is refused.
        ArenaError: pip cannot unpack it.
    """
    folder.mkdir()
    install(str(_make_wheel(name, sources, folder)))


def _make_wheel(name: str, sources: Mapping[str, str], folder: Path) -> Path:
    """Write the wheel of a bot; its distribution has the bot's name, as far as file names allow."""
    module = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name[:64])
    info = f"{module}-1.dist-info"
    files = {
        **sources,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": (
            f"[arena.bots]\n{name} = {module}\n[console_scripts]\n{module} = {module}:main\n"
        ),
    }
    path = folder / f"{module}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            wheel.writestr(inside, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{inside},,\n" for inside in [*files, f"{info}/RECORD"]))
    return path
