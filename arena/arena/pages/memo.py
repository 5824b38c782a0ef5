"""Caches rendered pieces of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.pages.html import Html


class Memo:
    """The last rendering of each piece; not thread-safe."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._known: dict[str, tuple[tuple[object, ...], Html]] = {}

    def of(self, name: str, made_of: tuple[object, ...], make: Callable[[], Html]) -> Html:
        """Return a piece; render it again only if one of the values that it depends on has changed.

        Args:
            name: name of the piece.
            made_of: all values that `make` reads; views, which are immutable, are compared by identity, plain
                values by equality.
            make: renders the piece.
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
