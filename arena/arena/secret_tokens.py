"""Tokens: 32 random bytes as text, and the hash by which the store knows them."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

PREFIX: Final = "arena_"
"""By which a token is known as one of ours, in a log or a file where it should not be."""
_BYTES: Final = 32


def new_token(role: str) -> str:
    """Return a new token, with the first letter of its role in it for people: `arena_v_9fQ...`."""
    return f"{PREFIX}{role[0]}_{secrets.token_urlsafe(_BYTES)}"


def digest_of(token: str) -> bytes:
    """Return the SHA-256 of a token; all its bytes are random, so it needs no salt and no slow hash."""
    return sha256(token.encode("utf-8", "replace")).digest()
