"""Reads a store as it is at one moment, for tables that put figures of several queries side by side."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.store import Store

_P = ParamSpec("_P")
_T = TypeVar("_T")


def at_one_moment(function: Callable[Concatenate[Store, _P], _T]) -> Callable[Concatenate[Store, _P], _T]:
    """Make all queries of a function see the store as it is at the first one; see `Store.at_one_moment`.

    Args:
        function: takes the store first, by position.
    """

    @wraps(function)
    def read(store: Store, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with store.at_one_moment():
            return function(store, *args, **kwargs)

    return read
