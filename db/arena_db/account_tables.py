"""The tables of accounts of people and programs that may access a server, and of their tokens."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, ForeignKey, Integer, Table, UniqueConstraint

from arena_db import columns
from arena_db.naming import metadata

ROLES: Final = ("viewer", "bot", "author", "host")

accounts = Table(
    "accounts",
    metadata,
    Column("id", columns.big(), primary_key=True),
    columns.text("name"),
    Column("created_at", columns.seconds(), nullable=False),
    UniqueConstraint("name"),
    columns.length("name", 1, 64),
    sqlite_strict=True,
)

# Only the SHA-256 of a token is kept: a reader of the store cannot use it.
tokens = Table(
    "tokens",
    metadata,
    Column("id", columns.big(), primary_key=True),
    Column("account_id", columns.big(), ForeignKey("accounts.id"), nullable=False),
    columns.blob("sha256"),
    columns.text("role"),
    # Name of the one bot that may connect with it; empty for other roles.
    columns.text("bot"),
    Column("created_at", columns.seconds(), nullable=False),
    Column("expires_at", columns.seconds()),
    Column("revoked_at", columns.seconds()),
    # Day of its last use, in days since 1970 (UTC); written once a day, so it is not sealed.
    Column("used_on", Integer),
    # SHA-256 over the columns above and the account, so that damage to a role or a date is detected.
    columns.blob("content_hash"),
    UniqueConstraint("sha256"),
    columns.length("sha256", 32, 32),
    columns.one_of("role", ROLES),
    columns.length("bot", 0, 64),
    columns.length("content_hash", 32, 32),
    sqlite_strict=True,
)
