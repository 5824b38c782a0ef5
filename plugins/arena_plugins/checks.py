"""Shared by the conformance kits: the result type of a check, and a runner that catches every exception."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arena_plugins.errors import ArenaError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arena_plugins.contract import Game, State

_Subject = TypeVar("_Subject")

_MAX_DETAIL = 300
"""Maximum length in characters of a check's detail."""


class Check(NamedTuple):
    """The result of one check."""

    number: int
    """The check's number, counted from 1 and stable across runs."""
    title: str
    """The requirement."""
    passed: bool
    """Whether the requirement was met."""
    detail: str
    """What was observed: the reason of a failure, or what the check passed on."""


class ConformanceError(ArenaError):
    """A requirement that is not met; caught by `run_checks`."""


def require(met: object, detail: str) -> None:
    """Raise unless a requirement is met.

    Raises:
        ConformanceError: `met` is false; the text is `detail`.
    """
    if not met:
        raise ConformanceError(detail)


def run_checks(checks: Iterable[Callable[[_Subject], str]], subject: _Subject) -> list[Check]:
    """Run every check. Its title is the first line of its docstring, its detail is what it returns.

    If the first check fails, the others are reported as failed without being run, because they need the same
    subject.
    """
    results: list[Check] = []
    for number, check in enumerate(checks, 1):
        title = (check.__doc__ or check.__name__).partition("\n")[0].rstrip(".")
        if results and not results[0].passed:
            results.append(Check(number, title, passed=False, detail="not run because check 1 failed"))
            continue
        try:
            passed, detail = True, check(subject)
        except ConformanceError as error:
            passed, detail = False, str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - plugin code may raise anything
            passed, detail = False, f"raised {type(error).__name__}: {error}"
        results.append(Check(number, title, passed, clean_text(detail, _MAX_DETAIL)))
    return results


def assert_conforms(checks: Iterable[Check]) -> None:
    """Raise unless all checks passed.

    Raises:
        AssertionError: at least one check failed; the text lists the failed checks.
    """
    failed = [check for check in checks if not check.passed]
    if failed:
        raise AssertionError("\n".join(f"FAIL {c.number}. {c.title}: {c.detail}" for c in failed))


def random_match(game: Game, seed: int) -> Iterator[State]:
    """Yield the states of a match of random legal actions, from the initial state to the terminal one.

    Raises:
        ConformanceError: the match is longer than `max_length`.
    """
    chance = random.Random(seed)  # noqa: S311 - not used for secrets
    state = game.initial_state()
    yield state
    while not state.is_terminal:
        require(
            len(state.history) < game.max_length, f"not over after max_length = {game.max_length} actions"
        )
        state = state.child(chance.choice(state.legal_actions))
        yield state
