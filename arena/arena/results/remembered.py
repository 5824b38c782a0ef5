"""Caches fits by the sums that they are computed from, so that equal results are fitted only once.

A fit depends only on its sums, so a cached fit is never outdated. After a match between two of many bots,
only one encounter has new sums; the gaps of all others are cached. All pages and tables of a process share
the cache, whichever connection they read from.
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
"""Maximum number of cached gaps: those of 255 bots that have all met; 350 bytes each."""
_MOST_ROWS: Final = 32_768
"""Maximum number of encounters in all cached fits together; about 1 kB each."""
_DIGEST: Final = 16
"""Number of bytes of a digest: of a million keys, any two are equal with a probability of 1e-27."""
_RESULTS: Final = 6
"""Number of results of an encounter: losses, draws and wins on both sides."""


class _Memory(Generic[_Found]):
    """A cache of the most recently used values, bounded by their total weight; thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[object, tuple[int, _Found]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, key: object) -> _Found | None:
        """Return a value; None if it is not cached."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            self._known.move_to_end(key)
            return found[1]

    def add(self, key: object, value: _Found, weight: int = 1) -> None:
        """Cache a value, and evict those that were not used for the longest time."""
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
    """Return the result of `head_to_head`; only encounters that are not cached are computed."""
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
    """Return the result of `fit` for these arguments, computed only if it is not cached.

    Raises:
        ConfigError: an anchor refers to an unknown bot.
        ArenaError: the ratings do not converge.
    """
    digest = blake2b(digest_size=_DIGEST)
    for part in (encounters, weighted):
        if part is not None:
            # Included because the sums alone would be equal for other bots with the same results.
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
