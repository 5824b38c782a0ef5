"""Values that depend only on the number of a training step: step sizes, and the seed of its games."""

from __future__ import annotations

import hashlib


def geometric(start: float, end: float, step: int, total: int) -> float:
    """Interpolate geometrically from `start` to `end`; return the value at `step` of `total`."""
    return start * (end / start) ** min(step / max(total, 1), 1.0)


def linear(start: float, end: float, step: int, total: int) -> float:
    """Interpolate linearly from `start` to `end`; return the value at `step`, constant from `total` on."""
    return start + (end - start) * min(step / max(total, 1), 1.0)


def seed_of(seed: int, step: int) -> int:
    """Return a pseudorandom 64-bit seed for the games of a step."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{step}".encode()).digest()[:8], "big")
