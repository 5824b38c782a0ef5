"""What a step of a training takes from its number alone: step sizes, and the seed of its games."""

from __future__ import annotations

import hashlib


def geometric(start: float, end: float, step: int, total: int) -> float:
    """Give the number of a step on the way from `start` to `end`, by equal ratios."""
    return start * (end / start) ** min(step / max(total, 1), 1.0)


def linear(start: float, end: float, step: int, total: int) -> float:
    """Give the number of a step on the way from `start` to `end`, which it keeps from `total` on."""
    return start + (end - start) * min(step / max(total, 1), 1.0)


def seed_of(seed: int, step: int) -> int:
    """Give the seed of a step's games, 64 bits that look random."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{step}".encode()).digest()[:8], "big")
