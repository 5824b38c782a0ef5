"""Classes of durations, for an index in which new matches are next to each other.

Durations are in milliseconds, so in an index of exact ones nearly every new match changes another page: at a
million matches, half of all pages that a save wrote. In an index by class, the matches of a class are in the
order of their ids, and a save changes the last page of some hundred classes. A class is small enough to be
sorted when it is read: one of sixty-four per power of two.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, literal_column

_PER_OCTAVE: Final = 64
_OCTAVES: Final = 25
"""Powers of two with classes of growing width, from 128 ms on."""


def class_of(duration_ms: int) -> int:
    """Return the class of a duration, or of a bound of durations; it never falls as the duration grows."""
    # No duration is negative, but a bound may be.
    octave = min(_OCTAVES, max(0, max(0, duration_ms).bit_length() - _PER_OCTAVE.bit_length()))
    return _PER_OCTAVE * octave + (duration_ms >> octave)


def _class_text() -> str:
    """Return `class_of` as SQL; databases use an index only for the very expression it was created with."""
    cases = " ".join(
        f"WHEN duration_ms < {2 * _PER_OCTAVE << octave} THEN {_PER_OCTAVE * octave} + "
        f"duration_ms / {1 << octave}"
        for octave in range(_OCTAVES)
    )
    return f"(CASE {cases} ELSE {_PER_OCTAVE * _OCTAVES} + duration_ms / {1 << _OCTAVES} END)"


DURATION_CLASS: Final = literal_column(_class_text(), BigInteger)
"""The class of the duration of a match."""
