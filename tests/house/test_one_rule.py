"""Each question has one implementation: finds code outside `results` that computes the same again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

import pytest

from source_tree import ROOT, Source, room_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FIT = {"fit", "newton", "sums", "profile", "ratings", "diagnostics", "graph"}
_SIDES = {"FIRST", "SECOND"}
_GATHER = {"append", "sum", "mean", "fmean"}


def _functions(tree: ast.AST) -> Iterator[ast.AST]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _attributes(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _strings(tree: ast.AST) -> set[str]:
    """Return the strings of a piece of code, except its docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    }


def blames(source: Source) -> bool:
    """Return whether a function decides who forfeited: it uses both faults and the winning side."""
    return any(
        "is_fault" in _attributes(function)
        and (bool(_attributes(function) & _SIDES) or bool(_strings(function) & {"first", "second"}))
        for function in _functions(source.tree)
    )


def rates(source: Source) -> bool:
    """Return whether a module imports the rating fit."""
    return any(
        parts[:2] == ["arena", "rating"] and bool(_FIT & {*parts[2:], found.name or ""})
        for found in source.imports
        for parts in [found.module.split(".")]
    )


def has_wild_cards(source: Source) -> bool:
    """Return whether a module matches wildcard patterns by itself."""
    return any(found.module == "fnmatch" for found in source.imports)


def cuts_pools(source: Source) -> bool:
    """Return whether a module parses or builds the name of a pool."""
    cut = {"partition", "rpartition", "split", "rsplit", "removesuffix"}
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in cut:
            named = node.func.value
            name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
            if name == "pool":
                return True
    # Alone these are values of a column; after a space they are part of a pool's name.
    return bool(_strings(source.tree) & {" hosted", " in-process"})


def reckons_durations(source: Source) -> bool:
    """Return whether a function aggregates durations of matches."""
    return any(
        any(
            isinstance(node, ast.Call)
            and {"append", "sum", "mean", "fmean"}
            & {getattr(node.func, "attr", ""), getattr(node.func, "id", "")}
            and "duration_ms" in {name for given in node.args for name in _attributes(given)}
            for node in ast.walk(function)
        )
        for function in _functions(source.tree)
    )


class Rule(NamedTuple):
    """A question, the modules that may answer it, and sample code that answers it again."""

    finds: Callable[[Source], bool]
    homes: tuple[str, ...]
    """Modules, or packages with a trailing dot."""
    planted: str


RULES = {
    "who forfeited": Rule(
        blames,
        ("arena.referee.blame", "arena_plugins.contract"),
        """
def lost(match):
    if Termination(match.termination).is_fault:
        return match.second if match.outcome == "first" else match.first
""",
    ),
    "ratings": Rule(
        rates,
        # A replayed tournament is fitted in the same way as its tables, many times.
        ("arena.results.", "arena.rating.", "arena.schedules.simulation"),
        """
def table(matches):
    from arena.rating.fit import fit
""",
    ),
    "wild cards": Rule(
        has_wild_cards,
        # The second module reads exclude patterns of build tools, which are another pattern language.
        ("arena_db.wild", "arena.identities"),
        "from fnmatch import fnmatchcase",
    ),
    "the limit of a pool": Rule(
        cuts_pools,
        ("arena.results.values",),
        """
def clock(record):
    return record.pool.rpartition(" ")[0]
""",
    ),
    "durations": Rule(
        reckons_durations,
        # The store adds up the cost of one test, which is not an estimate for other matches.
        ("arena.tui.forms.tournament_form", "arena_db.plan_rows"),
        """
def mean(matches):
    return sum(match.duration_ms for match in matches) / len(matches)
""",
    ),
}


def _is_home(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or (home.endswith(".") and module.startswith(home)) for home in homes)


@pytest.mark.parametrize("question", RULES)
def test_one_place_answers(question: str) -> None:
    rule = RULES[question]
    found = {name for name, source in room_sources().items() if rule.finds(source)}
    assert {name for name in found if not _is_home(name, rule.homes)} == set()


@pytest.mark.parametrize("question", RULES)
def test_a_second_answer_is_found(question: str) -> None:
    planted = Source(ROOT / "planted.py", "arena.tui.planted", ast.parse(RULES[question].planted))
    assert RULES[question].finds(planted)
    harmless = ast.parse("""
def show(record, match):
    return f"{record.pool} {match.duration_ms / 1000:.1f} {match.outcome}"
""")
    assert not RULES[question].finds(Source(ROOT / "harmless.py", "arena.tui.harmless", harmless))
