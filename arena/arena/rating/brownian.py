"""Brownian motion between two barriers: the limit of a sequential test."""

from __future__ import annotations

import math

_SHORT = 0.05
"""Times below this, in squared distances of the barriers, need many waves but few images."""
_LARGEST = 8.0
"""Natural logarithm of the largest wave that is summed; beyond it a sum of waves loses digits."""
_SMALLEST = 45.0
"""Waves below e to the minus this are omitted."""
_NUM_IMAGES = 4
"""Number of images on either side; where images are used, the fifth weighs less than e to the minus 100."""
_FAR = 30.0
"""Standard deviations from where on the normal tail is computed by its series."""


def chance_beyond(time: float, level: float, drift: float, low: float, high: float) -> float:
    """Return the chance that a motion from 0 exits at `high` before `time`, or is above `level` without exit.

    At `level` = `high` this is the chance to exit at `high` in that time, at `level` = `low` the chance not
    to exit at `low`. It increases with `drift`.

    Args:
        time: above 0, in units in which the variance grows by 1.
        level: from `low` to `high`.
        drift: mean growth per unit of time.
        low: the lower barrier, below 0.
        high: the upper barrier, above 0.
    """
    width = high - low
    largest = drift * level - (drift**2 + (math.pi / width) ** 2) * time / 2
    # Waves converge fast for long times and images for short ones; a large drift makes waves cancel.
    if time > _SHORT * width**2 and largest < _LARGEST:
        found = _by_waves(time, level - low, drift, -low, width)
    else:
        found = _by_images(time, level - low, drift, -low, width)
    return min(1.0, max(0.0, found))


def _by_waves(time: float, level: float, drift: float, start: float, width: float) -> float:
    """Return the chance as a sum of eigenfunctions between 0 and `width`: exact, fast for long times."""
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
    """Return the chance to exit at `width` rather than at 0, at any time."""
    if abs(drift) * width < 1e-9:  # noqa: PLR2004 # there the two are equal to all digits
        return start / width
    if drift > 0:
        return math.expm1(-2 * drift * start) / math.expm1(-2 * drift * width)
    # For a negative drift this factor is taken out, so that no exponential overflows.
    beyond = math.exp(2 * drift * (width - start))
    return beyond * math.expm1(2 * drift * start) / math.expm1(2 * drift * width)


def _by_images(time: float, level: float, drift: float, start: float, width: float) -> float:
    """Return the chance by the method of images: fast for short times.

    Siegmund, "Sequential Analysis", chapter III.
    """
    found = 0.0
    for num in range(-_NUM_IMAGES, _NUM_IMAGES + 1):
        for sign in (1, -1):
            source = sign * start + 2 * num * width
            away = (level - source - drift * time) / math.sqrt(time)
            # The smaller tail is used for images above, with its sign changed, so that no digits cancel.
            is_above = source > width
            tail = _log_tail(-away if is_above else away)
            found += (-sign if is_above else sign) * math.exp(drift * (source - start) + tail)
    return found


def _log_tail(x: float) -> float:
    """Return the natural logarithm of the normal tail probability above `x`."""
    if x < _FAR:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    # Abramowitz and Stegun, 26.2.12; the next term is below 1e-7.
    return -(x**2) / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p(-1 / x**2 + 3 / x**4)
