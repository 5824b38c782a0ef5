"""The scripts to run, their arguments, and how each is given the peers that are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CLONED = "alpha_zero_general"
"""A peer that is in no package index: it is run from a clone of its repository."""
PEERS = {
    "pyspiel": ("OpenSpiel", "open-spiel"),
    "pettingzoo": ("PettingZoo", "pettingzoo"),
    "kaggle_environments": ("kaggle-environments", "kaggle-environments"),
    "pgx": ("pgx", "pgx"),
    "bitbully": ("BitBully", "bitbully"),
    CLONED: ("alpha-zero-general", "alpha-zero-general"),
}
"""Name and distribution of each peer, by a module that can be imported if it is installed."""
SCRATCH = "SCRATCH"
"""Placeholder for a folder that all commands of a trial share."""

if TYPE_CHECKING:
    Pythons = Mapping[str, str]
    """The interpreter that has a module, by module; for the cloned peer, the clone."""
    Extra = Callable[[Pythons, str], list[str]]
    """Returns options for what is installed; the second argument is our own interpreter."""


class Command(NamedTuple):
    """A script that prints one JSON document, with its arguments."""

    script: str
    args: tuple[str, ...]
    quick: tuple[str, ...]
    """Replaces `args` in a quick run, which only shows that everything works."""
    told: Extra
    """Returns further arguments if peers are installed."""
    trials: int = 3
    """Maximum number of trials."""


def _nothing(_pythons: Pythons, _own: str) -> list[str]:
    return []


def _refereed(pythons: Pythons, own: str) -> list[str]:
    """Return the options for all frameworks, in each interpreter that has some."""
    some = [
        pythons[module] for module in ("pyspiel", "pettingzoo", "kaggle_environments") if module in pythons
    ]
    others = [python for python in dict.fromkeys(some) if python != own]
    return ["--peers", *(part for python in others for part in ("--peer-python", python))] if some else []


def _spiel_here(pythons: Pythons, own: str) -> list[str]:
    return ["--peers"] if pythons.get("pyspiel") == own else []


def _with(module: str, option: str) -> Extra:
    """Return an option that names the interpreter with a module."""
    return lambda pythons, _own: [option, pythons[module]] if module in pythons else []


COMMANDS = (
    Command("refereed_play.py", ("--rounds", "9"), ("--rounds", "1"), _refereed),
    Command(
        "bulk_speed.py",
        ("--rounds", "7"),
        ("--rounds", "1", "--matches", "20000", "--peer-matches", "1000", "--batches", "64"),
        _with("pgx", "--peer-python"),
    ),
    Command("search_speed.py", ("--rounds", "5"), ("--rounds", "1", "--matches", "1000"), _spiel_here),
    Command(
        "solver_speed.py",
        ("--positions", "100", "--runs", "3"),
        ("--positions", "3", "--runs", "1"),
        _with("bitbully", "--oracle-python"),
    ),
    Command(
        "alphabeta_speed.py",
        ("--rounds", "3", "--positions", "10"),
        ("--depths", "5", "--rounds", "1", "--positions", "1"),
        _nothing,
    ),
    Command(
        "referee_cost.py",
        ("--rounds", "30", "--duel", "200"),
        ("--rounds", "1", "--matches", "1", "--duel", "6", "--bots", "quick"),
        _nothing,
    ),
    Command(
        "net_speed.py",
        ("--rounds", "5"),
        ("--rounds", "1", "--net", "1x8", "--lanes", "4", "--least", "0.02"),
        _with(CLONED, "--alpha-zero-general"),
    ),
    Command("classifier_speed.py", ("--rounds", "5"), ("--rounds", "1"), _nothing),
    Command(
        "isolation_cost.py",
        (
            "--starts",
            "15",
        ),
        ("--starts", "1", "--moves", "50"),
        _nothing,
    ),
    Command(
        "store.py",
        ("--matches", "1000000", "--groups", "200", "--db", f"{SCRATCH}/season.db"),
        ("--matches", "2000", "--groups", "2", "--db", f"{SCRATCH}/season.db"),
        _nothing,
        trials=1,
    ),
    Command(
        "plain_store.py",
        ("--rounds", "5", "--db", f"{SCRATCH}/season.db"),
        ("--rounds", "1", "--matches", "500", "--db", f"{SCRATCH}/season.db"),
        _nothing,
        trials=1,
    ),
    Command(
        "start_speed.py",
        ("--rounds", "7", "--bots", "mcts"),
        ("--rounds", "1", "--bots", "mcts", "--compilations", "1"),
        _with("kaggle_environments", "--peer-python"),
    ),
)
"""In this order, because `plain_store.py` reads what `store.py` wrote."""
