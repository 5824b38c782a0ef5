"""Archives that zipfile can list but not read."""

from __future__ import annotations

LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
"""Signatures of a member's headers: before its content, and at the end of the archive."""


def with_unknown_compression(archive: bytes) -> bytes:
    """Mark the first member as packed with an unknown method."""
    return _with(archive, local=8, central=10, value=b"\x63\x00")


def encrypted(archive: bytes) -> bytes:
    """Mark the first member as encrypted with a password."""
    return _with(archive, local=6, central=8, value=b"\x01\x00")


def _with(archive: bytes, *, local: int, central: int, value: bytes) -> bytes:
    changed = bytearray(archive)
    for header, offset in ((LOCAL, local), (CENTRAL, central)):
        start = archive.index(header) + offset
        changed[start : start + len(value)] = value
    return bytes(changed)
