"""Reads on a connection that its caller keeps."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from sqlalchemy import Connection


@contextmanager
def one_snapshot(held: Connection) -> Generator[Connection]:
    """Yield a connection, and end its transaction afterwards, unless it was open before."""
    is_open = held.in_transaction()
    try:
        yield held
    finally:
        if not is_open and not held.closed:
            # A reader has nothing to commit.
            held.rollback()
