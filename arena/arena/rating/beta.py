"""Quantiles of Beta and Student distributions in plain Python, for the statistics of two bots.

SciPy has them, too, but costs 30 MB and a third of a second in every program that shows an interval.
"""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
"""Replaces a numerator or denominator of 0 (modified method of Lentz, Thompson and Barnett 1986): it vanishes
beside any other term, and its inverse is still finite."""
_EPSILON = 1e-15
"""Relative change below which a term or a step no longer matters: about five roundings of a float."""
_MAX_TERMS = 10_000
"""Maximum number of terms, far more than needed: their number grows with the root of the smaller parameter,
and is 549 for two parameters of a million."""
_MAX_STEPS = 200
"""Maximum number of steps, far more than needed: for parameters from 0.5 to 1e8, bracket and Newton's method
together take 65 at most."""


@lru_cache(maxsize=4096)
def beta_log_odds(a: float, b: float, p: float) -> float:
    """Return ln(x / (1 - x)) for the quantile x of Beta(a, b) with probability `p`.

    In log-odds no digits are lost near 0 or 1. The root is found by Newton's method with bisection as
    safeguard; `a` and `b` must be above 0, `p` between 0 and 1.
    """
    if p > 0.5:  # noqa: PLR2004 # the smaller tail has more digits
        return -beta_log_odds(b, a, 1 - p)
    # The log-odds of the mean, a / (a + b): the quantile is near it unless a parameter is small.
    odds = math.log(a / b)
    low, high = odds - 1, odds + 1
    while _below(a, b, low) > p:
        # The distance triples each time, so a quantile far out is enclosed in a few steps.
        low -= 2 * (odds - low)
    while _below(a, b, high) < p:
        high += 2 * (high - odds)
    odds = (low + high) / 2
    scale = _log_scale(a, b)
    for _ in range(_MAX_STEPS):
        excess = _below(a, b, odds) - p
        low, high = (low, odds) if excess > 0 else (odds, high)
        density = math.exp(a * _log_share(odds) + b * _log_share(-odds) - scale)
        step = excess / density if density > 0 else math.inf
        after = odds - step
        # In the flat tails Newton's step leaves the bracket; halving the bracket always makes progress.
        if not low < after < high:
            after = (low + high) / 2
        if abs(after - odds) <= _EPSILON * max(1.0, abs(odds)):
            return after
        odds = after
    return odds


@lru_cache(maxsize=4096)
def student_quantile(degrees: float, p: float) -> float:
    """Return the quantile of Student's distribution, `p` above one half (Abramowitz and Stegun, 26.7.1)."""
    # t² / degrees is (1 - x) / x for the quantile x of Beta, so its logarithm is minus the log-odds of x.
    return math.sqrt(degrees) * math.exp(-beta_log_odds(degrees / 2, 0.5, 2 * (1 - p)) / 2)


def student_share(degrees: float, t: float) -> float:
    """Return the cumulative probability of Student's distribution below `t`."""
    if t == 0:
        return 0.5
    # Half of the two-sided tail probability beyond |t| (Abramowitz and Stegun, 26.7.1).
    beyond = _below(degrees / 2, 0.5, math.log(degrees) - 2 * math.log(abs(t))) / 2
    return 1 - beyond if t > 0 else beyond


def _below(a: float, b: float, odds: float) -> float:
    """Return the probability of Beta(a, b) below the x with these log-odds (DLMF 8.17.22)."""
    share = math.exp(_log_share(odds))
    front = math.exp(a * _log_share(odds) + b * _log_share(-odds) - _log_scale(a, b))
    # Up to there the continued fraction converges fast; beyond, that of the other tail does (DLMF 8.17.22).
    if share < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, share) / a
    return 1 - front * _fraction(b, a, math.exp(_log_share(-odds))) / b


def _log_share(odds: float) -> float:
    """Return ln x, given the log-odds of x, which may have either sign; it never overflows."""
    return -math.log1p(math.exp(-odds)) if odds > 0 else odds - math.log1p(math.exp(odds))


def _log_scale(a: float, b: float) -> float:
    """Return ln B(a, b)."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by the method of Lentz (DLMF 3.10)."""
    # The ratios of successive numerators and denominators stay in range; the numerators and denominators of a
    # thousand terms would overflow.
    c, d = 1.0, _inverse(1 - (a + b) * x / (a + 1))
    value = d
    for term in range(1, _MAX_TERMS):
        place = a + 2 * term
        even = term * (b - term) * x / ((place - 1) * place)
        odd = -(a + term) * (a + b + term) * x / (place * (place + 1))
        for factor in (even, odd):
            d = _inverse(1 + factor * d)
            c = 1 + factor / c or _TINY
            value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return value


def _inverse(number: float) -> float:
    return 1 / (number or _TINY)
