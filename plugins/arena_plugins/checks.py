"""What the conformance kits share: the result of a check, and the runner that lets nothing escape."""

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
"""Characters of the detail of a check."""


class Check(NamedTuple):
    """The result of one check."""

    number: int
    """From 1, the same for the same check."""
    title: str
    """What is demanded."""
    passed: bool
    """Whether it was met."""
    detail: str
    """What was seen: why it failed, or on what it passed."""


class ConformanceError(ArenaError):
    """A demand that is not met; only the runner sees it."""


def require(met: object, detail: str) -> None:
    """Go on where a demand is met.

    Raises:
        ConformanceError: it is not.
    """
    if not met:
        raise ConformanceError(detail)


def run_checks(checks: Iterable[Callable[[_Subject], str]], subject: _Subject) -> list[Check]:
    """Run every check; its title is the first line of its docstring, its result the detail.

    Where the first one fails, the others are failed untried: without a subject they would only repeat it.
    """
    results: list[Check] = []
    for number, check in enumerate(checks, 1):
        title = (check.__doc__ or check.__name__).partition("\n")[0].rstrip(".")
        if results and not results[0].passed:
            results.append(Check(number, title, passed=False, detail="not tried, check 1 failed"))
            continue
        try:
            passed, detail = True, check(subject)
        except ConformanceError as error:
            passed, detail = False, str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise whatever it likes
            passed, detail = False, f"raised {type(error).__name__}: {error}"
        results.append(Check(number, title, passed, clean_text(detail, _MAX_DETAIL)))
    return results


def assert_conforms(checks: Iterable[Check]) -> None:
    """Do nothing where all checks passed.

    Raises:
        AssertionError: the text lists those that failed.
    """
    failed = [check for check in checks if not check.passed]
    if failed:
        raise AssertionError("\n".join(f"FAIL {c.number}. {c.title}: {c.detail}" for c in failed))


def random_match(game: Game, seed: int) -> Iterator[State]:
    """Give the states of a match of random legal actions, from the initial state to the terminal one.

    Raises:
        ConformanceError: the match is longer than `max_length`.
    """
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    state = game.initial_state()
    yield state
    while not state.is_terminal:
        require(
            len(state.history) < game.max_length, f"not over after max_length = {game.max_length} actions"
        )
        state = state.child(chance.choice(state.legal_actions))
        yield state
