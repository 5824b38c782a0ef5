"""Results of one state of a store, computed once for all callers that read it."""

from __future__ import annotations

from collections import OrderedDict
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Concatenate, Final, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from arena_db.store import Store

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MOST: Final = 32
"""Maximum number of shared results of a store, those used last: each may hold the rows of a tournament."""


class _SharedResult(Generic[_T]):
    """One result; the first thread that needs it computes it, and others wait for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: list[_T] = []

    def get(self, make: Callable[[], _T]) -> _T:
        """Return the result; an error of `make` is not kept, so the next caller tries again."""
        with self._lock:
            if not self._found:
                self._found.append(make())
            return self._found[0]


class _SharedResults:
    """The shared results of one store, by the state that they were computed from."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Hashable, _SharedResult[object]] = OrderedDict()

    def of(self, key: Hashable) -> _SharedResult[object]:
        """Return the result with this key, which may not have been computed yet."""
        with self._lock:
            found = self._known.setdefault(key, _SharedResult())
            self._known.move_to_end(key)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
            return found


def once_per_state(
    function: Callable[Concatenate[Store, _P], _T],
) -> Callable[Concatenate[Store, _P], _T]:
    """Return a function that computes its result once for each state of the results in the store.

    The state is read in the snapshot of the caller (`Store.at_one_moment`), so a result is that of exactly
    the data that the caller sees. A result that reads more of the store later may be used only within the
    same snapshot. Results are shared by threads: they must not be changed.

    Args:
        function: a function of the store and of hashable values. Its result may depend only on what
            `Store.sums.results_mark` covers: matches that count, bots and their labels.
    """

    @wraps(function)
    def read(store: Store, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with store.at_one_moment():
            key = (store.sums.results_mark(), function, args, tuple(kwargs.items()))
            if not isinstance(store.shared, _SharedResults):
                # Two threads may both get here. One of the objects is lost then, and with it a result that is
                # computed again.
                store.shared = _SharedResults()
            # The key names the state, so results of an earlier state are never found again and fall out of
            # use.
            found = cast("_SharedResult[_T]", store.shared.of(key))
            return found.get(lambda: function(store, *args, **kwargs))

    return read
