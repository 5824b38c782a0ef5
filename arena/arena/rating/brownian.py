"""Brownian motion between two barriers: what a sequential test is close to."""

from __future__ import annotations

import math

_SHORT = 0.05
"""Times below this, in squared distances of the barriers, need many waves and few images."""
_LARGEST = 8.0
"""Natural logarithm of the largest wave that is added up; beyond that a sum of waves loses digits."""
_SMALLEST = 45.0
"""Waves below e to the minus this are left out."""
_NUM_IMAGES = 4
"""On either side; where images are used, the fifth weighs less than e to the minus 100."""
_FAR = 30.0
"""Deviations from where on the tail of the normal distribution is computed by its series."""


def chance_beyond(time: float, level: float, drift: float, low: float, high: float) -> float:
    """Chance that a motion from 0 leaves at `high` before `time`, or has not left then and is above `level`.

    At `level` = `high` it is the chance to leave at `high` in that time, at `level` = `low` that not to leave
    at `low`. It grows with `drift`.

    Args:
        time: above 0, in units in which the variance grows by 1.
        level: from `low` to `high`.
        drift: mean growth in a unit of time.
        low: the lower barrier, below 0.
        high: the upper barrier, above 0.
    """
    width = high - low
    largest = drift * level - (drift**2 + (math.pi / width) ** 2) * time / 2
    if time > _SHORT * width**2 and largest < _LARGEST:
        found = _by_waves(time, level - low, drift, -low, width)
    else:
        found = _by_images(time, level - low, drift, -low, width)
    return min(1.0, max(0.0, found))


def _by_waves(time: float, level: float, drift: float, start: float, width: float) -> float:
    """The eigenfunctions of the motion between 0 and `width`: exact, quick for long times."""
    found = 0.0
    num = 1
    while True:
        wave = num * math.pi / width
        decay = (drift**2 + wave**2) / 2
        exponent = drift * (level - start) - decay * time
        if exponent < -_SMALLEST:
            break
        part = wave * math.cos(wave * level) - drift * math.sin(wave * level)
        found += math.sin(wave * start) * math.exp(exponent) * part / decay
        num += 1
    return _leaves_above(drift, start, width) + found / width


def _leaves_above(drift: float, start: float, width: float) -> float:
    """The chance to leave at `width` rather than at 0, sooner or later."""
    if abs(drift) * width < 1e-9:  # noqa: PLR2004 # there the two are equal to all digits
        return start / width
    if drift > 0:
        return math.expm1(-2 * drift * start) / math.expm1(-2 * drift * width)
    beyond = math.exp(2 * drift * (width - start))
    return beyond * math.expm1(2 * drift * start) / math.expm1(2 * drift * width)


def _by_images(time: float, level: float, drift: float, start: float, width: float) -> float:
    """Free motions from mirrored starts (Siegmund, "Sequential Analysis", III): quick for short times."""
    found = 0.0
    for num in range(-_NUM_IMAGES, _NUM_IMAGES + 1):
        for sign in (1, -1):
            source = sign * start + 2 * num * width
            away = (level - source - drift * time) / math.sqrt(time)
            is_above = source > width
            tail = _log_tail(-away if is_above else away)
            found += (-sign if is_above else sign) * math.exp(drift * (source - start) + tail)
    return found


def _log_tail(x: float) -> float:
    """Natural logarithm of the normal distribution's share above `x`."""
    if x < _FAR:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    # Abramowitz and Stegun, 26.2.12; the next term is below 1e-7.
    return -(x**2) / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p(-1 / x**2 + 3 / x**4)
