"""Tokens: 32 random bytes as text, and the hash under which the store keeps them."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

PREFIX: Final = "arena_"
"""Prefix that identifies tokens of the Arena if one leaks into a log or a file."""
_BYTES: Final = 32
"""Number of random bytes in a token: 256 bits cannot be guessed, so digests of tokens need no salt."""


def new_token(role: str) -> str:
    """Return a new token, marked for people with the first letter of its role: `arena_v_9fQ...`."""
    return f"{PREFIX}{role[0]}_{secrets.token_urlsafe(_BYTES)}"


def digest_of(token: str) -> bytes:
    """Return the SHA-256 of a token. Tokens are random, so neither salt nor a slow hash is needed."""
    return sha256(token.encode("utf-8", "replace")).digest()
