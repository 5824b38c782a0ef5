"""Remembers pieces of a page that were rendered from the same values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.pages.html import Html


class Memo:
    """The last rendering of each piece; used by one thread at a time."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[str, tuple[tuple[object, ...], Html]] = {}

    def of(self, name: str, made_of: tuple[object, ...], make: Callable[[], Html]) -> Html:
        """Return a piece, rendered anew only if one of the values that it is made of is another one.

        Args:
            name: of the piece.
            made_of: all that `make` reads; views are compared by identity, since they never change, and
                plain values by what they are.
            make: renders it.
        """
        known = self._known.get(name)
        if known is not None and _are_same(known[0], made_of):
            return known[1]
        made = make()
        self._known[name] = (made_of, made)
        return made


def _are_same(ones: tuple[object, ...], others: tuple[object, ...]) -> bool:
    return len(ones) == len(others) and all(
        one is other or (isinstance(one, int | float | str) and type(one) is type(other) and one == other)
        for one, other in zip(ones, others, strict=True)
    )
