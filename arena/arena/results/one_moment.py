"""Makes several queries read one snapshot of the store, for tables that combine their results."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.store import Store

_P = ParamSpec("_P")
_T = TypeVar("_T")


def at_one_moment(function: Callable[Concatenate[Store, _P], _T]) -> Callable[Concatenate[Store, _P], _T]:
    """Return a function whose queries all see the snapshot of its first one; see `Store.at_one_moment`.

    Args:
        function: a function whose first positional argument is the store.
    """

    @wraps(function)
    def read(store: Store, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with store.at_one_moment():
            return function(store, *args, **kwargs)

    return read
