"""Tokens for access to a server: stored as hashes, sealed, revoked and never deleted."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Integer, bindparam, insert, select, update

from arena_db.account_tables import accounts, tokens
from arena_db.clock import now
from arena_db.dialects import driver_query, values_in_order
from arena_db.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Row

    from arena_db.access import Access

__all__ = ["StoredTokens", "TokenRecord"]

# Without `used_on`, which changes on each day of use.
_SEALED: Final = ("sha256", "role", "bot", "created_at", "expires_at", "revoked_at")
_HASH_BYTES: Final = 32
"""Bytes of a SHA-256."""
_USE_MS: Final = 200
"""Milliseconds to wait for the lock before a use goes unrecorded: a page waits for it."""


class TokenRecord(NamedTuple):
    """The stored facts of a token; the token itself is known to its owner alone."""

    id: int
    account: str
    """Name of the account."""
    role: str
    """viewer, bot, author or host."""
    bot: str
    """Name of the one bot that may connect with it; empty for other roles."""
    created_at: float
    """UTC seconds, like the other times."""
    expires_at: float | None
    """None if it never expires."""
    revoked_at: float | None
    """None if it is not revoked."""
    used_on: int | None
    """Day of its last use, in days since 1970 (UTC); None if it was never used, or its use went
    unrecorded."""

    def counts_at(self, time: float) -> bool:
        """Return whether the token was neither revoked nor expired at a time, in UTC seconds."""
        return self.revoked_at is None and (self.expires_at is None or time < self.expires_at)


class StoredTokens:
    """The access tokens of a store."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def add(
        self, account: str, digest: bytes, role: str, *, expires_at: float | None = None, bot: str = ""
    ) -> TokenRecord:
        """Store a new token of an account; create the account if there is none.

        Args:
            account: its name, 1 to 64 characters.
            digest: SHA-256 of the token, 32 bytes.
            role: viewer, bot, author or host.
            expires_at: UTC seconds; None for never.
            bot: name of the one bot that may connect with it, for the role bot.

        Raises:
            RefusedError: a value breaks a rule of the tables.
        """
        with self._access.write() as connection:
            own = select(accounts.c.id).where(accounts.c.name == account)
            number = connection.scalar(own)
            if number is None:
                made = insert(accounts).values(name=account, created_at=now())
                number = connection.scalar(made.returning(accounts.c.id))
            # The seal needs the id of the row, so the row first gets one of zeros.
            values = {"sha256": digest, "role": role, "bot": bot, "expires_at": expires_at}
            token = insert(tokens).values(
                **values, account_id=number, created_at=now(), content_hash=bytes(_HASH_BYTES)
            )
            found = connection.scalar(token.returning(tokens.c.id)) or 0
            _seal(connection, found)
            return _record(_row(connection, tokens.c.id == found))

    def all(self) -> list[TokenRecord]:
        """Return all tokens, oldest first, revoked and expired ones included."""
        with self._access.read() as connection:
            return [_record(row) for row in connection.execute(_select().order_by(tokens.c.id))]

    def find(self, digest: bytes) -> TokenRecord | None:
        """Return the token with a SHA-256, valid or not; None if there is none.

        Raises:
            DamagedError: it contradicts its seal, so what it permits is unknown.
        """
        with self._access.read() as connection:
            row = _row(connection, tokens.c.sha256 == digest)
        # A damaged index may lead to the row of another token.
        if row is None or not compare_digest(bytes(row.sha256), digest):
            return None
        # Before anything that the row says is trusted.
        if bytes(row.content_hash) != _content_hash(row):
            raise DamagedError(f"{_fault(row)}; `arena token revoke {row.account}` and `new` replace it")
        return _record(row)

    def revoke(self, account: str, token: int | None = None) -> list[int]:
        """Revoke the tokens of an account that are not revoked yet; return their ids.

        Args:
            account: its name.
            token: id of the only one to revoke; None for all.
        """
        with self._access.write() as connection:
            own = [accounts.c.name == account, tokens.c.revoked_at.is_(None)]
            if token is not None:
                own.append(tokens.c.id == token)
            found = connection.scalars(select(tokens.c.id).join(accounts).where(*own).order_by(tokens.c.id))
            numbers = list(found)
            # Each token has a seal of its own, so each row is changed by itself.
            for number in numbers:
                connection.execute(update(tokens).where(tokens.c.id == number).values(revoked_at=now()))
                _seal(connection, number)
            return numbers

    def note_use(self, token: int, day: int) -> None:
        """Record that a token was used, once a day; this works with a store that is open read-only, too.

        It uses a connection of its own, like a command, and waits at most 0.2 s for the lock.

        Args:
            token: its id.
            day: days since 1970 (UTC).

        Raises:
            DatabaseError: the store is locked or not writable; the use goes unrecorded.
        """
        self._access.beside(lambda raw: _note_use(raw, self._access.dialect, token, day), _USE_MS)


def find_faults(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each token that contradicts its seal."""
    for row in connection.execute(_select().order_by(tokens.c.id)):
        if bytes(row.content_hash) != _content_hash(row):
            yield f"{_fault(row)}; `arena token revoke {row.account}` revokes it"


@cache
def _use_text(dialect: str) -> tuple[str, dict[str, Any]]:
    # Only if an earlier day is stored, so that further requests of a day write nothing.
    earlier = tokens.c.used_on.is_(None) | (tokens.c.used_on < bindparam("before", type_=Integer))
    own = tokens.c.id == bindparam("token", type_=Integer)
    return driver_query(update(tokens).where(own, earlier).values(used_on=0), dialect)


def _note_use(raw: Any, dialect: str, token: int, day: int) -> None:  # noqa: ANN401 - a driver's connection
    text, usual = _use_text(dialect)
    raw.execute(text, values_in_order(usual, token=token, used_on=day, before=day))


def _select() -> Any:  # noqa: ANN401 - a query of two tables
    return select(tokens, accounts.c.name.label("account"), accounts.c.created_at.label("began_at")).join(
        accounts
    )


def _row(connection: Connection, condition: Any) -> Any:  # noqa: ANN401 - a row of `_select`
    return connection.execute(_select().where(condition)).first()


def _seal(connection: Connection, token: int) -> None:
    row = _row(connection, tokens.c.id == token)
    connection.execute(update(tokens).where(tokens.c.id == token).values(content_hash=_content_hash(row)))


def _content_hash(row: Row[*tuple[Any, ...]]) -> bytes:
    values = [row.id, row.account, row.began_at, *(getattr(row, name) for name in _SEALED)]
    # A damaged page may hold any value in the place of a string.
    return sha256(json.dumps(values, default=lambda each: bytes(each).hex()).encode()).digest()


def _fault(row: Row[*tuple[Any, ...]]) -> str:
    return f"token {row.id} of {row.account} is not as it was stored"


def _record(row: Row[*tuple[Any, ...]]) -> TokenRecord:
    return TokenRecord(
        id=row.id,
        account=row.account,
        role=row.role,
        bot=row.bot,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_on=row.used_on,
    )
