"""Remembers fits by the sums that they were computed from, so that equal results are fitted once.

A fit depends on nothing but its sums, so a remembered one is never outdated. After a match of a large field,
one of its encounters has new sums, and the gaps of all others are known. Pages, live pages and tables of one
process share the memory, whichever connection they read from.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from arena.rating.fit import fit, head_to_head
from arena.rating.model import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Gap, Ratings
    from arena.rating.sums import Encounters, FloatArray

_Found = TypeVar("_Found")

_MOST_GAPS: Final = 32_768
"""Maximum number of remembered gaps: those of 255 bots that have all met; 350 bytes each."""
_MOST_ROWS: Final = 32_768
"""Maximum number of encounters in the remembered fits together; about 1 kB each."""
_DIGEST: Final = 16
"""Bytes of a digest: of a million keys, any two are equal with a chance of 1e-27."""
_RESULTS: Final = 6
"""Losses, draws and wins of both sides."""


class _Memory(Generic[_Found]):
    """The most recently used values, bounded by their total weight; may be used by several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[object, tuple[int, _Found]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, key: object) -> _Found | None:
        """Return a value; None if it is not remembered."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            self._known.move_to_end(key)
            return found[1]

    def add(self, key: object, value: _Found, weight: int = 1) -> None:
        """Remember a value; those that were not used for the longest time are forgotten."""
        with self._lock:
            before = self._known.pop(key, None)
            self._weight += weight - (0 if before is None else before[0])
            self._known[key] = weight, value
            # The newest one stays, whatever it weighs: the next page needs it.
            while self._weight > self._most and len(self._known) > 1:
                _, (less, _) = self._known.popitem(last=False)
                self._weight -= less


_GAPS: Final[_Memory[Gap]] = _Memory(_MOST_GAPS)
_FITS: Final[_Memory[Ratings]] = _Memory(_MOST_ROWS)


def gaps_of_encounters(encounters: Encounters, level: float = LEVEL) -> list[Gap]:
    """Return what `head_to_head` returns; only encounters with unknown sums are computed."""
    keys = [(level, digest) for digest in _digests(_columns(encounters))]
    found = [_GAPS.get(key) for key in keys]
    missing = [place for place, gap in enumerate(found) if gap is None]
    if missing:
        new = head_to_head(encounters.take(np.array(missing, dtype=np.int64)), level)
        for place, gap in zip(missing, new, strict=True):
            found[place] = gap
            _GAPS.add(keys[place], gap)
    return [gap for gap in found if gap is not None]


def fit_of(
    encounters: Encounters,
    names: Sequence[str] | int,
    anchors: Sequence[tuple[int, float]] = (),
    weighted: Encounters | None = None,
) -> Ratings:
    """Return what `fit` returns for these arguments, which is computed only if it is not known.

    Raises:
        ConfigError: an anchor refers to an unknown bot.
        ArenaError: the ratings do not converge.
    """
    digest = blake2b(digest_size=_DIGEST)
    for part in (encounters, weighted):
        if part is not None:
            # Sums alone would be equal for other bots with the same results.
            digest.update(np.stack([part.low, part.high]).tobytes())
            digest.update(_columns(part).tobytes())
    key = names if isinstance(names, int) else tuple(names), tuple(anchors), weighted is None, digest.digest()
    # Two threads may fit the same sums at once: their results are equal, and one of them is kept.
    found = _FITS.get(key)
    if found is None:
        found = fit(encounters, names, anchors=anchors, weighted=weighted)
        _FITS.add(key, found, len(encounters))
    return found


def _columns(encounters: Encounters) -> FloatArray:
    """Return all sums of each encounter, `[encounters, sums]`."""
    num = len(encounters)
    first, second = encounters.collapsed_singles
    sums = (encounters.openings, encounters.collapsed, first, second)
    singles = (encounters.num_openings, encounters.num_different, encounters.replays, encounters.alike)
    return np.concatenate(
        [
            encounters.results.reshape(num, _RESULTS),
            encounters.ptnml,
            encounters.singles.reshape(num, _RESULTS),
            np.stack([*singles, *(column for each in sums for column in each.columns)], axis=1),
        ],
        axis=1,
        dtype=np.float64,
    )


def _digests(rows: FloatArray) -> list[bytes]:
    return [blake2b(row.tobytes(), digest_size=_DIGEST).digest() for row in np.ascontiguousarray(rows)]
